//! Records before each step which parts of a filesystem may exist.

use std::io;

use serde::{Deserialize, Serialize};

use super::made::{JOURNAL, MadeFolder};
use crate::home::Readable;
use spec::plan::storage::Filesystem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StorageStep {
    /// The file that contains the filesystem.
    Image,
    /// A loop device on it.
    Loop,
    /// The filesystem in it.
    Format,
    Mount,
    /// The daemon of zfs-fuse.
    Daemon,
    /// A pool on the image, which is mounted with it.
    Pool,
}

/// The file next to the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StorageJournal {
    /// Version of the file's format.
    format: u32,
    pub(super) filesystem: Filesystem,
    /// Name of its pool, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pool: Option<String>,
    /// Whether the kernel has its pool, not a daemon.
    #[serde(default)]
    pub(super) kernel: bool,
    /// The last step that was begun.
    pub(super) step: StorageStep,
}

impl StorageJournal {
    pub(super) fn new(filesystem: &Filesystem) -> Self {
        let filesystem = filesystem.clone();
        Self { format: 1, filesystem, pool: None, kernel: false, step: StorageStep::Image }
    }

    pub(super) fn read(made: &MadeFolder) -> Option<Self> {
        let text = made.open().ok()?.read(JOURNAL).ok()?;
        serde_json::from_slice(&text).ok().filter(|journal: &Self| journal.format == 1)
    }

    /// Records that a step is about to be done.
    pub(super) fn begin(&mut self, made: &MadeFolder, step: StorageStep) -> io::Result<()> {
        self.step = step;
        let text = serde_json::to_string_pretty(self)?;
        made.open()?.replace(JOURNAL, text.as_bytes(), Readable::ByUs).map(drop)
    }
}
