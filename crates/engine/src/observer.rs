//! What the caller of a run learns while it lasts.

use std::time::SystemTime;

use spec::Error;

use crate::client::Abort;
use crate::client::{Failure, MessageLevel, Time};
use crate::measured::Second;

/// Receives a run's progress, on its caller's thread.
///
/// `began` comes first, then `loading`. `measuring` comes on time, so that the observer can take snapshots;
/// the last second of warm-up may follow it. Seconds come in order. No call blocks the load: threads continue
/// while an observer works.
pub trait Observer {
    /// The run begins; `epoch` is the wall clock at time 0 of the run's clock.
    fn began(&mut self, epoch: SystemTime) {
        let _ = epoch;
    }

    /// All clients are set up and wait. The load starts when this returns: only here may an observer make it wait, for
    /// the other parts of a load.
    ///
    /// # Errors
    /// Why the load must not start; the run ends with it.
    fn ready(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The load starts; setting up all clients took `connecting` ns.
    fn loading(&mut self, connecting: Time) {
        let _ = connecting;
    }

    /// Warm-up is over.
    fn measuring(&mut self) {}

    /// The measured part ends in a moment, and all clients are still connected. Not called in a run without a
    /// planned end, or when it ends earlier.
    fn ending(&mut self) {}

    fn message(&mut self, message: &ClientMessage) {
        let _ = message;
    }

    /// A client gave up after the load started.
    fn aborted(&mut self, abort: &Abort) {
        let _ = abort;
    }

    /// 5 s after the end, `clients` transactions are still open; called once.
    fn waiting(&mut self, clients: usize) {
        let _ = clients;
    }

    /// Transactions of the measured part of one thread, in the order they ended; see
    /// [`crate::RunPlan::transactions`].
    fn transactions(&mut self, thread: usize, entries: &[TransactionEntry]) {
        let _ = (thread, entries);
    }

    /// One second of load, merged over all threads.
    fn second(&mut self, second: &Second);
}

impl Observer for () {
    fn second(&mut self, _second: &Second) {}
}

impl<F: FnMut(&Second)> Observer for F {
    fn second(&mut self, second: &Second) {
        self(second);
    }
}

/// How a transaction of the log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEnd {
    Succeeded,
    /// After its last try.
    Failed(Failure),
    /// It was never started, since its promise was broken already.
    Skipped,
}

/// One transaction of the measured part; see [`crate::RunPlan::transactions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionEntry {
    pub client: u32,
    pub script: u16,
    pub end: EntryEnd,
    /// Number of tries; 0 for a skipped one.
    pub tries: u32,
    /// Intended start.
    pub due: Time,
    /// Actual start; the time of the decision for a skipped one.
    pub started: Time,
    /// Actual end; the time of the decision for a skipped one.
    pub ended: Time,
}

/// A message of a client; see [`crate::Io::say`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientMessage {
    pub client: usize,
    pub level: MessageLevel,
    /// One or several lines, without the last line break.
    pub text: String,
}
