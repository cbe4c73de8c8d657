//! What is asked of a target: pgbench scripts, map tiles, OSM loads, Redis commands.
//!
//! Every workload has the same parts in the same order: *options* (what a user may write), *check* (does the target
//! have what it needs), *prepare* (choose, as plain data, what will be asked), *guard* (prove that it does something),
//! *client* (driven by the engine) or *job* (run once to its end), and *what it records*. A client workload is a
//! [`ClientWorkload`]; a job is a function that reports [`jobs::JobPhase`]s.
//!
//! Nothing here starts a program, opens a connection or reads a clock: child programs, time and control connections are
//! handed in.

pub mod jobs;
pub mod osm;
pub mod pgbench;
pub mod redis;
pub mod tiles;

mod error;
mod hash;
mod link;
mod place;
mod spec;
#[cfg(test)]
mod testing;
mod words;
mod workload;

pub use error::WorkloadError;
pub use place::{Places, RedisServer, Site};
pub use spec::Spec;
pub use words::{nearest, unknown_word};
pub use workload::{Artifact, ClientWorkload, Crew, Guarded, Prepared, ScriptInfo, StatementInfo};
