//! pgdyno's side of the lifeline.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use spec::{Class, Error};

use super::message::{ProgramEnd, WatchdogMessage};
use super::order::Order;
use super::stop_wait::{SLICE, StopWait};
use super::stopping::longest;
use super::{Program, StopWay, WATCHDOG_ARGUMENT, core_dump};
use crate::stop::Stop;

const START_BOUND: Duration = Duration::from_secs(30);

/// Starts programs under watchdogs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watchdog {
    /// An executable that passes its arguments after [`WATCHDOG_ARGUMENT`] to [`super::watchdog_main`]:
    /// usually pgdyno itself.
    pub exe: PathBuf,
}

impl Watchdog {
    /// This program as the watchdog.
    ///
    /// # Errors
    /// When the system does not report our executable.
    pub fn current() -> io::Result<Self> {
        let exe = std::env::current_exe()?;
        // An executable that was replaced while it runs can still be reached through the kernel.
        let exe = if exe.exists() { exe } else { PathBuf::from("/proc/self/exe") };
        Ok(Self { exe })
    }

    /// Starts a server that appends its output to `log`, and runs until it is stopped or pgdyno ends.
    ///
    /// # Errors
    /// When the watchdog or the program cannot be started.
    pub fn start(&self, program: &Program, log: &File) -> Result<Child, Error> {
        let outputs = log.try_clone().and_then(|out| Ok((out, log.try_clone()?)));
        let (stdout, stderr) = outputs.map_err(|source| self.failed(source))?;
        self.spawn(program, false, stdout.into(), stderr.into())
    }

    /// Starts a program that writes its output to one file and its errors to another.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_apart(&self, program: &Program, output: &File, errors: &File) -> Result<Child, Error> {
        let files = output.try_clone().and_then(|output| Ok((output, errors.try_clone()?)));
        let (stdout, stderr) = files.map_err(|source| self.failed(source))?;
        self.spawn(program, false, stdout.into(), stderr.into())
    }

    /// Starts a server that continues when pgdyno ends; returns its pid.
    pub fn start_detached(&self, program: &Program, log: &File) -> Result<u32, Error> {
        let outputs = log.try_clone().and_then(|out| Ok((out, log.try_clone()?)));
        let (stdout, stderr) = outputs.map_err(|source| self.failed(source))?;
        let mut child = self.spawn(program, true, stdout.into(), stderr.into())?;
        let _ = child.process.wait();
        child.over = true;
        Ok(child.pid)
    }

    pub(super) fn spawn(
        &self,
        program: &Program,
        detached: bool,
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<Child, Error> {
        let order = Order { program: program.clone(), detached };
        let mut command = self.command();
        command.arg(WATCHDOG_ARGUMENT).args(order.to_args());
        set_environment(&mut command, program);
        command.stdout(stdout).stderr(stderr);
        inherit(&mut command, program.inherited.clone());
        let (process, ours) = self.launch(command).map_err(|source| self.failed(source))?;
        let mut child = Child {
            process,
            lifeline: ours,
            unread: Vec::new(),
            program: program.path.clone(),
            stop: program.stop,
            pid: 0,
            ended: None,
            strays: Vec::new(),
            over: false,
            left: false,
        };
        child.await_start()?;
        Ok(child)
    }

    /// Our executable, without arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.exe);
        command.arg0("pgdyno");
        command
    }

    /// Starts it in a new session with one end of a lifeline as its standard input; returns the other end.
    pub(crate) fn launch(&self, mut command: Command) -> io::Result<(std::process::Child, UnixStream)> {
        // Both ends close on exec; the watchdog gets its end as standard input, and no other child inherits
        // ours.
        let (ours, theirs) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(theirs)).env(core_dump::FORMER, core_dump::former());
        // SAFETY: the closure makes one system call and touches no memory of the parent.
        unsafe {
            // A new session: Ctrl-C and the end of the terminal do not reach it.
            command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
        }
        // The command holds the watchdog's end; dropping it closes that end, so that we notice when the
        // watchdog dies.
        Ok((command.spawn()?, ours))
    }

    /// Reduces the environment to what a program needs to run.
    pub(crate) fn clean_environment(command: &mut Command) {
        command.env_clear();
        for name in ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "TZ"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("LC_ALL", "C");
    }

    pub(super) fn failed(&self, source: io::Error) -> Error {
        let what = format!("cannot start the watchdog {}: {source}", self.exe.display());
        Error::new(Class::Child, what).because(source)
    }
}

/// Lets the watchdog, and through it the program, inherit these files.
fn inherit(command: &mut Command, files: Vec<Arc<File>>) {
    // SAFETY: the closure makes system calls and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            files.iter().try_for_each(|file| Ok(rustix::io::fcntl_setfd(file, FdFlags::empty())?))
        });
    }
}

/// The program inherits the watchdog's environment.
fn set_environment(command: &mut Command, program: &Program) {
    if program.clean_environment {
        Watchdog::clean_environment(command);
    }
    for name in &program.removed_env {
        command.env_remove(name);
    }
    command.envs(program.env.iter().map(|(name, value)| (name, value)));
}

