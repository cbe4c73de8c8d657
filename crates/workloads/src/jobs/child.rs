//! Runs a program to its end; done by `lab`, which keeps children under its watchdog.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildOrder {
    /// A path, or a name to look up.
    pub program: PathBuf,
    /// Never a secret.
    pub args: Vec<OsString>,
    /// Files among the arguments that it only reads.
    pub inputs: Vec<ChildInput>,
    /// Added to this child's environment; may contain a password.
    pub env: Vec<(OsString, OsString)>,
    /// Lines with this text are dropped: there are many of them, and each would use CPU during the
    /// measurement.
    pub unwanted: Option<&'static str>,
}

/// A file that a program only reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildInput {
    pub path: PathBuf,
    /// Additional arguments if the file is passed without its name, from which the program would know its
    /// format.
    pub without_name: Vec<OsString>,
}

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// How the program ended and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChildEnd {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// From start to end on the monotonic clock, µs.
    pub wall_us: u64,
    pub user_us: u64,
    pub system_us: u64,
    /// Largest resident memory, bytes.
    pub max_rss_bytes: u64,
    /// CPU that pgdyno itself used meanwhile, µs.
    pub own_cpu_us: u64,
}

impl ChildEnd {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs a program to its end.
pub trait RunChild {
    /// Runs it; each complete line of output (split at `\n` and `\r`, without its end) is passed on with its
    /// stream and its time in µs since the start, on the monotonic clock.
    ///
    /// # Errors
    /// In words, when it could not be started or was lost; a failing program is not an error here.
    fn run(
        &mut self,
        order: &ChildOrder,
        on_line: &mut dyn FnMut(OutputStream, u64, &str),
    ) -> Result<ChildEnd, String>;
}

static OTHER_ACCOUNT: OnceLock<(u32, u32)> = OnceLock::new();

/// Records for this process that programs of jobs run as another user and group.
pub fn programs_run_as(user: u32, group: u32) {
    let _ = OTHER_ACCOUNT.set((user, group));
}

/// User and group of programs, if they differ from this process's.
pub(crate) fn other_account() -> Option<(u32, u32)> {
    OTHER_ACCOUNT.get().copied()
}
