//! What a user may write about an OSM load.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::WorkloadError;
use crate::jobs::file_name;

/// `osm = { extract = "malta.osm.pbf" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The extract, `.osm.pbf`; relative to the experiment file.
    pub extract: PathBuf,
    /// First part of the tables' names.
    #[serde(default = "default_prefix")]
    pub prefix: String,
    /// Memory for node locations in MB; by default sized from the extract. 0..=1,000,000.
    #[serde(default)]
    pub cache_mb: Option<u32>,
    /// Parallel processes; by default the machine's CPUs, at most 8. 1..=64.
    #[serde(default)]
    pub processes: Option<u32>,
    /// Keep node and way tables for later updates (`--slim`).
    #[serde(default = "yes")]
    pub slim: bool,
    /// Drop them after the load (`--drop`).
    #[serde(default)]
    pub drop: bool,
    /// Put all tags into a column of type hstore (`--hstore`).
    #[serde(default)]
    pub hstore: bool,
    /// A style file of one's own (`--style`), relative to the experiment file.
    #[serde(default)]
    pub style: Option<PathBuf>,
    /// Output (`--output`): `pgsql` or `flex`.
    #[serde(default)]
    pub output: Option<String>,
    /// The osm2pgsql program; by default the one on the PATH.
    #[serde(default)]
    pub program: Option<PathBuf>,
}

fn default_prefix() -> String {
    "planet_osm".to_owned()
}

fn yes() -> bool {
    true
}

impl Options {
    /// A load of `extract` with everything else by default.
    #[must_use]
    pub fn new(extract: impl Into<PathBuf>) -> Self {
        Self {
            extract: extract.into(),
            prefix: default_prefix(),
            cache_mb: None,
            processes: None,
            slim: true,
            drop: false,
            hstore: false,
            style: None,
            output: None,
            program: None,
        }
    }

    /// The same without the places of its files: names are left.
    pub(crate) fn portable(&self) -> Self {
        Self {
            extract: file_name(&self.extract).into(),
            style: self.style.as_deref().map(|style| file_name(style).into()),
            program: None,
            ..self.clone()
        }
    }

    /// Checks ranges and words.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let wrong = |key: &str, problem: String| Err(WorkloadError::option(format!("osm.{key}"), problem));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if self.prefix.is_empty() || self.prefix.len() > 48 || !self.prefix.bytes().all(plain) {
            return wrong("prefix", format!("\"{}\" is not 1 to 48 letters, digits and _", self.prefix));
        }
        if self.cache_mb.is_some_and(|cache| cache > 1_000_000) {
            return wrong("cache_mb", "is not within 0..1000000".into());
        }
        if self.processes.is_some_and(|count| !(1..=64).contains(&count)) {
            return wrong("processes", "is not within 1..64".into());
        }
        if self.drop && !self.slim {
            return wrong("drop", "needs slim = true".into());
        }
        match self.output.as_deref() {
            Some("flex") if self.style.is_none() => {
                wrong("style", "is missing; output flex needs a Lua file".into())
            }
            None | Some("pgsql" | "flex") => Ok(()),
            Some(other) => wrong("output", crate::words::unknown_word("output", other, &["pgsql", "flex"])),
        }
    }
}
