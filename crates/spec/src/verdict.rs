//! Whether a run is valid, and reasons for doubt.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a run is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    Valid,
    /// Shown with its reasons, and still compared.
    Suspect,
    /// Excluded from comparisons, with its whole pair.
    Invalid,
}

/// Crashes of an arm after which its other runs are left out.
pub const MOST_CRASHES: usize = 3;

/// A reason for doubt; its text is in [`Reason::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Open load: less than 99 % of the offered rate was done in time.
    Overloaded,
    /// The load generator used most of its CPU time.
    ClientSaturated,
    /// Arrivals started late because of the generator.
    ScheduleLate,
    /// The load generator stalled: stopped, without CPU, or on a paused machine.
    GeneratorStalled,
    /// Throughput dropped to a lower level, and host figures explain it.
    Throttled,
    Steal,
    /// Throughput changed level within the run.
    Unsteady,
    /// Speed falls or rises within the run, because the workload changes its data.
    Trend,
    /// Unrelated programs used CPU time.
    OtherPrograms,
    /// Another pgdyno measured on the same machine or server at the same time.
    #[serde(rename = "beside")]
    OtherPgdyno,
    /// A process of the server crashed.
    Crashed,
    /// Transactions failed or clients aborted.
    Errors,
    /// Closed load: some of the clients' time is in no figure.
    TimeNotCounted,
    EmptyResults,
    /// Transactions by key found nothing.
    FoundNothing,
    SettingsNotApplied,
    /// The caches were not in the state asked for.
    CacheState,
    /// A replica fell behind until the end of the run.
    ReplicaBehind,
    /// A replica did not follow its primary any more: its connection, slot or WAL was gone.
    ReplicaLost,
    /// A replica was promoted, and does not follow its primary any more.
    ReplicaPromoted,
    TooShort,
    /// The user stopped it.
    Interrupted,
    /// A share of its load is missing: the file of that part was not merged.
    PartMissing,
    /// It began a share of its load later than the other parts.
    PartLate,
    /// Measured by another program, and imported.
    Imported,
}

impl Reason {
    /// The text for reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::ClientSaturated => "client saturated",
            Self::ScheduleLate => "schedule late",
            Self::GeneratorStalled => "stalled",
            Self::Throttled => "throttled",
            Self::Steal => "CPU steal",
            Self::Unsteady => "unsteady",
            Self::Trend => "speed changes",
            Self::OtherPrograms => "other programs",
            Self::OtherPgdyno => "another pgdyno",
            Self::Crashed => "crashed",
            Self::Errors => "errors",
            Self::TimeNotCounted => "time not counted",
            Self::EmptyResults => "empty results",
            Self::FoundNothing => "found nothing",
            Self::SettingsNotApplied => "settings not applied",
            Self::CacheState => "cache state differs",
            Self::ReplicaBehind => "replica falls behind",
            Self::ReplicaLost => "replica lost",
            Self::ReplicaPromoted => "replica promoted",
            Self::TooShort => "too short",
            Self::Interrupted => "interrupted",
            Self::PartMissing => "part missing",
            Self::PartLate => "part late",
            Self::Imported => "imported",
        }
    }
}

/// A doubt with its figure, e.g. `(ClientSaturated, "thread 0 busy 97 % of the time")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    pub reason: Reason,
    pub detail: String,
}

/// `CPU steal: 4 %`. The reason stands alone without a figure, and once if the figure begins with it.
impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.text();
        match self.detail.as_str() {
            "" => formatter.write_str(reason),
            detail if detail.starts_with(reason) => formatter.write_str(detail),
            detail => write!(formatter, "{reason}: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_names_its_reason_once() {
        let doubt = |reason, detail: &str| Doubt { reason, detail: detail.to_owned() }.to_string();
        assert_eq!(doubt(Reason::Steal, "4 %"), "CPU steal: 4 %");
        assert_eq!(doubt(Reason::OtherPrograms, "other programs used 30 %"), "other programs used 30 %");
        assert_eq!(doubt(Reason::Interrupted, ""), "interrupted");
    }
}
