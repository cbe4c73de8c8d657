//! What the engine itself costs: CPU of its threads, and how punctual they are.

use stats::Histogram;

use crate::client::Time;
use crate::measured::OwnCost;

/// CPU a thread has used, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl Cpu {
    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }

    /// What the calling thread has used so far.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a struct of the type the call fills; all-zero bytes are a valid value of it.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        Self { user_ns: nanoseconds(usage.ru_utime), system_ns: nanoseconds(usage.ru_stime) }
    }

    /// What the calling thread has used so far; systems without per-thread usage do not tell user and system apart,
    /// and all is given as user time.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_this_thread() -> Self {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Self { user_ns: used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64, system_ns: 0 }
    }
}

#[cfg(target_os = "linux")]
fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// One thread's share of [`OwnCost`].
#[derive(Debug, Default)]
pub(crate) struct ThreadCost {
    pub(crate) cpu: Cpu,
    /// Length of the measured part, ns.
    pub(crate) measured: Time,
    pub(crate) timer_lateness: Histogram,
    pub(crate) turn: Histogram,
    pub(crate) start_lag: Histogram,
}

impl ThreadCost {
    /// Adds this thread's share.
    pub(crate) fn merge_into(&self, own: &mut OwnCost) {
        own.user_ns += self.cpu.user_ns;
        own.system_ns += self.cpu.system_ns;
        if self.measured > 0 {
            let share = (self.cpu.user_ns + self.cpu.system_ns) as f64 / self.measured as f64;
            own.busiest_thread = own.busiest_thread.max(share.min(1.0));
        }
        own.timer_lateness.add(&self.timer_lateness);
        own.turn.add(&self.turn);
        own.start_lag.add(&self.start_lag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_as_cpu_of_this_thread() {
        let before = Cpu::of_this_thread();
        let mut sum = 0u64;
        for k in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(k));
        }
        let used = Cpu::of_this_thread().since(before);
        assert!(used.user_ns + used.system_ns > 1_000_000, "{used:?} {sum}");
    }
}
