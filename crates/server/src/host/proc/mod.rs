//! The kernel's view of the machine and its processes: from `/proc` on Linux, nothing on other systems.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;

pub(super) use system::{
    child_pids, children, cpu_ns, cpu_ticks, disk_bytes, pressure_us, private_bytes, title,
};
pub(crate) use system::{process, processes, signal_with_variable};

/// Whether a process of this pid exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Some(raw) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    let exists = match rustix::process::test_kill_process(raw) {
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    };
    exists && !process(pid).is_some_and(|process| process.is_zombie())
}

/// CPU time of the whole machine since boot, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CpuTicks {
    /// All states together.
    pub(super) total: u64,
    /// Idle and waiting for I/O.
    pub(super) idle: u64,
    pub(super) iowait: u64,
    /// Taken by the hypervisor for other guests.
    pub(super) steal: u64,
    /// Used by programs and by the kernel for them, without interrupts and steal.
    pub(super) programs: u64,
}

impl CpuTicks {
    /// Parses the text of any machine's `/proc/stat`. Guest time is already part of user and nice.
    pub(super) fn read(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let at = |place: usize| ticks.get(place).copied().unwrap_or(0);
        let iowait = at(4);
        (ticks.len() >= 4).then(|| Self {
            total: ticks.iter().sum(),
            idle: at(3) + iowait,
            iowait,
            steal: at(7),
            programs: at(0) + at(1) + at(2),
        })
    }
}

/// A snapshot of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// Of its program, at most 15 bytes.
    pub(crate) name: String,
    /// The kernel's letter.
    state: char,
    /// User and system time of the process, ticks.
    pub(super) own: u64,
    /// User and system time of its children that ended and were waited for, ticks.
    pub(super) reaped: u64,
}

impl Process {
    /// Sum of both, ticks.
    pub(super) fn ticks(&self) -> u64 {
        self.own + self.reaped
    }

    /// By a signal or a debugger.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// It has ended, and nobody has waited for it yet.
    pub(crate) fn is_zombie(&self) -> bool {
        self.state == 'Z'
    }
}
