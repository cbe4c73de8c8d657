//! Extracts: files in OSM's PBF format.

mod check;
mod encode;
mod object;
mod pbf;
mod read;
mod write;

pub use check::{Extract, FileError, check};
pub use object::{Kind, Member, Node, Object, Relation, Way};
pub use read::{Header, ReadError, read};
pub use write::{Bbox, Block, header_blob};
