//! Ending an experiment from outside, in two steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A switch with two positions, pressed by Ctrl-C: once to stop after the current run, twice to stop at once.
///
/// Clones share the switch. Pressing it is safe in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    presses: Arc<AtomicU32>,
    engine: engine::Stop,
}

impl Stop {
    /// A switch not yet pressed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Presses the switch; answers how often it was pressed, this time included.
    pub fn press(&self) -> u32 {
        let presses = self.presses.fetch_add(1, Ordering::SeqCst) + 1;
        if presses >= 2 {
            self.engine.set();
        }
        presses
    }

    /// Whether nothing new shall be started; what runs may end.
    #[must_use]
    pub fn soon(&self) -> bool {
        self.presses.load(Ordering::SeqCst) >= 1
    }

    /// Whether what runs shall be given up.
    #[must_use]
    pub fn at_once(&self) -> bool {
        self.engine.is_set()
    }

    /// The engine's switch, set by the second press.
    #[must_use]
    pub fn engine(&self) -> &engine::Stop {
        &self.engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_press_stops_at_once() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!stop.soon() && !stop.at_once());
        assert_eq!(other.press(), 1);
        assert!(stop.soon() && !stop.at_once());
        assert_eq!(other.press(), 2);
        assert!(stop.at_once() && stop.engine().is_set());
    }
}
