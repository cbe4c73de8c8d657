//! Stopping the harness from outside: what it started ends with it.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the harness may take to come to its load, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Hidden first argument of the harness's own load on Redis.
const LOAD: &str = "redis-load";

/// A process, told from a later one with the same number by when it started.
#[derive(Debug, Clone, PartialEq)]
struct Process {
    parent: u32,
    state: String,
    started: String,
    command: String,
}

fn look(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and brackets.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Some(Process {
        state: (*fields.first()?).to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
        command: String::from_utf8_lossy(&command).replace('\0', " "),
    })
}

/// What this process started, and what that started.
fn descendants(root: u32) -> BTreeMap<u32, Process> {
    let pids = std::fs::read_dir("/proc").expect("/proc").flatten();
    let all: BTreeMap<u32, Process> = pids
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, look(pid)?)))
        .collect();
    let mut family = BTreeMap::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, process) in all.iter().filter(|(_, process)| process.parent == parent) {
            parents.push(*pid);
            family.insert(*pid, process.clone());
        }
    }
    family
}

fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The harness with a load on a separate Redis; a failed test leaves no Redis behind.
struct Harness(Child);

impl Harness {
    fn start(folder: &Path) -> Self {
        Self(
            Command::new(env!("CARGO_BIN_EXE_pgdyno-benches"))
                .args([
                    "redis",
                    "--pairs",
                    "1",
                    "--seconds",
                    "300",
                    "--patience",
                    "0",
                    "--pgdyno",
                    "/bin/true",
                ])
                .env("TMPDIR", folder)
                .env("RUST_BACKTRACE", "0")
                .stdout(Stdio::null())
                .spawn()
                .expect("the harness starts"),
        )
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test has no other way to say it")]
fn a_stopped_harness_left_its_load_and_its_server_running() {
    let installed = |name: &str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(name).is_file())
    };
    if !installed("redis-server") || !installed("redis-benchmark") {
        eprintln!("not available: Redis is not installed");
        return;
    }
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut harness = Harness::start(folder.path());
        let family = wait_until("the load", || {
            let family = descendants(harness.pid());
            let loads = family
                .values()
                .any(|process| process.command.contains(LOAD) && process.command.contains(" 300 "));
            (loads && family.values().any(|process| process.command.contains("redis-server")))
                .then_some(family)
        });
        // SAFETY: a system call without pointers; the child was not waited for yet.
        assert_eq!(unsafe { libc::kill(harness.pid() as libc::pid_t, signal) }, 0);
        let status = wait_until("the end", || harness.0.try_wait().expect("waited"));
        assert!(!status.success(), "{status}");
        let gone = |(pid, process): (&u32, &Process)| {
            look(*pid).is_none_or(|now| now.started != process.started || now.state == "Z")
        };
        let ended = || family.iter().all(gone).then_some(());
        wait_until(&format!("the end of {family:#?}"), ended);
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
