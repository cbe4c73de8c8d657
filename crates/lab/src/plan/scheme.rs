//! How arms are interleaved.

use serde::{Deserialize, Serialize};

/// How the arms are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Nothing is compared.
    Single,
    /// The arms of a cell run next to each other: AB in odd rounds, BA in even ones.
    Pairs,
    /// Switching arms takes a restart: all cells in A, then all in B; the next round B, then A.
    HalfRounds,
}

impl From<Scheme> for spec::OrderScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Pairs => Self::Pairs,
            Scheme::HalfRounds => Self::HalfRounds,
        }
    }
}
