//! The order of runs: rounds, cells in random order, arms next to each other and alternating.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{DriverChoice, Until};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Content, Plan, PlannedLoad, PlannedRun};
use crate::experiment::CellOrder;
use crate::factors::{FACTORS, Known};
use crate::setup::{Counting, Load, Server, Setup};

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

impl From<Scheme> for record::OrderScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Pairs => Self::Pairs,
            Scheme::HalfRounds => Self::HalfRounds,
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
    factors: BTreeMap<String, String>,
    setup: Setup,
}

impl Cell {
    fn label(&self) -> String {
        let parts: Vec<_> = self.factors.iter().map(|(name, level)| format!("{name}={level}")).collect();
        parts.join(" ")
    }
}

/// All runs of `rounds` rounds, in order.
///
/// # Errors
/// In words, when a level is none of its factor.
pub(super) fn runs(content: &Content, seed: u64, rounds: u32) -> Result<Vec<PlannedRun>, String> {
    let cells = grid(content)?;
    let beside = cells_beside(content)?;
    let mut list = List { content, seed, runs: Vec::new() };
    for round in 1..=rounds {
        let cells = shuffled(&cells, content.order, seed, round);
        list.add_round(round, &cells);
        for cell in shuffled(&beside, content.order, seed, round) {
            list.add(round, cell, None, 1, true);
        }
    }
    Ok(list.runs)
}

/// Every combination of the levels of all factors but the compared one; in the list's order, the first varies slowest.
fn grid(content: &Content) -> Result<Vec<Cell>, String> {
    let varied = FACTORS.iter().filter_map(|factor| content.factors.get_key_value(factor.name()));
    let combinations = varied.fold(vec![BTreeMap::new()], |cells, (name, levels)| {
        let with = |cell: &BTreeMap<String, String>, level: &String| {
            let mut cell = cell.clone();
            cell.insert(name.clone(), level.clone());
            cell
        };
        cells.iter().flat_map(|cell| levels.iter().map(move |level| with(cell, level))).collect()
    });
    combinations.into_iter().map(|factors| content.cell(factors)).collect()
}

fn cells_beside(content: &Content) -> Result<Vec<Cell>, String> {
    let clients = &content.beside_clients;
    let factors = |workload: &String, clients: &u32| {
        BTreeMap::from([("workload".into(), workload.clone()), ("clients".into(), clients.to_string())])
    };
    let cells = content.beside_workloads.iter();
    cells
        .flat_map(|workload| clients.iter().map(move |clients| content.cell(factors(workload, clients))))
        .collect()
}

impl Content {
    fn cell(&self, factors: BTreeMap<String, String>) -> Result<Cell, String> {
        Ok(Cell { setup: self.setup(&factors, None)?, factors })
    }

    /// What a run of these levels, and of this arm, needs; its seed is the plan's to give.
    fn setup(&self, factors: &BTreeMap<String, String>, arm: Option<&str>) -> Result<Setup, String> {
        let mut setup = Setup {
            server: Server::Target,
            arm: self.arms.iter().find(|arm| arm.name.is_none()).cloned(),
            workload: String::new(),
            load: match self.load {
                PlannedLoad::Users { think_s, ramp_s } => Load::Users {
                    think: Duration::from_secs_f64(think_s),
                    ramp: Duration::from_secs_f64(ramp_s),
                },
                PlannedLoad::Closed | PlannedLoad::Rate => Load::Closed,
            },
            clients: 1,
            threads: 1,
            promise: self.promise_s.map(Duration::from_secs_f64),
            warmup: Duration::from_secs_f64(self.warmup_s),
            until: Until::Elapsed(Duration::from_secs_f64(self.duration_s).as_nanos() as u64),
            statements: false,
            transactions: false,
            driver: DriverChoice::Auto,
            seed: 0,
            counting: Counting::EXPERIMENT,
        };
        let compared = self.compare.as_ref().map_or("settings", |compare| &compare.factor);
        let levels = factors.iter().map(|(name, level)| (name.as_str(), level.as_str()));
        let levels: BTreeMap<&str, &str> = levels.chain(arm.map(|arm| (compared, arm))).collect();
        let workloads = self.workloads.keys().map(String::as_str).collect();
        let known = Known { workloads, arms: &self.arms, threads: self.threads };
        for factor in FACTORS {
            if let Some(level) = levels.get(factor.name()) {
                factor.apply(level, &mut setup, &known)?;
            }
        }
        Ok(setup)
    }
}

impl Plan {
    /// What a run of this plan needs.
    #[must_use]
    pub fn setup(&self, run: &PlannedRun) -> Setup {
        let setup = self
            .content
            .setup(&run.factors, run.arm.as_deref())
            .expect("its levels were applied when it was planned");
        // Beside the grid any settings will do.
        let arm = setup.arm.filter(|_| !run.beside);
        Setup { seed: run.seed, arm, ..setup }
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
            workload: cell.setup.workload.clone(),
            factors: cell.factors.clone(),
            arm: arm.map(str::to_owned),
            position_in_pair,
            seed: derive(self.seed, &names),
            clients: cell.setup.clients,
            threads: cell.setup.threads,
            rate: cell.setup.load.rate(),
            beside,
        });
    }
}
