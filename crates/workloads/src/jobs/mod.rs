//! Jobs: work that is done once, to its end, to put data on a target.

mod child;
mod job;
mod relations;
mod report;

pub(crate) use child::other_account;
pub use child::{ChildEnd, ChildInput, ChildOrder, OutputStream, RunChild, programs_run_as};
pub use job::{BoxedSql, Fill, Inputs, Job, JobSite, Runtime};
pub(crate) use job::{file_name, must_be_readable};
pub use relations::relation_sizes;
pub use report::{JobErrors, JobReport, PhaseTimer, StoppedJob};
