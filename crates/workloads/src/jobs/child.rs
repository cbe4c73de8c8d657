//! Running a program to its end; done by `lab`, which keeps children under its watchdog.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildOrder {
    /// The program: a path, or a name to be looked up.
    pub program: PathBuf,
    /// Its arguments; never a secret.
    pub args: Vec<OsString>,
    /// Files among the arguments that it only reads.
    pub inputs: Vec<ChildInput>,
    /// Added to the environment of this child only; may hold a password.
    pub env: Vec<(OsString, OsString)>,
    /// Lines that hold this are not handed on: there are many of them, and each would cost its share of a CPU that is measured.
    pub unwanted: Option<&'static str>,
}

/// A file that a program only reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildInput {
    /// As it stands among the arguments.
    pub path: PathBuf,
    /// Further arguments where the file is given without its name, by which the program would know what is in it.
    pub without_name: Vec<OsString>,
}

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Stdout,
    /// Standard error.
    Stderr,
}

/// How the program ended and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChildEnd {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// From start to end on the monotonic clock, µs.
    pub wall_us: u64,
    /// User CPU, µs.
    pub user_us: u64,
    /// System CPU, µs.
    pub system_us: u64,
    /// Largest resident memory, bytes.
    pub max_rss_bytes: u64,
    /// CPU that pgdyno itself used meanwhile, µs.
    pub own_cpu_us: u64,
}

impl ChildEnd {
    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs a program to its end.
pub trait RunChild {
    /// Runs it; each finished line of output (split at `\n` and `\r`, without its end) is handed out with its
    /// stream and its time in µs since the start, on the monotonic clock.
    ///
    /// # Errors
    /// In words, when it could not be started or was lost; a program that fails is no error here.
    fn run(
        &mut self,
        order: &ChildOrder,
        on_line: &mut dyn FnMut(Output, u64, &str),
    ) -> Result<ChildEnd, String>;
}

static OTHER_ACCOUNT: OnceLock<(u32, u32)> = OnceLock::new();

/// Says once for this process that programs of jobs run as another user than it does: as this user and group.
pub fn programs_run_as(user: u32, group: u32) {
    let _ = OTHER_ACCOUNT.set((user, group));
}

/// User and group that programs run as where those are not this process's own.
pub(crate) fn other_account() -> Option<(u32, u32)> {
    OTHER_ACCOUNT.get().copied()
}
