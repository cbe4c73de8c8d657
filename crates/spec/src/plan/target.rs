//! The target of an experiment, and its identity. The address of a server given by URL may hold a password,
//! and is not part of a plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::storage::Storage;
use super::tile_server;
use super::topology::{Replication, Topology};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetSpec {
    /// A server that pgdyno creates and owns.
    Managed {
        name: String,
        /// Major version; `None`: the newest found.
        version: Option<u32>,
        extensions: Vec<String>,
        redis: bool,
        /// Folder of PostgreSQL's programs, for a user's build.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bin: Option<PathBuf>,
        /// Further options of initdb.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        initdb: Vec<String>,
        /// Storage of its files, if not in pgdyno's home.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        storage: Option<Storage>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tile_servers: Vec<tile_server::TileServerOptions>,
        /// Where no factor says otherwise.
        #[serde(default, skip_serializing_if = "Topology::is_alone")]
        topology: Topology,
    },
    Url {
        /// Empty in an identity.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        shown: String,
        /// Canonical address without the user: two targets with the same place are one.
        place: String,
        /// A Redis next to it, `redis://host:port`.
        redis: Option<String>,
        /// Whether settings of the whole server may be changed (and restored).
        change_server: bool,
        /// Tile servers in front of it, on this machine.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tile_servers: Vec<tile_server::TileServerOptions>,
        /// Its replicas, in the order in which runs with fewer of them use them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replicas: Vec<UrlReplica>,
    },
}

/// A replica given by URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlReplica {
    /// Empty in an identity.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shown: String,
    /// Canonical address without the user.
    pub place: String,
}

impl Default for TargetSpec {
    /// pgdyno's private server without a chosen name.
    fn default() -> Self {
        Self::managed("default", &[])
    }
}

impl TargetSpec {
    /// A private server with these extensions in its database, without Redis or tile servers.
    #[must_use]
    pub fn managed(name: &str, extensions: &[&str]) -> Self {
        Self::Managed {
            name: name.to_owned(),
            version: None,
            extensions: extensions.iter().map(|&extension| extension.to_owned()).collect(),
            redis: false,
            bin: None,
            initdb: Vec::new(),
            storage: None,
            tile_servers: Vec::new(),
            topology: Topology::default(),
        }
    }

    /// Its replicas where no factor says otherwise.
    #[must_use]
    pub fn topology(&self) -> Topology {
        match self {
            Self::Managed { topology, .. } => *topology,
            Self::Url { replicas, .. } => Topology::new(replicas.len() as u32, Replication::default()),
        }
    }

    /// The server as text, without what else it has.
    #[must_use]
    pub fn called(&self) -> String {
        match self {
            Self::Managed { name, .. } => format!("managed server {name:?}"),
            Self::Url { shown, .. } => shown.clone(),
        }
    }

    /// The same target with these tile servers in front of it.
    #[must_use]
    pub fn with_tile_servers(mut self, wanted: Vec<tile_server::TileServerOptions>) -> Self {
        match &mut self {
            Self::Managed { tile_servers, .. } | Self::Url { tile_servers, .. } => *tile_servers = wanted,
        }
        self
    }

    /// The tile servers between clients and the target.
    #[must_use]
    pub fn tile_servers(&self) -> &[tile_server::TileServerOptions] {
        match self {
            Self::Managed { tile_servers, .. } | Self::Url { tile_servers, .. } => tile_servers,
        }
    }

    /// Whether both are given by URL with the same place.
    #[must_use]
    pub fn is_place_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Url { place, .. }, Self::Url { place: other, .. }) => place == other,
            _ => false,
        }
    }

    /// What identifies the target: without user name and password, and independent of the spelling of the
    /// address.
    #[must_use]
    pub fn identity(&self) -> Self {
        let mut target = self.clone();
        if let Self::Url { shown, replicas, .. } = &mut target {
            shown.clear();
            replicas.iter_mut().for_each(|replica| replica.shown.clear());
        }
        target
    }
}

/// A folder with PostgreSQL's programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub bin: PathBuf,
    /// SHA-256, hex, which distinguishes two builds of one version: over the content of all its files, or, if pgdyno
    /// builds it, over everything that the content follows from.
    pub hash: String,
    /// What pgdyno builds it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<BuildSource>,
    /// Further options of initdb.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initdb: Vec<String>,
    /// Settings of its servers; those of an arm go first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A commit that pgdyno builds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSource {
    /// As given: a branch, a tag, a commit, or `.` for the working tree with its changes.
    pub reference: String,
    /// Folder of the sources.
    pub folder: PathBuf,
    /// Options of configure or meson, or variables of make.
    pub options: Vec<String>,
    /// 40 hex digits, with `-dirty` behind them for a working tree with changes; empty until it was looked up.
    pub commit: String,
    /// How it is built, in words, with the compiler; empty until it was looked up.
    pub way: String,
    /// Whether it was checked out, and the working tree had changes that are not in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_out_changes: bool,
}
