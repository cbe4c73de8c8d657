//! What leaves a load thread while it runs: its clients' notices, and a record of each transaction if wanted.
//!
//! Records go in batches whose memory comes back. A thread has a bounded number of batches under way. When
//! the caller's thread is that far behind, the load thread waits for it: nothing is lost, and memory stays
//! bounded.

use std::sync::mpsc::{Receiver, Sender};

use crate::control::{Batch, Notice, ThreadReport};
use crate::observer::TransactionEntry;

const FULL: usize = 1024;
const FULL_BYTES: usize = 64 * 1024;

pub(crate) struct Outbox {
    thread: usize,
    batch: Box<Batch>,
    /// Bytes of the messages in `batch`.
    message_bytes: usize,
    /// Batches that may still be allocated.
    allowance: usize,
    reports: Sender<ThreadReport>,
    returned: Receiver<Box<Batch>>,
}

impl Outbox {
    pub(crate) fn new(
        thread: usize,
        allowance: usize,
        reports: Sender<ThreadReport>,
        returned: Receiver<Box<Batch>>,
    ) -> Self {
        Self { thread, batch: Box::default(), message_bytes: 0, allowance, reports, returned }
    }

    #[inline]
    pub(crate) fn push_entry(&mut self, entry: TransactionEntry) {
        self.batch.entries.push(entry);
        if self.batch.entries.len() >= FULL {
            self.flush();
        }
    }

    pub(crate) fn say(&mut self, said: Notice) {
        if let Notice::Message(message) = &said {
            self.message_bytes += message.text.len();
        }
        self.batch.said.push(said);
        if self.batch.said.len() >= FULL || self.message_bytes >= FULL_BYTES {
            self.flush();
        }
    }

    /// Hands over notices at once, so that the observer sees them while they are new.
    #[inline]
    pub(crate) fn send_notices(&mut self) {
        if !self.batch.said.is_empty() {
            self.flush();
        }
    }

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
            // All batches are under way; a caller that is gone returns none.
            Err(_) => self.returned.recv().unwrap_or_default(),
        };
        let batch = std::mem::replace(&mut self.batch, next);
        self.message_bytes = 0;
        let _ = self.reports.send(ThreadReport::Batch { thread: self.thread, batch });
    }
}
