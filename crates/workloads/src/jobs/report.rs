//! The result of a job, and a timer for its phases.

use std::collections::BTreeMap;

use spec::figures::Figures;
use spec::{Artifact, Phase, PhaseSource, Sample, ScriptRecord};

/// The result of a job.
#[derive(Debug, Clone, Default)]
pub struct JobReport {
    /// In the order they started.
    pub phases: Vec<Phase>,
    /// µs from start to end.
    pub elapsed_us: u64,
    pub figures: Figures,
    /// Versions of programs that took part, by name.
    pub versions: BTreeMap<String, String>,
    /// The program's output (bounded).
    pub log: String,
    /// Single measurements, in order.
    pub samples: Vec<Sample>,
    /// Figures of its parts, such as the zooms of a map.
    pub scripts: Vec<ScriptRecord>,
    /// What is said of it.
    pub remarks: Vec<String>,
    /// Files to store with it.
    pub artifacts: Vec<Artifact>,
    /// Tables that it made, named as in [`crate::jobs::relation_sizes`]; empty where all tables count.
    pub tables: Vec<String>,
    /// Whether it finished, without making a single row.
    pub is_empty: bool,
    /// Why a program failed, in its own words.
    pub failed: Option<String>,
    /// Parts that failed, while it went on with the others.
    pub errors: Option<JobErrors>,
}

/// Attached to the error of a job that was stopped and can go on: its words say how far it came.
#[derive(Debug, Clone, Copy)]
pub struct StoppedJob;

/// Failed parts of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobErrors {
    /// Of all its parts, above 0 and at most 1.
    pub share: f64,
    /// `3 of 100 tiles failed`.
    pub what: String,
}

/// Times successive phases with the given clock.
pub struct PhaseTimer<'a> {
    clock: &'a mut dyn FnMut() -> u64,
    start_us: u64,
    phases: Vec<Phase>,
}

impl<'a> PhaseTimer<'a> {
    /// Starts now; `clock` gives µs on the monotonic clock.
    pub fn new(clock: &'a mut dyn FnMut() -> u64) -> Self {
        let start_us = clock();
        Self { clock, start_us, phases: Vec::new() }
    }

    /// µs since the start.
    pub fn now_us(&mut self) -> u64 {
        (self.clock)().saturating_sub(self.start_us)
    }

    /// Records a phase that began at `start_us` (since the job's start) and ends now; returns its duration in
    /// µs.
    pub fn end(&mut self, name: &str, item: &str, start_us: u64, count: Option<u64>) -> u64 {
        let duration_us = self.now_us().saturating_sub(start_us);
        self.phases.push(Phase {
            name: name.to_owned(),
            item: item.to_owned(),
            start_us,
            duration_us,
            count,
            source: PhaseSource::Stamped,
        });
        duration_us
    }

    /// The report, ending now.
    #[must_use]
    pub fn finish(mut self) -> JobReport {
        let elapsed_us = self.now_us();
        JobReport { phases: self.phases, elapsed_us, ..JobReport::default() }
    }
}

impl std::fmt::Debug for PhaseTimer<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PhaseTimer").field("phases", &self.phases).finish_non_exhaustive()
    }
}
