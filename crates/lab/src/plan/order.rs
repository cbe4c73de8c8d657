//! The order of runs: rounds, cells in random order, arms next to each other and alternating.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{DriverChoice, Until};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use target::managed::Via;
use workloads::Spec;

use super::cost::arms_need_restart;
use super::{Content, Plan, PlannedLoad, PlannedRun};
use crate::error::{Class, LabError};
use crate::experiment::CellOrder;
use crate::factors::{self, Known, factor, with_options};
use crate::setup::{Arm, Connection, Counting, Load, Server, Setup};

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

/// One cell of the grid: levels by the keys of their factors.
type Cell = BTreeMap<String, String>;

fn label(cell: &Cell) -> String {
    let parts: Vec<_> = cell.iter().map(|(name, level)| format!("{name}={level}")).collect();
    parts.join(" ")
}

/// All runs of `rounds` rounds, in order.
///
/// # Errors
/// In words, when a level is none of its factor.
pub(super) fn runs(content: &Content, seed: u64, rounds: u32) -> Result<Vec<PlannedRun>, String> {
    let (cells, beside) = (content.grid(), content.cells_beside());
    let mut list = List { content, seed, runs: Vec::new() };
    for round in 1..=rounds {
        list.add_round(round, &content.ordered(&cells, seed, round))?;
        for cell in content.ordered(&beside, seed, round) {
            list.add(round, cell, None, 1, true)?;
        }
    }
    Ok(list.runs)
}

/// The factor whose levels are arms where nothing says otherwise.
const SETTINGS: &str = "settings";

impl Content {
    /// Key of the factor whose levels are the arms.
    pub(crate) fn compared(&self) -> &str {
        self.compare.as_ref().map_or(SETTINGS, |compare| &compare.factor)
    }

    /// The arms, base first; one without a name where nothing is compared.
    pub(crate) fn arm_names(&self) -> Vec<Option<String>> {
        match self.compare.as_ref().filter(|compare| compare.factor != SETTINGS) {
            None => self.arms.iter().map(|arm| arm.name.clone()).collect(),
            Some(compare) => {
                let levels = self.factors.get(&compare.factor).into_iter().flatten();
                let (base, others): (Vec<_>, Vec<_>) = levels.partition(|level| **level == compare.base);
                base.into_iter().chain(others).cloned().map(Some).collect()
            }
        }
    }

    /// What the arms are called together where they are workloads: `exists / join`.
    fn compared_workloads(&self) -> String {
        self.arm_names().into_iter().flatten().collect::<Vec<_>>().join(" / ")
    }

    /// Levels of what is varied and not compared, in the list's order of factors.
    fn varied(&self) -> Vec<(&str, Vec<&str>)> {
        let listed = self
            .factors
            .iter()
            .map(|(key, levels)| (key.as_str(), levels.iter().map(String::as_str).collect::<Vec<_>>()));
        let settings: Vec<&str> = self.arms.iter().filter_map(|arm| arm.name.as_deref()).collect();
        let settings = Some((SETTINGS, settings)).filter(|(_, names)| names.len() > 1);
        let mut varied: Vec<_> = listed.chain(settings).filter(|(key, _)| *key != self.compared()).collect();
        let known = self.known();
        varied.sort_by_key(|(key, _)| factors::place(key, &known));
        varied
    }

    /// Every combination of the levels of all factors but the compared one; the first varies slowest. A factor that is no
    /// difference to a cell's workload is not in the cell.
    fn grid(&self) -> Vec<Cell> {
        let known = self.known();
        self.varied().into_iter().fold(vec![Cell::new()], |cells, (key, levels)| {
            let concerns = |cell: &Cell| {
                let workload = cell.get("workload");
                factor(key, &known)
                    .zip(workload)
                    .is_none_or(|(factor, name)| factor.concerns(key, name, &known))
            };
            let with = |cell: &Cell| match concerns(cell) {
                false => vec![cell.clone()],
                true => levels.iter().map(|level| with(cell, key, level)).collect(),
            };
            cells.iter().flat_map(with).collect()
        })
    }

    fn cells_beside(&self) -> Vec<Cell> {
        let clients = &self.beside_clients;
        let cells = self.beside_workloads.iter();
        let of = |workload: &String, clients: &u32| {
            with(&with(&Cell::new(), "workload", workload), "clients", &clients.to_string())
        };
        cells.flat_map(|workload| clients.iter().map(move |clients| of(workload, clients))).collect()
    }

