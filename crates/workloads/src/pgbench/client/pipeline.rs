//! `\startpipeline`, `\syncpipeline`, `\endpipeline`.
//!
//! A pipeline's messages are held back until its end, or until there are many bytes, as in libpq.

use std::collections::VecDeque;

/// Bytes from which on libpq sends them.
const HELD_BACK: usize = 65_536;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PipelineStage {
    #[default]
    Off,
    /// Statements are sent without waiting for their results.
    Open,
    /// Waiting for its results.
    Ending,
}

/// A client's pipeline, in reused memory.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    stage: PipelineStage,
    /// Messages to send.
    pub(super) held: Vec<u8>,
    /// Numbers of its statements without a result yet, oldest first.
    sent: VecDeque<usize>,
}

impl Pipeline {
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.stage == PipelineStage::Off
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.stage == PipelineStage::Open
    }

    pub(super) fn open(&mut self) {
        self.clear();
        self.stage = PipelineStage::Open;
    }

    /// All was sent; its results are expected.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.stage = PipelineStage::Ending;
        self.send(out);
    }

    /// Ends it; messages held back may still be sent.
    pub(super) fn close(&mut self) {
        self.stage = PipelineStage::Off;
    }

    /// Ends it and drops everything.
    pub(super) fn clear(&mut self) {
        self.stage = PipelineStage::Off;
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

    pub(super) fn result(&mut self) {
        self.sent.pop_front();
    }
}
