//! The order of runs: rounds, cells in random order, arms next to each other and alternating.

use sha2::{Digest, Sha256};

use super::cells::{Cell, label};
use super::{cells, levels};
use spec::plan::{ArmPlacement, ByHand, CellOrder, Content, PlannedRun};

/// A number derived from a seed and names: equal names give equal numbers. 63 bits, to fit a signed integer
/// of the results file.
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

/// Which rounds have which arms.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rounds<'a> {
    /// So many rounds, with all arms.
    OfAllArms(u32),
    /// Sets of one arm each, in order.
    Sets(ByHand, &'a [String]),
}

/// All runs, in order.
///
/// # Errors
/// As text, when a level does not belong to its factor.
pub(super) fn runs(
    content: &Content,
    seed: u64,
    rounds: Rounds<'_>,
    arm_placement: Option<&ArmPlacement>,
) -> Result<Vec<PlannedRun>, String> {
    let (cells, beside) = (cells::grid(content), cells::cells_beside(content));
    let mut list = List { content, arm_placement, seed, runs: Vec::new() };
    let of_rounds: Vec<(u32, Option<&str>)> = match rounds {
        Rounds::OfAllArms(rounds) => (1..=rounds).map(|round| (round, None)).collect(),
        Rounds::Sets(by_hand, sets) => {
            let sets = (1..).zip(sets);
            sets.flat_map(|(set, level)| by_hand.rounds_of(set).map(|round| (round, Some(&**level))))
                .collect()
        }
    };
    for (round, level) in of_rounds {
        let cells = ordered(content, &cells, seed, round);
        match level {
            None => list.add_round(round, &cells)?,
            Some(_) => cells.into_iter().try_for_each(|cell| list.add(round, cell, level, 1, false))?,
        }
        for cell in ordered(content, &beside, seed, round) {
            list.add(round, cell, None, 1, true)?;
        }
    }
    Ok(list.runs)
}

/// The arms of a pair draw the same keys and tiles, to remove random differences; every round draws again.
pub(crate) fn seed_of(seed: u64, round: u32, cell: &Cell) -> u64 {
    derive(seed, &["run", &round.to_string(), &label(cell)])
}

struct List<'a> {
    content: &'a Content,
    arm_placement: Option<&'a ArmPlacement>,
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
        let together = |cell: &&&Cell| self.content.together(cell, self.arm_placement);
        let (pairs, apart): (Vec<_>, Vec<_>) = cells.iter().partition(together);
        for cell in pairs {
            for (arm, position) in &arms {
                self.add(round, cell, *arm, *position, false)?;
            }
        }
        for (arm, position) in arms {
            for cell in &apart {
                self.add(round, cell, arm, position, false)?;
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
        let setup = levels::setup(self.content, cell, arm)?;
        self.runs.push(PlannedRun {
            sequence: self.runs.len() as u32,
            round,
            // Arms that are workloads share a cell.
            workload: cell.get("workload").cloned().unwrap_or_else(|| self.content.compared_workloads()),
            factors: cell.clone(),
            arm: arm.map(str::to_owned),
            position_in_pair,
            seed: seed_of(self.seed, round, cell),
            clients: setup.clients,
            threads: setup.threads,
            rate: setup.rate(),
            beside,
        });
        Ok(())
    }
}

/// The cells of a round. Sorting by a hash of seed, round and cell is a random order without generator state.
fn ordered<'c>(content: &Content, cells: &'c [Cell], seed: u64, round: u32) -> Vec<&'c Cell> {
    let mut list: Vec<&Cell> = cells.iter().collect();
    let hash = |what: &str| derive(seed, &["order", &round.to_string(), what]);
    if content.order == CellOrder::Random {
        list.sort_by_cached_key(|cell| hash(&label(cell)));
    }
    if cells::blocked(content) {
        let dear = |cell: &Cell| {
            label(
                &cell
                    .iter()
                    .filter(|(key, _)| content.is_state(key))
                    .map(|(key, level)| (key.clone(), level.clone()))
                    .collect(),
            )
        };
        list.sort_by_cached_key(|cell| hash(&dear(cell)));
    }
    list
}
