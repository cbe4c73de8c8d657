//! What a gate found about a commit.

use serde::{Deserialize, Serialize};

use crate::plan::WorkMetric;

/// The judgement of a gate. Its exit code: 0 for better and the same, then 1, 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateOutcome {
    /// A line of the answer is surely better, and none is worse or undecided.
    Better,
    /// All lines are the same, within the margin.
    Same,
    /// A line is surely worse.
    Worse,
    Undecided,
    /// No pair of runs is valid.
    Invalid,
}

impl GateOutcome {
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

/// A gate of one commit: stored with its experiment. Gates of one name are one history.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRecord {
    pub name: String,
    /// The arm that was judged.
    pub arm: String,
    pub base: String,
    /// The judged commit, as given or as git says: mostly 40 hex digits.
    pub commit: String,
    /// The first line of its message.
    pub subject: Option<String>,
    /// The commit of the base, if it is known.
    pub base_commit: Option<String>,
    /// UTC, RFC 3339.
    pub judged_at: String,
    pub metric: WorkMetric,
    pub outcome: GateOutcome,
    /// ln(new / base) over all cells; `None` without a valid pair.
    pub log_ratio: Option<f64>,
    /// Its 95 % interval, as it was judged.
    pub interval: Option<(f64, f64)>,
}
