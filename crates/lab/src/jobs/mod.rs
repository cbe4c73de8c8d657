//! Jobs: what is run once to its end, beside no load. Preparation runs jobs; jobs never prepare.

mod alone;
mod initialize;
mod prepare;
mod programs;
mod run;

pub(crate) use alone::alone;
pub use initialize::initialize;
pub(crate) use prepare::{Done as Prepared, prepare};
