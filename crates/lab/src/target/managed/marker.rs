//! The file that says that a folder is ours: nothing without it is ever used, stopped or removed.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

const MARKER: &str = "pgdyno-cluster.json";

/// What is remembered about a managed server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Version of this file's form.
    pub(super) format: u32,
    /// Full version of the server that made the data.
    pub(super) server_version: String,
    /// Major version of the data folder.
    pub(super) major: u32,
    /// Folder of the server's programs.
    pub(super) bin: std::path::PathBuf,
    /// `C.UTF-8`, or `C` where that is unknown.
    pub(super) locale: String,
    /// Whether initdb came to its end.
    pub(super) complete: bool,
    /// Also listens on 127.0.0.1, with a password.
    pub(super) network: bool,
    /// Port; part of the socket's name too.
    pub(super) port: u16,
    /// Runs without a watchdog, until it is told to stop.
    pub(super) detached: bool,
}

impl Marker {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(MARKER)).ok()?;
        serde_json::from_str(&text).ok().filter(|marker: &Self| marker.format == 1)
    }

    /// Writes it so that a crash leaves the old or the new one.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let new = folder.join(format!("{MARKER}.new"));
        std::fs::write(&new, text)?;
        std::fs::File::open(&new)?.sync_all()?;
        std::fs::rename(new, folder.join(MARKER))
    }
}
