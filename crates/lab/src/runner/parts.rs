//! The parts of one load begin each run together.

use std::time::Duration;

use server::Stop;
use server::meeting::{Agenda, Meeting, RUN, Released, SEED};
use spec::plan::PlannedRun;
use spec::{Error, ExperimentPart, RunPart};

use super::{Progress, ProgressExt};

/// Another version may draw other random numbers.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What this process has of a load that several make.
#[derive(Debug, Clone)]
pub(crate) struct SharedLoad {
    pub(crate) part: ExperimentPart,
    /// The experiment's identity.
    pub(crate) plan: String,
    /// How long to wait for the others, for each run.
    pub(crate) patience: Duration,
}

impl SharedLoad {
    pub(super) fn agenda(&self, run: &PlannedRun) -> Agenda {
        let key = run.key();
        Agenda {
            number: self.part.number,
            of: self.part.of,
            same: vec![
                ("plan", self.plan.clone()),
                ("version of pgdyno", VERSION.to_owned()),
                (RUN, format!("{} {:?} {:?} {}", key.workload, key.factors, key.arm, key.round)),
                (SEED, run.seed.to_string()),
            ],
            patience: self.patience,
        }
    }
}

/// A part that waits for the others, and then knows when it began.
pub(super) struct Start {
    pub(super) meeting: Meeting,
    released: Option<Released>,
    late_us: f64,
}

impl Start {
    pub(super) fn new(meeting: Meeting) -> Self {
        Self { meeting, released: None, late_us: 0.0 }
    }

    /// Returns when the load may begin.
    pub(super) fn wait(&mut self, stop: &Stop, mut progress: &mut dyn Progress) -> Result<(), Error> {
        let missing = |missing: &str| progress.note(format!("waiting for {missing}"));
        self.released = Some(self.meeting.wait(stop, missing)?);
        Ok(())
    }

    /// The load has been announced: it begins [`engine::LEAD`] later.
    pub(super) fn announced(&mut self) {
        let ago_us = self.released.as_ref().map_or(0.0, Released::ago_us);
        self.late_us = ago_us + engine::LEAD as f64 / 1e3;
    }

    pub(super) fn into_part(self, part: ExperimentPart) -> Option<RunPart> {
        let Released { meeting, clock, .. } = self.released?;
        Some(RunPart {
            load: meeting,
            number: part.number,
            of: part.of,
            clock_offset_us: clock.offset_us,
            clock_error_us: clock.error_us,
            late_us: self.late_us,
        })
    }
}
