//! The results file: record types, the SQLite schema, queries, comparisons.

pub mod comparison;

mod error;
mod figures;
#[cfg(test)]
mod fixture;
mod record;
mod store;
mod table;

pub use error::StoreError;
pub use record::{
    Arm, Artifact, Doubt, Experiment, Host, Phase, Reason, Relation, Run, RunEvent, RunKind, ScriptRecord,
    SeriesPoint, Setting, Target, Validity,
};

pub use store::{ExperimentId, ExperimentSummary, RunKey, Store, StoredExperiment};
pub use table::{Table, Value};
