//! Distributions, intervals and comparisons: pure functions over plain numbers.
//!
//! Nothing here knows a database, a file or a clock. Every method names its source; `docs/figures.md`
//! explains in words how each printed figure is made.

mod histogram;

pub use histogram::{Histogram, HistogramError};
