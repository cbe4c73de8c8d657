//! Extracts: files in OSM's PBF format.

mod check;
mod missing;
mod object;
mod pbf;
mod read;
mod write;

pub(crate) use check::examine;
pub use check::{Extract, check};
pub use missing::{Missing, missing};
pub use object::{Bbox, Kind, Member, Node, Object, Relation, Tag, Way};
pub use read::{Header, read};
pub use write::{Block, header_blob};
