//! Ending what pgdyno does from outside: once while something is measured lets it come to its end, and at any other
//! time, or a second time, ends everything at once.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// The switch that this process's signals press.
static OF_PROCESS: LazyLock<Stop> = LazyLock::new(Stop::new);

/// A switch pressed by Ctrl-C.
///
/// How many presses end what is waited for depends on what is going on: one, unless a run is being measured
/// ([`Stop::measuring`]) or things are being put in order at the end ([`Stop::concluding`]). Clones share the switch.
/// Pressing it is safe in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    state: Arc<State>,
    at_once: Arc<AtomicBool>,
}

#[derive(Debug)]
struct State {
    presses: AtomicU32,
    /// So many presses end what is waited for.
    heeded: AtomicU32,
}

impl Default for State {
    fn default() -> Self {
        Self { presses: AtomicU32::new(0), heeded: AtomicU32::new(1) }
    }
}

impl Stop {
    /// A switch not yet pressed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The switch of this process: its signals press it, and its control connections heed it unless they are told of
    /// another one.
    #[must_use]
    pub fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// Presses the switch; answers how often it was pressed, this time included.
    pub fn press(&self) -> u32 {
        let presses = self.state.presses.fetch_add(1, Ordering::SeqCst) + 1;
        if presses >= self.state.heeded.load(Ordering::SeqCst) {
            self.at_once.store(true, Ordering::SeqCst);
        }
        presses
    }

    /// How often it was pressed.
    #[must_use]
    pub fn presses(&self) -> u32 {
        self.state.presses.load(Ordering::SeqCst)
    }

    /// Whether nothing new shall be started; what is measured may end.
    #[must_use]
    pub fn soon(&self) -> bool {
        self.presses() >= 1
    }

    /// Whether what runs shall be given up.
    #[must_use]
    pub fn at_once(&self) -> bool {
        self.at_once.load(Ordering::SeqCst)
    }

    /// Whether nothing shall be waited for any more.
    #[must_use]
    pub fn ends_waits(&self) -> bool {
        self.presses() >= self.state.heeded.load(Ordering::SeqCst)
    }

    /// While the guard lives something is measured: one press lets it come to its end, only a second one ends it.
    #[must_use]
    pub fn measuring(&self) -> Heeded {
        self.heed(2)
    }

    /// While the guard lives things are put in order: presses so far no longer end waits, only a further one does.
    #[must_use]
    pub fn concluding(&self) -> Heeded {
        self.heed(self.presses() + 1)
    }

    /// The flag that is set once what runs shall be given up, for others than us.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.at_once)
    }

    fn heed(&self, presses: u32) -> Heeded {
        let before = self.state.heeded.fetch_max(presses, Ordering::SeqCst);
        Heeded { stop: self.clone(), before }
    }
}

/// A stretch of time in which more presses are needed; dropping it ends it.
#[derive(Debug)]
pub struct Heeded {
    stop: Stop,
    before: u32,
}

impl Drop for Heeded {
    fn drop(&mut self) {
        self.stop.state.heeded.store(self.before, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_press_ends_waits_unless_something_is_measured() {
        let stop = Stop::new();
        assert!(!stop.soon() && !stop.at_once() && !stop.ends_waits());
        assert_eq!(stop.clone().press(), 1);
        assert!(stop.soon() && stop.at_once() && stop.ends_waits());
    }

    #[test]
    fn while_measuring_the_second_press_stops_at_once() {
        let stop = Stop::new();
        let measuring = stop.measuring();
        assert_eq!(stop.press(), 1);
        assert!(stop.soon() && !stop.at_once() && !stop.ends_waits());
        assert_eq!(stop.press(), 2);
        assert!(stop.at_once() && stop.ends_waits());
        drop(measuring);

        let stop = Stop::new();
        let measuring = stop.measuring();
        stop.press();
        drop(measuring);
        assert!(stop.ends_waits() && !stop.at_once(), "what came to its end is followed by no further wait");
    }

    #[test]
    fn things_can_be_put_in_order_after_a_press() {
        let stop = Stop::new();
        stop.press();
        stop.press();
        let concluding = stop.concluding();
        assert!(!stop.ends_waits());
        stop.press();
        assert!(stop.ends_waits());
        drop(concluding);
        assert!(stop.ends_waits());
    }
}
