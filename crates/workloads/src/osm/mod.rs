//! OSM loads: a real osm2pgsql, run once, with every phase timed in milliseconds.

mod command;
mod failed;
mod job;
mod made;
mod nodes;
mod options;
mod others;
mod program;
pub(crate) mod several;
mod workload;

pub use job::LoadJob;
pub(crate) use options::is_a_path;
pub(crate) use options::prefix_taken;
pub use options::{OsmOptions, runs_lua};
pub use workload::Loads;
