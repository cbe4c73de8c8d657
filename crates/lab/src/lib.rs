//! From an experiment to stored runs: targets, plans, collectors, run verdicts.
//!
//! Only this crate both runs and stores.

pub mod bench;
pub mod calibrate;
mod classify;
mod collect;
mod error;
pub mod execute;
pub mod experiment;
pub mod pgbench;
pub mod plan;
pub mod validity;
pub mod words;

pub use error::{Class, LabError};
