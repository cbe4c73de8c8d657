//! Alternatives if more rounds would cost too much, the likeliest first.

use spec::{Reason, Run, RunKind, Validity, figures};
use stats::{Estimate, TooFew};

use super::super::verdicts::{AnswerOutcome, Verdicts};
use super::OpenQuestion;
use crate::cells::CellFigures;
use crate::comparison::{Comparison, Metric};
use crate::data::ReportData;

/// From this share of stolen CPU on, another host is the first alternative, percent.
const STOLEN_PCT: f64 = 2.0;
/// Longer runs help if runs are shorter than this, seconds.
const SHORT_S: f64 = 30.0;

/// An alternative that decides with fewer rounds.
#[derive(Debug, Clone, PartialEq)]
pub enum Help {
    OtherMetric {
        metric: Metric,
        noun: &'static str,
    },
    FewerTransactions(TooFew),
    /// A quieter host: the share of CPU that other machines stole, percent, if it is large, and how many of
    /// all runs were disturbed.
    Quieter {
        stolen_pct: Option<f64>,
        disturbed: usize,
        runs: usize,
    },
    /// Clients and server share this many CPUs.
    FewerClients {
        clients: u32,
        cpus: u32,
    },
    /// Only these parts: the others are decided.
    FewerCells(Vec<String>),
    /// Seconds of the shortest run.
    LongerRuns(f64),
    LargerJob,
    /// Percent within which all measured changes are.
    WiderMargin(f64),
}

pub(super) fn helps(data: &ReportData, found: &Comparison, open: &[OpenQuestion]) -> Vec<Help> {
    let helps = [
        another_metric(data, found),
        Some(quieter(data)),
        fewer_clients(data),
        fewer_cells(data, found, open).map(Help::FewerCells),
        longer_runs(data).map(Help::LongerRuns),
        data.grid.iter().any(CellFigures::is_job).then_some(Help::LargerJob),
        wider_margin(found, open).map(Help::WiderMargin),
    ];
    helps.into_iter().flatten().collect()
}

fn another_metric(data: &ReportData, found: &Comparison) -> Option<Help> {
    let others = [Metric::Tps, Metric::P50, Metric::P95, Metric::P99];
    others.into_iter().filter(|metric| *metric != found.metric).find_map(|metric| {
        let other = Comparison::of(&data.experiment, &data.runs, metric)?;
        let outcome = Verdicts::of(&other, &data.experiment, &data.runs).outcome;
        let is_decided = matches!(outcome, AnswerOutcome::NothingSlower | AnswerOutcome::SomethingSlower);
        // A schedule sets the throughput.
        (is_decided && !other.has_scheduled()).then(|| Help::OtherMetric { metric, noun: other.noun() })
    })
}

fn quieter(data: &ReportData) -> Help {
    let runs: Vec<&Run> = data.grid_runs().collect();
    let stolen: Vec<f64> = runs.iter().filter_map(|run| run.figures.get(figures::STEAL_PCT)).collect();
    let stolen = stolen.iter().sum::<f64>() / stolen.len().max(1) as f64;
    let is_disturbed = |run: &&&Run| {
        let by_host = [Reason::Steal, Reason::Throttled, Reason::Unsteady];
        run.validity == Validity::Suspect && run.doubts.iter().any(|doubt| by_host.contains(&doubt.reason))
    };
    let disturbed = runs.iter().filter(is_disturbed).count();
    Help::Quieter { stolen_pct: (stolen >= STOLEN_PCT).then_some(stolen), disturbed, runs: runs.len() }
}

fn fewer_clients(data: &ReportData) -> Option<Help> {
    let clients = data.grid_runs().map(|run| run.clients).max().unwrap_or(0);
    let cpus = data.host.cores;
    (clients > cpus && data.target.kind == "managed").then_some(Help::FewerClients { clients, cpus })
}

fn fewer_cells(data: &ReportData, found: &Comparison, open: &[OpenQuestion]) -> Option<Vec<String>> {
    let of_open = open.iter().map(|open| open.name.clone()).collect::<Option<Vec<String>>>()?;
    let cells = found.arms.iter().map(|arm| arm.cells.len()).max()?;
    (!of_open.is_empty() && of_open.len() < cells && data.workloads().len() > 1).then_some(of_open)
}

fn longer_runs(data: &ReportData) -> Option<f64> {
    // The length of a job cannot be chosen.
    let lengths = data.grid_runs().filter(|run| run.kind != RunKind::Job).map(|run| run.measured_s);
    let shortest = lengths.fold(f64::INFINITY, f64::min);
    (shortest < SHORT_S).then_some(shortest)
}

fn wider_margin(found: &Comparison, open: &[OpenQuestion]) -> Option<f64> {
    let ends = open.iter().filter_map(|open| widest(&open.estimate));
    let widest = ends.fold(0.0, f64::max).ceil();
    (widest > 100.0 * found.margin && widest < 50.0).then_some(widest)
}

/// The end of the interval that is further from no change, percent.
fn widest(of: &Estimate) -> Option<f64> {
    let (low, high) = of.interval_pct()?;
    Some(low.abs().max(high.abs()))
}
