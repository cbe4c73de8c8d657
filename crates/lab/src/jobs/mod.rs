//! Jobs: what is run once to its end, beside no load. Preparation runs jobs; jobs never prepare.

mod initialize;
mod prepare;
mod programs;

pub use initialize::initialize;
pub(crate) use prepare::{Done as Prepared, prepare};
