//! Which rows a client takes, and when: decided before the run, so that clients share nothing.
//!
//! All rows of a run are in one order; position `k` belongs to client `k mod n` of `n`.

use std::sync::Arc;

use script::{Random, Symbols, Variables, permute};

use super::row_options::{RowOptions, RowOrder, RowUse};
use super::rows::{Column, Rows};

/// Mixed with the run's seed: the order of rows is independent of the clients' random numbers.
const STREAM: u64 = 0x726f_7773_0000_0000;

/// The order of the rows of a run; with [`RowUse::Repeat`] it begins again after the last row.
#[derive(Debug, Clone)]
struct Sequence {
    rows: u64,
    usage: RowUse,
    /// Of a random order: the row at each position. 4 bytes a row, because computing it for each transaction
    /// (`permute`) takes longer than all the rest.
    shuffled: Option<Arc<[u32]>>,
}

impl Sequence {
    fn new(rows: u64, options: &RowOptions, seed: u64) -> Self {
        let shuffled = (options.order == RowOrder::Random).then(|| shuffled(rows, seed));
        Self { rows, usage: options.usage, shuffled }
    }

    /// The row at a position; `None` after the last row, unless they repeat.
    #[inline]
    fn row(&self, position: u64) -> Option<usize> {
        let within = if position < self.rows {
            position
        } else if self.usage == RowUse::Once {
            return None;
        } else {
            position % self.rows
        };
        Some(self.shuffled.as_ref().map_or(within as usize, |rows| rows[within as usize] as usize))
    }
}

/// All rows in a random order (Fisher and Yates).
fn shuffled(rows: u64, seed: u64) -> Arc<[u32]> {
    let mut random = Random::new(seed ^ STREAM);
    let mut order: Vec<u32> = (0..rows as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.up_to(last as u64) as usize);
    }
    order.into()
}

/// The row of a single transaction outside a run, the `draw`th of a sample.
pub(super) fn sampled(rows: &Rows, options: &RowOptions, (seed, draw): (u64, u64)) -> usize {
    let count = rows.count() as u64;
    match options.order {
        RowOrder::Listed => (draw % count) as usize,
        RowOrder::Random => permute(draw as i64, count as i64, (seed ^ STREAM) as i64) as usize,
    }
}

/// A client's rows: every `clients`-th position of the run's order.
#[derive(Debug)]
pub(super) struct RowTurns {
    rows: Arc<Rows>,
    columns: Arc<[Column]>,
    sequence: Sequence,
    next: u64,
    clients: u64,
}

impl RowTurns {
    /// The turns of all clients, by number.
    pub(super) fn of_clients(
        rows: &Arc<Rows>,
        options: &RowOptions,
        symbols: &Symbols,
        (clients, seed): (usize, u64),
    ) -> impl Iterator<Item = Self> + use<> {
        let (rows, columns) = (Arc::clone(rows), Arc::<[Column]>::from(rows.columns(symbols)));
        let (sequence, clients) = (Sequence::new(rows.count() as u64, options, seed), clients as u64);
        (0..clients).map(move |next| Self {
            rows: Arc::clone(&rows),
            columns: Arc::clone(&columns),
            sequence: sequence.clone(),
            next,
            clients,
        })
    }

    /// Sets the variables of the next row; false when none is left.
    #[inline]
    pub(super) fn take(&mut self, variables: &mut Variables) -> bool {
        let Some(row) = self.sequence.row(self.next) else { return false };
        self.next += self.clients;
        self.rows.store(row, &self.columns, variables);
        true
    }

    /// Why a client stops without a further row.
    #[cold]
    pub(super) fn used_up(&self) -> String {
        format!(
            "the {} rows of {} are used up; add rows, let them repeat, or make the run shorter",
            self.rows.count(),
            self.rows.source()
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sequence(rows: u64, order: RowOrder, usage: RowUse, seed: u64) -> Sequence {
        Sequence::new(rows, &RowOptions { order, usage, ..RowOptions::default() }, seed)
    }

    fn first(count: u64, sequence: &Sequence) -> Vec<Option<usize>> {
        (0..count).map(|position| sequence.row(position)).collect()
    }

    #[test]
    fn listed_rows_come_in_their_order_once_or_again() {
        let once = first(4, &sequence(3, RowOrder::Listed, RowUse::Once, 7));
        assert_eq!(once, [Some(0), Some(1), Some(2), None]);
        let again = first(5, &sequence(3, RowOrder::Listed, RowUse::Repeat, 7));
        assert_eq!(again, [Some(0), Some(1), Some(2), Some(0), Some(1)]);
    }

    #[test]
    fn a_random_order_is_that_of_its_seed() {
        let of = |seed| first(200, &sequence(100, RowOrder::Random, RowUse::Repeat, seed));
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        let (one, two) = (of(7)[..100].to_vec(), of(7)[100..].to_vec());
        assert_eq!(one, two);
        assert_ne!(one, first(100, &sequence(100, RowOrder::Listed, RowUse::Once, 7)));
    }

    /// Clients that take their rows in any order of time.
    fn taken(sequence: &Sequence, clients: u64, each: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; sequence.rows as usize];
        for (client, times) in (0..clients).zip(each) {
            for row in (0..*times).map_while(|time| sequence.row(client + time * clients)) {
                counts[row] += 1;
            }
        }
        counts
    }

    fn any_order() -> impl Strategy<Value = RowOrder> {
        prop_oneof![Just(RowOrder::Listed), Just(RowOrder::Random)]
    }

    proptest! {
        #[test]
        fn rows_used_once_are_used_at_most_once(
            rows in 1_u64..200, order in any_order(), seed: u64, each in prop::collection::vec(0_u64..100, 1..9),
        ) {
            let clients = each.len() as u64;
            let sequence = sequence(rows, order, RowUse::Once, seed);
            prop_assert!(taken(&sequence, clients, &each).iter().all(|count| *count <= 1));
            // Clients that go on to the end leave none.
            let to_the_end = vec![rows + 1; each.len()];
            prop_assert!(taken(&sequence, clients, &to_the_end).iter().all(|count| *count == 1));
        }

        #[test]
        fn rows_that_repeat_are_used_alike(
            rows in 1_u64..50, order in any_order(), seed: u64, clients in 1_u64..9, each in 0_u64..100,
        ) {
            let counts = taken(&sequence(rows, order, RowUse::Repeat, seed), clients, &vec![each; clients as usize]);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{counts:?}");
        }
    }
}
