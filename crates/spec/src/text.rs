//! Texts that an experiment used.

use serde::{Deserialize, Serialize};

/// A script, query or SQL file, unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// `workload sorts`, `prepare.sql`.
    pub used_by: String,
    /// Of a file: where it is, from the experiment file's folder on, or as the command line named it.
    pub name: String,
    pub kind: TextKind,
    /// SHA-256 of what was used, hex.
    pub hash: String,
    /// Length of what was used, bytes.
    pub bytes: u64,
    /// `None` where it is too long to be kept, or no text.
    pub text: Option<String>,
    /// Lines, from 1, on which an earlier pgdyno replaced what may have been a password; none today.
    pub replaced: Vec<u32>,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextKind {
    /// A file: it is needed to repeat the experiment.
    File,
    /// A script that pgdyno brings.
    Builtin,
    /// Made by pgdyno from options.
    Query,
}
