//! The watchdog process.
//!
//! Standard input is the lifeline: a line `stop` requests an orderly stop, its end means that pgdyno is gone.
//! Messages go back over it. Standard output and error belong to the child.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::message::{ProgramEnd, WatchdogMessage};
use super::order::Order;
use super::stopping::{Escalation, StopCause};
use super::strays;
use super::{Program, StopWay, as_account, core_dump};
use crate::host::proc::processes;
use crate::placement::{KEEPER_ARGUMENT, keeper_main};
use crate::storage::storage_keeper_main;

/// Exit code when the arguments are invalid or the program cannot be started, as a shell's "command not
/// found".
const NOT_STARTED: i32 = 127;
/// Time between two checks of the rest of a process group.
const MEMBERS_PAUSE: Duration = Duration::from_millis(20);

/// Runs as a watchdog until its child has ended; `args` follow [`super::WATCHDOG_ARGUMENT`].
///
/// Returns the exit code: the child's, or 128 + the signal that ended it.
#[must_use]
pub fn watchdog_main(args: &[OsString]) -> i32 {
    if let [first, duties @ ..] = args
        && first == KEEPER_ARGUMENT
    {
        return keeper_main(duties);
    }
    if let [first, order @ ..] = args
        && first == crate::storage::KEEPER_ARGUMENT
    {
        return storage_keeper_main(order);
    }
    let Ok(lifeline) = std::io::stdin().as_fd().try_clone_to_owned() else { return NOT_STARTED };
    let mut lifeline = File::from(lifeline);
    let order = Order::parse(args).inspect(|order| {
        if order.program.descendants {
            strays::adopt();
        }
    });
    match order.and_then(|order| start(&order).map(|pid| (order, pid))) {
        Ok((order, pid)) => {
            send_message(
                &mut lifeline,
                &WatchdogMessage::Started(pid.as_raw_nonzero().get().cast_unsigned()),
            );
            if order.detached { 0 } else { watch(lifeline, &order.program, pid) }
        }
        Err(reason) => {
            send_message(&mut lifeline, &WatchdogMessage::Failed(reason));
            NOT_STARTED
        }
    }
}

/// Sends a message to pgdyno; false if it is gone.
fn send_message(lifeline: &mut File, message: &WatchdogMessage) -> bool {
    lifeline.write_all(message.line().as_bytes()).is_ok()
}

fn start(order: &Order) -> Result<Pid, String> {
    let program = &order.program;
    let mut command = Command::new(&program.path);
    command.args(&program.args).stdin(Stdio::null());
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    as_account(&mut command, program.account.as_ref());
    command.env_remove(core_dump::FORMER);
    // SAFETY: the closure makes system calls only and touches no memory of the parent.
    unsafe {
        command.pre_exec(core_dump::restore);
    }
    if program.stop != StopWay::Postgres {
        command.process_group(0);
    }
    if !order.detached {
        die_with_parent(&mut command, program.stop);
    }
    let child = command.spawn().map_err(|error| error.to_string())?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| "no pid".to_owned())
}

/// On Linux the kernel stops the child if this watchdog itself is killed.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command, stop: StopWay) {
    let signal = first_signal(stop);
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal)).map_err(Into::into)
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command, _stop: StopWay) {}

#[cfg(target_os = "linux")]
fn first_signal(stop: StopWay) -> Signal {
    match stop {
        StopWay::Postgres => Signal::INT,
        StopWay::Terminate => Signal::TERM,
        StopWay::Quit => Signal::QUIT,
    }
}

/// Reports of the watchdog's two helper threads.
enum GuardEvent {
    /// The child is dead and not yet reaped.
    Ended,
    Stop(StopCause),
}

