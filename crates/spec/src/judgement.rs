//! The judgement of an answer.

use serde::{Deserialize, Serialize};

/// The judgement of an answer: of a comparison, of searches for limits, of a gate. Its exit code: 0 for better and the
/// same, then 1, 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// A line of the answer is better, and none is worse or undecided.
    Better,
    /// No line is worse or undecided, or nothing is compared.
    Same,
    /// A line is worse, or a server crashed and the base's did not.
    Worse,
    Undecided,
    /// No pair of runs is valid.
    Invalid,
}

impl Judgement {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Better, Self::Same, Self::Worse, Self::Undecided, Self::Invalid];

    /// Its word, in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
            Self::Undecided => "undecided",
            Self::Invalid => "invalid",
        }
    }
}
