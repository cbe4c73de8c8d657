//! The result of an experiment without comparison.

use spec::{Arrivals, Run, Validity, figures};

use crate::cells::Response;
use crate::comparison::{Metric, Spread};
use crate::data::ReportData;

/// The figures of some runs, if there are no arms to compare yet.
#[derive(Debug, Clone)]
pub enum Uncompared {
    OnlyJobs,
    NoValidRun,
    /// Tiles: those that it asked for, each once.
    OneJob {
        took_s: f64,
        tiles: Option<u64>,
    },
    OneRun {
        tps: Option<f64>,
        response: Box<Response>,
        started_only: bool,
    },
    NoPairYet {
        runs: usize,
    },
    /// Jobs only: least and most; with their times if all are of one cell.
    Jobs {
        runs: usize,
        least_s: f64,
        most_s: f64,
        spread: Option<Box<Spread>>,
    },
    /// Several runs of one cell: mean, least and most throughput. Response times are from all runs
    /// together.
    OneCell {
        runs: usize,
        tps: [f64; 3],
        spread: Box<Spread>,
        response: Box<Response>,
    },
    NothingToCompare {
        runs: usize,
    },
}

impl Uncompared {
    pub(super) fn of(data: &ReportData) -> Self {
        let usable: Vec<&Run> = data.grid_runs().filter(|run| run.validity != Validity::Invalid).collect();
        let runs = usable.len();
        match usable.as_slice() {
            [] if data.grid_runs().next().is_none() && data.jobs().next().is_some() => Self::OnlyJobs,
            [] => Self::NoValidRun,
            [run] if run.took_s().is_some() => Self::OneJob { took_s: run.measured_s, tiles: tiles(run) },
            [run] => Self::OneRun {
                tps: run.tps(),
                response: Box::new(Response::of(&[*run])),
                started_only: Arrivals::of(run).is_some_and(|arrivals| arrivals.started_only),
            },
            _ if data.compares() => Self::NoPairYet { runs },
            jobs if jobs.iter().all(|run| run.took_s().is_some()) => {
                let took = || jobs.iter().map(|run| run.measured_s);
                let (least_s, most_s) = (took().fold(f64::INFINITY, f64::min), took().fold(0.0, f64::max));
                let mut each = Spread::of(jobs.iter().copied(), Metric::Tps);
                let spread = each.pop().filter(|_| each.is_empty()).map(Box::new);
                Self::Jobs { runs, least_s, most_s, spread }
            }
            _ => Self::one_cell(data, runs).unwrap_or(Self::NothingToCompare { runs }),
        }
    }

    fn one_cell(data: &ReportData, runs: usize) -> Option<Self> {
        let [figures] = data.grid() else { return None };
        let spread = Box::new(Spread::of(data.grid_runs(), Metric::Tps).pop()?);
        let summary = spread.summary();
        let tps = [summary.mean?, summary.min?, summary.max?];
        Some(Self::OneCell { runs, tps, spread, response: Box::new(figures.response.clone()) })
    }
}

/// Tiles that a job asked for; `None` of other jobs.
fn tiles(job: &Run) -> Option<u64> {
    let zooms = job.scripts.iter().filter(|script| script.part.is_some());
    zooms.map(|zoom| zoom.counts.count(figures::DUE)).reduce(u64::saturating_add)
}
