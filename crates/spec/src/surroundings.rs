//! The environment of a measurement: machine, server, and settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine that pgdyno (and a managed target) ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Stable identity of the machine (hash of the machine id, never the id itself).
    pub uuid: String,
    pub name: String,
    pub cpu: String,
    /// Logical CPUs usable by this process.
    pub cores: u32,
    /// Memory usable by this process, bytes: at most the cgroup's limit.
    pub memory_bytes: u64,
    /// Operating system, kernel, virtualisation and other facts, by name.
    pub facts: BTreeMap<String, String>,
}

impl Host {
    /// What tells machines apart: cloned machines and containers of one image have the same identity, and other names.
    #[must_use]
    pub fn machine(&self) -> (&str, &str) {
        (&self.uuid, &self.name)
    }
}

/// What was measured. Never holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredTarget {
    /// `managed`, `url`, `sink` (no server: the load generator's own) or `imported`.
    pub kind: String,
    /// Connection string without secrets.
    pub dsn_redacted: String,
    /// `server_version`, e.g. `15.18 (Debian 15.18-0+deb12u1)`.
    pub server_version: String,
    /// `postgis_full_version()`, where there is PostGIS.
    pub postgis_version: Option<String>,
    /// Versions of other programs (osm2pgsql, redis, pgdyno itself) by name.
    pub versions: BTreeMap<String, String>,
    /// How its PostgreSQL was built, as far as the server and its folder tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildRecord>,
}

/// How a PostgreSQL was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// `version()`: with platform, compiler and word size.
    pub version: String,
    /// `debug_assertions`: such a build is several times slower.
    pub assertions: bool,
    /// As `pg_config --configure` prints it; empty for a build without options, `None` if the server does not tell.
    pub configure: Option<String>,
    /// Compiler, as `pg_config --cc` prints it.
    pub cc: Option<String>,
    /// Its flags, as `pg_config --cflags` prints them.
    pub cflags: Option<String>,
    /// SHA-256 over the content of its programs, libraries, extensions and shared files, hex; `None` for a server by URL.
    pub tree: Option<String>,
    /// Commit of its source tree, 40 hex digits, with `-dirty` behind it if files differ; `None` if unknown.
    pub commit: Option<String>,
}

/// One setting as the server reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    pub name: String,
    /// As `SHOW` prints it.
    pub value: String,
    /// `pg_settings.source`.
    pub source: String,
    /// Whether the value is that of a server made by a plain `initdb`; `None` if this was not stored. `initdb` writes
    /// some values into the configuration file, so `source` does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_initial: Option<bool>,
}
