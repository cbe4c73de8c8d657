//! Extracts: files in OSM's PBF format.

mod check;
mod pbf;

pub use check::{Extract, FileError, check};
