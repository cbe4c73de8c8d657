//! Workloads: pgbench scripts, map tiles, OSM loads, Redis commands, HTTP requests, probes.
//!
//! Every workload has the same parts in the same order: *options* (written by the user), *check* (does the
//! target have what it needs), *prepare* (choose the requests, as plain data), *guard* (check that it does
//! something), *client* (driven by the engine) or *job* (run once to its end), and *what it records*. A
//! [`Workload`] is either a [`ClientWorkload`] or a [`JobWorkload`]; one list has all of them, [`Spec`] and
//! [`Preparation`]. [`probe`] is a job that writes no data to stay.
//!
//! Nothing here starts a program or opens a connection: the caller provides child programs, control connections, and the
//! time for checks ([`CheckTime`]).

pub mod http;
pub mod jobs;
pub mod osm;
pub mod pgbench;
pub mod probe;
pub mod redis;
pub mod tiles;

mod answers;
mod check_time;
mod drawn;
mod each;
mod error;
pub mod explain;
mod fields;
mod hash;
mod link;
mod list;
mod pictures;
mod place;
mod plans;
mod sql_file;
mod statement_names;
#[cfg(test)]
mod testing;
mod trace;
mod views;
mod workload;

pub use answers::{AnswerColumn, Sampled, ScriptAnswers, TransactionAnswer};
pub use check_time::{CheckNote, CheckTime};
pub use each::Each;
pub use error::WrongOption;
pub use fields::fields;
pub use link::address_of;
pub use list::{Preparation, PreparedFrom, Spec};
pub use script::without_literals;

pub use place::{HttpPlace, Places, PostgresPlace, RedisServer, ServerPlace, Site, TargetPlaces};
pub use plans::{KeptPlan, SamplePlans, Slowest};
pub use workload::{
    ClientWorkload, Clients, EMPTY_SCRIPT, GuardAgain, Guarded, JobWorkload, LoadNeeds, Prepared,
    RequestText, ScriptInfo, StatementInfo, TileItem, Work, Workload,
};
