//! A program to start, and how it is stopped.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Account;

/// How a program is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopWay {
    /// A postmaster: SIGINT (fast shutdown), then SIGQUIT (immediate), then SIGKILL.
    Postgres,
    /// All processes of the group: SIGTERM, then SIGKILL.
    Terminate,
    /// SIGQUIT instead of SIGTERM, for programs that wait for their clients on SIGTERM.
    Quit,
}

/// A program to start. Its arguments must contain no secret: every user of the machine can read them.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// Variables of ours that it does not inherit.
    pub removed_env: Vec<OsString>,
    /// Whether it starts with only `PATH`, `HOME` and a C locale instead of our environment.
    pub clean_environment: bool,
    /// The current one when `None`.
    pub folder: Option<PathBuf>,
    /// The current one when `None`.
    pub account: Option<Account>,
    pub stop: StopWay,
    /// Whether the rest of its process group ends with it, even if it was killed: a server with worker
    /// processes. Not with [`StopWay::Postgres`].
    pub whole: bool,
    /// Whether every process that it started ends with it, also in another session or process group. Only Linux knows
    /// these processes.
    pub descendants: bool,
    /// Temporary folders, which its watchdog removes when pgdyno is gone.
    pub leaves: Vec<PathBuf>,
    /// Open files that it inherits under the same numbers.
    pub inherited: Vec<Arc<File>>,
    /// Lines with this text are dropped where they are read.
    pub unwanted: Option<&'static str>,
}

impl Program {
    /// A program with our environment, folder and account, stopped by SIGTERM.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            args: Vec::new(),
            env: Vec::new(),
            removed_env: Vec::new(),
            clean_environment: false,
            folder: None,
            account: None,
            stop: StopWay::Terminate,
            whole: false,
            descendants: false,
            leaves: Vec::new(),
            inherited: Vec::new(),
            unwanted: None,
        }
    }

    /// A server or its helper: with a clean environment, in this folder, as this account.
    #[must_use]
    pub fn server(path: impl Into<PathBuf>, folder: &Path, account: Option<&Account>) -> Self {
        Self {
            clean_environment: true,
            folder: Some(folder.to_owned()),
            account: account.cloned(),
            ..Self::new(path)
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments after those that it has.
    #[must_use]
    pub fn args<I: Into<OsString>>(mut self, args: impl IntoIterator<Item = I>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets its temporary folders.
    #[must_use]
    pub fn leaving<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Self {
        self.leaves.extend(folders.into_iter().map(Into::into));
        self
    }

    /// Ends the rest of its process group with it.
    #[must_use]
    pub fn with_workers(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Ends every process that it started with it: the rest of its process group, and what it detached.
    #[must_use]
    pub fn with_descendants(mut self) -> Self {
        self.descendants = true;
        self.with_workers()
    }

    /// Sets how it is stopped.
    #[must_use]
    pub fn stopped_by(mut self, stop: StopWay) -> Self {
        self.stop = stop;
        self
    }
}
