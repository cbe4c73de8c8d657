//! The results file: record types, the SQLite schema, queries, comparisons.

mod record;

pub use record::{
    Arm, Artifact, Doubt, Experiment, Host, Phase, Reason, Relation, Run, RunEvent, RunKind, ScriptRecord, SeriesPoint,
    Setting, Target, Validity,
};

// To come (results owner):
// pub struct Store; Store::create_or_open(path) / Store::open_read_only(path) -> Result<Store, StoreError>
//   .begin_experiment(&Experiment, &Host, &Target) -> ExperimentId   (same hash => same row; unless `again`)
//   .store_run(ExperimentId, &Run)                                    (one transaction, synchronous=FULL)
//   .finished_runs(ExperimentId) -> Vec<RunKey{workload, factors, arm, round}>
//   .experiments() -> Vec<ExperimentSummary>
//   .experiment(ExperimentId) -> Experiment ; .host(..) ; .target(..)
//   .runs(ExperimentId) -> Vec<StoredRun { id, run: Run }>            (whole records, histograms included)
//   .query(sql) -> Table { columns: Vec<String>, rows: Vec<Vec<Value>> }  (read only)
// pub mod comparison: Comparison::of(&Experiment, &[Run], Metric) with per-cell, per-workload and grid verdicts
// pub struct Table / pub enum Value: what `sql`, `table`, CSV/JSON/MD printing take
