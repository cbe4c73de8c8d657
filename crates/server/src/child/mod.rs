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

pub use account::Account;
pub(crate) use account::as_account;
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
