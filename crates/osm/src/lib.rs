//! OpenStreetMap's side of things, without a server: extracts, real ones and synthetic, and what osm2pgsql says while it
//! loads them.

pub mod extract;
pub mod log;
pub mod synth;
