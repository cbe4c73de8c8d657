//! Sessions of users: views, whose contents are requested at once.

use script::Random;

/// Sessions, each with at least one view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Views<T>(Vec<Vec<Vec<T>>>);

/// A client's position in its session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visit {
    session: usize,
    /// The view that comes next.
    view: usize,
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
            *visit = Visit { session: random.up_to(self.0.len() as u64 - 1) as usize, view: 0 };
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

#[cfg(test)]
mod tests {
    use super::*;

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
