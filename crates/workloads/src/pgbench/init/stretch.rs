//! Ranges of rows, and their distribution among connections.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::ACCOUNTS;

/// Rows by their numbers, both ends included. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowRange {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl RowRange {
    /// All rows up to this number, at least one.
    pub(super) fn up_to(last: u64) -> Self {
        Self { first: 1, last }
    }

    pub(super) fn rows(self) -> u64 {
        self.last - self.first + 1
    }

    /// At most this many rows of it, and the rest.
    pub(super) fn cut(self, rows: u64) -> (Self, Option<Self>) {
        if rows >= self.rows() {
            return (self, None);
        }
        let last = self.first + rows.max(1) - 1;
        (Self { last, ..self }, Some(Self { first: last + 1, ..self }))
    }
}

/// Cuts rows where branches end, into pieces of at most this many branches.
pub(super) fn by_branches(all: RowRange, branches: u64) -> Vec<RowRange> {
    let rows = ACCOUNTS.saturating_mul(branches.max(1));
    let mut pieces = Vec::new();
    let mut rest = Some(all);
    while let Some(current) = rest {
        let (piece, after) = current.cut(rows);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Stretches, shared by several connections.
#[derive(Debug)]
pub(super) struct Queue {
    stretches: Vec<RowRange>,
    next: AtomicUsize,
}

impl Queue {
    pub(super) fn new(stretches: Vec<RowRange>) -> Self {
        Self { stretches, next: AtomicUsize::new(0) }
    }

    pub(super) fn take(&self) -> Option<RowRange> {
        self.stretches.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.stretches.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts() {
        let all = RowRange::up_to(10);
        assert_eq!(all.cut(10), (all, None));
        assert_eq!(all.cut(4), (RowRange { first: 1, last: 4 }, Some(RowRange { first: 5, last: 10 })));
        let pieces = by_branches(RowRange::up_to(300_000), 2);
        assert_eq!(pieces, [RowRange::up_to(200_000), RowRange { first: 200_001, last: 300_000 }]);
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_whole(rows in 1_u64..2_000_000, branches in 1_u64..9) {
            let whole = RowRange::up_to(rows);
            let pieces = by_branches(whole, branches);
            prop_assert_eq!(pieces.first().unwrap().first, whole.first);
            prop_assert_eq!(pieces.last().unwrap().last, whole.last);
            for pair in pieces.windows(2) {
                prop_assert_eq!(pair[0].last + 1, pair[1].first);
                prop_assert_eq!(pair[0].last % ACCOUNTS, 0);
            }
            prop_assert!(pieces.iter().all(|piece| piece.rows() <= branches * ACCOUNTS));
        }
    }
}
