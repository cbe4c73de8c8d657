//! Distributions, intervals and comparisons: pure functions over plain numbers.
//!
//! Nothing here knows a database, a file or a clock. Every method names its source; `docs/figures.md`
//! explains in words how each printed figure is made.

mod grid;
mod histogram;
mod paired;
mod verdict;

pub use grid::{GridEstimate, Heterogeneity, grid, heterogeneity, holm};
pub use histogram::{Histogram, HistogramError};
pub use paired::{Estimate, geometric_mean, hodges_lehmann, paired, percent, sign_flip_p, t_quantile, welch};
pub use verdict::{Better, Verdict, pairs_for_power, power, stein_pairs, verdict};
