//! What a server's files stand on, as a part of what is measured: a folder somewhere, or a filesystem made for it.
//!
//! A filesystem is made, mounted again and removed by its *keeper*: pgdyno's own executable, called as a watchdog is, which
//! ends with the lifeline and takes with it what it made. Everything is done by the system's own tools, within a time. What
//! stands in its own folder below the home (`made`) says what there is; what a killed keeper left, the next
//! pgdyno removes ([`remove_dead`]).

mod available;
mod dead;
mod dismantle;
mod error;
mod journal;
mod keeper;
mod loop_device;
mod made;
mod make;
mod mount_point;
mod mounted;
mod order;
mod tools;
mod used;
mod weakens;
mod zfs;

pub use available::{Available, available, available_below, overcommitted};
pub use dead::remove_dead;
pub use error::Unavailable;
pub(crate) use keeper::storage_keeper_main;
pub(crate) use made::{LINK, is_in_use};
pub use mounted::Mounted;
pub(crate) use order::KEEPER_ARGUMENT;
pub use spec::plan::storage::{Filesystem, Ground, Holds, Kind, Storage};
pub use used::Used;
pub(crate) use used::used_by;
pub use weakens::weakens;
