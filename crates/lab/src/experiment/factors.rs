//! The varied factors of a file with their levels, as plans and results keep them.

use std::collections::BTreeMap;

/// Factors with their levels; every combination is a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Factors(BTreeMap<String, Vec<String>>);

impl Factors {
    /// Levels of a factor; empty if it is not varied.
    #[must_use]
    pub fn levels(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// These workloads, with one client.
    pub(super) fn of(workloads: impl IntoIterator<Item = String>) -> Self {
        let workloads = ("workload".to_owned(), workloads.into_iter().collect());
        Self([workloads, ("clients".to_owned(), vec!["1".to_owned()])].into())
    }

    pub(super) fn set(&mut self, factor: &str, levels: Vec<String>) {
        self.0.insert(factor.to_owned(), levels);
    }

    /// Names of the workloads.
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        self.levels("workload").iter().map(String::as_str)
    }

    /// Number of combinations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().map(|levels| levels.len() as u64).fold(1, u64::saturating_mul)
    }

    /// All factors with their levels, as texts.
    #[must_use]
    pub fn all(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0
    }
}
