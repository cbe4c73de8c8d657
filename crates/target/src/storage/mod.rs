//! What a server's files stand on, as a part of what is measured: a folder somewhere, or a filesystem made for it.

mod options;

pub use options::{Filesystem, Ground, Holds, Kind, Storage};
