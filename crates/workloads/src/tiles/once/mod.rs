//! Each tile once: a pyramid, a box or a list to its end, as a seed of a cache does. The total time is measured,
//! and the time and bytes of each zoom.
//!
//! Tiles that fail are listed and end nothing. What is done is kept while the job runs, so that the same command
//! goes on after an interruption.

mod area;
mod fetcher;
mod job;
mod kept;
mod mbtiles;
mod options;
mod progress;
mod words;
mod workload;
mod zoom;

pub use options::OnceOptions;
pub use workload::Once;
