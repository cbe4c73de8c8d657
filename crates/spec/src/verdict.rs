//! Whether a run can be believed, and why not.

use serde::{Deserialize, Serialize};

/// Whether a run can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against it.
    Valid,
    /// Shown with its reasons, still compared.
    Suspect,
    /// Excluded from comparisons, with its whole pair.
    Invalid,
}

/// A reason for doubt; the wording for people is in [`Reason::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Open load: less than 99 % of the offered rate was done in time.
    Overloaded,
    /// The load generator used most of its CPU.
    ClientSaturated,
    /// Arrivals started late for reasons of the generator.
    ScheduleLate,
    /// The load generator stood still: it was stopped, or had no CPU, or its machine was paused.
    GeneratorStalled,
    /// Throughput stepped down and the host shows why.
    Throttled,
    /// The hypervisor took CPU time.
    Steal,
    /// Throughput changed level within the run.
    Unsteady,
    /// Speed falls or rises within the run, because the workload changes its data.
    Trend,
    /// Programs that have nothing to do with it used CPU time.
    OtherPrograms,
    /// Another pgdyno measured on the same machine, or the same server.
    Beside,
    /// Transactions failed or clients gave up.
    Errors,
    /// Closed load: part of the clients' time is in no figure.
    TimeNotCounted,
    /// The workload returned nothing.
    EmptyResults,
    /// Transactions that ask by key found nothing.
    FoundNothing,
    /// The server did not take the asked settings.
    SettingsNotApplied,
    /// What was to be in memory, or not, was not so.
    CacheState,
    /// Too short to mean anything.
    TooShort,
    /// Measured by another program, and brought in.
    Imported,
}

impl Reason {
    /// In words, for reports.
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
            Self::Beside => "another pgdyno",
            Self::Errors => "errors",
            Self::TimeNotCounted => "time not counted",
            Self::EmptyResults => "empty results",
            Self::FoundNothing => "found nothing",
            Self::SettingsNotApplied => "settings not applied",
            Self::CacheState => "cache state differs",
            Self::TooShort => "too short",
            Self::Imported => "imported",
        }
    }
}

/// A doubt with its figure, e.g. `(ClientSaturated, "thread 0 busy 97 % of the time")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    pub reason: Reason,
    /// The figure behind it, in words.
    pub detail: String,
}
