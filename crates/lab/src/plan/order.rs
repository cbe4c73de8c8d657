//! The order of runs: rounds, cells in random order, arms next to each other and alternating.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Content, PlannedRun};
use crate::experiment::CellOrder;

/// How the arms are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Nothing is compared.
    Single,
    /// The arms of a cell run next to each other: AB in odd rounds, BA in even ones.
    Pairs,
    /// Switching arms takes a restart: all cells in A, then all in B; the next round B, then A.
    HalfRounds,
}

impl Scheme {
    /// As it is stored: `single`, `pairs`, `half-rounds`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Pairs => "pairs",
            Self::HalfRounds => "half-rounds",
        }
    }
}

/// A number made from a seed and the names of what it is for: equal names, equal numbers. 63 bits, so that it
/// fits a signed integer of the results file.
pub(super) fn derive(seed: u64, names: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for name in names {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
    }
    let digest = hash.finalize();
    let bytes: [u8; 8] = digest[..8].try_into().expect("a digest is longer than 8 bytes");
    u64::from_le_bytes(bytes) >> 1
}

/// One cell of the grid.
#[derive(Debug, Clone)]
struct Cell {
    workload: String,
    factors: BTreeMap<String, String>,
    clients: u32,
    rate: Option<f64>,
}

impl Cell {
    fn label(&self) -> String {
        let parts: Vec<_> = self.factors.iter().map(|(name, level)| format!("{name}={level}")).collect();
        parts.join(" ")
    }
}

/// All runs of `rounds` rounds, in order.
pub(super) fn runs(content: &Content, seed: u64, rounds: u32) -> Vec<PlannedRun> {
    let cells = grid(content);
    let beside = cells_beside(content);
    let mut list = List { content, seed, runs: Vec::new() };
    for round in 1..=rounds {
        let cells = shuffled(&cells, content.order, seed, round);
        list.add_round(round, &cells);
        for cell in shuffled(&beside, content.order, seed, round) {
            list.add(round, cell, None, 1, true);
        }
    }
    list.runs
}

fn grid(content: &Content) -> Vec<Cell> {
    let levels = |name: &str| content.factors.get(name).cloned().unwrap_or_default();
    let rates = levels("rate");
    let rates: Vec<Option<&String>> =
        if rates.is_empty() { vec![None] } else { rates.iter().map(Some).collect() };
    let mut cells = Vec::new();
    for workload in levels("workload") {
        for clients in levels("clients") {
            for rate in &rates {
                cells.push(cell(&workload, &clients, *rate));
            }
        }
    }
    cells
}

fn cells_beside(content: &Content) -> Vec<Cell> {
    let clients: Vec<String> = content.beside_clients.iter().map(u32::to_string).collect();
    let workloads = &content.beside_workloads;
    workloads
        .iter()
        .flat_map(|workload| clients.iter().map(|clients| cell(workload, clients, None)))
        .collect()
}

fn cell(workload: &str, clients: &str, rate: Option<&String>) -> Cell {
    let mut factors = BTreeMap::from([
        ("workload".to_owned(), workload.to_owned()),
        ("clients".to_owned(), clients.to_owned()),
    ]);
    if let Some(rate) = rate {
        factors.insert("rate".to_owned(), rate.clone());
    }
    Cell {
        workload: workload.to_owned(),
        factors,
        clients: clients.parse().unwrap_or(1),
        rate: rate.and_then(|rate| rate.parse().ok()),
    }
}

/// Sorting by a hash of seed, round and cell is a random order that needs no generator's state.
fn shuffled(cells: &[Cell], order: CellOrder, seed: u64, round: u32) -> Vec<&Cell> {
    let mut list: Vec<&Cell> = cells.iter().collect();
    if order == CellOrder::Random {
        list.sort_by_cached_key(|cell| derive(seed, &["order", &round.to_string(), &cell.label()]));
    }
    list
}

struct List<'a> {
    content: &'a Content,
    seed: u64,
    runs: Vec<PlannedRun>,
}

impl List<'_> {
    fn add_round(&mut self, round: u32, cells: &[&Cell]) {
        let mut arms: Vec<Option<String>> = self.content.arms.iter().map(|arm| arm.name.clone()).collect();
        if round.is_multiple_of(2) {
            arms.reverse();
        }
        match self.content.scheme {
            Scheme::HalfRounds => {
                for (position, arm) in arms.iter().enumerate() {
                    for cell in cells {
                        self.add(round, cell, arm.as_deref(), position as u32 + 1, false);
                    }
                }
            }
            Scheme::Pairs | Scheme::Single => {
                for cell in cells {
                    for (position, arm) in arms.iter().enumerate() {
                        self.add(round, cell, arm.as_deref(), position as u32 + 1, false);
                    }
                }
            }
        }
    }

    fn add(&mut self, round: u32, cell: &Cell, arm: Option<&str>, position_in_pair: u32, beside: bool) {
        // The arms of a pair draw the same keys and tiles, so that chance is no difference between them; every
        // round draws anew.
        let names = ["run", &round.to_string(), &cell.label()];
        self.runs.push(PlannedRun {
            sequence: self.runs.len() as u32,
            round,
            workload: cell.workload.clone(),
            factors: cell.factors.clone(),
            arm: arm.map(str::to_owned),
            position_in_pair,
            seed: derive(self.seed, &names),
            clients: cell.clients,
            threads: self.content.threads.min(cell.clients).max(1),
            rate: cell.rate,
            beside,
        });
    }
}
