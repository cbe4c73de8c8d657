//! What a client requests next: views of users' sessions, whose contents are requested at once, or one of
//! several groups.

use script::Random;

/// Sessions, each with at least one view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Views<T>(Vec<Vec<Vec<T>>>);

/// A client's position in its session, or among groups.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visit {
    session: usize,
    /// The view that comes next.
    view: usize,
    /// The last group, or its draw of 2^64.
    turn: Option<u64>,
}

/// The golden ratio of 2^64: its multiples are spread evenly over the range, however many there are
/// (Steinhaus' conjecture, proved by Sós, 1958).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Visit {
    /// The next of `count` groups that come equally often: each is among any `count` successive ones.
    #[inline]
    pub(crate) fn next_of(&mut self, random: &mut Random, count: u64) -> u64 {
        let turn = self.turn.map_or_else(|| random.up_to(count - 1), |last| (last + 1) % count);
        self.turn = Some(turn);
        turn
    }

    /// A number below `whole`. A client's numbers are spread evenly: of n equal parts of the whole, 2 n
    /// successive numbers meet each, while independent draws would leave some out.
    #[inline]
    pub(crate) fn spread(&mut self, random: &mut Random, whole: u64) -> u64 {
        let turn = self.turn.map_or_else(|| random.next_u64(), |last| last.wrapping_add(GOLDEN));
        self.turn = Some(turn);
        ((u128::from(turn) * u128::from(whole)) >> 64) as u64
    }
}

impl<T> Views<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, session: Vec<Vec<T>>) {
        self.0.push(session);
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &[Vec<T>]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// The client's next requests: the next view of its session, or the first one of another, equally likely.
    #[inline]
    pub(crate) fn next(&self, random: &mut Random, visit: &mut Visit) -> &[T] {
        if visit.view == 0 || visit.view >= self.0[visit.session].len() {
            visit.session = random.up_to(self.0.len() as u64 - 1) as usize;
            visit.view = 0;
        }
        let view = &self.0[visit.session][visit.view];
        visit.view += 1;
        view
    }
}

impl<T> Default for Views<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Whether weights are the same, except for rounding.
pub(crate) fn are_equal(weights: impl IntoIterator<Item = u64>) -> bool {
    let mut weights = weights.into_iter();
    weights.next().is_none_or(|first| weights.all(|weight| weight.abs_diff(first) <= 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: of slow zooms some were never requested in a short run.
    #[test]
    fn no_group_waits_long_for_its_turn() {
        for (whole, seed) in [(2, 1), (5, 2), (11, 3), (17, 4)] {
            let (mut random, mut visit) = (Random::new(seed), Visit::default());
            let drawn: Vec<u64> = (0..100).map(|_| visit.next_of(&mut random, whole)).collect();
            for lap in drawn.windows(whole as usize) {
                assert!((0..whole).all(|group| lap.contains(&group)), "{whole}: {lap:?}");
            }
            let mut visit = Visit::default();
            let mut drawn: Vec<u64> = (0..1000).map(|_| visit.spread(&mut random, whole)).collect();
            for stretch in drawn.windows(2 * whole as usize) {
                assert!((0..whole).all(|group| stretch.contains(&group)), "{whole}: {stretch:?}");
            }
            drawn.sort_unstable();
            let counts = drawn.chunk_by(|one, next| one == next).map(<[u64]>::len);
            assert!(counts.into_iter().all(|count| count.abs_diff(1000 / whole as usize) <= 3), "{whole}");
        }
    }

    #[test]
    fn a_session_is_gone_through_before_another_begins() {
        let mut views = Views::default();
        views.add(vec![vec![10, 11], vec![12]]);
        views.add(vec![vec![20], vec![21, 22], vec![23]]);
        let (mut random, mut visit) = (Random::new(1), Visit::default());
        let mut begun = [0, 0];
        while begun[0] + begun[1] < 100 {
            match views.next(&mut random, &mut visit) {
                [10, 11] => {
                    assert_eq!(views.next(&mut random, &mut visit), [12]);
                    begun[0] += 1;
                }
                other => {
                    assert_eq!(other, [20]);
                    assert_eq!(views.next(&mut random, &mut visit), [21, 22]);
                    assert_eq!(views.next(&mut random, &mut visit), [23]);
                    begun[1] += 1;
                }
            }
        }
        assert!(begun.iter().all(|times| *times > 30), "{begun:?}");
    }
}
