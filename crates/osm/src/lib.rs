//! OpenStreetMap data without a database: extracts (fetched, checked, synthetic), and the log of osm2pgsql.

pub mod extract;
pub mod fetch;
pub mod log;
pub mod synth;
