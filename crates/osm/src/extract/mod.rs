//! Extracts: files in OSM's PBF format.

mod check;
mod encode;
mod missing;
mod object;
mod pbf;
mod read;
mod write;

pub use check::{Extract, FileError, check};
pub use missing::{Missing, missing};
pub use object::{Kind, Member, Node, Object, Relation, Way};
pub use read::{Header, ReadError, read};
pub use write::{Bbox, Block, header_blob};
