//! OSM loads: a real osm2pgsql, run once, with every phase timed in milliseconds.

mod command;
mod job;
mod made;
mod options;
mod others;
mod program;
mod workload;

pub use job::Load;
pub use options::Options;
pub use workload::Loads;
