//! Jobs: work that is done once, to its end, to put data on a target.

mod child;
mod job;
mod relations;
mod report;
mod runtime;

pub use child::{ChildEnd, ChildOrder, Output, RunChild};
pub use job::{Inputs, Job, JobSite};
pub(crate) use job::{file_name, must_be_readable};
pub use relations::relation_sizes;
pub use report::{JobReport, PhaseTimer};
pub use runtime::{Connection, Runtime};
