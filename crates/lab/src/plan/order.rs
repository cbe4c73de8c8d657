//! The order of runs: rounds, cells in random order, arms next to each other and alternating.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::cells::{self, Cell, label, text};
use super::levels::CellSetups;
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
    let is_blocked = cells::blocked(content);
    let [cells, beside] =
        [cells::grid(content), cells::cells_beside(content)].map(|cells| shared(content, cells));
    let mut list = List { content, setups: CellSetups::of(content), arm_placement, runs: Vec::new() };
    let of_rounds: Vec<(u32, Option<&str>)> = match rounds {
        Rounds::OfAllArms(rounds) => (1..=rounds).map(|round| (round, None)).collect(),
        Rounds::Sets(by_hand, sets) => {
            let sets = (1..).zip(sets);
            sets.flat_map(|(set, level)| by_hand.rounds_of(set).map(|round| (round, Some(&**level))))
                .collect()
        }
    };
    let arms = content.arm_names();
    let arms: Vec<_> = arms.iter().map(Option::as_deref).collect();
    for (round, level) in of_rounds {
        let cells = ordered((content.order, is_blocked), &cells, seed, round);
        match level {
            None => list.add_round(round, &cells, &arms)?,
            Some(_) => cells.iter().try_for_each(|cell| list.add(round, cell, level, 1, false))?,
        }
        for cell in ordered((content.order, is_blocked), &beside, seed, round) {
            list.add(round, &cell, None, 1, true)?;
        }
    }
    Ok(list.runs)
}

/// A cell, whose runs share its levels.
struct SharedCell {
    levels: Arc<Cell>,
    workload: String,
    label: String,
    /// The levels of the state of the server.
    state: String,
}

fn shared(content: &Content, cells: Vec<Cell>) -> Vec<SharedCell> {
    let shared = |cell: Cell| SharedCell {
        // Arms that are workloads share a cell.
        workload: cells::workload_of(content, &cell),
        label: label(&cell),
        state: text(cell.iter().filter(|(key, _)| content.is_state(key))),
        levels: Arc::new(cell),
    };
    cells.into_iter().map(shared).collect()
}

/// A cell in a round.
struct InRound<'c> {
    cell: &'c SharedCell,
    /// The arms of a pair draw the same keys and tiles, to remove random differences; every round draws again.
    seed: u64,
}

/// The seed of the runs of a cell in a round.
pub(crate) fn seed_of(seed: u64, round: u32, label: &str) -> u64 {
    derive(seed, &["run", &round.to_string(), label])
}

struct List<'a> {
    content: &'a Content,
    setups: CellSetups<'a>,
    arm_placement: Option<&'a ArmPlacement>,
    runs: Vec<PlannedRun>,
}

impl<'a> List<'a> {
    fn add_round(
        &mut self,
        round: u32,
        cells: &[InRound<'a>],
        arms: &[Option<&'a str>],
    ) -> Result<(), String> {
        let mut arms: Vec<_> = arms.to_vec();
        if round.is_multiple_of(2) {
            arms.reverse();
        }
        let arms: Vec<_> = arms.into_iter().zip(1..).collect();
        let together = |of: &&InRound<'_>| self.content.together(&of.cell.levels, self.arm_placement);
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
        InRound { cell, seed }: &InRound<'a>,
        arm: Option<&'a str>,
        position_in_pair: u32,
        beside: bool,
    ) -> Result<(), String> {
        let setup = self.setups.setup(&cell.levels, arm)?;
        self.runs.push(PlannedRun {
            sequence: self.runs.len() as u32,
            round,
            workload: cell.workload.clone(),
            factors: Arc::clone(&cell.levels),
            arm: arm.map(str::to_owned),
            position_in_pair,
            seed: *seed,
            clients: setup.clients,
            threads: setup.threads,
            rate: setup.rate(),
            beside,
        });
        Ok(())
    }
}

/// The cells of a round. Sorting by a hash of seed, round and cell is a random order without generator state.
/// Cells of one state of the server are next to each other if they are blocked.
fn ordered(
    (order, is_blocked): (CellOrder, bool),
    cells: &[SharedCell],
    seed: u64,
    round: u32,
) -> Vec<InRound<'_>> {
    let mut list: Vec<&SharedCell> = cells.iter().collect();
    let hash = |what: &str| derive(seed, &["order", &round.to_string(), what]);
    if order == CellOrder::Random {
        list.sort_by_cached_key(|cell| hash(&cell.label));
    }
    if is_blocked {
        list.sort_by_cached_key(|cell| hash(&cell.state));
    }
    list.into_iter().map(|cell| InRound { cell, seed: seed_of(seed, round, &cell.label) }).collect()
}
