//! How long the end of a program is waited for once the user wants to stop.

use std::time::{Duration, Instant};

use crate::stop::Stop;

/// Longest wait for a program to stop after Ctrl-C; then it is left to its watchdog, which ends it within 10 s.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at the wish to stop.
pub(super) const SLICE: Duration = Duration::from_millis(50);

/// A wait for the end of a program.
#[derive(Debug)]
pub(super) struct Parting {
    stop: Stop,
    start: Instant,
    /// Presses when the wait began.
    presses: u32,
}

impl Parting {
    pub(super) fn begin(stop: &Stop) -> Self {
        Self { stop: stop.clone(), start: Instant::now(), presses: stop.presses() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether the program is to be left to its watchdog: the user stopped, and waited long enough or pressed again.
    pub(super) fn is_over(&self) -> bool {
        let again = self.stop.presses() > self.presses;
        again || (self.stop.soon() && self.elapsed() >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_press_ends_the_wait_for_a_program() {
        let stop = Stop::new();
        let parting = Parting::begin(&stop);
        assert!(!parting.is_over());
        stop.press();
        assert!(parting.is_over());
        assert!(!Parting::begin(&stop).is_over(), "the first press alone leaves it some time");
    }
}
