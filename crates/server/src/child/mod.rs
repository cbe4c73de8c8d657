//! Programs that pgdyno starts: database servers, osm2pgsql, initdb.
//!
//! Each runs under a *watchdog*: a small process (pgdyno's executable, called with a hidden argument) in a
//! separate session. It holds one end of a socket, the *lifeline*, and pgdyno the other. When pgdyno ends in
//! any way, `kill -9` included, the kernel closes the lifeline, and the watchdog stops its child by pid
//! within 10 s. Nothing is ever stopped by name.
//!
//! Secrets are passed to children in the environment or files, never in arguments.

mod account;
mod asked;
mod captured;
pub mod core_dump;
mod guard;
mod lines;
mod message;
mod order;
mod program;
mod run;
mod stop_wait;
mod stopping;
mod strays;
mod supervised;
mod watchdog;

pub use account::Account;
pub(crate) use account::as_account;
pub(crate) use asked::{ProgramAnswer, ask, ask_all, ask_command, ask_command_for_list};
pub use captured::Captured;
pub use guard::watchdog_main;
pub use lines::{OutputLine, Stream};
pub use message::ProgramEnd;
pub use program::{Program, StopWay};
pub use run::FinishedProgram;
pub use supervised::{DeadServer, Supervised};
pub use watchdog::{Child, Watchdog};

/// First argument of a watchdog; the rest goes to [`watchdog_main`].
pub const WATCHDOG_ARGUMENT: &str = "watchdog";
