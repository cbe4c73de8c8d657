//! A running postmaster, found by its pid file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::home::{Dir, DirEntry, Distrust};
use crate::host::proc::{is_alive, processes};
use crate::stop::Stop;

const FILE: &str = "postmaster.pid";

/// The contents of `postmaster.pid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: u32,
    pub(super) port: Option<u16>,
    pub(super) socket_folder: Option<PathBuf>,
    /// `starting`, `ready`, `stopping` or `standby`, if reached.
    pub(super) status: Option<String>,
}

impl PidFile {
    pub(super) fn read(data: &Dir) -> Option<Self> {
        parse(&data.read_text(FILE).ok()?)
    }

    /// The file's server, if it runs: pid files survive crashes, and pids are reused. A server whose file was
    /// replaced is found by its working folder.
    pub(super) fn running(data: &Dir) -> Option<Self> {
        let named =
            Self::read(data).filter(|file| is_postmaster_of(file.pid, data) && is_postmaster(file.pid));
        named.or_else(|| {
            let pid = survivors(data).into_iter().find(|pid| is_postmaster(*pid))?;
            Some(Self { pid, port: None, socket_folder: None, status: None })
        })
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

/// Whether a pid is a living process of the data folder's owner that works there, or was started for it, as a
/// postmaster is. The server writes the file, and could name somebody else's process.
fn is_postmaster_of(pid: u32, data: &Dir) -> bool {
    is_alive(pid) && works_in(pid, data).unwrap_or_else(|| !Path::new("/proc/self/cwd").exists())
}

/// Whether its command line is a postmaster's; other server processes have titles (`postgres: walwriter`).
/// True where the system does not show it.
fn is_postmaster(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |line| !line.starts_with(b"postgres: "))
}

/// `None` where the system does not show it: without /proc a living pid must do.
fn works_in(pid: u32, data: &Dir) -> Option<bool> {
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let owner = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let data_folder = data.path().canonicalize().ok()?;
    Some(owner == data.owner() && (data_folder == folder || is_started_for(pid, &data_folder)))
}

/// Whether the command line names the data folder (`-D`): a starting server does not work there yet.
fn is_started_for(pid: u32, data_folder: &Path) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"-D").skip(1);
    let named = words.next().map(|word| Path::new(OsStr::from_bytes(word)));
    named.is_some_and(|named| named.canonicalize().is_ok_and(|named| named == data_folder))
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Stops a postmaster that is not our child: fast, after `timeout` immediately, finally by SIGKILL. Returns
/// whether it is gone; the user may stop the wait.
pub(super) fn stop(pid: u32, data: &Dir, timeout: Duration) -> bool {
    let switch = Stop::of_process();
    let presses = switch.presses();
    let steps = [
        (Signal::INT, timeout),
        (Signal::QUIT, Duration::from_secs(5)),
        (Signal::KILL, Duration::from_secs(5)),
    ];
    for (signal, bound) in steps {
        if !is_postmaster_of(pid, data) {
            return true;
        }
        if let Some(raw) = as_pid(pid) {
            // It may have ended just now; the wait notices. A stopped process gets the signal when it is
            // continued.
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

/// Ends a postmaster at once, without a checkpoint.
pub(super) fn quit(pid: u32) {
    if let Some(pid) = as_pid(pid) {
        // It may have ended just now.
        let _ = rustix::process::kill_process(pid, Signal::QUIT);
    }
}

/// Waits for server processes that outlived their postmaster in this data folder, and kills the last of them:
/// a new postmaster next to them could destroy the data. Removes a pid file with an unrelated process's pid,
/// because the new server would mistake it for its predecessor.
pub(super) fn clear_leftovers(data: &Dir) {
    if !wait_until(Duration::from_secs(5), || survivors(data).is_empty()) {
        for pid in survivors(data).into_iter().filter_map(as_pid) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        wait_until(Duration::from_secs(5), || survivors(data).is_empty());
    }
    // The server would wait forever at a pipe, and does not read devices.
    for name in data.names().unwrap_or_default() {
        if matches!(data.entry(&name), Ok(Some(DirEntry::Other))) || (name == FILE && has_no_file(data)) {
            let _ = data.remove_all(&name);
        }
    }
    if PidFile::read(data).is_some_and(|file| is_alive(file.pid) && !is_postmaster_of(file.pid, data)) {
        let _ = data.remove_file(FILE);
    }
}

/// Whether the pid file is a link, a folder or another kind of file.
fn has_no_file(data: &Dir) -> bool {
    data.file(FILE).is_err_and(|error| Distrust::is_in(&error))
}

/// Server processes that work in this data folder, as far as the system shows them.
fn survivors(data: &Dir) -> Vec<u32> {
    let servers = processes().filter(|process| process.name == "postgres");
    servers.map(|process| process.pid).filter(|pid| works_in(*pid, data) == Some(true)).collect()
}

/// Polls every few milliseconds until `done` or the timeout.
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
        let top = tempfile::tempdir().unwrap();
        let folder = crate::home::Home::at(top.path()).open().unwrap().unwrap();
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
        assert!(!is_postmaster_of(std::process::id(), &folder));
        std::fs::write(folder.path().join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
        assert_eq!(PidFile::running(&folder), None);
    }
}
