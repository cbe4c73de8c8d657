//! Parts of one measurement that several load generators made, each with its own results file.

use serde::{Deserialize, Serialize};

/// Most parts: numbers of their locks have a bound.
pub const MOST_PARTS: u32 = 10_000;

/// Whether there can be a part `number` of `of`: from 1 to `of`, of at most [`MOST_PARTS`].
#[must_use]
pub fn is_part(number: u32, of: u32) -> bool {
    (1..=of).contains(&number) && of <= MOST_PARTS
}

/// The share of a run's load that one generator made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPart {
    /// The same for all parts of one run, and of no other run in any file; 32 hex digits.
    pub load: String,
    /// From 1 to `of`.
    pub number: u32,
    pub of: u32,
    /// The clock of the generator's host minus that of the server, µs.
    pub clock_offset_us: f64,
    /// Bound of the error of this offset, µs.
    pub clock_error_us: f64,
    /// From the release of the parts to the begin of this one, µs.
    pub late_us: f64,
}

impl RunPart {
    /// `part 3 of 4`.
    #[must_use]
    pub fn words(&self) -> String {
        words(self.number, self.of)
    }
}

/// The part of an experiment that one results file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExperimentPart {
    /// From 1 to `of`.
    pub number: u32,
    pub of: u32,
    /// Whether each run is divided among the parts. If not, each part has whole cells.
    pub shared: bool,
}

impl ExperimentPart {
    /// `part 3 of 4`.
    #[must_use]
    pub fn words(&self) -> String {
        words(self.number, self.of)
    }
}

fn words(number: u32, of: u32) -> String {
    format!("part {number} of {of}")
}
