//! pgbench scripts: the built-in ones and users' own, in pgbench's language, with its counting of retries and failures.

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
