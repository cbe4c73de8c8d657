//! The results file: the SQLite schema, queries, comparisons, imports.

pub mod aging;
pub mod answer;
pub mod cells;
pub mod comparison;
pub mod cross;
pub mod data;
pub mod gate;
pub mod import;
pub mod ladder;
pub mod limits;

mod error;
#[cfg(test)]
mod fixture;
mod long_table;
mod spool;
mod store;
mod table;

pub use cells::{CellFigures, InTime};
pub use data::ReportData;
pub use long_table::LongTable;
pub use spool::{Spool, SpoolWriter};
pub use store::{
    Collection, Course, Distributions, Earlier, ExperimentId, ExperimentLock, ExperimentSummary, FileId,
    Finished, Imported, KnownRun, Merged, MergedExperiment, RunParts, Samples, Store, StoredExperiment,
    StoredRun, StoredTile, TileCounts, TilesOf, merge,
};
pub use table::{CellValue, Column, ColumnKind, Marked, Table};
