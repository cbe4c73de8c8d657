//! The plan: an experiment file expanded to a flat, ordered list of runs, before anything starts.
//!
//! Plain data. The same file on the same machine always gives the same plan. The [`hash`] of its content
//! identifies the experiment: rounds, names and comments do not count, everything else does.

pub(crate) mod burden;
pub(crate) mod cells;
pub(crate) mod cost;
mod difference;
pub(crate) mod expand;
pub(crate) mod generator;
pub(crate) mod held;
pub(crate) mod identity;
mod inputs;
pub(crate) mod levels;
pub(crate) mod order;
pub(crate) mod preparation;
mod restarts;
pub(crate) mod revised;
pub(crate) mod setups;
mod sides;
mod slicing;
pub(crate) mod table;
pub(crate) mod turns;
pub(crate) mod words;
mod workload;

pub use spec::plan::{
    Arm, Beside, CACHE, CellOrder, ChosenPlacement, Content, Copies, Facts, Generator, Named, NotRun, Plan,
    PlannedComparison, PlannedLoad, PlannedMeasure, PlannedPreparation, PlannedRun, PlannedWorkload,
    SHOWN_APART, Scheme, Slices, Slicing, Standing, TargetSpec,
};

pub(crate) use cost::RESTART_S;
pub use cost::{Estimate, estimate, over_budget};
pub use difference::diff;
pub use expand::expand;
pub use generator::check_waiting;
pub use identity::hash;
pub(crate) use inputs::fingerprint;
pub(crate) use preparation::{jobs_of, planned_preparation};
pub use revised::{repeated, with_seed};
pub use setups::{equal_arms, setup, single_run};
pub use table::{short_table, table};
pub use words::words;

#[cfg(test)]
pub(crate) mod tests;
