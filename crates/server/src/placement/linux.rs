//! Affinities by the scheduler's system calls, processes by `/proc`.

use std::fs::{read_dir, read_to_string};
use std::io::Read;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use spec::plan::Cpus;
use spec::{Class, Error};

/// The CPUs that we may use: the affinity of this process's first thread, before anything is pinned.
pub fn allowed() -> Result<Cpus, Error> {
    let set = sched_getaffinity(Some(rustix::process::getpid())).map_err(|error| {
        let what = format!("cannot ask which CPUs may be used: {error}");
        Error::new(Class::Missing, what).because(error)
    })?;
    Ok(numbers(&set))
}

/// Pins all threads of a process to these CPUs; returns the CPUs of a thread that may still run elsewhere
/// because of a cpuset.
pub(super) fn place(pid: u32, cpus: &Cpus) -> Result<Option<Cpus>, Error> {
    let threads = threads(pid);
    if threads.is_empty() {
        return Err(Error::new(Class::Unreachable, format!("process {pid} does not exist")));
    }
    let wanted = set(cpus);
    let mut elsewhere = None;
    for thread in threads.into_iter().filter_map(Pid::from_raw) {
        match sched_setaffinity(Some(thread), &wanted).and_then(|()| sched_getaffinity(Some(thread))) {
            Ok(found) if numbers(&found) == *cpus => {}
            Ok(found) => elsewhere = Some(numbers(&found)),
            Err(Errno::SRCH) => {}
            Err(source) => {
                let why = "it must be a process of our own user, or we root";
                let what = format!("cannot keep process {pid} on CPU {cpus}: {source}; {why}");
                return Err(Error::new(Class::Missing, what).because(source));
            }
        }
    }
    Ok(elsewhere)
}

/// Pins the calling thread to a CPU, in the idle class.
pub(super) fn be_idle_on(cpu: usize) -> std::io::Result<()> {
    sched_setaffinity(None, &set(&Cpus::from_iter([cpu])))?;
    // SAFETY: all-zero is a valid value, and this class's priority.
    let none: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

pub(super) fn place_of(pid: u32) -> Option<Cpus> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    Some(numbers(&sched_getaffinity(Some(pid)).ok()?))
}

fn set(cpus: &Cpus) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    set
}

fn numbers(set: &CpuSet) -> Cpus {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

pub(super) fn threads(pid: u32) -> Vec<i32> {
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub(super) fn children(pid: u32) -> Vec<i32> {
    let lists: Result<Vec<String>, _> = threads(pid)
        .into_iter()
        .map(|thread| read_to_string(format!("/proc/{pid}/task/{thread}/children")))
        .collect();
    match lists {
        Ok(lists) => lists
            .iter()
            .flat_map(|list| list.split_ascii_whitespace())
            .filter_map(|pid| pid.parse().ok())
            .collect(),
        // Kernels without these lists.
        Err(_) => {
            let all = crate::host::proc::processes();
            all.filter(|process| process.parent == pid).map(|process| process.pid.cast_signed()).collect()
        }
    }
}

/// The part of a kernel file that one call returns: these files are read often during a load.
fn beginning(path: &str) -> Option<String> {
    let mut buffer = [0; 4096];
    let length = std::fs::File::open(path).ok()?.read(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

pub(super) fn name(thread: i32) -> Option<String> {
    Some(beginning(&format!("/proc/{thread}/comm"))?.trim_end().to_owned())
}

pub(super) fn title(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

/// A thread's last CPU, and its CPU time in ticks.
pub(super) fn last_seen(thread: i32) -> Option<(u64, u64)> {
    last_of(&beginning(&format!("/proc/{thread}/task/{thread}/stat"))?)
}

fn last_of(stat: &str) -> Option<(u64, u64)> {
    // The name before it may contain blanks and brackets; `state` is the first field after it, the third of
    // all.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some((field(39)?, field(14)? + field(15)?))
}

/// How often the kernel moved a thread to another CPU, if counted.
pub(super) fn moves(thread: i32) -> Option<u64> {
    moves_of(&beginning(&format!("/proc/{thread}/task/{thread}/sched"))?)
}

fn moves_of(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit_once(':')?.1.trim().parse().ok()
}

/// Why a thread of the idle class would not yield to everybody; `None` if it does. The class counts only
/// within a group of processes, and with this setting each session is one.
pub(super) fn takes_a_share() -> Option<String> {
    let on = read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1");
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    (on && !has_cpu_group(&groups, |file| Path::new(file).exists())).then(|| {
        "the kernel gives each session its share of a CPU, and what keeps CPUs awake would take one from the server; set \
         kernel.sched_autogroup_enabled to 0, or run pgdyno in a control group with the cpu controller"
            .to_owned()
    })
}

/// Whether we are in a control group with a CPU controller: sessions make no difference in one.
fn has_cpu_group(groups: &str, exists: impl Fn(&str) -> bool) -> bool {
    groups.lines().any(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        match (parts.next(), parts.next()) {
            (Some(""), Some(path)) => {
                let below = |path: &Path| exists(&format!("/sys/fs/cgroup{}/cpu.weight", path.display()));
                Path::new(path).ancestors().filter(|path| *path != Path::new("/")).any(below)
            }
            (Some(controllers), Some(path)) => {
                path != "/" && controllers.split(',').any(|name| name == "cpu")
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_moves_are_read() {
        let stat = "71 (a) Z (b) S 1 71 71 0 -1 4194304 1 0 0 0 11 7 0 0 20 0 1 0 5 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0";
        assert_eq!(last_of(stat), Some((3, 18)));
        assert_eq!(last_of("71 (x) S 1"), None);
        let sched = "x (1, #threads: 1)\n-----\nse.exec_start   :   1.5\nse.nr_migrations                             :                   42\n";
        assert_eq!(moves_of(sched), Some(42));
        assert_eq!(moves_of(""), None);
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(last_seen(me).is_some());
    }

    #[test]
    fn only_a_group_with_the_cpu_controller_is_one() {
        let none = |_: &str| false;
        for (groups, wanted) in
            [("1:cpu:/\n0::/\n", false), ("4:cpu,cpuacct:/docker/x\n", true), ("3:cpuset:/a\n", false)]
        {
            assert_eq!(has_cpu_group(groups, none), wanted, "{groups}");
        }
        let weight = |file: &str| file == "/sys/fs/cgroup/user.slice/cpu.weight";
        assert!(has_cpu_group("0::/user.slice/a.scope\n", weight));
        assert!(!has_cpu_group("0::/a.scope\n", weight));
    }
}
