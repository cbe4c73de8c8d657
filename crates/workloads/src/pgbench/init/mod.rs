//! pgbench's `-i`: makes and fills its four tables, and times each step.
//!
//! Steps, tables, rows and messages are pgbench's (version 18). Rows use COPY's binary format where the
//! columns allow it, and large tables are loaded while the server's log is written by another connection (see
//! `flush`). Without timeout: a table of scale 1000 has 100 million rows. In addition to pgbench: several
//! connections at once, and batches with a transaction each ([`Loading`]).

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

pub use error::{Remark, remarks};
pub use event::{EventPrinter, InitEvent, Listener, RowsProgress, Summary};
pub use options::{InitOptions, Loading, PartitionMethod};
pub use steps::{InitStep, parse_steps};
pub use work::run;

/// Accounts per unit of scale.
const ACCOUNTS: u64 = 100_000;
/// Tellers per unit of scale.
const TELLERS: u64 = 10;

#[cfg(test)]
mod tests;
