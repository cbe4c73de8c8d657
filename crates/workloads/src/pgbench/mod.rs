//! pgbench scripts: the built-in ones and users' own, in pgbench's language, with its counting of retries and failures.
//!
//! A transaction is one run of a script. Its rows and bytes are those of all its statements; where statement latencies are
//! asked for, each command of a script is one, in the order of [`crate::ClientWorkload::statements`]. `\shell` and
//! `\setshell` are refused by name: they would run on the thread that drives the load.

mod check;
mod client;
mod guard;
pub mod init;
mod options;
mod prepare;
mod variables;
mod workload;

pub use check::{Tables, tables};
pub use options::{Mode, Options, ScriptSource};
pub use workload::Pgbench;
