//! Arms that took turns in slices: how often, and whether disturbances outlasted a slice.

use std::collections::BTreeSet;

use spec::Run;

use super::Metric;

/// Above this autocorrelation, successive quads are not independent.
pub const CORRELATED: f64 = 0.3;

/// How two arms of a cell took turns, over all its rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sliced {
    pub rounds: usize,
    /// Length of a slice in the round where it was shortest, ms; it follows from each round's warm-up.
    pub slice_ms: f64,
    /// The same where it was longest.
    pub slice_most_ms: f64,
    pub quads: usize,
    pub void: usize,
    /// Correlation of the ratio of a quad with the next one's, within rounds; `None` with too few quads.
    pub autocorrelation: Option<f64>,
    /// Most CPU time that the hypervisor took in a quad, %; `None` if the system does not report it.
    pub steal_most_pct: Option<f64>,
}

impl Sliced {
    /// Of two arms; each slice holds runs of one round.
    pub(super) fn of(pairs: &[(&Run, &Run)], metric: Metric) -> Option<Self> {
        let sliced: Vec<_> = pairs.iter().filter(|(base, new)| base.is_sliced() && new.is_sliced()).collect();
        let (quads, void) = sliced
            .iter()
            .map(|(base, _)| base.quads())
            .fold((0, 0), |sum, quads| (sum.0 + quads.0, sum.1 + quads.1));
        let lengths = || {
            let of =
                |(base, _): &&(&Run, &Run)| base.slices.first().map(|slice| slice.length_us as f64 / 1e3);
            sliced.iter().filter_map(of)
        };
        let rounds: Vec<Vec<f64>> = sliced.iter().map(|(base, new)| ratios(base, new, metric)).collect();
        let steal = sliced.iter().flat_map(|(base, new)| steal_by_quad(base, new));
        Some(Self {
            rounds: sliced.len(),
            slice_ms: lengths().min_by(f64::total_cmp)?,
            slice_most_ms: lengths().max_by(f64::total_cmp)?,
            quads,
            void,
            autocorrelation: stats::autocorrelation(&rounds),
            steal_most_pct: steal.max_by(f64::total_cmp),
        })
    }

    /// Whether successive quads are correlated: then the scatter of rounds is still right, and the scatter
    /// of quads is not.
    #[must_use]
    pub fn is_correlated(&self) -> bool {
        self.autocorrelation.is_some_and(|r| r > CORRELATED)
    }
}

fn quads_of(run: &Run) -> BTreeSet<u32> {
    run.slices.iter().map(|slice| slice.quad).collect()
}

/// ln(new / base) of the counted quads of a round, in order.
pub(super) fn ratios(base: &Run, new: &Run, metric: Metric) -> Vec<f64> {
    let of_quad = match metric {
        Metric::Cpu => Run::quad_server_cpu_us_per_tx,
        Metric::Tps | Metric::P50 | Metric::P95 | Metric::P99 => Run::quad_tps,
    };
    let ratio = |quad| {
        let (base, new) = (of_quad(base, quad)?, of_quad(new, quad)?);
        (base > 0.0 && new > 0.0).then(|| (new / base).ln())
    };
    quads_of(base).into_iter().filter_map(ratio).collect()
}

fn steal_by_quad(base: &Run, new: &Run) -> Vec<f64> {
    let of = |quad: u32| {
        let slices = base.slices.iter().chain(&new.slices).filter(|slice| slice.quad == quad);
        let all: Vec<f64> = slices.filter_map(|slice| slice.steal_pct).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    quads_of(base).into_iter().filter_map(of).collect()
}
