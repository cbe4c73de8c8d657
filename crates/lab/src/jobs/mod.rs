//! Jobs: done once to their end, without a load: to prepare, for their results, or for their duration.
//! Preparation runs jobs; jobs never prepare.

mod extracts;
mod files;
mod initialize;
mod prepare;
mod programs;
mod report;
mod run;
mod size;

pub(crate) use extracts::{input_bytes, make as make_extract};
pub(crate) use files::Files;
pub use initialize::initialize;
pub(crate) use prepare::{PreparedJob, prepare, probe};
pub(crate) use report::fill_in;
pub(crate) use run::run;
pub(crate) use size::{fits_at_hand, foresee};
