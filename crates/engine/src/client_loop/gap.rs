//! Gaps: times in which the thread did not run although it had to.
//!
//! A wait has a latest end, and a turn is as long as its work. What goes beyond both is time in which the generator stood
//! still: it was stopped, it had no CPU, or its whole machine was paused. The clock alone shows it. A server that does not answer
//! makes no gap, since the wait for it ends in time.

use super::ClientLoop;
use super::progress::Phase;
use crate::client::Time;
use crate::driver::{Cpu, Driver};

/// Shorter gaps are not counted, ns. Where ten busy threads share a CPU, the kernel lets each wait for tens of ms, rarely for more
/// than 100 ms. A CPU quota holds a thread back for most of its period of 100 ms. Such waits are everyday, and show in
/// other figures.
pub const GAP: Time = 200_000_000;

/// Gaps from this length on are added up by themselves, ns: one is everyday, and many of them are a generator that runs for a
/// part of the time only.
pub const PAUSE: Time = 50_000_000;

/// How long a thread sleeps at most under load, ns: a gap that begins while it sleeps is reported shorter by this at most.
pub(super) const LOOK: Time = 20_000_000;

/// The CPU time of the thread when it was last read.
#[derive(Debug, Default)]
pub(super) struct CpuReading {
    cpu: Cpu,
    at: Time,
}

impl<D: Driver> ClientLoop<D> {
    /// Looks for a gap at the beginning of a turn. The turn before it took `turn`, and the wait between them ended
    /// `overslept` later than it was to end; both in ns.
    #[inline]
    pub(super) fn look_for_gap(&mut self, turn: Time, overslept: Time) {
        let now = self.thread.turn.now;
        let is_long = turn.saturating_add(overslept) >= PAUSE;
        if is_long || now.saturating_sub(self.reading.at) >= LOOK {
            let cpu = self.driver.cpu();
            let worked = cpu.since(std::mem::replace(&mut self.reading, CpuReading { cpu, at: now }).cpu);
            if is_long {
                // Threads that share a CPU wait many times for a short while: their turns are long, and have no gap.
                let ran_or_waited = worked.user_ns + worked.system_ns + worked.waited_ns;
                let gap = turn.saturating_sub(ran_or_waited).saturating_add(overslept);
                if gap >= GAP {
                    self.gap(gap);
                } else {
                    // A thread that is woken late waits for a CPU, too.
                    self.pause(turn.saturating_add(overslept).saturating_sub(ran_or_waited));
                }
            }
        }
    }

    /// Counts a short gap that ends now, if it is long enough.
    #[cold]
    fn pause(&mut self, length: Time) {
        let thread = &mut self.thread;
        if length >= PAUSE && matches!(thread.progress.phase, Phase::Running | Phase::Draining { .. }) {
            thread.recorder.paused(length, thread.turn.now);
        }
    }

    /// Counts a gap that ends now, if it is long enough.
    #[cold]
    pub(super) fn gap(&mut self, length: Time) {
        let thread = &mut self.thread;
        if length >= GAP && matches!(thread.progress.phase, Phase::Running | Phase::Draining { .. }) {
            thread.recorder.stalled(length, thread.turn.now);
            thread.hold.stalled(length);
        }
    }
}
