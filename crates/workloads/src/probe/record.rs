//! The record of a probe: single shots as samples, medians as figures, and a file with remarks on each.

use serde::{Deserialize, Serialize};
use spec::figures::{FigureRow, Figures};
use spec::{Artifact, Run, Sample, Scope};

use super::figures::ProbeFigure;
use super::shots::{NOT_ONE, Shot};
use super::spread::Spread;
use crate::jobs::JobReport;

/// Source of the samples.
const SOURCE: &str = "probe";
/// The file with remarks.
const ARTIFACT: &str = "probe";
/// Fewer shots than these have an uncertain spread.
const ENOUGH: usize = 5;

/// The results of a probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Probed {
    /// Why nothing, or only temporary tables, was written; `None` without restrictions.
    pub restricted: Option<String>,
    /// In the order of [`super::FIGURES`], as far as measured.
    pub found: Vec<ProbedFigure>,
    /// About the server and its host.
    pub facts: Vec<ProbeFact>,
    /// What a reader should know before trusting the figures.
    pub remarks: Vec<String>,
}

/// One figure's shots, and remarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbedFigure {
    /// The name of the [`ProbeFigure`].
    pub name: String,
    /// What exactly was measured here, e.g. `2 backends`; may be empty.
    pub detail: String,
    pub state: FigureState,
    /// Time, µs since the probe began, and value in the figure's unit; stored as samples.
    #[serde(skip)]
    pub shots: Vec<(i64, f64)>,
}

/// Whether a figure is available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureState {
    Measured,
    /// It was cut short; in words.
    Cut(String),
    /// With the reason.
    NotAvailable(String),
}

/// A fact about the server or its host, or why it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeFact {
    pub name: String,
    /// The value as read, or why it could not be read.
    pub value: Result<String, String>,
}

impl ProbedFigure {
    /// Shots that began `start_us` after the probe, each with its value.
    pub(super) fn new(
        figure: &ProbeFigure,
        (start_us, shots): (u64, &[Shot]),
        value: impl Fn(f64) -> f64,
        detail: impl Into<String>,
    ) -> Self {
        let start = i64::try_from(start_us).unwrap_or(i64::MAX);
        let shots: Vec<_> = shots.iter().map(|shot| (start + shot.at_us, value(shot.us))).collect();
        let state = match shots.len() {
            0 => return Self::not_available(figure, NOT_ONE),
            few @ 1..ENOUGH => FigureState::Cut(format!("time for {} only", spec::count(few as u64, "shot"))),
            _ => FigureState::Measured,
        };
        Self { name: figure.row.name.to_owned(), detail: detail.into(), state, shots }
    }

    pub(super) fn not_available(figure: &ProbeFigure, why: impl Into<String>) -> Self {
        Self {
            name: figure.row.name.to_owned(),
            detail: String::new(),
            state: FigureState::NotAvailable(why.into()),
            shots: Vec::new(),
        }
    }

    /// Adds why it was not completed.
    pub(super) fn cut(mut self, why: Option<String>) -> Self {
        if let (Some(why), FigureState::Measured) = (why, &self.state) {
            self.state = FigureState::Cut(why);
        }
        self
    }

    /// Its row of the table of figures; `None` of a figure that only a later build knows.
    #[must_use]
    pub fn row(&self) -> Option<&'static FigureRow> {
        spec::figures::row(&self.name)
    }

    /// The median and spread of its shots.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let values: Vec<f64> = self.shots.iter().map(|(_, value)| *value).collect();
        Spread::of(&values)
    }
}

impl ProbeFact {
    pub(super) fn known(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: Ok(value.into()) }
    }

    pub(super) fn unknown(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: Err(why.into()) }
    }
}

impl Probed {
    pub(super) fn into_report(self, elapsed_us: u64) -> JobReport {
        let spreads =
            self.found.iter().filter_map(|found| Some((found.name.clone(), found.spread()?.median)));
        let figures: Figures = spreads.collect();
        let sample = |found: &ProbedFigure, (time_us, value): (i64, f64)| Sample {
            scope: Scope::Run,
            source: SOURCE.to_owned(),
            name: found.name.clone(),
            time_us,
            value,
        };
        let samples = self.found.iter().flat_map(|found| found.shots.iter().map(|shot| sample(found, *shot)));
        let samples = samples.collect();
        let bytes = serde_json::to_vec_pretty(&self).expect("words are plain data");
        let artifact = Artifact {
            name: ARTIFACT.to_owned(),
            media_type: "application/json".to_owned(),
            caption: "the probe's remarks on its figures, the server and its host".to_owned(),
            bytes,
        };
        JobReport { elapsed_us, figures, samples, artifacts: vec![artifact], ..JobReport::default() }
    }

    /// The results in a stored run, if it is a probe's.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let file = run.artifacts.iter().find(|artifact| artifact.name == ARTIFACT)?;
        let mut probed: Self = serde_json::from_slice(&file.bytes).ok()?;
        for found in &mut probed.found {
            let own =
                run.samples.iter().filter(|sample| sample.source == SOURCE && sample.name == found.name);
            found.shots = own.map(|sample| (sample.time_us, sample.value)).collect();
        }
        Some(probed)
    }

    /// The result of one figure.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ProbedFigure> {
        self.found.iter().find(|found| found.name == name)
    }

    /// Whether no figure is available.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.iter().all(|found| found.shots.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use spec::{RunKey, RunKind, figures};

    use super::super::figures::{CPU_ONE, figure};
    use super::*;

    #[test]
    fn what_is_stored_is_what_was_found() {
        let shots = [Shot { at_us: 10, us: 2.0 }, Shot { at_us: 20, us: 4.0 }];
        let probed = Probed {
            restricted: Some("a standby".into()),
            found: vec![
                ProbedFigure::new(figure(CPU_ONE), (1000, &shots), |us| 100.0 / us, "one"),
                ProbedFigure::not_available(figure(figures::INDEX_BUILD_ROWS_PER_S.name), "a standby"),
            ],
            facts: vec![ProbeFact::known("CPUs", "2"), ProbeFact::unknown("memory", "no right")],
            remarks: vec!["busy".into()],
        };
        assert_eq!(probed.found[0].state, FigureState::Cut("time for 2 shots only".into()));
        let report = probed.clone().into_report(5);
        assert_eq!(report.figures, [(figures::CPU_ONE_ROWS_PER_S, 37.5)].into());
        let key = RunKey { workload: "probe".into(), factors: BTreeMap::new(), arm: None, round: 0 };
        let run = Run {
            samples: report.samples,
            artifacts: report.artifacts,
            ..Run::new(RunKind::Job, key.clone())
        };
        assert_eq!(Probed::of(&run), Some(probed));
        assert_eq!(Probed::of(&Run::new(RunKind::Job, key)), None);
    }
}
