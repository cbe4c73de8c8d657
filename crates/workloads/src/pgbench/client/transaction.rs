//! The current transaction, and its tries.

use engine::{Failure, Io, Returned, Time, TransactionOutcome};

use crate::pgbench::prepare::PreparedScripts;

/// The open transaction, or the last one.
#[derive(Debug)]
pub(super) struct Transaction {
    /// It was begun and has not ended.
    pub(super) open: bool,
    /// Intended start.
    due: Time,
    /// When the slot was given; equal to `due` in closed load.
    slot: Time,
    pub(super) tries: u32,
    /// Kind of the failure that is being rolled back.
    pub(super) failure: Failure,
}

impl Transaction {
    /// The state before the first one.
    pub(super) fn none() -> Self {
        Self { open: false, due: 0, slot: 0, tries: 0, failure: Failure::Other }
    }

    pub(super) fn begin(&mut self, due: Time, now: Time) {
        (self.open, self.due, self.slot, self.tries) = (true, due, now, 1);
    }

    /// Its connection is open. In closed load it starts now: connecting is not part of its latency.
    pub(super) fn connected(&mut self, now: Time) {
        if self.due == self.slot {
            self.due = now;
        }
    }

    /// Time since its intended start, ns.
    pub(super) fn age(&self, now: Time) -> Time {
        now.saturating_sub(self.due)
    }

    pub(super) fn end(
        &mut self,
        script: usize,
        failure: Option<Failure>,
        returned: Returned,
    ) -> TransactionOutcome {
        self.open = false;
        TransactionOutcome { script: script as u16, failure, tries: self.tries, returned }
    }

    /// pgbench's rule: a try is left, the promised latency has not passed, and the run is not over.
    pub(super) fn may_retry(&self, program: &PreparedScripts, io: &Io<'_>) -> bool {
        let most = program.options.max_tries;
        let tries_left = most == 0 || self.tries < most;
        let in_time = program.options.promise().is_none_or(|promise| self.age(io.now) <= promise);
        self.failure != Failure::Other && tries_left && in_time && !io.stopping
    }
}

pub(super) fn failure_kind(sqlstate: &str) -> Failure {
    match sqlstate {
        "40001" => Failure::Serialization,
        "40P01" => Failure::Deadlock,
        _ => Failure::Other,
    }
}
