//! Figures of a sliced run that are derived when reading.

use std::collections::BTreeSet;

use crate::figures;
use crate::run::{Run, RunKind};
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

    /// CPU time of the server per successful transaction, µs: of a run in slices over the slices that count and
    /// could be read, else of the measured part, with replicas. `None` if the server is not on this machine,
    /// for jobs, and without a transaction.
    #[must_use]
    pub fn server_cpu_us_per_tx(&self) -> Option<f64> {
        let (cpu_us, transactions) = self.server_cpu_us()?;
        Some(cpu_us / transactions as f64)
    }

    /// CPU time of the server, µs, and the successful transactions that it was used for.
    #[must_use]
    pub fn server_cpu_us(&self) -> Option<(f64, u64)> {
        if !self.is_whole_load() {
            return None;
        }
        let used = if self.is_sliced() {
            cpu_of(self.slices.iter().filter(|slice| !slice.is_void))
        } else {
            let server_s =
                self.figures.get(figures::SERVER_CPU_S).filter(|_| self.kind == RunKind::Client)?;
            let replicas_s = self.figures.get(figures::REPLICAS_CPU_S).unwrap_or_default();
            (1e6 * (server_s + replicas_s), self.completed())
        };
        Some(used).filter(|(cpu_us, transactions)| *cpu_us > 0.0 && *transactions > 0)
    }

    /// CPU time of the server per successful transaction in a quad that counts, µs.
    #[must_use]
    pub fn quad_server_cpu_us_per_tx(&self, quad: u32) -> Option<f64> {
        let own = self.slices.iter().filter(|slice| slice.quad == quad && !slice.is_void);
        let (cpu_us, transactions) = cpu_of(own);
        (cpu_us > 0.0 && transactions > 0).then(|| cpu_us / transactions as f64)
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

/// CPU time of these slices, µs, and their successful transactions; without slices that were not read.
fn cpu_of<'s>(slices: impl Iterator<Item = &'s Slice>) -> (f64, u64) {
    let read = slices.filter_map(|slice| Some((slice.server_cpu_us?, slice.succeeded)));
    read.fold((0.0, 0), |(cpu_us, all), (own_us, succeeded)| (cpu_us + own_us, all + succeeded))
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
            server_cpu_us: None,
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

    #[test]
    fn cpu_per_transaction_is_of_the_slices_that_count_and_were_read() {
        let mut run = one(201);
        assert_eq!(run.server_cpu_us_per_tx(), None);
        let cpu = |slice: Slice, us| Slice { server_cpu_us: us, ..slice };
        run.slices = vec![
            cpu(slice(0, 100, 4e5, false), Some(5000.0)),
            // A backend had ended: a tick is missing here, and surplus in the next slice.
            cpu(slice(0, 100, 4e5, false), Some(-4000.0)),
            cpu(slice(1, 300, 4e5, false), Some(24_000.0)),
            cpu(slice(1, 50, 4e5, false), None),
            cpu(slice(2, 1, 4e7, true), Some(9e9)),
        ];
        assert_eq!(run.server_cpu_us_per_tx(), Some(25_000.0 / 500.0));
        assert_eq!([0, 1, 2].map(|quad| run.quad_server_cpu_us_per_tx(quad)), [Some(5.0), Some(80.0), None]);
    }

    #[test]
    fn cpu_per_transaction_of_an_uncut_run_has_that_of_its_replicas() {
        let mut run = one(201);
        run.counts.set(figures::OK, 4000);
        run.counts.set(figures::LATE, 0);
        run.counts.remove(figures::COMPLETED);
        run.figures.set(figures::SERVER_CPU_S, 0.2);
        assert_eq!(run.server_cpu_us_per_tx(), Some(50.0));
        run.figures.set(figures::REPLICAS_CPU_S, 0.2);
        assert_eq!(run.server_cpu_us_per_tx(), Some(100.0));
        run.kind = RunKind::Job;
        assert_eq!(run.server_cpu_us_per_tx(), None);
    }
}
