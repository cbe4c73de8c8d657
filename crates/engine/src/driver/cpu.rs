//! CPU time of a thread.

/// CPU time that a thread has used, ns, and how often it lost its CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// Time in which it was runnable and others had the CPU, ns; 0 where the system does not report it.
    pub(crate) waited_ns: u64,
}

impl Cpu {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a struct of the type the call fills; all-zero bytes are a valid value of it.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        Self {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            waited_ns: waited_ns(),
        }
    }

    /// CPU time of the calling thread so far. Systems without per-thread usage do not separate user and
    /// system time; all of it is user time.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_this_thread() -> Self {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Self { user_ns: used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64, system_ns: 0, waited_ns: 0 }
    }
}

/// The second figure of the thread's `schedstat` (proc(5)). The file is opened once for each thread: it is read every 20 ms.
#[cfg(target_os = "linux")]
fn waited_ns() -> u64 {
    use std::os::unix::fs::FileExt;

    thread_local! {
        static SCHEDSTAT: Option<std::fs::File> = std::fs::File::open("/proc/thread-self/schedstat").ok();
    }
    let read = |file: &Option<std::fs::File>| {
        let mut text = [0; 80];
        let length = file.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split(' ').nth(1)?.parse().ok()
    };
    SCHEDSTAT.with(read).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
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
