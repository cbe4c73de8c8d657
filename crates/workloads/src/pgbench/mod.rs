//! pgbench scripts: the built-in ones and the users', in pgbench's language, with its counting of retries and
//! failures.
//!
//! A transaction is one run of a script. Its rows and bytes are sums over its statements. If statement
//! latencies are requested, each command of a script is a statement, in the order of
//! [`crate::ClientWorkload::statements`]. The caller runs `\shell` and `\setshell` ([`Shell`]); without that,
//! they are refused by name.

mod check;
mod client;
mod csv;
mod drop_in;
mod explain;
mod guard;
pub mod init;
mod keyed;
mod of_session;
mod options;
mod prepare;
mod read_only;
mod routes;
mod row_options;
mod row_turns;
mod rows;
mod source;
mod steps;
mod trial;
mod unset;
mod workload;
mod writes;

pub use check::{TableFacts, TablesError, Vacuuming, count_tables, tables, vacuum};
pub use drop_in::{ClientGroup, DropInOptions, HostPolicy, Shell, ShellCommand, ShellDone, WhenDone};
pub use options::{PgbenchOptions, QueryProtocol, ScriptOption};
pub use row_options::{RowOptions, RowOrder, RowPer, RowUse};
pub use rows::Rows;
pub use source::ScriptSource;
pub use workload::Pgbench;
