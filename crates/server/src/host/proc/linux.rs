//! Reads `/proc`.

use std::fs::File;
use std::io::Read;

use procfs::process::Stat;
use procfs::{CpuTime, CurrentSI, FromRead, KernelStats};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::{CpuTicks, Process};

pub(in crate::host) fn cpu_ticks() -> Option<CpuTicks> {
    Some(CpuTicks::from(&KernelStats::current().ok()?.total))
}

impl From<&CpuTime> for CpuTicks {
    fn from(time: &CpuTime) -> Self {
        let [iowait, irq, softirq, steal] =
            [time.iowait, time.irq, time.softirq, time.steal].map(Option::unwrap_or_default);
        // Guest time is already part of user and nice.
        let total = time.user + time.nice + time.system + time.idle + iowait + irq + softirq + steal;
        let programs = time.user + time.nice + time.system;
        Self { total, idle: time.idle + iowait, iowait, steal, programs }
    }
}

/// Time in which something waited for a CPU, since boot, µs.
pub(in crate::host) fn pressure_us() -> Option<u64> {
    some_pressure_us(&std::fs::read_to_string("/proc/pressure/cpu").ok()?)
}

/// Parsed by line: `procfs::CpuPressure` requires a second one, which kernels before 5.13 do not write.
fn some_pressure_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    Some(procfs::parse_pressure_record(line).ok()?.total)
}

pub(crate) fn process(pid: u32) -> Option<Process> {
    // procfs takes nine system calls for it. The line has at most some 400 bytes, and comes whole.
    let mut line = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    read(Stat::from_read(&line[..length]).ok()?)
}

/// CPU time of a process with all its threads so far, ns. Its CPU clock also counts threads that have ended,
/// and exists on kernels without `schedstat`.
pub(in crate::host) fn cpu_ns(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes a number of this type to `clock`.
    if unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time of this type to `time`.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let [seconds, ns] = [time.tv_sec, time.tv_nsec].map(|part| u64::try_from(part).ok());
    Some(seconds? * 1_000_000_000 + ns?)
}

/// Bytes that a process, and its children that ended and were waited for, read from and wrote to a disk.
pub(in crate::host) fn disk_bytes(pid: u32) -> Option<(u64, u64)> {
    let io = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.io().ok()?;
    Some((io.read_bytes, io.write_bytes))
}

/// Anonymous memory of a process in RAM, bytes. `/proc/PID/status` is read by line: the whole of it has far more
/// fields than are needed, and this is read while a load is held.
pub(in crate::host) fn private_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}

/// The title of a process, which servers set; empty if it is gone.
pub(in crate::host) fn title(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

pub(crate) fn processes() -> impl Iterator<Item = Process> {
    let all = std::fs::read_dir("/proc").into_iter().flatten();
    all.filter_map(|entry| process(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

/// The living children of a process's first thread; for a server these are all.
pub(in crate::host) fn children(parent: u32) -> Vec<Process> {
    child_pids(parent).into_iter().filter_map(process).collect()
}

/// Their pids. One may be missing if another ends meanwhile.
pub(in crate::host) fn child_pids(parent: u32) -> Vec<u32> {
    // Many kernels list them; going through thousands of processes takes long.
    match std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        Ok(pids) => pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => processes().filter(|process| process.parent == parent).map(|process| process.pid).collect(),
    }
}

/// Processes that were started with this variable (`NAME=value`), except this one; each is sent `signal`.
/// Watchdogs get none: they end with their programs. Empty when no accessible one is left.
pub(crate) fn signal_with_variable(variable: &str, signal: Option<Signal>) -> Vec<u32> {
    let all = procfs::process::all_processes().into_iter().flatten();
    let pids = all.filter_map(|process| Pid::from_raw(process.ok()?.pid));
    pids.filter_map(|pid| {
        // A pid may be reused once its process is gone; the descriptor keeps the process.
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let raw = pid.as_raw_nonzero();
        let environment = std::fs::read(format!("/proc/{raw}/environ")).ok()?;
        let has = environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes());
        if !has || pid == rustix::process::getpid() {
            return None;
        }
        if let Some(signal) = signal.filter(|_| !is_watchdog(pid)) {
            // A dying process needs no signal.
            let _ = rustix::process::pidfd_send_signal(&process, signal);
        }
        u32::try_from(raw.get()).ok()
    })
    .collect()
}

fn is_watchdog(pid: Pid) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    line.starts_with(b"pgdyno\0watchdog\0")
}

fn read(stat: Stat) -> Option<Process> {
    let Stat { pid, ppid, pgrp, comm, state, utime, stime, cutime, cstime, .. } = stat;
    let reaped = u64::try_from(cutime + cstime).ok()?;
    Some(Process {
        pid: u32::try_from(pid).ok()?,
        parent: u32::try_from(ppid).ok()?,
        group: u32::try_from(pgrp).ok()?,
        name: comm,
        state,
        own: utime + stime,
        reaped,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use procfs::prelude::FromBufReadSI;

    use super::*;

    #[test]
    fn machine_ticks() {
        let stat = "cpu  10 1 5 100 4 0 2 3 9 0\ncpu0 1 1 1 1\nctxt 1\nbtime 1\nprocesses 1\n";
        let stat = KernelStats::from_buf_read(stat.as_bytes(), procfs::current_system_info()).unwrap();
        let wanted = CpuTicks { total: 125, idle: 104, iowait: 4, steal: 3, programs: 16 };
        assert_eq!(CpuTicks::from(&stat.total), wanted);
    }

    #[test]
    fn pressure_is_read_with_and_without_a_second_line() {
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\n";
        let full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
        for (text, wanted) in
            [(some.to_owned(), Some(12345)), (format!("{some}{full}"), Some(12345)), (String::new(), None)]
        {
            assert_eq!(some_pressure_us(&text), wanted, "{text}");
        }
    }

    #[test]
    fn a_process_is_seen_alive_stopped_and_dead() {
        let folder = tempfile::tempdir().unwrap();
        // A name may contain brackets and blanks.
        let program = folder.path().join("a) Z (b");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg0("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let raw = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let becomes = |is: fn(&Process) -> bool| {
            let start = Instant::now();
            while !is(&process(pid).unwrap()) {
                assert!(start.elapsed() < Duration::from_secs(10), "{:?}", process(pid));
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        becomes(|process| !process.is_stopped() && !process.is_zombie());
        assert!(processes().any(|found| found.pid == pid && found.parent == std::process::id()));
        assert_eq!(process(pid).unwrap().name, "a) Z (b");
        rustix::process::kill_process(raw, Signal::STOP).unwrap();
        becomes(Process::is_stopped);
        rustix::process::kill_process(raw, Signal::KILL).unwrap();
        becomes(Process::is_zombie);
        child.wait().unwrap();
        assert_eq!(process(pid), None);
    }

    #[test]
    fn processes_are_found_by_a_variable_and_signalled() {
        let mark = format!("PGDYNO_TEST_MARK={}", uuid::Uuid::new_v4());
        let (name, value) = mark.split_once('=').unwrap();
        let mut child = Command::new("sleep").arg("60").env(name, value).spawn().unwrap();
        assert!(signal_with_variable(&mark[..mark.len() - 1], Some(Signal::KILL)).is_empty());
        assert_eq!(signal_with_variable(&mark, None), [child.id()]);
        assert_eq!(signal_with_variable(&mark, Some(Signal::KILL)), [child.id()]);
        child.wait().unwrap();
        assert!(signal_with_variable(&mark, None).is_empty());
    }
}
