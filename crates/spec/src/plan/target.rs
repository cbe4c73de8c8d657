//! What an experiment measures, and what makes it that target and no other. The address of a server given by URL may hold a
//! password, and is no part of a plan.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::storage::Storage;
use super::tile_server;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetSpec {
    /// A server that pgdyno makes and owns.
    Managed {
        name: String,
        /// Major version; `None` for the newest found.
        version: Option<u32>,
        extensions: Vec<String>,
        redis: bool,
        /// Folder of PostgreSQL's programs, where it is one's own build.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bin: Option<PathBuf>,
        /// What its files stand on, where that is not pgdyno's home.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        storage: Option<Storage>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tile_servers: Vec<tile_server::Options>,
    },
    /// A server somewhere.
    Url {
        /// Empty where only the identity is kept.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        shown: String,
        /// Where it leads, without spelling and user: two targets with the same place are one.
        place: String,
        /// A Redis beside it, `redis://host:port`.
        redis: Option<String>,
        /// Whether settings of the whole server may be changed (and put back).
        change_server: bool,
        /// Tile servers before it, on this machine.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tile_servers: Vec<tile_server::Options>,
    },
}

impl Default for TargetSpec {
    /// The private server of pgdyno that has no other name.
    fn default() -> Self {
        Self::managed("default", &[])
    }
}

impl TargetSpec {
    /// A private server of this name with these extensions in its database, without Redis or tile servers.
    #[must_use]
    pub fn managed(name: &str, extensions: &[&str]) -> Self {
        Self::Managed {
            name: name.to_owned(),
            version: None,
            extensions: extensions.iter().map(|&extension| extension.to_owned()).collect(),
            redis: false,
            bin: None,
            storage: None,
            tile_servers: Vec::new(),
        }
    }

    /// The same target with these tile servers before it.
    #[must_use]
    pub fn with_tile_servers(mut self, wanted: Vec<tile_server::Options>) -> Self {
        match &mut self {
            Self::Managed { tile_servers, .. } | Self::Url { tile_servers, .. } => *tile_servers = wanted,
        }
        self
    }

    /// The tile servers between clients and it.
    #[must_use]
    pub fn tile_servers(&self) -> &[tile_server::Options] {
        match self {
            Self::Managed { tile_servers, .. } | Self::Url { tile_servers, .. } => tile_servers,
        }
    }

    /// Whether both are given by URL and lead to one place.
    #[must_use]
    pub fn is_place_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Url { place, .. }, Self::Url { place: other, .. }) => place == other,
            _ => false,
        }
    }

    /// What makes it this target and no other. Neither a user name nor a password is part of it, nor how they or the
    /// place are written.
    #[must_use]
    pub fn identity(&self) -> Self {
        let mut target = self.clone();
        if let Self::Url { shown, .. } = &mut target {
            shown.clear();
        }
        target
    }
}

/// PostgreSQL's programs in their own folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub bin: PathBuf,
    /// SHA-256 of its `postgres`, hex: two builds of one version are two.
    pub hash: String,
}
