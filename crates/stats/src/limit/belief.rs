//! The probable place of the limit after some trials. It only chooses the next rate, and prevents a class
//! that contradicts all other trials from being believed.

use statrs::distribution::{ContinuousCDF, Normal};

/// How often a trial far below the limit is bad by chance (a checkpoint, a neighbour).
pub(super) const BAD_BY_CHANCE: f64 = 0.08;
/// How often a trial far above the limit is good by chance.
pub(super) const GOOD_BY_CHANCE: f64 = 0.03;
/// Width of the transition from good to bad, in steps between rates.
const BLUR: f64 = 0.8;

/// A probability for each place between two rates, below all and above all of them.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    /// Natural logarithms, up to a common constant; place `j` is below rate `j` and above rate `j - 1`.
    log: Vec<f64>,
}

impl Belief {
    /// The prior, from weights of the places: one more than there are rates.
    pub(super) fn of(weights: impl IntoIterator<Item = f64>) -> Self {
        Self { log: weights.into_iter().map(f64::ln).collect() }
    }

    /// Adds a trial at the rate with this index.
    pub(super) fn saw(&mut self, rate: usize, good: bool) {
        let blur = Normal::standard();
        for (place, log) in self.log.iter_mut().enumerate() {
            let above = (rate as f64 - place as f64 + 0.5) / BLUR;
            let bad = BAD_BY_CHANCE + (1.0 - BAD_BY_CHANCE - GOOD_BY_CHANCE) * blur.cdf(above);
            *log += if good { 1.0 - bad } else { bad }.ln();
        }
    }

    /// For each rate, the probability that the limit is below it.
    pub(super) fn below(&self) -> Vec<f64> {
        let most = self.log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.log.iter().map(|log| (log - most).exp()).collect();
        let whole: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut below = |weight: &f64| {
            sum += weight;
            sum / whole
        };
        weights[..weights.len() - 1].iter().map(&mut below).collect()
    }
}
