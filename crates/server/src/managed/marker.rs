//! The file that marks a folder as ours: without it a folder is never used, stopped or removed.

use std::ffi::OsStr;
use std::io;

use serde::{Deserialize, Serialize};
use spec::plan::storage::Storage;

use super::NetworkAccess;
use crate::home::{Dir, Distrust, Readable};

pub(super) const MARKER: &str = "pgdyno-cluster.json";
/// Version of the file's format.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    pub(super) format: u32,
    pub(super) server_version: String,
    /// Major version of the data folder.
    pub(super) major: u32,
    pub(super) bin: std::path::PathBuf,
    /// `C.UTF-8`, or `C` where that does not exist.
    pub(super) locale: String,
    /// Whether initdb finished.
    pub(super) complete: bool,
    /// Also listens on 127.0.0.1, with a password.
    pub(super) network: bool,
    /// Offers TLS there; only with `network`.
    #[serde(default)]
    pub(super) tls: bool,
    /// Also a part of the socket's name.
    pub(super) port: u16,
    /// Runs without a watchdog, until it is stopped explicitly.
    pub(super) detached: bool,
    /// A user started it to stay once, and may have put data on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_kept: bool,
    /// Where some of its files are, if not in its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<Storage>,
    /// Options of initdb besides ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) initdb: Vec<String>,
    /// SHA-256 of the build that made its data folder, hex ([`crate::build::tree_of`]), if it is the server of a build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<String>,
    /// Present for a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<CopyOf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyOf {
    /// Name of the server that was copied.
    pub(super) template: String,
    /// Its purpose and source, as identified by its maker.
    pub(super) made_for: String,
    /// Permanent changes since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) done: Option<String>,
}

impl Marker {
    /// The marker in a folder; `None` where there is none, or none in a known format.
    ///
    /// # Errors
    /// When somebody else may have written it.
    pub(super) fn read(folder: &Dir) -> io::Result<Option<Self>> {
        match folder.read(MARKER) {
            Ok(text) => {
                Ok(serde_json::from_slice(&text).ok().filter(|marker: &Self| marker.format == FORMAT))
            }
            Err(error) if Distrust::is_in(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Writes it so that a crash leaves the old or the new one.
    pub(super) fn write(&self, folder: &Dir) -> io::Result<()> {
        folder.replace(MARKER, serde_json::to_string_pretty(self)?.as_bytes(), Readable::ByUs).map(drop)
    }

    pub(super) fn is(name: &OsStr) -> bool {
        name == MARKER
    }

    /// Whether a file is an incomplete marker.
    pub(super) fn is_half(name: &OsStr) -> bool {
        name.to_str().and_then(|name| name.strip_suffix(".new")) == Some(MARKER)
    }

    pub(super) fn via(&self) -> NetworkAccess {
        match (self.network, self.tls) {
            (false, _) => NetworkAccess::Socket,
            (true, false) => NetworkAccess::Tcp,
            (true, true) => NetworkAccess::Tls,
        }
    }

    pub(super) fn set_via(&mut self, via: NetworkAccess) {
        (self.network, self.tls) = (via >= NetworkAccess::Tcp, via >= NetworkAccess::Tls);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// It was 0644, even where an earlier one was incomplete.
    #[test]
    fn the_file_of_a_cluster_is_for_its_owner_only() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = crate::home::Home::at(top.path()).open().expect("ours").expect("there");
        std::fs::write(folder.path().join(format!("{MARKER}.new")), "half").expect("own folder");
        let marker = Marker {
            format: 1,
            server_version: "18.0".into(),
            major: 18,
            bin: "/bin".into(),
            locale: "C".into(),
            complete: true,
            network: false,
            tls: false,
            port: 5432,
            detached: false,
            is_kept: false,
            storage: None,
            initdb: Vec::new(),
            build: None,
            copy: None,
        };
        marker.write(&folder).expect("own folder");
        assert_eq!(Marker::read(&folder).expect("ours"), Some(marker));
        let mode = folder.path().join(MARKER).metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