    /// What names of levels stand for.
    pub(crate) fn known(&self) -> Known<'_> {
        let workloads = self.workloads.iter().map(|(name, planned)| (name.as_str(), &planned.spec));
        Known {
            workloads: workloads.collect(),
            arms: &self.arms,
            poolers: self.poolers.clone(),
            changes: self.changes.clone(),
        }
    }

    /// Whether going from one cell to another may cost so much (a restart, a change of one's own) that the cells of one
    /// level stand together.
    pub(crate) fn blocked(&self) -> bool {
        let known = self.known();
        let dear = |key: &str| factor(key, &known).is_some_and(|factor| factor.is_dear());
        let varied = self.varied();
        let restarts = varied.iter().any(|(key, _)| *key == SETTINGS) && arms_need_restart(&self.arms);
        restarts || varied.iter().any(|(key, levels)| dear(key) && levels.len() > 1)
    }

    /// The cells of a round. Sorting by a hash of seed, round and cell is a random order that needs no generator's state.
    fn ordered<'c>(&self, cells: &'c [Cell], seed: u64, round: u32) -> Vec<&'c Cell> {
        let mut list: Vec<&Cell> = cells.iter().collect();
        let hash = |what: &str| derive(seed, &["order", &round.to_string(), what]);
        if self.order == CellOrder::Random {
            list.sort_by_cached_key(|cell| hash(&label(cell)));
        }
        if self.blocked() {
            let dear = |cell: &Cell| {
                label(
                    &cell
                        .iter()
                        .filter(|(key, _)| self.is_state(key))
                        .map(|(key, level)| (key.clone(), level.clone()))
                        .collect(),
                )
            };
            list.sort_by_cached_key(|cell| hash(&dear(cell)));
        }
        list
    }

    /// Whether the levels of this factor are states that the server is brought to.
    fn is_state(&self, key: &str) -> bool {
        key == SETTINGS || self.changes.contains_key(key)
    }

    /// The state that a run needs the server in: levels, in words; empty where any will do.
    pub(crate) fn state_of(&self, run: &PlannedRun) -> String {
        let arm = run.arm.iter().map(|arm| (self.compared(), arm));
        let cell = run.factors.iter().map(|(key, level)| (key.as_str(), level));
        let levels = cell.chain(arm).filter(|(key, _)| self.is_state(key));
        levels.map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// What a run of these levels, and of this arm, needs; its seed is the plan's to give.
    ///
    /// # Errors
    /// In words, when a level is none of its factor.
    pub(crate) fn setup(&self, cell: &BTreeMap<String, String>, arm: Option<&str>) -> Result<Setup, String> {
        let only = <&[Arm; 1]>::try_from(&self.arms[..]).map(|[only]| only.clone());
        let mut setup = Setup {
            server: Server::Target,
            connection: Connection::Direct,
            changes: None,
            arm: only.ok(),
            workload: String::new(),
            options: BTreeMap::new(),
            load: match self.load {
                PlannedLoad::Users { think_s, ramp_s } => Load::Users {
                    think: Duration::from_secs_f64(think_s),
                    ramp: Duration::from_secs_f64(ramp_s),
                },
                PlannedLoad::Closed | PlannedLoad::Rate => Load::Closed,
            },
            clients: 1,
            threads: self.threads,
            promise: self.promise_s.map(Duration::from_secs_f64),
            warmup: Duration::from_secs_f64(self.warmup_s),
            until: Until::Elapsed(Duration::from_secs_f64(self.duration_s).as_nanos() as u64),
            statements: false,
            transactions: false,
            driver: DriverChoice::Auto,
            seed: 0,
            counting: Counting::EXPERIMENT,
        };
        let levels = cell.iter().map(|(key, level)| (key.as_str(), level.as_str()));
        let mut levels: Vec<_> = levels.chain(arm.map(|arm| (self.compared(), arm))).collect();
        let known = self.known();
        levels.sort_by_key(|(key, _)| factors::place(key, &known));
        for (key, level) in levels {
            factor(key, &known)
                .ok_or_else(|| format!("there is no factor {key:?}"))?
                .apply(key, level, &mut setup, &known)?;
        }
        setup.threads = setup.threads.min(setup.clients).max(1);
        Ok(setup)
    }
}

fn with(cell: &Cell, key: &str, level: &str) -> Cell {
    let mut cell = cell.clone();
    cell.insert(key.to_owned(), level.to_owned());
    cell
}

