//! Whether the arms of a workload take turns in slices. Decided when the experiment begins, and not part of the
//! identity.

use serde::{Deserialize, Serialize};

/// How the arms of a workload run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slicing {
    /// In slices, by turns.
    Slices,
    /// One after the other.
    Uncut,
}

impl Slicing {
    /// How the arms run, as text.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Slices => "by turns, in slices",
            Self::Uncut => "one after the other",
        }
    }
}
