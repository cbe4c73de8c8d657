//! Extracts: files in OSM's PBF format.

mod check;
mod missing;
mod object;
mod pbf;
mod read;
mod write;

pub use check::{Extract, FileError, check};
pub use missing::{Missing, missing};
pub use object::{Bbox, Kind, Member, Node, Object, Relation, Tag, Way};
pub use read::{Header, read};
pub use write::{Block, header_blob};
