//! What is to be started, and how it is stopped.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Account;

/// How a program is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopWay {
    /// A PostgreSQL postmaster: SIGINT (fast shutdown), then SIGQUIT (immediate), then SIGKILL.
    Postgres,
    /// Anything else, with all processes of its group: SIGTERM, then SIGKILL.
    Terminate,
    /// The same with SIGQUIT in place of SIGTERM, for programs that wait for their clients on the latter.
    Quit,
}

/// A program to start. Its arguments must hold no secret: every user of the machine can read them.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of the executable, or its name to be found in `PATH`.
    pub path: PathBuf,
    /// Arguments after the name.
    pub args: Vec<OsString>,
    /// Variables set for it.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of ours that it does not inherit.
    pub removed_env: Vec<OsString>,
    /// Whether it starts with `PATH`, `HOME` and a C locale only, instead of our environment.
    pub clean_environment: bool,
    /// Folder it starts in; ours when `None`.
    pub folder: Option<PathBuf>,
    /// Account it runs as; ours when `None`.
    pub account: Option<Account>,
    /// How it is stopped.
    pub stop: StopWay,
    /// Whether what is left of its process group ends with it, also when it was killed: a server with worker processes.
    /// With [`StopWay::Terminate`] only.
    pub whole: bool,
    /// Folders of its own that are of no use after it: its watchdog removes them when pgdyno is gone.
    pub leaves: Vec<PathBuf>,
    /// Open files that it inherits, by their numbers.
    pub inherited: Vec<Arc<File>>,
    /// Lines that hold this are nobody's: they are left where they are read, and wake nobody up.
    pub unwanted: Option<&'static str>,
}

impl Program {
    /// A program that inherits our environment, folder and account, stopped by SIGTERM.
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
            leaves: Vec::new(),
            inherited: Vec::new(),
            unwanted: None,
        }
    }

    /// A server or its helper: nothing of our environment, in the given folder, as the given account.
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

    /// Adds arguments.
    #[must_use]
    pub fn args<I: Into<OsString>>(mut self, args: impl IntoIterator<Item = I>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Names its own folders that are of no use after it.
    #[must_use]
    pub fn leaving<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> Self {
        self.leaves.extend(folders.into_iter().map(Into::into));
        self
    }

    /// Lets the rest of its process group end with it.
    #[must_use]
    pub fn with_workers(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Chooses how it is stopped.
    #[must_use]
    pub fn stopped_by(mut self, stop: StopWay) -> Self {
        self.stop = stop;
        self
    }
}