fn watch(mut lifeline: File, program: &Program, pid: Pid) -> i32 {
    let (sender, seen) = mpsc::channel();
    let for_child = sender.clone();
    std::thread::spawn(move || await_end(pid, &for_child));
    if let Ok(reading) = lifeline.try_clone() {
        std::thread::spawn(move || listen(reading, &sender));
    }
    let mut stop: Option<(Instant, StopCause, Escalation)> = None;
    loop {
        let wait = stop.as_ref().and_then(|(since, _, escalation)| escalation.wait(since.elapsed()));
        match seen.recv_timeout(wait.unwrap_or(Duration::from_secs(3600))) {
            Ok(GuardEvent::Ended) => break,
            Ok(GuardEvent::Stop(cause)) if stop.as_ref().is_none_or(|(_, now, _)| *now != cause) => {
                stop = Some((Instant::now(), cause, Escalation::new(program.stop, cause)));
            }
            Ok(GuardEvent::Stop(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((since, _, escalation)) = &mut stop
            && let Some(signal) = escalation.due(since.elapsed())
        {
            send(program.stop, pid, signal);
        }
    }
    if program.descendants {
        for process in strays::end(pid) {
            send_message(&mut lifeline, &WatchdogMessage::Stray(process));
        }
    }
    if stop.is_none() && program.whole {
        // Its workers do not notice that it is gone.
        stop = Some((Instant::now(), StopCause::Asked, Escalation::new(program.stop, StopCause::Asked)));
    }
    if let Some((since, _, escalation)) = &mut stop
        && (program.stop == StopWay::Terminate || program.whole)
    {
        end_group(pid, *since, escalation);
    }
    let ended = reap(pid);
    let lost = matches!(stop, Some((_, StopCause::Lost, _)));
    if !send_message(&mut lifeline, &WatchdogMessage::Ended(ended)) || lost {
        // Nobody else removes them; a missing folder is fine.
        for folder in &program.leaves {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    ended.code.unwrap_or_else(|| 128 + ended.signal.unwrap_or(0))
}

/// Sends a signal; the child is not reaped before the watch ends, so the pid is still valid.
fn send(way: StopWay, pid: Pid, signal: Signal) {
    // A dying child cannot be signalled any more, which is fine. A stopped one gets the signal when it is
    // continued.
    match way {
        StopWay::Postgres => {
            let own = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
            let members: Vec<u32> =
                processes().filter(|process| process.parent == own).map(|process| process.pid).collect();
            let _ = rustix::process::kill_process(pid, signal);
            let members = members.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed()));
            for pid in std::iter::once(pid).chain(members) {
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
        StopWay::Terminate | StopWay::Quit => {
            let _ = rustix::process::kill_process_group(pid, signal);
            let _ = rustix::process::kill_process_group(pid, Signal::CONT);
        }
    }
}

/// The child is dead; processes of its group that ignored the signal get the next one. Until the child is
/// reaped no other group can have its number.
fn end_group(pid: Pid, since: Instant, escalation: &mut Escalation) {
    let group = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
    while processes().any(|process| process.group == group && !process.is_zombie()) {
        match escalation.due(since.elapsed()) {
            Some(signal) => send(StopWay::Terminate, pid, signal),
            None if escalation.wait(since.elapsed()).is_none() => break,
            None => std::thread::sleep(MEMBERS_PAUSE),
        }
    }
}

/// Blocks until the child is dead, and leaves reaping to [`reap`].
fn await_end(pid: Pid, sender: &Sender<GuardEvent>) {
    while let Err(error) =
        rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {
        if error != rustix::io::Errno::INTR {
            break;
        }
    }
    let _ = sender.send(GuardEvent::Ended);
}

/// Blocks on the lifeline until it ends.
fn listen(lifeline: File, sender: &Sender<GuardEvent>) {
    for line in BufReader::new(lifeline).lines() {
        match line {
            Ok(line) if line == "stop" => {
                let _ = sender.send(GuardEvent::Stop(StopCause::Asked));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let _ = sender.send(GuardEvent::Stop(StopCause::Lost));
}

/// Reaps the dead child and returns its resource usage.
fn reap(pid: Pid) -> ProgramEnd {
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call.
    let reaped = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
    if reaped < 0 {
        return ProgramEnd::default();
    }
    ProgramEnd {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        max_rss_bytes: max_rss_bytes(usage.ru_maxrss),
    }
}

fn micros(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}

/// Linux counts kilobytes, macOS bytes.
fn max_rss_bytes(figure: libc::c_long) -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    u64::try_from(figure).unwrap_or(0) * unit
}
