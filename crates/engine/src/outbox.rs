//! What leaves a load thread while it runs: its clients' words, and a record of each transaction if wanted.
//!
//! Records go in batches whose memory comes back. A thread has a bounded number of batches under way; when the caller's
//! thread is that far behind, the load thread waits for it: nothing is lost, and memory stays bounded.

use std::sync::mpsc::{Receiver, Sender};

use crate::client::{Failure, Level, Time};
use crate::control::Report;
use crate::measured::Abort;

/// Batches of one thread that may be under way.
pub(crate) const BATCHES: usize = 64;
/// Records of a full batch.
const FULL: usize = 1024;

/// How a transaction of the log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEnd {
    /// Well.
    Succeeded,
    /// After its last try.
    Failed(Failure),
    /// It was never started, since its limit had passed.
    Skipped,
}

/// One transaction of the measured part; see [`crate::Plan::transactions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the client in the whole run, from 0.
    pub client: u32,
    /// Its script.
    pub script: u16,
    /// How it ended.
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
    /// What kind of message it is.
    pub level: Level,
    /// One or several lines, without the last line's end.
    pub text: String,
}

/// What becomes known of a client.
#[derive(Debug)]
pub(crate) enum Said {
    Message(Message),
    /// Its last words.
    Abort(Abort),
    /// It lost a connection and wants it back.
    Left {
        client: usize,
        at: Time,
    },
    /// It goes on, or nobody waits for it any more.
    Back {
        client: usize,
        at: Time,
    },
}

/// What is handed over at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    pub(crate) said: Vec<Said>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.said.is_empty()
    }
}

/// A thread's end of it.
pub(crate) struct Outbox {
    thread: usize,
    batch: Box<Batch>,
    /// Batches that may still be made.
    allowance: usize,
    reports: Sender<Report>,
    returned: Receiver<Box<Batch>>,
}

impl Outbox {
    pub(crate) fn new(
        thread: usize,
        allowance: usize,
        reports: Sender<Report>,
        returned: Receiver<Box<Batch>>,
    ) -> Self {
        Self { thread, batch: Box::default(), allowance, reports, returned }
    }

    /// Keeps the record of a transaction.
    #[inline]
    pub(crate) fn entry(&mut self, entry: Entry) {
        self.batch.entries.push(entry);
        if self.batch.entries.len() >= FULL {
            self.flush();
        }
    }

    /// Keeps what a client said.
    pub(crate) fn say(&mut self, said: Said) {
        self.batch.said.push(said);
        if self.batch.said.len() >= FULL {
            self.flush();
        }
    }

    /// Hands over what clients said, so that it is read while it is new.
    #[inline]
    pub(crate) fn speak(&mut self) {
        if !self.batch.said.is_empty() {
            self.flush();
        }
    }

    /// Hands over all there is.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let next = match self.returned.try_recv() {
            Ok(returned) => returned,
            Err(_) if self.allowance > 0 => {
                self.allowance -= 1;
                Box::default()
            }
            // All are under way; a caller that is gone gives none back.
            Err(_) => self.returned.recv().unwrap_or_default(),
        };
        let batch = std::mem::replace(&mut self.batch, next);
        let _ = self.reports.send(Report::Batch { thread: self.thread, batch });
    }
}
