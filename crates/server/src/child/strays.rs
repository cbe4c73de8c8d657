//! Processes that a program detached (`setsid`, `nohup … &`). They outlive it. Those in a new session or process group get
//! no signal that is sent to its group.
//!
//! On Linux the watchdog becomes the parent of each process below it whose parent ended ("child subreaper", prctl(2)).

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::host::proc::{Process, processes};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// How long they may take to end by themselves, as the last process of a pipe does.
const GRACE: Duration = Duration::from_millis(200);
/// When SIGKILL follows SIGTERM.
const KILL_AFTER: Duration = Duration::from_secs(1);
/// When a process that does not die (it waits for a device) is left alone.
const LONGEST: Duration = Duration::from_secs(3);

/// Makes this process the parent of every process below it whose parent ends.
pub(super) fn adopt() {
    // A kernel without it (before 3.4) reparents them to init, as without this call.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Ends all children of this process except `program`, which is dead and not reaped, and their children, which become
/// its own. Returns their names with pids.
pub(super) fn end(program: Pid) -> Vec<String> {
    let own = raw(rustix::process::getpid());
    let is_child = |process: &Process| process.parent == own && process.pid != raw(program);
    let start = Instant::now();
    let mut known: Vec<(u32, bool)> = Vec::new();
    let mut names = Vec::new();
    // One look may miss a child that changes its parent meanwhile.
    let mut empty_looks = 0;
    while empty_looks < 2 && start.elapsed() < LONGEST {
        let (dead, left): (Vec<Process>, Vec<Process>) =
            processes().filter(is_child).partition(Process::is_zombie);
        dead.iter().for_each(|process| reap(process.pid));
        empty_looks = if left.is_empty() { empty_looks + 1 } else { 0 };
        for process in left.into_iter().filter(|_| start.elapsed() >= GRACE) {
            let is_new = !known.iter().any(|(pid, _)| *pid == process.pid);
            let kills = start.elapsed() >= KILL_AFTER;
            if is_new {
                names.push(format!("{} (pid {})", process.name.replace(char::is_control, "?"), process.pid));
            }
            if is_new || kills && known.contains(&(process.pid, false)) {
                known.retain(|(pid, _)| *pid != process.pid);
                known.push((process.pid, kills));
                send(process.pid, if kills { Signal::KILL } else { Signal::TERM });
            }
        }
        if empty_looks < 2 {
            std::thread::sleep(PAUSE);
        }
    }
    names
}

/// Nobody else reaps it before this process ends.
fn reap(pid: u32) {
    let pid = Pid::from_raw(pid.cast_signed());
    let _ = pid.map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG));
}

/// A child that is not reaped keeps its pid, so no other process gets the signal.
fn send(pid: u32, signal: Signal) {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return };
    for signal in [signal, Signal::CONT] {
        // A dying process needs no signal.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn raw(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}
