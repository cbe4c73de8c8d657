//! What the clients of one thread share.

use std::collections::VecDeque;
use std::sync::Arc;

use spec::Error;

use super::hold::Hold;
use super::progress::RunProgress;
use super::timers::Timers;
use super::turn::Turn;
use crate::client::{Notes, Time};
use crate::driver::Clock;
use crate::plan::Pace;
use crate::recorder::Recorder;
use crate::wake::WakeQueue;

/// What the clients of one thread share.
pub(super) struct Thread<C: Clock> {
    pub(super) turn: Turn<C>,
    pub(super) progress: RunProgress,
    pub(super) pace: Pace,
    pub(super) timers: Timers,
    pub(super) runnable: VecDeque<usize>,
    pub(super) recorder: Recorder,
    pub(super) tally: Tally,
    pub(super) hold: Hold,
    pub(super) lent: Lent,
    pub(super) failure: Option<Error>,
}

/// Number of the thread's clients in each state.
pub(super) struct Tally {
    pub(super) clients: usize,
    /// Not ready yet for the first time.
    pub(super) unsettled: usize,
    pub(super) busy: usize,
    pub(super) over: usize,
    pub(super) over_since: Time,
}

impl Tally {
    pub(super) fn all_over(&self) -> bool {
        self.over == self.clients
    }
}

/// Buffers lent to a client while it is served; empty afterwards.
pub(super) struct Lent {
    pub(super) outs: Vec<Vec<u8>>,
    pub(super) notes: Notes,
    pub(super) wakes: Arc<WakeQueue>,
    /// Plain text of a TLS read.
    pub(super) plain: Vec<u8>,
}

impl<C: Clock> Thread<C> {
    /// When the next arrival is due, if a free client waits for it.
    pub(super) fn next_due(&self) -> Time {
        match self.pace.open() {
            Some(open) if !open.free.is_empty() && self.progress.starts(open.peek()) => open.peek(),
            _ => Time::MAX,
        }
    }

    /// Whether nothing is open, and nothing waits that could still be started.
    pub(super) fn is_drained(&self) -> bool {
        let waits =
            self.pace.open().is_some_and(|open| self.progress.starts(open.peek()) && !self.tally.all_over());
        self.tally.busy == 0 && !waits
    }
}
