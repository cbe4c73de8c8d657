//! What the caller of a run is told while it lasts.

use std::time::SystemTime;

use crate::client::Abort;
use crate::client::{Failure, Level, Time};
use crate::measured::Second;

/// Told of a run's progress, on its caller's thread.
///
/// `began` comes first, then `loading`; `measuring` comes on time, so that snapshots can be taken then, and the last second of
/// warm-up may follow it. Seconds come in order. No call blocks the load: threads go on while an observer works.
pub trait Observer {
    /// The run begins: the wall clock at time 0 of the run's clock.
    fn began(&mut self, epoch: SystemTime) {
        let _ = epoch;
    }

    /// All clients are set up and the load starts; `connecting` is how long that took, ns.
    fn loading(&mut self, connecting: Time) {
        let _ = connecting;
    }

    /// Warm-up is over: what happens from now on counts.
    fn measuring(&mut self) {}

    /// A client said something.
    fn message(&mut self, message: &Message) {
        let _ = message;
    }

    /// A client gave up, after the load started.
    fn aborted(&mut self, abort: &Abort) {
        let _ = abort;
    }

    /// The run is over since 5 s, and so many clients still wait for the end of a transaction; told once.
    fn waiting(&mut self, clients: usize) {
        let _ = clients;
    }

    /// Transactions of the measured part on one thread, in the order they ended; see [`crate::Plan::transactions`].
    fn transactions(&mut self, thread: usize, entries: &[Entry]) {
        let _ = (thread, entries);
    }

    /// One second of load is over on all threads; its figures are merged over them.
    fn second(&mut self, second: &Second);
}

/// Observes nothing.
impl Observer for () {
    fn second(&mut self, _second: &Second) {}
}

/// Hears the seconds only.
impl<F: FnMut(&Second)> Observer for F {
    fn second(&mut self, second: &Second) {
        self(second);
    }
}

/// How a transaction of the log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEnd {
    /// Well.
    Succeeded,
    /// After its last try.
    Failed(Failure),
    /// It was never started, since its promise was broken already.
    Skipped,
}

/// One transaction of the measured part; see [`crate::Plan::transactions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the client in the whole run, from 0.
    pub client: u32,
    pub script: u16,
    pub end: EntryEnd,
    /// How often it was tried; 0 for a skipped one.
    pub tries: u32,
    /// Intended start.
    pub due: Time,
    /// Actual start; the time of the decision for a skipped one.
    pub started: Time,
    /// End, alike.
    pub ended: Time,
}

/// What a client said, with [`crate::Io::say`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Number of the client in the whole run, from 0.
    pub client: usize,
    pub level: Level,
    /// One or several lines, without the last line's end.
    pub text: String,
}
