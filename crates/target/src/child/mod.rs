//! Programs that pgdyno starts: database servers, osm2pgsql, initdb.
//!
//! Each runs under a *watchdog*: a small process (pgdyno's own executable, called with a hidden argument) in a
//! session of its own that holds one end of a socket, the *lifeline*, whose other end pgdyno holds. When pgdyno
//! ends in any way, `kill -9` included, the kernel closes the lifeline, and the watchdog stops its child by pid
//! within 10 s. Nothing is ever stopped by name.
//!
//! Secrets go to children through the environment or files, never through arguments.

mod account;
mod asked;
pub mod core_dump;
mod guard;
mod kept;
mod lines;
mod message;
mod order;
mod overseen;
mod parting;
mod program;
mod run;
mod stopping;
mod watchdog;

use std::io;
use std::path::PathBuf;

pub(crate) use account::as_account;
pub use account::{Account, AccountError};
pub(crate) use asked::{ask, ask_all};
pub use guard::watchdog_main;
pub use kept::Kept;
pub use lines::{Line, Stream};
pub use message::Ended;
pub use overseen::{CutShort, Overseen};
pub use program::{Program, StopWay};
pub use run::Finished;
pub use watchdog::{Child, Watchdog};

/// First argument of a pgdyno that is to be a watchdog; what follows goes to [`watchdog_main`].
pub const WATCHDOG_ARGUMENT: &str = "watchdog";

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// pgdyno's own executable could not be started as a watchdog.
    #[error("cannot start the watchdog {}: {source}", exe.display())]
    Watchdog {
        /// Path tried.
        exe: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {}: {reason}", program.display())]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The watchdog ended without saying what became of its child.
    #[error("the watchdog of {} (pid {pid}) was killed", program.display())]
    Lost {
        /// Path of the program.
        program: PathBuf,
        /// Its pid, 0 if it never started.
        pid: u32,
    },
    /// Talking to the watchdog failed.
    #[error("cannot talk to the watchdog of {}: {source}", program.display())]
    Lifeline {
        /// Path of the program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program did not stop in time.
    #[error("{} (pid {pid}) did not stop within {seconds} s", program.display())]
    Stuck {
        /// Path of the program.
        program: PathBuf,
        /// Its pid.
        pid: u32,
        /// How long was waited.
        seconds: u64,
    },
    /// The user did not want to wait until it stopped.
    #[error("{} (pid {pid}) was still stopping; its watchdog ends it within 10 s", program.display())]
    Left {
        /// Path of the program.
        program: PathBuf,
        /// Its pid.
        pid: u32,
    },
}
