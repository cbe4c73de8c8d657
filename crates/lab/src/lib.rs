//! From an experiment to stored runs: targets, plans, collectors, run verdicts.
//!
//! Only this crate both runs and stores.

pub mod child;
pub mod control;
pub mod host;
pub mod place;
pub mod target;

pub mod bench;
pub mod calibrate;
mod classify;
mod collect;
mod error;
pub mod execute;
pub mod experiment;
pub mod pgbench;
pub mod plan;
pub mod sink;
mod stop;
pub mod validity;
pub mod words;

pub use error::{Class, LabError};
pub use stop::{Heeded, Stop};
