//! The parts of one load begin each run together.

use std::time::Duration;

use server::Stop;
use server::meeting::{Agenda, Meeting, RUN, Released, SEED};
use spec::plan::PlannedRun;
use spec::{Doubt, Error, ExperimentPart, Reason, Run, RunPart, Validity};

use super::{Progress, ProgressExt};
use crate::validity::worst;

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
        let words = format!("{} {:?} {:?} {}", key.workload, key.factors, key.arm, key.round);
        self.meeting_of(words, run.seed.to_string(), None)
    }

    /// Before the first run: who comes tells which run is its next one, by its place in the plan.
    pub(super) fn opening(&self, next: u32) -> Agenda {
        self.meeting_of("none yet".to_owned(), String::new(), Some(next))
    }

    fn meeting_of(&self, run: String, seed: String, position: Option<u32>) -> Agenda {
        Agenda {
            number: self.part.number,
            of: self.part.of,
            same: vec![
                ("plan", self.plan.clone()),
                ("version of pgdyno", VERSION.to_owned()),
                (RUN, run),
                (SEED, seed),
            ],
            position,
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

    /// Adds this part to its run, with a doubt if it began late.
    pub(super) fn keep(self, run: &mut Run, part: ExperimentPart) {
        let Some(own) = self.into_part(part) else { return };
        if let Some((validity, doubt)) = late(&own, run.measured_s) {
            run.validity = worst([run.validity, validity].into_iter());
            run.doubts.push(doubt);
        }
        run.parts.push(own);
    }

    fn into_part(self, part: ExperimentPart) -> Option<RunPart> {
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

/// Shares of the measured part by which a part may begin late: above the first it is suspect, above the second invalid.
const LATE: [f64; 2] = [0.01, 0.1];
/// Less is not worth a doubt, however short the run is, µs.
const LATE_LEAST_US: f64 = 50_000.0;

/// What a late begin says about a run. The other parts had the server for themselves until then.
fn late(own: &RunPart, measured_s: f64) -> Option<(Validity, Doubt)> {
    let [suspect, invalid] = LATE.map(|share| (share * measured_s * 1e6).max(LATE_LEAST_US));
    let validity = match own.late_us {
        late if late <= suspect => return None,
        late if late <= invalid => Validity::Suspect,
        _ => Validity::Invalid,
    };
    let after_ms = own.late_us / 1e3;
    let detail = format!("{} began {after_ms:.0} ms after the others could begin", own.words());
    Some((validity, Doubt { reason: Reason::PartLate, detail }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_began_late_is_suspect_or_invalid() {
        let judged = |late_us: f64, measured_s: f64| {
            let own = RunPart {
                load: String::new(),
                number: 2,
                of: 3,
                clock_offset_us: 0.0,
                clock_error_us: 0.0,
                late_us,
            };
            late(&own, measured_s).map(|(validity, _)| validity)
        };
        assert_eq!(judged(40_000.0, 1.0), None, "a short run, too");
        assert_eq!(judged(72_000.0, 2.0), Some(Validity::Suspect));
        assert_eq!(judged(72_000.0, 10.0), None);
        assert_eq!(judged(3e6, 60.0), Some(Validity::Suspect));
        assert_eq!(judged(3e6, 6.0), Some(Validity::Invalid));
    }
}
