//! How long is waited, and how often something is tried again.

use std::time::{Duration, Instant};

use super::error::FetchError;
use super::watch::{Event, Watch};

/// How often somebody who wants to stop is asked.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// More of a file than this is worth all tries once more.
const WORTH_TRYING: u64 = 1 << 20;

/// How long is waited for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// While nothing comes.
    pub silence: Duration,
    /// Tries in a row of which none got further, from 1.
    pub tries: u32,
    /// Before the second try; each further pause is twice as long.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(30), silence: seconds(30), tries: 5, pause: seconds(1) }
    }
}

pub(super) struct Tries<'a> {
    patience: &'a Patience,
    failed: u32,
    furthest: u64,
}

impl<'a> Tries<'a> {
    /// None so far, with so many bytes there.
    pub(super) fn new(patience: &'a Patience, bytes: u64) -> Self {
        Self { patience, failed: 0, furthest: bytes }
    }

    /// Waits before the next try; `bytes` are there by now.
    ///
    /// # Errors
    /// `cause`, when it will not pass or it was tried often enough.
    pub(super) fn again(
        &mut self,
        cause: FetchError,
        bytes: u64,
        watch: &mut dyn Watch,
    ) -> Result<(), FetchError> {
        if bytes > self.furthest.saturating_add(WORTH_TRYING) {
            (self.failed, self.furthest) = (0, bytes);
        }
        self.failed += 1;
        if !cause.may_pass() || self.failed >= self.patience.tries {
            return Err(cause);
        }
        let pause = self.patience.pause * 2_u32.saturating_pow(self.failed - 1).min(64);
        watch.told(Event::Again { cause: &cause, pause });
        wait(pause, watch)
    }
}

fn wait(pause: Duration, watch: &dyn Watch) -> Result<(), FetchError> {
    let start = Instant::now();
    loop {
        if watch.stops() {
            return Err(FetchError::Stopped { kept: None });
        }
        let left = pause.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(TICK));
    }
}
