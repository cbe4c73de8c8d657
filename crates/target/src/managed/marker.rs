//! The file that says that a folder is ours: nothing without it is ever used, stopped or removed.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
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
        // Of an earlier try, with whatever rights.
        let _ = std::fs::remove_file(&new);
        let written = write_private(&new, text.as_bytes());
        // Half a marker would make the folder look like somebody else's.
        written.inspect_err(|_| drop(std::fs::remove_file(&new)))?;
        std::fs::rename(new, folder.join(MARKER))
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// It was 0644, also where an earlier one had been left half-written.
    #[test]
    fn the_file_of_a_cluster_is_for_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(format!("{MARKER}.new")), "half").expect("own folder");
        let marker = Marker {
            format: 1,
            server_version: "18.0".into(),
            major: 18,
            bin: "/bin".into(),
            locale: "C".into(),
            complete: true,
            network: false,
            port: 5432,
            detached: false,
        };
        marker.write(folder.path()).expect("own folder");
        assert_eq!(Marker::read(folder.path()), Some(marker));
        let mode = folder.path().join(MARKER).metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
