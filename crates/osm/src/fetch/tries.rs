//! Timeouts and retries.

use std::time::{Duration, Instant};

use spec::Error;

use super::error::may_pass;
use super::watch::{FetchEvent, FetchObserver};

/// How often the caller is asked whether to stop.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// More new bytes than this restart the count of tries.
const WORTH_TRYING: u64 = 1 << 20;

/// Timeouts of a server, and retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchTimeouts {
    pub connect: Duration,
    /// While nothing arrives.
    pub silence: Duration,
    /// Tries without progress, at least 1.
    pub tries: u32,
    /// Before the second try; it doubles with each further try.
    pub pause: Duration,
}

impl Default for FetchTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(30), silence: seconds(30), tries: 5, pause: seconds(1) }
    }
}

pub(super) struct Tries<'a> {
    timeouts: &'a FetchTimeouts,
    failed: u32,
    furthest: u64,
}

impl<'a> Tries<'a> {
    /// Starts with `bytes` of the file.
    pub(super) fn new(timeouts: &'a FetchTimeouts, bytes: u64) -> Self {
        Self { timeouts, failed: 0, furthest: bytes }
    }

    /// Waits before the next try; `bytes` have arrived by now.
    ///
    /// # Errors
    /// `cause`, when a retry is useless or there were enough.
    pub(super) fn again(
        &mut self,
        cause: Error,
        bytes: u64,
        watch: &mut dyn FetchObserver,
    ) -> Result<(), Error> {
        if bytes > self.furthest.saturating_add(WORTH_TRYING) {
            (self.failed, self.furthest) = (0, bytes);
        }
        self.failed += 1;
        if !may_pass(&cause) || self.failed >= self.timeouts.tries {
            return Err(cause);
        }
        let pause = self.timeouts.pause * 2_u32.saturating_pow(self.failed - 1).min(64);
        watch.event(FetchEvent::Again { cause: &cause, pause });
        wait(pause, watch)
    }
}

fn wait(pause: Duration, watch: &dyn FetchObserver) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        if watch.stops() {
            return Err(Error::stopped());
        }
        let left = pause.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(TICK));
    }
}
