//! Placement of processes: pins them to CPUs, keeps CPUs from sleeping, and observes where they run.
//!
//! On one machine with few clients, the scheduler's placement of client and server matters more than any
//! setting.

mod keeper;
mod placed;
mod quota;
mod spread;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;
mod watch;

pub(crate) use self::keeper::{KEEPER_ARGUMENT, keeper_main};
pub use self::placed::Placed;
pub use self::spread::Spread;
pub use self::system::allowed;
pub use self::watch::{CpuMoves, CpuWatch};
use spec::plan::Cpus;
use spec::{Class, Error};

use crate::host::proc::processes;

/// Most passes over a process tree until all are pinned: one pass may miss a process that is being forked.
const LOOKS: u32 = 20;

/// Refuses CPUs that we may not use.
///
/// # Errors
/// When one may not be used, or the system does not report it.
pub fn check(cpus: &Cpus) -> Result<(), Error> {
    let allowed = allowed()?;
    match cpus.iter().find(|cpu| !allowed.contains(*cpu)) {
        Some(cpu) => {
            let what = format!(
                "CPU {cpu} cannot be used: pgdyno may run on {allowed}; see taskset, or the container's cpuset"
            );
            Err(Error::new(Class::Usage, what))
        }
        None => Ok(()),
    }
}

/// Pins a process, all its threads and descendants to these CPUs. Later forks inherit that, so a server is
/// pinned once, with its present and future backends.
///
/// # Errors
/// When a CPU may not be used, the process is gone, the system refuses, or something else moves them.
pub fn pin_tree(root: u32, cpus: &Cpus) -> Result<(), Error> {
    check(cpus)?;
    let mut moved = None;
    for _ in 0..LOOKS {
        moved = None;
        for pid in tree(root) {
            let is_root = pid == root;
            match system::place(pid, cpus) {
                Ok(None) => {}
                Ok(Some(found)) => moved = Some((pid, found)),
                // It has ended.
                Err(error) if error.class() == Class::Unreachable && !is_root => {}
                Err(error) => return Err(error),
            }
        }
        if moved.is_none() {
            return Ok(());
        }
    }
    match moved {
        Some((pid, found)) => {
            let what = format!(
                "process {pid} is found on CPU {found} instead of {cpus}; does something else place processes here?"
            );
            Err(Error::new(Class::Missing, what))
        }
        None => Ok(()),
    }
}

/// Unpins a process and its descendants.
pub fn free_tree(root: u32) -> Result<(), Error> {
    pin_tree(root, &allowed()?)
}

/// A process followed by its descendants.
fn tree(root: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = processes().map(|process| (process.pid, process.parent)).collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        tree.extend(all.iter().filter(|(pid, of)| *of == parent && *pid != root).map(|(pid, _)| *pid));
        next += 1;
    }
    tree
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    fn list(pid: u32) -> String {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    }

    #[test]
    fn a_process_is_pinned_with_its_children_and_what_they_fork_later() {
        let first = Cpus::from_iter(allowed().unwrap().iter().take(1));
        // The shell forks one child now, and one on request.
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & read go; sleep 61 & echo $!; wait"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let start = std::time::Instant::now();
        while tree(shell.id()).len() < 2 {
            assert!(start.elapsed().as_secs() < 10);
            std::thread::yield_now();
        }
        pin_tree(shell.id(), &first).unwrap();
        let early = tree(shell.id());
        assert_eq!(early.len(), 2);
        assert!(early.iter().all(|pid| list(*pid) == first.to_string()));
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"go\n").unwrap();
        let mut late = String::new();
        let mut answers = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut answers, &mut late).unwrap();
        assert_eq!(list(late.trim().parse().unwrap()), first.to_string());
        free_tree(shell.id()).unwrap();
        let all = tree(shell.id());
        assert!(all.iter().all(|pid| list(*pid) == allowed().unwrap().to_string()));
        for pid in all.into_iter().rev() {
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        shell.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_is_said() {
        let far: Cpus = "999".parse().unwrap();
        let error = pin_tree(std::process::id(), &far).unwrap_err();
        assert!(error.to_string().starts_with("CPU 999 cannot be used"), "{error}");
        assert_eq!(error.class(), Class::Usage);
        let gone = pin_tree(u32::MAX / 2, &allowed().unwrap()).unwrap_err();
        assert_eq!(gone.class(), Class::Unreachable, "{gone}");
    }
}
