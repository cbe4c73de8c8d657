//! Running a program to its end; done by `lab`, which keeps children under its watchdog.

use std::ffi::OsString;
use std::path::PathBuf;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildOrder {
    /// The program: a path, or a name to be looked up.
    pub program: PathBuf,
    /// Its arguments; never a secret.
    pub args: Vec<OsString>,
    /// Added to the environment of this child only; may hold a password.
    pub env: Vec<(OsString, OsString)>,
    /// Lines that hold this are not handed on: there are many of them, and each would cost its share of a CPU that is measured.
    pub unwanted: Option<&'static str>,
}

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How the program ended and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChildEnd {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Signal that ended it.
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
