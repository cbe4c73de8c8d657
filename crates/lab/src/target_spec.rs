//! What an experiment measures, and what makes it that target and no other.

use std::path::PathBuf;

use protocol::postgres::Env;
use protocol::postgres::conninfo::ConnectionString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use server::storage::Storage;
use server::tile_server;
use sha2::{Digest, Sha256};

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
        /// Variables expanded. It may hold a password, so it is never stored.
        #[serde(skip)]
        url: ConnectionString,
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

impl TargetSpec {
    /// A server by its description: anything that libpq takes.
    #[must_use]
    pub fn url(url: ConnectionString, redis: Option<String>, change_server: bool) -> Self {
        let (shown, place) = match url.resolve(&Env::process()) {
            Ok(config) => (url.in_words(), config.place()),
            Err(error) => {
                let why = format!("(not shown: {error})");
                (why.clone(), why)
            }
        };
        Self::Url { url, shown, place, redis, change_server, tile_servers: Vec::new() }
    }

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

    #[must_use]
    pub(crate) fn with_tile_servers(mut self, wanted: Vec<tile_server::Options>) -> Self {
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

    /// The managed server of another version or build beside this one; a server by URL is what it is.
    #[must_use]
    pub(crate) fn with_version(&self, level: &str, build: Option<&Build>) -> Self {
        match self {
            Self::Managed { name, extensions, redis, storage, tile_servers, .. } => Self::Managed {
                name: format!("{name}-{level}"),
                version: build.map_or_else(|| level.parse().ok(), |_| None),
                extensions: extensions.clone(),
                redis: *redis,
                bin: build.map(|build| build.bin.clone()),
                storage: storage.clone(),
                tile_servers: tile_servers.clone(),
            },
            url => url.clone(),
        }
    }

    /// The managed server beside this one whose files stand on this, by the name of that.
    #[must_use]
    pub(crate) fn on_storage(&self, level: &str, on: &Storage) -> Self {
        let mut spec = self.clone();
        if let Self::Managed { name, storage, .. } = &mut spec {
            *name = format!("{name}-{}", readable(level));
            *storage = Some(on.clone());
        }
        spec
    }

    /// The managed server beside this one that holds other data, by the key and level that tell them apart.
    #[must_use]
    pub(crate) fn with_data(&self, key: &str, level: &str) -> Self {
        let mut spec = self.clone();
        if let Self::Managed { name, .. } = &mut spec {
            let option = key.rsplit('.').next().unwrap_or(key);
            *name = format!("{name}-{option}-{}", readable(level));
        }
        spec
    }

    /// What makes it this target and no other. Neither a user name nor a password is part of it, nor how they or the
    /// place are written.
    #[must_use]
    pub fn identity(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a target is plain data");
        if let Some(url) = value.get_mut("Url").and_then(Value::as_object_mut) {
            url.remove("shown");
        }
        value
    }
}

/// A level as a part of a server's name.
fn readable(level: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match level.len() <= 12 && !level.is_empty() && level.chars().all(plain) {
        true => level.to_owned(),
        false => spec::hex(&Sha256::digest(level))[..8].to_owned(),
    }
}

/// Whether what one's own change does on a server must be undone: on each that is not thrown away afterwards.
pub(crate) fn needs_undo(target: &TargetSpec) -> bool {
    match target {
        TargetSpec::Managed { .. } | TargetSpec::Url { .. } => true,
    }
}

/// PostgreSQL's programs in their own folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub bin: PathBuf,
    /// SHA-256 of its `postgres`, hex: two builds of one version are two.
    pub hash: String,
}
