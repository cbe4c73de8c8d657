//! What a keeper is told when it is started.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use spec::plan::storage::Filesystem;

/// What a watchdog is told to be a keeper of a filesystem by, instead of watching over a child; its [`Order`] follows.
pub(crate) const KEEPER_ARGUMENT: &str = "--storage";

/// A filesystem to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// Of its own; not there yet.
    pub(super) folder: PathBuf,
    pub(super) filesystem: Filesystem,
}

/// What the keeper is asked for by a line.
pub(super) const AGAIN: &str = "again";
pub(super) const REMOVE: &str = "remove";
/// What it answers: done, or why not.
pub(super) const DONE: &str = "done";
pub(super) const FAILED: &str = "failed ";
