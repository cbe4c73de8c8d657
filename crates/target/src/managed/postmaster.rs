//! A running postmaster as its own pid file tells of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::host::proc::{is_alive, processes};
use crate::stop::Stop;

/// What `postmaster.pid` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: u32,
    pub(super) port: Option<u16>,
    pub(super) socket_folder: Option<PathBuf>,
    /// `starting`, `ready`, `stopping` or `standby`, once the server has come so far.
    pub(super) status: Option<String>,
}

impl PidFile {
    pub(super) fn read(data: &Path) -> Option<Self> {
        parse(&std::fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// The file's server, if it runs: pid files survive crashes, and pids are used again.
    pub(super) fn running(data: &Path) -> Option<Self> {
        Self::read(data).filter(|file| is_postmaster_of(file.pid, data))
    }
}

/// Lines: pid, data folder, start time, port, socket folder, listen address, shared memory key, status.
fn parse(text: &str) -> Option<PidFile> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let line = |index: usize| lines.get(index).copied().filter(|line| !line.is_empty());
    Some(PidFile {
        // A negative pid marks a single-user server.
        pid: line(0)?.trim_start_matches('-').parse().ok()?,
        port: line(3).and_then(|port| port.parse().ok()),
        socket_folder: line(4).map(PathBuf::from),
        status: line(7).map(str::to_owned),
    })
}

/// Whether a pid is a living process that works in this data folder, as a postmaster does.
fn is_postmaster_of(pid: u32, data: &Path) -> bool {
    if !is_alive(pid) {
        return false;
    }
    match std::fs::read_link(format!("/proc/{pid}/cwd")) {
        Ok(folder) => data.canonicalize().is_ok_and(|data| data == folder),
        // Without /proc (other systems) a living pid must do.
        Err(_) => !Path::new("/proc/self/cwd").exists(),
    }
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Stops a postmaster that is no child of ours: fast, after `patience` at once, at last by SIGKILL.
/// Answers whether it is gone; the user may not want to wait for that.
pub(super) fn stop(pid: u32, data: &Path, patience: Duration) -> bool {
    let switch = Stop::of_process();
    let presses = switch.presses();
    let steps = [
        (Signal::INT, patience),
        (Signal::QUIT, Duration::from_secs(5)),
        (Signal::KILL, Duration::from_secs(5)),
    ];
    for (signal, bound) in steps {
        if !is_postmaster_of(pid, data) {
            return true;
        }
        if let Some(raw) = as_pid(pid) {
            // It may have ended just now; the wait sees it. What somebody stopped hears of it when it is continued.
            let _ = rustix::process::kill_process(raw, signal);
            for pid in survivors(data).into_iter().filter_map(as_pid) {
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
        if wait_until(bound, || !is_alive(pid) || switch.presses() > presses) {
            return !is_alive(pid);
        }
    }
    !is_alive(pid)
}

/// Waits for server processes that outlived their postmaster in this data folder, and kills the last of them: a
/// new postmaster beside them could destroy the data. A pid file that names a stranger is removed, because the new
/// server would take the stranger for its predecessor.
pub(super) fn clear_leftovers(data: &Path) {
    if !wait_until(Duration::from_secs(5), || survivors(data).is_empty()) {
        for pid in survivors(data).into_iter().filter_map(as_pid) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        wait_until(Duration::from_secs(5), || survivors(data).is_empty());
    }
    if PidFile::read(data).is_some_and(|file| is_alive(file.pid) && !is_postmaster_of(file.pid, data)) {
        let _ = std::fs::remove_file(data.join("postmaster.pid"));
    }
}

/// Server processes that work in this data folder, as far as the system shows them.
fn survivors(data: &Path) -> Vec<u32> {
    let Ok(data) = data.canonicalize() else { return Vec::new() };
    let works_there =
        |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == data);
    let servers = processes().filter(|process| process.name == "postgres");
    servers.map(|process| process.pid).filter(works_there).collect()
}

/// Asks every few milliseconds until the answer is yes or the time is over.
pub(super) fn wait_until(bound: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + bound;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_files() {
        let full = "4711\n/data\n1700000000\n5433\n/run/x\n\n  123 456\nready   \n";
        let socket_folder = Some(PathBuf::from("/run/x"));
        let wanted = PidFile { pid: 4711, port: Some(5433), socket_folder, status: Some("ready".into()) };
        assert_eq!(parse(full), Some(wanted));
        assert_eq!(parse("12\n"), Some(PidFile { pid: 12, port: None, socket_folder: None, status: None }));
        assert_eq!(parse(""), None);
        assert_eq!(parse("x\n"), None);
    }

    #[test]
    fn a_foreign_process_is_no_postmaster() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
        assert!(!is_postmaster_of(std::process::id(), folder.path()));
        std::fs::write(folder.path().join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
        assert_eq!(PidFile::running(folder.path()), None);
    }
}
