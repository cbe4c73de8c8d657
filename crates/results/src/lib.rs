//! The results file: record types, the SQLite schema, queries, comparisons.

pub mod comparison;
pub mod import;

mod arrivals;
mod error;
mod figures;
#[cfg(test)]
mod fixture;
mod promise;
mod record;
mod spool;
mod store;
mod table;
mod words;

pub use arrivals::{Arrivals, KEPT_UP, Offer};
pub use error::StoreError;
pub use promise::Promise;
pub use record::{
    Arm, Artifact, Doubt, Experiment, Host, Phase, Reason, Relation, Run, RunEvent, RunKind, ScriptRecord,
    SeriesPoint, Setting, Target, Validity,
};

pub use spool::{Spool, SpoolWriter, Spooled};
pub use store::{
    Collection, ExperimentId, ExperimentSummary, Imported, Known, RunKey, Store, StoredExperiment, StoredRun,
};
pub use table::{Table, Value};
pub use words::count;
