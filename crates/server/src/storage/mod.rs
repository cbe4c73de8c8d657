//! The storage of a server's files, as a part of what is measured: a folder, or a filesystem made for it.
//!
//! A filesystem is made, mounted again and removed by its *keeper*: pgdyno's executable, started as a
//! watchdog is. It ends with the lifeline and removes what it made. Everything is done by the system's tools,
//! with timeouts. The filesystem's folder in the home (`made`) records what exists. What a killed keeper left
//! is removed by the next pgdyno ([`remove_dead`]).

mod available;
mod dismantle;
mod error;
mod journal;
mod keeper;
mod loop_device;
mod made;
mod make;
mod mount_point;
mod mounted;
mod tools;
mod used;
mod weakens;
mod zfs;

pub use available::{Available, available, available_below, overcommitted};
pub use dismantle::remove_dead;
pub(crate) use keeper::storage_keeper_main;
pub(crate) use made::{KEEPER_ARGUMENT, LINK, is_in_use};
pub use mounted::Mounted;
pub use used::Used;
pub(crate) use used::used_by;
pub use weakens::weakens;
