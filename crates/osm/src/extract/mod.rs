//! Extracts: files in OSM's PBF format.

mod check;
mod missing;
mod object;
mod pbf;
mod read;
mod write;

pub(crate) use check::examine;
pub use check::{Extract, check};
pub use missing::{MissingObjects, missing};
pub use object::{Bbox, Member, Node, Object, ObjectKind, Relation, Tag, Way};
pub use read::{Header, read};
pub use write::{BlobBuilder, header_blob};
