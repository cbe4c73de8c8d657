//! OSM loads: a real osm2pgsql, run once, with every phase timed in milliseconds.

mod check;
mod job;
mod log;
mod options;
mod pbf;

pub use check::{Extract, check_extract};
pub use log::LogParser;
pub use options::Options;
