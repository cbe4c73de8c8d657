//! Runs the system's tools, each with a timeout.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use spec::Error;

use super::error::{too_slow, tool_failed};
use crate::home::Dir;

/// Time between two checks of a running tool.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a killed tool may take to be gone; the disk may hold it longer.
const KILLED: Duration = Duration::from_secs(2);
/// Bytes of a tool's output in a message.
const QUOTED: usize = 400;

/// Where tools are found, and when they are given up.
pub(super) struct Tools<'a> {
    folders: Vec<PathBuf>,
    give_up: &'a dyn Fn() -> bool,
}

impl<'a> Tools<'a> {
    /// Tools of the system: in `PATH`, and in the folders for administrators. `give_up` is called while a
    /// tool runs, and ends it by returning `true`.
    pub(super) fn new(give_up: &'a dyn Fn() -> bool) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
        Self { folders, give_up }
    }

    #[cfg(test)]
    pub(super) fn within(folders: Vec<PathBuf>) -> Tools<'static> {
        Tools { folders, give_up: &|| false }
    }

    pub(super) fn find(&self, tool: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(tool)).find(|path| path.is_file())
    }

    /// A tool with a neutral environment and locale, killed with its parent.
    pub(super) fn command(&self, tool: &str) -> Result<Command, Error> {
        let path = self.find(tool).ok_or_else(|| tool_failed(tool, "it is not installed"))?;
        let mut command = Command::new(path);
        command.env("LC_ALL", "C").stdin(Stdio::null()).process_group(0);
        Ok(command)
    }

    /// Runs it to its end; returns its output.
    ///
    /// # Errors
    /// When it fails, with its output, when it takes longer than `bound`, or is given up.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        tool: &str,
        args: &[A],
        bound: Duration,
    ) -> Result<String, Error> {
        let mut command = self.command(tool)?;
        command.args(args);
        self.run_command(command, tool, bound)
    }

    fn run_command(&self, command: Command, tool: &str, bound: Duration) -> Result<String, Error> {
        let (status, output, why) = self.run_to_end(command, tool, bound)?;
        if status.success() {
            return Ok(output);
        }
        let why = if why.trim().is_empty() { output } else { why };
        let why = if why.trim().is_empty() { status.to_string() } else { why };
        Err(tool_failed(tool, quoted(&why)))
    }

    /// As [`Self::run`], with open folders that it inherits under these numbers.
    pub(super) fn run_with<const N: usize>(
        &self,
        folder: &Dir,
        tool: &str,
        args: impl FnOnce(i32) -> [String; N],
        bound: Duration,
    ) -> Result<String, Error> {
        let number = folder.as_fd().as_raw_fd();
        let mut command = self.command(tool)?;
        command.args(args(number));
        // SAFETY: the closure makes system calls and touches no memory of the parent.
        unsafe {
            command.pre_exec(move || {
                let folder = BorrowedFd::borrow_raw(number);
                Ok(rustix::io::fcntl_setfd(folder, rustix::io::FdFlags::empty())?)
            });
        }
        self.run_command(command, tool, bound)
    }

    /// Runs it to its end; returns the output of both streams, whether it fails or not.
    pub(super) fn run_for_output<A: AsRef<OsStr>>(
        &self,
        tool: &str,
        args: &[A],
        bound: Duration,
    ) -> Result<String, Error> {
        let mut command = self.command(tool)?;
        command.args(args);
        self.run_to_end(command, tool, bound).map(|(_, output, why)| output + &why)
    }

    fn run_to_end(
        &self,
        mut command: Command,
        tool: &str,
        bound: Duration,
    ) -> Result<(ExitStatus, String, String), Error> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_us(&mut command);
        let mut child = command.spawn().map_err(|error| tool_failed(tool, error))?;
        let status = self.await_end(&mut child, tool, bound)?;
        Ok((status, rest_of(child.stdout.take()), rest_of(child.stderr.take())))
    }

    fn await_end(&self, child: &mut Child, tool: &str, bound: Duration) -> Result<ExitStatus, Error> {
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Err(error) => return Err(tool_failed(tool, error)),
                Ok(None) => {}
            }
            let given_up = (self.give_up)();
            if given_up || start.elapsed() >= bound {
                end(child);
                return Err(if given_up { Error::stopped() } else { too_slow(tool, bound) });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// On one line, and shortened.
fn quoted(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let line = lines.join("; ");
    let cut = line.char_indices().map(|(at, _)| at).take_while(|at| *at <= QUOTED).last().unwrap_or(0);
    if line.len() > QUOTED { format!("{}...", &line[..cut]) } else { line }
}

/// Kills a tool; its pid stays valid until it is reaped.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && start.elapsed() < KILLED {
        std::thread::sleep(PAUSE);
    }
}

/// The output of a tool that ended; tools here print little, so none waited for a reader.
fn rest_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // A process that a tool left running could hold the pipe; none does.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(target_os = "linux")]
fn die_with_us(command: &mut Command) {
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
                .map_err(Into::into)
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_us(_command: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_fails_is_quoted_and_a_slow_one_is_ended() {
        let patient = || false;
        let tools = Tools::new(&patient);
        assert_eq!(tools.run("echo", &["said"], Duration::from_secs(9)).unwrap(), "said\n");
        let error = tools.run("sh", &["-c", "echo one >&2; echo two >&2; exit 3"], Duration::from_secs(9));
        assert_eq!(error.unwrap_err().to_string(), "sh failed: one; two");
        let error = tools.run("sleep", &["9"], Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.to_string(), "sleep did not end within 0 s");
        let hasty = || true;
        let error = Tools::new(&hasty).run("sleep", &["9"], Duration::from_secs(9)).unwrap_err();
        assert!(error.is_stopped(), "{error}");
        let error = Tools::within(vec![]).run("echo", &["said"], Duration::from_secs(9)).unwrap_err();
        assert_eq!(error.to_string(), "echo failed: it is not installed");
    }

    #[test]
    fn long_words_are_cut_between_letters() {
        let long = quoted(&"ü".repeat(QUOTED));
        assert!(long.ends_with("ü...") && long.len() <= QUOTED + 3, "{}", long.len());
    }
}
