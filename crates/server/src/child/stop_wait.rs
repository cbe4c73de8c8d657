//! Limits the wait for the end of a program once the user wants to stop.

use std::time::{Duration, Instant};

use crate::stop::Stop;

/// Longest wait for a program after Ctrl-C; then its watchdog ends it within 10 s.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Time between two checks of the stop switch.
pub(super) const SLICE: Duration = Duration::from_millis(50);

/// A wait for the end of a program.
#[derive(Debug)]
pub(super) struct StopWait {
    stop: Stop,
    start: Instant,
    /// Number of stop requests when the wait began.
    presses: u32,
}

impl StopWait {
    pub(super) fn begin(stop: &Stop) -> Self {
        Self { stop: stop.clone(), start: Instant::now(), presses: stop.presses() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether to leave the program to its watchdog: the user stopped and waited long enough, or pressed
    /// again.
    pub(super) fn is_over(&self) -> bool {
        let again = self.stop.presses() > self.presses;
        again || (self.stop.soon() && self.elapsed() >= TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_press_ends_the_wait_for_a_program() {
        let stop = Stop::new();
        let stop_wait = StopWait::begin(&stop);
        assert!(!stop_wait.is_over());
        stop.press();
        assert!(stop_wait.is_over());
        assert!(!StopWait::begin(&stop).is_over(), "the first press alone leaves it some time");
    }
}
