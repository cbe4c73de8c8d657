//! The answer under the question: verdict with interval, what it costs in safety, and whether it can be believed. Drawn at
//! the head of a page, and as the lines at the end of a run.

mod page;
pub mod short;
pub mod summary;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use results::answer::{Line, SuspectRuns};
use results::comparison::{Cell, Comparison, Difference, Grouped, Metric, TakenApart};
use serde::Serialize;
use spec::plan::NotRun;
use spec::{Reason, Run, RunEvent, ScriptRecord, Validity};

use super::View;
use super::limit::Limit;
use crate::arrivals::InTime;
use crate::cells::{CellFigures, Response};
use crate::data::{ReportData, levels};
use crate::next::{self, Next};
use crate::{numbers, spread, trend};

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// The question, or the name of an experiment that asks none.
    pub(crate) question: String,
    /// What the arms are levels of.
    factor: Option<String>,
    pub(crate) compared: Option<Comparison>,
    /// What it says: the only source of verdicts.
    lines: Vec<Line>,
    /// An arm whose settings other arms take apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    apart: Option<TakenApart>,
    /// The limits, where these are what is looked for.
    limit: Option<Limit>,
    /// Response times, where it is throughput that answers.
    latency: Option<Comparison>,
    /// Of each arm: cells whose throughput an offered rate sets, and all.
    scheduled: Vec<(usize, usize)>,
    /// What there is where nothing is compared.
    instead: Instead,
    /// Where nothing is compared, and a third or more of the runs are suspect.
    doubt: Option<SuspectRuns>,
    /// Whether what drifts is alike for all arms.
    interleaved: bool,
    in_time: Vec<CellInTime>,
    /// Cells whose speed changes while they are measured, and what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trends: Vec<String>,
    /// Why this is no measurement to rely on.
    pub(crate) taste: Option<String>,
    runs: usize,
    /// How two experiments differ besides.
    notes: Vec<String>,
    /// What arms answer otherwise than the base: said before any speed.
    different: Vec<String>,
    /// Arms that answer as the base does, each with the workloads of which that was seen.
    same: Vec<String>,
    /// What arms with other data ask for, which is not what the base asks for.
    own_choice: Vec<String>,
    /// Why arms did not take turns in slices, and in which rounds: a sentence for each workload.
    uncut: Vec<String>,
    /// Throughput that is of something else than transactions of the database, and what was noticed before anything was timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    units: Vec<String>,
    /// Why they had better not.
    sliced_all_the_same: Vec<String>,
    /// What could not be had where it ran: levels, and why.
    not_run: Vec<NotRun>,
    /// Measured again, because the machine disturbed them.
    #[serde(skip_serializing_if = "Doubtful::is_none")]
    again: Doubtful,
    suspect: Doubtful,
    invalid: Doubtful,
    groups: Vec<Grouped>,
    /// What arms differ in beside their speed: all that is large.
    differences: Vec<Difference>,
    /// What to do where it is inconclusive.
    next: Option<Next>,
    /// How often it was looked at and extended, where that matters.
    looked: Option<String>,
}

/// What an experiment without comparison gave.
#[derive(Debug, Serialize)]
enum Instead {
    OnlyJobs,
    NoValidRun,
    OneJob {
        took_s: f64,
    },
    OneRun {
        tps: Option<f64>,
        /// Median and 99th percentile of response times, in words.
        response: [String; 2],
        started_only: bool,
    },
    NoPairYet {
        runs: usize,
    },
    /// Jobs alone: least and most.
    Jobs {
        runs: usize,
        least_s: f64,
        most_s: f64,
    },
    /// Several runs of one cell: mean, least and most throughput, the 95 % interval of the mean, and outliers in words. Response
    /// times are from all runs together.
    OneCell {
        runs: usize,
        tps: [f64; 3],
        interval: Option<(f64, f64)>,
        outliers: Option<String>,
        /// Median and 99th percentile of response times, in words.
        response: [String; 2],
    },
    NothingToCompare {
        runs: usize,
    },
}

/// How a cell and arm was in time.
#[derive(Debug, Serialize)]
struct CellInTime {
    cell: Cell,
    arm: Option<String>,
    in_time: InTime,
}

/// Runs that are suspect, or invalid, and how many of them for which reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Doubtful {
    runs: usize,
    reasons: BTreeMap<Reason, usize>,
}

