//! What leaves a load thread while it runs: its clients' words, and a record of each transaction if wanted.
//!
//! Records go in batches whose memory comes back. A thread has a bounded number of batches under way; when the caller's
//! thread is that far behind, the load thread waits for it: nothing is lost, and memory stays bounded.

use std::sync::mpsc::{Receiver, Sender};

use crate::control::{Batch, Report, Said};
use crate::observer::Entry;

/// Records of a full batch.
const FULL: usize = 1024;
/// Bytes of messages with which a batch is full.
const FULL_BYTES: usize = 64 * 1024;

/// A thread's end of it.
pub(crate) struct Outbox {
    thread: usize,
    batch: Box<Batch>,
    /// Bytes of the messages in it.
    said_bytes: usize,
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
        Self { thread, batch: Box::default(), said_bytes: 0, allowance, reports, returned }
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
        if let Said::Message(message) = &said {
            self.said_bytes += message.text.len();
        }
        self.batch.said.push(said);
        if self.batch.said.len() >= FULL || self.said_bytes >= FULL_BYTES {
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
        self.said_bytes = 0;
        let _ = self.reports.send(Report::Batch { thread: self.thread, batch });
    }
}