/// A running program and its watchdog. Dropping it stops the program.
#[derive(Debug)]
pub struct Child {
    pub(super) process: std::process::Child,
    lifeline: UnixStream,
    unread: Vec<u8>,
    program: PathBuf,
    stop: StopWay,
    pid: u32,
    ended: Option<ProgramEnd>,
    /// Processes that the program left running, and that were ended with it.
    strays: Vec<String>,
    /// Nothing is left to stop or reap.
    over: bool,
    /// Nobody waits for its end.
    left: bool,
}

impl Child {
    /// Pid of the program, not of its watchdog.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Path of the program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Waits up to `bound` for the end of the program; `None` while it runs.
    ///
    /// # Errors
    /// When the watchdog was killed or its message cannot be read.
    pub fn wait(&mut self, bound: Duration) -> Result<Option<ProgramEnd>, Error> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        match self.next_message(bound)? {
            Some(WatchdogMessage::Ended(ended)) => {
                self.ended = Some(ended);
                let _ = self.process.wait();
                self.over = true;
                Ok(self.ended)
            }
            Some(WatchdogMessage::Stray(process)) => {
                self.strays.push(process);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Processes that a program [with descendants](Program::with_descendants) left running, and that were ended with it:
    /// `sleep (pid 4711)`. Complete once it has ended.
    #[must_use]
    pub fn strays(&self) -> &[String] {
        &self.strays
    }

    /// Requests an orderly stop and returns at once.
    pub fn ask_stop(&mut self) {
        // A watchdog that is gone cannot be asked; `wait` reports it.
        let _ = self.lifeline.write_all(b"stop\n");
    }

    /// Stops the program and waits for its end: a PostgreSQL server may take 2 minutes for its last
    /// checkpoint. Once the user wants to stop, it is left to its watchdog instead.
    pub fn stop(&mut self) -> Result<ProgramEnd, Error> {
        if self.ended.is_none() {
            self.ask_stop();
        }
        let bound = longest(self.stop);
        let stop_wait = StopWait::begin(&Stop::of_process());
        loop {
            if let Some(ended) = self.wait(SLICE)? {
                return Ok(ended);
            }
            if stop_wait.is_over() {
                return Err(self.leave());
            }
            if stop_wait.elapsed() >= bound {
                return Err(self.failed(&format!("did not stop within {} s", bound.as_secs())));
            }
        }
    }

    /// Leaves the program to its watchdog, which ends it within 10 s, as if pgdyno were gone.
    pub(super) fn leave(&mut self) -> Error {
        let _ = self.lifeline.shutdown(std::net::Shutdown::Both);
        self.over = true;
        self.left = true;
        self.failed("was still stopping; its watchdog ends it within 10 s")
    }

    pub(crate) fn is_left(&self) -> bool {
        self.left
    }

    fn failed(&self, how: &str) -> Error {
        Error::new(Class::Child, format!("{} (pid {}) {how}", self.program.display(), self.pid))
    }

    fn await_start(&mut self) -> Result<(), Error> {
        match self.next_message(START_BOUND)? {
            Some(WatchdogMessage::Started(pid)) => {
                self.pid = pid;
                Ok(())
            }
            Some(WatchdogMessage::Failed(reason)) => {
                let _ = self.process.wait();
                self.over = true;
                let what = format!("cannot start {}: {reason}", self.program.display());
                Err(Error::new(Class::Missing, what).because(reason))
            }
            _ => Err(self.lost()),
        }
    }

    /// The next message that arrives within `bound`.
    fn next_message(&mut self, bound: Duration) -> Result<Option<WatchdogMessage>, Error> {
        let deadline = Instant::now() + bound;
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if let Some(message) = WatchdogMessage::parse(String::from_utf8_lossy(&line[..end]).as_ref())
                {
                    return Ok(Some(message));
                }
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read_more(left) {
                Ok(0) => return Err(self.lost()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The peer closed without reading our `stop`: the same as an end of file.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(self.lost()),
                Err(source) => {
                    let program = self.program.display();
                    let what = format!("cannot talk to the watchdog of {program}: {source}");
                    return Err(Error::new(Class::Child, what).because(source));
                }
            }
        }
    }

    fn read_more(&mut self, bound: Duration) -> io::Result<usize> {
        // A timeout of 0 would mean "forever".
        self.lifeline.set_read_timeout(Some(bound.max(Duration::from_micros(100))))?;
        let mut buffer = [0; 512];
        let count = self.lifeline.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    fn lost(&mut self) -> Error {
        let _ = self.process.wait();
        self.over = true;
        let (program, pid) = (self.program.display(), self.pid);
        Error::new(Class::Child, format!("the watchdog of {program} (pid {pid}) was killed"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Closing our half looks like pgdyno's death to the watchdog, which then needs at most 10 s.
        let _ = self.lifeline.shutdown(std::net::Shutdown::Both);
        let _ = self.process.wait();
    }
}
