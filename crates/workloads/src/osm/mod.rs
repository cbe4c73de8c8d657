//! OSM loads: a real osm2pgsql, run once, with every phase timed in milliseconds.

mod job;
mod options;
mod program;

pub use options::Options;
