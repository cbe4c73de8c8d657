//! Gaps: times in which the thread should have run and did not.
//!
//! A wait has a deadline, and a turn is as long as its work. Time beyond both is a stall of the load
//! generator: it was stopped, it had no CPU, or its machine was paused. Only the clock is needed to detect
//! it. A server that does not answer makes no gap, since the wait for it ends in time.

use super::ClientLoop;
use super::progress::RunPhase;
use crate::client::Time;
use crate::driver::{Cpu, Driver};

/// Shorter gaps are not counted, ns. Where ten busy threads share a CPU, the kernel makes each wait tens of
/// ms, rarely more than 100 ms. A CPU quota stops a thread for most of its 100 ms period. Other figures show
/// these waits.
pub const GAP: Time = 200_000_000;

/// Gaps from this length on are added up separately, ns. One is common; many mean that the generator runs
/// only part of the time.
pub const PAUSE: Time = 50_000_000;

/// Longest sleep under load, ns; a gap that begins during it is reported up to this much shorter.
pub(super) const LOOK: Time = 20_000_000;

/// The CPU time of the thread when it was last read.
#[derive(Debug, Default)]
pub(super) struct CpuReading {
    cpu: Cpu,
    at: Time,
}

impl<D: Driver> ClientLoop<D> {
    /// Looks for a gap at the start of a turn. The last turn took `turn`, and the wait after it ended
    /// `overslept` too late; both in ns.
    #[inline]
    pub(super) fn look_for_gap(&mut self, turn: Time, overslept: Time) {
        let now = self.thread.turn.now;
        let is_long = turn.saturating_add(overslept) >= PAUSE;
        if is_long || now.saturating_sub(self.reading.at) >= LOOK {
            let cpu = self.driver.cpu();
            let worked = cpu.since(std::mem::replace(&mut self.reading, CpuReading { cpu, at: now }).cpu);
            if is_long {
                // Threads that share a CPU often wait briefly: their turns are long without a gap.
                let ran_or_waited = worked.user_ns + worked.system_ns + worked.waited_ns;
                let gap = turn.saturating_sub(ran_or_waited).saturating_add(overslept);
                if gap >= GAP {
                    self.gap(gap);
                } else {
                    // A thread that is woken late also waits for a CPU.
                    self.pause(turn.saturating_add(overslept).saturating_sub(ran_or_waited));
                }
            }
        }
    }

    /// Counts a gap between [`PAUSE`] and [`GAP`] that ends now.
    #[cold]
    fn pause(&mut self, length: Time) {
        let thread = &mut self.thread;
        if length >= PAUSE && matches!(thread.progress.phase, RunPhase::Running | RunPhase::Draining { .. }) {
            thread.recorder.paused(length, thread.turn.now);
        }
    }

    /// Counts a gap that ends now, if it has at least [`GAP`].
    #[cold]
    pub(super) fn gap(&mut self, length: Time) {
        let thread = &mut self.thread;
        if length >= GAP && matches!(thread.progress.phase, RunPhase::Running | RunPhase::Draining { .. }) {
            thread.recorder.stalled(length, thread.turn.now);
            thread.hold.stalled(length);
        }
    }
}
