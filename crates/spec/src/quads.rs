//! Figures of a sliced run that are derived when reading.

use std::collections::BTreeSet;

use crate::run::Run;
use crate::slice::Slice;

impl Run {
    /// Whether it took turns with other arms in slices.
    #[must_use]
    pub fn is_sliced(&self) -> bool {
        !self.slices.is_empty()
    }

    /// Transactions per second over some slices: clients times successes over their time at work, so that
    /// drains do not count against any arm.
    pub(crate) fn rate_of<'s>(&self, slices: impl Iterator<Item = &'s Slice>) -> Option<f64> {
        let (succeeded, at_work_us) = slices.fold((0, 0.0), |(succeeded, at_work_us), slice| {
            (succeeded + slice.succeeded, at_work_us + slice.at_work_us)
        });
        (at_work_us > 0.0).then(|| f64::from(self.clients) * succeeded as f64 / (at_work_us / 1e6))
    }

    /// Transactions per second in a quad that counts; `None` if it has no slices in it.
    #[must_use]
    pub fn quad_tps(&self, quad: u32) -> Option<f64> {
        self.rate_of(self.slices.iter().filter(|slice| slice.quad == quad && !slice.is_void))
    }

    /// Number of quads, and of quads that do not count.
    #[must_use]
    pub fn quads(&self) -> (usize, usize) {
        let of = |void: bool| {
            let quads = self.slices.iter().filter(|slice| slice.is_void || !void).map(|slice| slice.quad);
            quads.collect::<BTreeSet<_>>().len()
        };
        (of(false), of(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::one;

    fn slice(quad: u32, succeeded: u64, at_work_us: f64, is_void: bool) -> Slice {
        Slice {
            quad,
            start_us: 0,
            length_us: 100_000,
            drain_us: 0,
            succeeded,
            at_work_us,
            steal_pct: None,
            is_void,
        }
    }

    #[test]
    fn a_void_quad_does_not_count_in_the_rate() {
        let mut run = one(201);
        // Four clients at work for 0.1 s, each 25 transactions.
        run.slices = vec![slice(0, 100, 4e5, false), slice(0, 100, 4e5, false), slice(1, 1, 4e7, true)];
        assert_eq!(run.tps(), Some(1000.0));
        assert_eq!(run.quad_tps(0), Some(1000.0));
        assert_eq!(run.quad_tps(1), None);
        assert_eq!(run.quads(), (2, 1));
    }
}
