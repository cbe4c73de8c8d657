//! Which experiment a plan is.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::inputs::fingerprint;
use super::{Content, Plan, PlannedPreparation};
use crate::error::LabError;

impl Plan {
    /// SHA-256 over everything but rounds, names, comments and credentials, 64 hex digits.
    #[must_use]
    pub fn hash(&self) -> String {
        self.content.hash()
    }

    /// The hashes that earlier builds gave it: a password in the URL was part of them.
    #[must_use]
    pub(crate) fn former_hashes(&self) -> Vec<String> {
        let mut identity = self.content.identity();
        let former = self.content.target.former_identities().into_iter();
        former
            .map(|target| {
                identity["target"] = target;
                hash_of(&identity)
            })
            .collect()
    }
}

impl Content {
    pub(super) fn hash(&self) -> String {
        hash_of(&self.identity())
    }

    /// The content without what may differ between equal experiments: where files lie on this machine, and who uses
    /// the server.
    pub(super) fn identity(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plans are plain data");
        value["prepare"] = self.prepare.identity();
        value["target"] = self.target.identity();
        value
    }
}

fn hash_of(identity: &Value) -> String {
    // serde_json keeps the keys of objects sorted, so equal contents give equal texts.
    hex(&Sha256::digest(identity.to_string()))
}

impl PlannedPreparation {
    /// The preparation without the places of its files.
    pub(crate) fn identity(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plans are plain data");
        value["sql"] = json!(self.sql.iter().map(|path| file_name(path)).collect::<Vec<_>>());
        if let Some(osm) = &self.osm {
            value["osm"]["extract"] = json!(file_name(&osm.extract));
            value["osm"]["style"] = json!(osm.style.as_deref().map(file_name));
            value["osm"]["program"] = Value::Null;
        }
        value
    }

    /// The same with the content of its files, read now.
    pub(crate) fn with_inputs(mut self) -> Result<Self, LabError> {
        let osm = self.osm.iter().flat_map(|osm| std::iter::once(&osm.extract).chain(&osm.style));
        self.inputs = osm
            .chain(&self.sql)
            .map(|path| Ok((file_name(path), fingerprint(path)?)))
            .collect::<Result<_, LabError>>()?;
        Ok(self)
    }
}

pub(super) fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
