//! What can be varied: a file for each factor, and the list. A level of a factor is a change of a [`Setup`].

mod clients;
mod rate;
mod settings;
mod workload;

use std::collections::BTreeSet;

use toml::Value;

use crate::setup::{Arm, Setup};

/// What the names of levels stand for.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    /// Names of workloads.
    pub workloads: BTreeSet<&'a str>,
    /// Settings by their names.
    pub arms: &'a [Arm],
    /// Most threads.
    pub threads: u32,
}

/// Something varied.
pub trait Factor: Sync {
    /// As experiment files and results name it.
    fn name(&self) -> &'static str;

    /// Whether `[factors]` lists its levels; else they are tables of their own.
    fn in_grid(&self) -> bool {
        true
    }

    /// A level as the file has it, to the text that plans and results keep.
    ///
    /// # Errors
    /// What it must be.
    fn read(&self, value: &Value) -> Result<String, String>;

    /// Brings a setup to a level, as it is written in the file. `known` has what names stand for.
    ///
    /// # Errors
    /// In words, when it is no level of this factor.
    fn apply(&self, level: &str, setup: &mut Setup, known: &Known<'_>) -> Result<(), String>;
}

/// The list. Levels are applied in its order.
pub const FACTORS: [&dyn Factor; 4] =
    [&workload::Workload, &clients::Clients, &rate::Rate, &settings::Settings];

/// The factor of this name.
#[must_use]
pub fn factor(name: &str) -> Option<&'static dyn Factor> {
    FACTORS.into_iter().find(|factor| factor.name() == name)
}

/// Names of those whose levels `[factors]` lists.
pub(crate) fn names() -> Vec<&'static str> {
    FACTORS.into_iter().filter(|factor| factor.in_grid()).map(|factor| factor.name()).collect()
}
