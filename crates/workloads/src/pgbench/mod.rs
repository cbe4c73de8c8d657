//! pgbench scripts: the built-in ones and users' own, in pgbench's language, with its counting of retries and failures.
//!
//! A transaction is one run of a script. Its rows and bytes are those of all its statements; where statement latencies are
//! asked for, each command of a script is one, in the order of [`crate::ClientWorkload::statements`]. `\shell` and
//! `\setshell` are run by whoever is handed in for it ([`Shell`]); where there is nobody they are refused by name.

mod check;
mod client;
mod explain;
mod guard;
pub mod init;
mod keyed;
mod manner;
mod of_session;
mod options;
mod prepare;
mod read_only;
mod shell;
mod source;
mod trial;
mod variables;
mod workload;
mod writes;

pub use check::{Tables, TablesError, Vacuuming, count_tables, tables, vacuum};
pub use manner::{Group, HostPolicy, Manner};
pub use options::{Mode, Options};
pub use shell::{Shell, ShellCommand, ShellDone, WhenDone};
pub use source::ScriptSource;
pub use workload::Pgbench;
