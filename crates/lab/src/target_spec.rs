//! The servers of an experiment: how they are reached, and which one the levels of a run select.

use protocol::postgres::Env;
use protocol::postgres::conninfo::ConnectionString;
use sha2::{Digest, Sha256};
use spec::plan::storage::Storage;
use spec::plan::{Build, TargetSpec};

/// A target, and its address if it is given by URL. The address may hold a password, so it is neither stored
/// nor shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetAccess {
    pub spec: TargetSpec,
    /// Variables expanded; `None` for a managed server.
    pub(crate) url: Option<ConnectionString>,
    /// Of its replicas, in their order; empty for a managed server.
    pub(crate) replicas: Vec<ConnectionString>,
}

impl TargetAccess {
    /// A server by a connection string: anything that libpq accepts.
    #[must_use]
    pub fn url(url: ConnectionString) -> Self {
        Self { spec: by_url(&url, None, false), url: Some(url), replicas: Vec::new() }
    }

    /// A private server of this name with these extensions in its database, without Redis or tile servers.
    #[must_use]
    pub fn managed(name: &str, extensions: &[&str]) -> Self {
        Self { spec: TargetSpec::managed(name, extensions), url: None, replicas: Vec::new() }
    }
}

pub(crate) fn by_url(url: &ConnectionString, redis: Option<String>, change_server: bool) -> TargetSpec {
    let (shown, place) = match url.resolve(&Env::process()) {
        Ok(config) => (url.in_words(), config.place()),
        Err(error) => {
            let why = format!("(not shown: {error})");
            (why.clone(), why)
        }
    };
    TargetSpec::Url { shown, place, redis, change_server, tile_servers: Vec::new(), replicas: Vec::new() }
}

/// The managed server of another version or build; a server by URL stays unchanged.
#[must_use]
pub(crate) fn with_version(server: &TargetSpec, level: &str, build: Option<&Build>) -> TargetSpec {
    let mut spec = server.clone();
    if let TargetSpec::Managed { name, version, bin, initdb, .. } = &mut spec {
        *name = format!("{name}-{}", readable(level));
        *version = build.map_or_else(|| level.parse().ok(), |_| None);
        *bin = build.map(|build| build.bin.clone());
        *initdb = build.map(|build| build.initdb.clone()).unwrap_or_default();
    }
    spec
}

/// The managed server on this storage, by the storage's name.
#[must_use]
pub(crate) fn on_storage(server: &TargetSpec, level: &str, on: &Storage) -> TargetSpec {
    let mut spec = server.clone();
    if let TargetSpec::Managed { name, storage, .. } = &mut spec {
        *name = format!("{name}-{}", readable(level));
        *storage = Some(on.clone());
    }
    spec
}

/// The managed server with other data, by the key and level that distinguish them.
#[must_use]
pub(crate) fn with_data(server: &TargetSpec, key: &str, level: &str) -> TargetSpec {
    let mut spec = server.clone();
    if let TargetSpec::Managed { name, .. } = &mut spec {
        let option = key.rsplit('.').next().unwrap_or(key);
        *name = format!("{name}-{option}-{}", readable(level));
    }
    spec
}

/// A level as a part of a server's name.
fn readable(level: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match level.len() <= 12 && !level.is_empty() && level.chars().all(plain) {
        true => level.to_owned(),
        false => spec::hex(&Sha256::digest(level))[..8].to_owned(),
    }
}