impl Content {
    /// What an arm is in a cell, whatever it is called.
    fn effect(&self, cell: &Cell, arm: &str) -> Result<(Setup, Option<String>), String> {
        let mut setup = self.setup(cell, Some(arm))?;
        let asked = self.workloads.get(&setup.workload).map(|planned| planned.effect(&setup.options));
        setup.arm.iter_mut().for_each(|arm| arm.name = None);
        (setup.workload, setup.options) = Default::default();
        Ok((setup, asked))
    }

    /// The workload that a setup asks for, with the options that it changes.
    ///
    /// # Errors
    /// When it is none of this plan.
    pub(crate) fn spec(&self, setup: &Setup) -> Result<Spec, LabError> {
        let planned = self.workloads.get(&setup.workload).ok_or_else(|| "is not there".to_owned());
        planned.and_then(|planned| with_options(&planned.spec, &setup.options)).map_err(|why| {
            LabError::failed(Class::Internal, format!("workload {}: {why}", setup.asked()), "")
        })
    }
}

impl Plan {
    /// The most that clients need to reach a managed server: what it is started with, so that it is not restarted.
    pub(crate) fn widest_way(&self) -> Via {
        let ways = self.runs.iter().map(|run| match self.setup(run).connection {
            Connection::Via(via) => via,
            _ => Via::Socket,
        });
        ways.max().unwrap_or(Via::Socket)
    }

    /// Two arms between which there is no difference in any cell: A against A.
    #[must_use]
    pub fn equal_arms(&self) -> Option<[String; 2]> {
        let arms: Vec<String> = self.content.arm_names().into_iter().flatten().collect();
        let cells = self.content.grid();
        let equal = |one: &String, other: &String| {
            cells.iter().all(|cell| self.content.effect(cell, one) == self.content.effect(cell, other))
        };
        let pairs =
            arms.iter().enumerate().flat_map(|(at, one)| arms[..at].iter().map(move |other| [other, one]));
        pairs.into_iter().find(|[one, other]| equal(one, other)).map(|pair| pair.map(Clone::clone))
    }

    /// What the base arm's run of the same cell needs; `None` for runs of the base, and where nothing is compared.
    #[must_use]
    pub(crate) fn base_setup(&self, run: &PlannedRun) -> Option<Setup> {
        let base = &self.content.compare.as_ref()?.base;
        run.arm.as_ref().filter(|arm| *arm != base)?;
        Some(self.setup(&PlannedRun { arm: Some(base.clone()), ..run.clone() }))
    }

    /// What a run of this plan needs.
    #[must_use]
    pub fn setup(&self, run: &PlannedRun) -> Setup {
        let setup = self
            .content
            .setup(&run.factors, run.arm.as_deref())
            .expect("its levels were applied when it was planned");
        // Beside the grid any settings will do.
        let arm = setup.arm.filter(|_| !run.beside);
        let none = || (!self.content.changes.is_empty()).then(BTreeMap::new);
        let changes = setup.changes.or_else(none).filter(|_| !run.beside);
        Setup { seed: run.seed, arm, changes, ..setup }
    }
}

struct List<'a> {
    content: &'a Content,
    seed: u64,
    runs: Vec<PlannedRun>,
}

impl List<'_> {
    fn add_round(&mut self, round: u32, cells: &[&Cell]) -> Result<(), String> {
        let mut arms = self.content.arm_names();
        if round.is_multiple_of(2) {
            arms.reverse();
        }
        let arms: Vec<_> = arms.iter().map(Option::as_deref).zip(1..).collect();
        match self.content.scheme {
            Scheme::HalfRounds => {
                for (arm, position) in arms {
                    for cell in cells {
                        self.add(round, cell, arm, position, false)?;
                    }
                }
            }
            Scheme::Pairs | Scheme::Single => {
                for cell in cells {
                    for (arm, position) in &arms {
                        self.add(round, cell, *arm, *position, false)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        round: u32,
        cell: &Cell,
        arm: Option<&str>,
        position_in_pair: u32,
        beside: bool,
    ) -> Result<(), String> {
        let setup = self.content.setup(cell, arm)?;
        // The arms of a pair draw the same keys and tiles, so that chance is no difference between them; every
        // round draws anew.
        let names = ["run", &round.to_string(), &label(cell)];
        self.runs.push(PlannedRun {
            sequence: self.runs.len() as u32,
            round,
            // Arms that are workloads share a cell.
            workload: cell.get("workload").cloned().unwrap_or_else(|| self.content.compared_workloads()),
            factors: cell.clone(),
            arm: arm.map(str::to_owned),
            position_in_pair,
            seed: derive(self.seed, &names),
            clients: setup.clients,
            threads: setup.threads,
            rate: setup.load.rate(),
            beside,
        });
        Ok(())
    }
}