impl Answer {
    pub(crate) fn of(data: &ReportData) -> Self {
        let found = data.answer();
        let by_throughput =
            |arm: &str| data.throughput.iter().flat_map(|found| &found.arms).find(|of| of.arm == arm);
        let scheduled = found
            .iter()
            .flat_map(|found| &found.arms)
            .map(|arm| by_throughput(&arm.arm).map_or((0, 0), |arm| (arm.scheduled, arm.cells.len())));
        let texts = [&data.experiment.question, &data.experiment.name];
        let question = texts.into_iter().map(|text| text.trim()).find(|text| !text.is_empty());
        let latency =
            data.latency.as_ref().filter(|_| found.is_some_and(|found| found.metric == Metric::Tps));
        let in_time = data.grid.iter().map(|figures| CellInTime {
            cell: figures.cell.clone(),
            arm: figures.arm.clone(),
            in_time: figures.in_time,
        });
        let limit = Limit::of(data);
        let searches = limit.is_some();
        let sentences = |kind| data.remarks(kind).into_iter().map(str::to_owned).collect();
        Self {
            question: question.unwrap_or("A measurement").to_owned(),
            factor: data.experiment.compare_factor.clone(),
            latency: latency.cloned(),
            scheduled: scheduled.collect(),
            compared: found.cloned(),
            lines: data.answered.iter().flat_map(|answer| answer.lines.clone()).collect(),
            apart: TakenApart::of(&data.experiment),
            limit,
            instead: Instead::of(data),
            doubt: SuspectRuns::of(data.grid_runs()).filter(|doubt| doubt.runs > 1),
            interleaved: data.experiment.is_interleaved(),
            // The trials of a search stand below its answer, rate by rate.
            in_time: if searches { Vec::new() } else { in_time.collect() },
            trends: trend::told(data),
            taste: data.experiment.taste.clone(),
            runs: data.measured_runs().count(),
            notes: data.notes.iter().cloned().chain(from_caches(data)).collect(),
            different: sentences(RunEvent::OTHER_ANSWERS),
            same: same_answers(&data.remarks(RunEvent::SAME_ANSWERS)),
            own_choice: sentences(RunEvent::OWN_CHOICE),
            units: units(data)
                .into_iter()
                .chain(from_caches(data))
                .chain(sentences(RunEvent::REMARK))
                .collect(),
            uncut: if searches { Vec::new() } else { uncut(data) },
            sliced_all_the_same: sentences(RunEvent::SLICED_ALL_THE_SAME),
            not_run: data.not_run(),
            again: Doubtful::among(data.former_runs()),
            suspect: Doubtful::of(data, Validity::Suspect),
            invalid: Doubtful::of(data, Validity::Invalid),
            groups: data.groups.clone(),
            differences: data.differences.iter().filter(|own| own.large).cloned().collect(),
            next: Next::of(data),
            looked: next::looked(&data.course),
        }
    }
}

/// Of pipelines what is compared are commands: a longer one is no slower for having fewer transactions.
fn units(data: &ReportData) -> Vec<String> {
    let pipelines = data.grid_runs().filter(|run| run.commands_per_s().is_some());
    let names: BTreeSet<&str> = pipelines.map(|run| run.workload.as_str()).collect();
    let told = |name| {
        format!(
            "{name}: a transaction is a pipeline of several commands; throughput is compared in commands per second."
        )
    };
    names.into_iter().filter(|_| data.compares()).map(told).collect()
}

/// Tiles from a cache in front of the database are no measure of the database.
fn from_caches(data: &ReportData) -> Vec<String> {
    let is_cached = |run: &Run| {
        let part = |script: &ScriptRecord| script.part.as_ref().and_then(|part| part.cached);
        run.scripts.iter().any(|script| part(script).is_some())
    };
    let told = |figures: &CellFigures| {
        let mut runs = data.grid_runs().filter(|run| run.arm == figures.arm && Cell::of(run) == figures.cell);
        let share = figures.hit_pct.filter(|_| runs.any(is_cached))?;
        let share = numbers::fixed(share, 2);
        let share = share.trim_end_matches('0').trim_end_matches('.');
        let arm = figures.arm.as_deref().unwrap_or(&figures.cell.workload);
        let levels = if data.grid.iter().any(|other| other.cell != figures.cell) {
            format!(", {}", levels(&figures.cell))
        } else {
            String::new()
        };
        Some(format!(
            "{arm}{levels}: {share} % of its tiles came from the cache, and say nothing of the database; hits and misses stand apart by zoom"
        ))
    };
    data.grid.iter().filter_map(told).collect()
}

