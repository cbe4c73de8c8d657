//! Stops pgdyno from outside: during a measurement the first stop lets the run end; at any other time, or the
//! second time, everything ends at once.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// Pressed by this process's signals.
static OF_PROCESS: LazyLock<Stop> = LazyLock::new(Stop::new);

/// A switch pressed by Ctrl-C.
///
/// How many presses end a wait depends on the phase: one, unless a run is being measured
/// ([`Stop::measuring`]) or the end is being cleaned up ([`Stop::concluding`]). Clones share the switch.
/// Pressing it is safe in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    state: Arc<StopState>,
    at_once: Arc<AtomicBool>,
}

#[derive(Debug)]
struct StopState {
    presses: AtomicU32,
    /// Number of presses that end waits.
    needed: AtomicU32,
}

impl Default for StopState {
    fn default() -> Self {
        Self { presses: AtomicU32::new(0), needed: AtomicU32::new(1) }
    }
}

impl Stop {
    /// A switch not yet pressed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The switch of this process: its signals press it, and its control connections use it by default.
    #[must_use]
    pub fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// Presses the switch; returns the number of presses, including this one.
    pub fn press(&self) -> u32 {
        let presses = self.state.presses.fetch_add(1, Ordering::SeqCst) + 1;
        if presses >= self.state.needed.load(Ordering::SeqCst) {
            self.at_once.store(true, Ordering::SeqCst);
        }
        presses
    }

    /// How often it was pressed.
    #[must_use]
    pub fn presses(&self) -> u32 {
        self.state.presses.load(Ordering::SeqCst)
    }

    /// Whether nothing new may be started; a running measurement may end.
    #[must_use]
    pub fn soon(&self) -> bool {
        self.presses() >= 1
    }

    /// Whether running work must be given up.
    #[must_use]
    pub fn at_once(&self) -> bool {
        self.at_once.load(Ordering::SeqCst)
    }

    /// Whether every wait must end.
    #[must_use]
    pub fn ends_waits(&self) -> bool {
        self.presses() >= self.state.needed.load(Ordering::SeqCst)
    }

    /// While the guard lives, a measurement runs: the first press lets it end, and only a second one stops
    /// it.
    #[must_use]
    pub fn measuring(&self) -> StopPhase {
        self.begin_phase(2)
    }

    /// While the guard lives, clean-up runs: earlier presses no longer end waits, only a further one does.
    #[must_use]
    pub fn concluding(&self) -> StopPhase {
        self.begin_phase(self.presses() + 1)
    }

    /// A flag for other crates that is set once running work must be given up.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.at_once)
    }

    fn begin_phase(&self, presses: u32) -> StopPhase {
        let before = self.state.needed.fetch_max(presses, Ordering::SeqCst);
        StopPhase { stop: self.clone(), before }
    }
}

/// A phase in which more presses are needed; dropping it ends the phase.
#[derive(Debug)]
pub struct StopPhase {
    stop: Stop,
    before: u32,
}

impl Drop for StopPhase {
    fn drop(&mut self) {
        self.stop.state.needed.store(self.before, Ordering::SeqCst);
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
