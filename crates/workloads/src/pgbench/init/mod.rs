//! pgbench's `-i`: makes and fills its four tables, each step timed.
//!
//! Steps, tables, rows and messages are pgbench's (version 18). Rows go over in COPY's binary format where the columns
//! allow it, and many of them with the server's log written out meanwhile (see `flush`). Without its own bound: a table of scale 1000 has 100 million rows. Beyond pgbench: several connections
//! at once, and batches with a transaction each ([`Loading`]).

mod batches;
mod error;
mod event;
mod fault;
mod flush;
mod generate;
mod job;
mod layout;
mod meter;
mod options;
mod parallel;
mod rows;
mod source;
mod steps;
mod stretch;
mod tables;
mod work;

pub use error::{InitError, Part, Remark, Standing};
pub use event::{Event, Listener, Progress, Summary, Voice};
pub use options::{InitOptions, Loading, PartitionMethod};
pub use steps::{Step, parse_steps};
pub use work::run;

/// Accounts for each unit of scale.
const ACCOUNTS: u64 = 100_000;
/// Tellers for each unit of scale.
const TELLERS: u64 = 10;

#[cfg(test)]
mod tests;