/// Why arms did not take turns, and in which rounds, where they did in others. Workloads that have a reason in common are told together, and
/// reasons that differ in their figures alone once, with those of one of them.
fn uncut(data: &ReportData) -> Vec<String> {
    let kind = |why: &str| why.split(|letter: char| letter.is_ascii_digit()).collect::<String>();
    let mut found: BTreeMap<(String, &str), (&str, BTreeSet<u32>)> = BTreeMap::new();
    for run in data.measured_runs() {
        for event in run.events.iter().filter(|event| event.kind == RunEvent::UNCUT) {
            let why = event.detail.strip_prefix(&format!("{}: ", run.workload)).unwrap_or(&event.detail);
            let (_, rounds) =
                found.entry((kind(why), &run.workload)).or_insert_with(|| (why, BTreeSet::new()));
            rounds.insert(run.round);
        }
    }
    let mut together: BTreeMap<(String, String), (&str, Vec<&str>)> = BTreeMap::new();
    for ((kind, workload), (why, rounds)) in found {
        let all = || data.measured_runs().filter(|run| run.workload == workload);
        let head = if all().any(Run::is_sliced) {
            let all: BTreeSet<u32> = all().map(|run| run.round).collect();
            format!("No slices in {} of {} rounds", rounds.len(), all.len())
        } else {
            "No slices".to_owned()
        };
        together.entry((head, kind)).or_insert_with(|| (why, Vec::new())).1.push(workload);
    }
    let told = |((head, _), (why, of)): ((String, String), (&str, Vec<&str>))| {
        format!("{head}: {}: {why}.", of.join(", "))
    };
    together.into_iter().map(told).collect()
}

impl Instead {
    fn of(data: &ReportData) -> Self {
        let usable: Vec<_> = data.grid_runs().filter(|run| run.validity != Validity::Invalid).collect();
        let runs = usable.len();
        match usable.as_slice() {
            [] if data.grid_runs().next().is_none() && data.jobs().next().is_some() => Self::OnlyJobs,
            [] => Self::NoValidRun,
            [run] if run.took_s().is_some() => Self::OneJob { took_s: run.measured_s },
            [run] => Self::OneRun {
                tps: run.tps(),
                response: of_response(&Response::of(&[*run])),
                started_only: spec::Arrivals::of(run).is_some_and(|arrivals| arrivals.started_only),
            },
            _ if data.compares() => Self::NoPairYet { runs },
            jobs if jobs.iter().all(|run| run.took_s().is_some()) => {
                let took = || jobs.iter().map(|run| run.measured_s);
                let (least_s, most_s) = (took().fold(f64::INFINITY, f64::min), took().fold(0.0, f64::max));
                Self::Jobs { runs, least_s, most_s }
            }
            _ => Self::one_cell(data, runs).unwrap_or(Self::NothingToCompare { runs }),
        }
    }

    fn one_cell(data: &ReportData, runs: usize) -> Option<Self> {
        let [figures] = &data.grid[..] else { return None };
        let spread = spread::repeats(data, Metric::Tps).pop()?;
        let summary = spread.summary();
        let (mean, least, most) = (summary.mean?, summary.min?, summary.max?);
        let outliers =
            (!spread.outliers().is_empty()).then(|| spread::outliers_in_words(&spread, Metric::Tps));
        let interval = spread.interval();
        let response = of_response(&figures.response);
        Some(Self::OneCell { runs, tps: [mean, least, most], interval, outliers, response })
    }
}

/// Median and 99th percentile.
fn of_response(response: &Response) -> [String; 2] {
    [0.5, 0.99].map(|quantile| response.words(quantile))
}

impl Doubtful {
    fn of(data: &ReportData, validity: Validity) -> Self {
        // A search is there to find overloads, and to it they count.
        let searches = data.limits().is_some();
        let is_found = |run: &&Run| {
            let only_overloaded = run.doubts.iter().all(|doubt| doubt.reason == Reason::Overloaded);
            let counts = run.figures.contains_key(spec::PROMISE_KEPT);
            searches && (only_overloaded || counts && validity == Validity::Invalid)
        };
        Self::among(data.measured_runs().filter(|run| run.validity == validity && !is_found(run)))
    }

    fn is_none(&self) -> bool {
        self.runs == 0
    }

    fn among<'r>(runs: impl Iterator<Item = &'r Run>) -> Self {
        let mut doubtful = Self::default();
        for run in runs {
            doubtful.runs += 1;
            for doubt in &run.doubts {
                *doubtful.reasons.entry(doubt.reason).or_default() += 1;
            }
        }
        doubtful
    }
}

/// `restructured answers as raw does: cells, corridor`, of sentences that begin with the workload.
fn same_answers(said: &BTreeSet<&str>) -> Vec<String> {
    let mut arms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (workload, arm) in said.iter().filter_map(|said| said.split_once(": ")) {
        arms.entry(arm).or_default().push(workload);
    }
    arms.into_iter().map(|(arm, workloads)| format!("{arm}: {}", workloads.join(", "))).collect()
}
