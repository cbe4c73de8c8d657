//! `\startpipeline`, `\syncpipeline`, `\endpipeline`.
//!
//! What a pipeline sends is held back until its end, or until there is much of it, as libpq does.

use std::collections::VecDeque;

/// Bytes from which on libpq sends what it holds back.
const HELD_BACK: usize = 65_536;

/// Where a client is with a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// There is none.
    #[default]
    Off,
    /// Statements are sent without waiting for their results.
    Open,
    /// Its results are waited for.
    Ending,
}

/// A client's pipeline, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    stage: Stage,
    /// What it has to send.
    pub(super) held: Vec<u8>,
    /// Numbers of its statements without a result yet, oldest first.
    sent: VecDeque<usize>,
}

impl Pipeline {
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.stage == Stage::Off
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    pub(super) fn open(&mut self) {
        self.clear();
        self.stage = Stage::Open;
    }

    /// All was sent; its results are waited for.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.stage = Stage::Ending;
        self.send(out);
    }

    /// It is over; what is held back may be sent yet.
    pub(super) fn close(&mut self) {
        self.stage = Stage::Off;
    }

    /// It is over, and nothing of it is left.
    pub(super) fn clear(&mut self) {
        self.stage = Stage::Off;
        self.held.clear();
        self.sent.clear();
    }

    pub(super) fn add(&mut self, statement: usize, out: &mut Vec<u8>) {
        self.sent.push_back(statement);
        if self.held.len() >= HELD_BACK {
            self.send(out);
        }
    }

    /// Sends what is held back.
    pub(super) fn send(&mut self, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            out.append(&mut self.held);
        }
    }

    /// The statement whose result comes next.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.sent.front().copied()
    }

    /// A result came; the next one is waited for.
    pub(super) fn result(&mut self) {
        self.sent.pop_front();
    }
}
