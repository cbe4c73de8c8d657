//! What a gate found about a commit.

use crate::Judgement;
use crate::plan::WorkMetric;

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
    pub judgement: Judgement,
    /// ln(new / base) over all cells; `None` without a valid pair.
    pub log_ratio: Option<f64>,
    /// Its 95 % interval, as it was judged.
    pub interval: Option<(f64, f64)>,
}
