//! Jobs: done once to their end, without a load: to prepare, for their results, or for their duration.
//! Preparation runs jobs; jobs never prepare.

mod alone;
mod extracts;
mod failed;
mod files;
mod fill_in;
mod initialize;
mod prepare;
mod programs;
mod run;
mod size;

pub(crate) use alone::alone;
pub(crate) use extracts::{input_bytes, make as make_extract};
pub(crate) use files::Files;
pub(crate) use fill_in::fill_in;
pub use initialize::initialize;
pub(crate) use prepare::{Done as Prepared, prepare};
pub(crate) use run::run;
pub(crate) use size::{fits_at_hand, foresee};
