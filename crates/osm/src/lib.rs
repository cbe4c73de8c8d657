//! OpenStreetMap's side of things, without a database: extracts (fetched, checked, synthetic), and what osm2pgsql says while
//! it loads them.

pub mod extract;
pub mod fetch;
pub mod log;
pub mod synth;
