//! What the caller of a run is told while it lasts.

use crate::client::Time;
use crate::measured::Second;

/// Told of a run's progress, on the thread that called [`crate::run()`].
///
/// `loading` comes first; `measuring` comes on time, so that snapshots can be taken then, and the last second of
/// warm-up may follow it. Seconds come in order. No call blocks the load: threads go on while an observer works.
pub trait Observer {
    /// All clients are set up and the load starts; `connecting` is how long that took, ns.
    fn loading(&mut self, connecting: Time) {
        let _ = connecting;
    }

    /// Warm-up is over: what happens from now on counts.
    fn measuring(&mut self) {}

    /// One second of load is over on all threads; its figures are merged over them.
    fn second(&mut self, second: &Second);
}

/// Observes nothing.
impl Observer for () {
    fn second(&mut self, _second: &Second) {}
}

/// Hears the seconds only.
impl<F: FnMut(&Second)> Observer for F {
    fn second(&mut self, second: &Second) {
        self(second);
    }
}
