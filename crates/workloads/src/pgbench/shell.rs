//! What runs the commands of `\shell` and `\setshell`: something outside, since workloads start no program.

use std::fmt;

/// A command line of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// For `sh -c`.
    pub text: Vec<u8>,
    /// Whether its output is wanted; else it goes where the program's own goes.
    pub capture: bool,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellDone {
    /// It could not be started.
    NotStarted,
    Ended {
        /// Whether it said that all went well (exit status 0).
        success: bool,
        /// Where output was wanted, at least its first line (as far as it came); else empty.
        output: Vec<u8>,
    },
}

/// Called once when the command has ended, from any thread.
pub type WhenDone = Box<dyn FnOnce(ShellDone) + Send>;

/// Runs commands outside the threads that drive the load.
pub trait Shell: Send + Sync + fmt::Debug {
    /// Starts a command and returns at once.
    fn start(&self, command: ShellCommand, done: WhenDone);
}
