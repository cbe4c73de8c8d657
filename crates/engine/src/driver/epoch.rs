//! The clock of both drivers: the system's monotonic one.

use rustix::time::{ClockId, clock_gettime};

use super::Clock;
use crate::client::Time;

/// Time 0 of the run's clock; the same for all threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch(u64);

impl Epoch {
    pub(crate) fn start() -> Self {
        Self(monotonic())
    }

    /// A time of the run on the system's monotonic clock, ns.
    pub(super) fn monotonic(self, at: Time) -> u64 {
        self.0.saturating_add(at)
    }
}

impl Clock for Epoch {
    #[inline]
    fn now(&self) -> Time {
        monotonic() - self.0
    }
}

/// ns on a clock that includes the time the machine sleeps, where the system has one.
pub(crate) fn with_sleep() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    nanoseconds(clock)
}

#[inline]
fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

#[inline]
fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Makes timers of the calling thread as precise as the system allows.
#[cfg(target_os = "linux")]
pub(super) fn set_timer_slack() {
    // Without permission, timers fire up to 50 us late; the recorded lateness shows it.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
