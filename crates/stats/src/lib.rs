//! Distributions, intervals and comparisons: pure functions over plain numbers.
//!
//! The crate knows no database, file or clock. Every method names its source; `docs/explanation/verdicts.md` explains each
//! printed figure.

mod buckets;
mod change_points;
pub mod credits;
mod detectable;
mod grid;
mod groups;
mod heterogeneity;
mod histogram;
mod life;
mod limit;
mod outliers;
mod paired;
mod rank_sum;
#[cfg(test)]
mod simulated;
mod trend;
mod usl;
mod verdict;

pub use change_points::{SeriesLevel, levels, places_of_step};
pub use detectable::DetectableChange;
pub use grid::{GridEstimate, combined, grid};
pub use groups::{TwoGroups, ValueGroup, two_groups};
pub use heterogeneity::{Heterogeneity, heterogeneity};
pub use histogram::{Encoded, Histogram, HistogramError};
pub use life::{LifePoint, change_over_life, exceeds};
pub use limit::{
    Goal as LimitGoal, Range as LimitRange, RateClass as LimitClass, Search as LimitSearch,
    SearchResult as LimitEnded, SearchStep as LimitStep, Trial,
};
pub use outliers::outliers;
pub use paired::{
    Estimate, autocorrelation, difference, geometric_mean, hodges_lehmann, mean_with_interval, paired,
    percent_change, sign_flip_p, welch,
};
pub use rank_sum::rank_sum_p;
pub use trend::{KnownNoise, change_of_ends, trend_p};
pub use usl::{FitDoubt, Fitted, Peak, Rung, Scaling};
pub use verdict::{Better, TooFew, Verdict, verdict};
