//! The plan: a flat, ordered list of runs, and the decisions about them. [`resolve`] makes it from an experiment
//! and from what is known ([`spec::plan::Facts`]).
//!
//! Plain data: equal experiments and facts give equal plans. The [`hash`] of its content
//! identifies the experiment: rounds, names and comments do not count, everything else does.

mod arm_placement;
pub(crate) mod availability;
pub(crate) mod burden;
pub(crate) mod calibration;
pub(crate) mod cells;
mod content;
pub(crate) mod cost;
mod difference;
mod divide;
mod generator;
pub(crate) mod identity;
mod length;
pub(crate) mod levels;
pub(crate) mod order;
mod placement;
pub(crate) mod preparation;
mod resolve;
mod restarts;
pub(crate) mod sets;
pub(crate) mod setups;
pub(crate) mod slice_rules;
mod slicing;
pub(crate) mod table;
pub(crate) mod turns;
mod users;
pub(crate) mod words;
mod workload;

pub use availability::check_left;
pub(crate) use content::{levels_of, preparations};
pub(crate) use cost::RESTART_S;
pub use cost::{PlanDuration, estimate, over_budget};
pub use difference::diff;
pub(crate) use divide::check as check_division;
pub use generator::check_waiting;
pub use identity::hash;
pub use length::{PreparationTime, length_words};
pub(crate) use preparation::jobs_of;
pub use resolve::resolve;
pub use setups::{equal_arms, setup, single_run};
pub use table::{MOST_READ, table};
pub use turns::warm_up_words;
pub use words::words;

#[cfg(test)]
pub(crate) mod tests;
