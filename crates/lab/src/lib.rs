//! From an experiment to stored runs: targets, plans, collectors, run verdicts.
//!
//! Only this crate both runs and stores.

pub mod calibrate;
pub mod collectors;
pub mod concurrent;
pub mod connection;
mod crash;
pub mod doctor;
pub mod dropin;
mod error;
mod event;
pub mod execute;
pub mod experiment;
pub mod factors;
pub mod facts;
mod few;
mod fingerprint;
mod fixed_cost;
pub mod foresight;
pub mod jobs;
mod known_host;
mod lateness;
pub mod measure;
pub mod plan;
mod promise;
pub mod runner;
pub mod setup;
pub mod sources;
mod stage;
mod strategies;
pub mod target_spec;
#[cfg(test)]
mod toys;
pub mod validity;
pub mod words;
