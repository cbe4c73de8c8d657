//! Programs run for a short answer, such as their version: without a watchdog, limited in time and bytes.

use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, setsid};

use super::account::{Account, as_account};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Longest answer of most programs, bytes.
const LONGEST: usize = 1 << 16;

/// Limits of an answer.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    timeout: Duration,
    /// Bytes.
    longest: usize,
    with_errors: bool,
}

impl Bounds {
    fn usual(with_errors: bool) -> Self {
        Self { timeout: TIMEOUT, longest: LONGEST, with_errors }
    }
}

/// Runs a program with these arguments as an account (`None`: the current user), and returns its standard output.
/// The program gets a new session, since it could type into a terminal that it shares with root.
///
/// # Errors
/// When it cannot be started, does not end within 20 s, prints more than 64 KiB, or fails.
pub(crate) fn ask(program: &Path, arguments: &[&str], account: Option<&Account>) -> io::Result<String> {
    ask_within(program, arguments, account, Bounds::usual(false))
}

/// As [`ask`], with its standard error.
pub(crate) fn ask_all(program: &Path, arguments: &[&str], account: Option<&Account>) -> io::Result<String> {
    ask_within(program, arguments, account, Bounds::usual(true))
}

/// What a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramAnswer {
    /// Whether it exited with code 0.
    pub(crate) succeeded: bool,
    /// Without blanks around it; bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
}

/// As [`ask`], for a command that is prepared; a failing program is not an error here.
pub(crate) fn ask_command(
    mut command: Command,
    account: Option<&Account>,
    with_errors: bool,
) -> io::Result<ProgramAnswer> {
    as_account(&mut command, account);
    answer(command, Bounds::usual(with_errors))
}

/// As [`ask_command`] without standard error, for an answer of up to `longest` bytes.
pub(crate) fn ask_command_for_list(
    mut command: Command,
    account: Option<&Account>,
    longest: usize,
) -> io::Result<ProgramAnswer> {
    as_account(&mut command, account);
    answer(command, Bounds { longest, ..Bounds::usual(false) })
}

fn ask_within(
    program: &Path,
    arguments: &[&str],
    account: Option<&Account>,
    bounds: Bounds,
) -> io::Result<String> {
    let mut command = Command::new(program);
    as_account(&mut command, account).args(arguments);
    let answered = answer(command, bounds)?;
    match answered.succeeded {
        true => Ok(answered.text),
        false => Err(io::Error::other("it failed")),
    }
}

fn answer(mut command: Command, bounds: Bounds) -> io::Result<ProgramAnswer> {
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| setsid().map(drop).map_err(Into::into));
    }
    let (output, input) = io::pipe()?;
    let errors = if bounds.with_errors { Stdio::from(input.try_clone()?) } else { Stdio::null() };
    let mut child = command.stdin(Stdio::null()).stdout(input).stderr(errors).spawn()?;
    // It holds the write end of the pipe, too.
    drop(command);
    let answer = hear(&mut child, output, bounds);
    if answer.is_err() {
        // Its children too: one of them may hold the output.
        let _ = Pid::from_raw(child.id() as i32).map(|group| kill_process_group(group, Signal::KILL));
        let _ = child.wait();
    }
    answer
}

fn hear(child: &mut Child, mut output: PipeReader, bounds: Bounds) -> io::Result<ProgramAnswer> {
    let end = Instant::now() + bounds.timeout;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match output.read(&mut part)? {
            0 => break,
            length => answer.extend_from_slice(&part[..length]),
        }
        if answer.len() > bounds.longest {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() >= end => return Err(ErrorKind::TimedOut.into()),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let text = String::from_utf8_lossy(&answer).trim().to_owned();
    Ok(ProgramAnswer { succeeded: status.success(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_or_never_stops_printing_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let program = |text: &str| {
            let path = folder.path().join("asked");
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            // Another test that forks may still have the file open for writing.
            loop {
                let bounds = Bounds { timeout: Duration::from_millis(300), ..Bounds::usual(true) };
                match ask_within(&path, &["--version"], None, bounds) {
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
                    asked => break asked,
                }
            }
        };
        assert_eq!(program("echo v 1 $1").unwrap(), "v 1 --version");
        assert_eq!(program("echo v 2 >&2").unwrap(), "v 2");
        assert_eq!(program("yes").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(program("sleep 1000 & sleep 1000").unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(program("exec >&- 2>&-; sleep 1000").unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(program("echo x; exit 1").is_err());
        let mut long = Command::new("head");
        long.args(["-c", "100000", "/dev/zero"]);
        assert_eq!(ask_command_for_list(long, None, 1 << 20).unwrap().text.len(), 100_000);
    }
}
