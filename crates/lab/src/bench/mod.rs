//! Single jobs, without an experiment file: `pgdyno bench -i`, `pgdyno osm load`. Each is stored as an experiment of
//! one cell; a repetition adds a round.

mod connection;
mod job;

pub use connection::at;
pub use job::{KeepIn, Kept, initialize, load_osm};
