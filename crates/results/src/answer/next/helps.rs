//! Alternatives if more rounds would cost too much, the likeliest first.

use std::collections::BTreeSet;

use spec::{Reason, Run, RunKind, Validity, figures};
use stats::{Estimate, TooFew};

use super::super::verdicts::Verdicts;
use super::OpenQuestion;
use crate::cells::CellFigures;
use crate::comparison::{ArmComparison, Comparison, Metric};
use crate::data::{ReportData, cell_text};

/// From this share of stolen CPU on, another host is the first alternative, percent.
const STOLEN_PCT: f64 = 2.0;
/// Longer runs help if runs are shorter than this, seconds.
const SHORT_S: f64 = 30.0;

/// Reasons for doubt that a quieter host or hour removes.
const BY_HOST: [Reason; 6] = [
    Reason::GeneratorStalled,
    Reason::Throttled,
    Reason::Steal,
    Reason::Unsteady,
    Reason::OtherPrograms,
    Reason::OtherPgdyno,
];

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
    /// Percent within which the intervals of all lines and cells are.
    WiderMargin(f64),
}

pub(super) fn helps(data: &ReportData, found: &Comparison, open: &[OpenQuestion]) -> Vec<Help> {
    let helps = [
        another_metric(data, found, open),
        Some(quieter(data)),
        fewer_clients(data),
        fewer_cells(data, found, open).map(Help::FewerCells),
        longer_runs(data).map(Help::LongerRuns),
        data.grid().iter().any(CellFigures::is_job).then_some(Help::LargerJob),
        wider_margin(found).map(Help::WiderMargin),
    ];
    helps.into_iter().flatten().collect()
}

/// A metric by which all parts of the answer are decided. A part that is open here may have no line there.
fn another_metric(data: &ReportData, found: &Comparison, open: &[OpenQuestion]) -> Option<Help> {
    let names: BTreeSet<&str> = open.iter().filter_map(|open| open.name.as_deref()).collect();
    let others = [Metric::Tps, Metric::Cpu, Metric::P50, Metric::P95, Metric::P99];
    others.into_iter().filter(|metric| *metric != found.metric).find_map(|metric| {
        let other = Comparison::of(&data.experiment, &data.runs, metric)?;
        let lines = Verdicts::of(&other, &data.experiment, &data.runs).lines;
        let is_decided = !lines.is_empty()
            && lines.iter().all(|line| line.verdict.is_decided())
            && super::open(data, &other, &lines).is_empty()
            && other.arms.iter().all(|arm| parts(arm).all(|(name, is)| is || !names.contains(name.as_str())));
        // A schedule sets the throughput.
        (is_decided && !other.has_scheduled()).then(|| Help::OtherMetric { metric, noun: other.noun() })
    })
}

/// The names of an arm's workloads, cells and scripts, and whether each is decided.
fn parts(arm: &ArmComparison) -> impl Iterator<Item = (String, bool)> {
    let workloads = arm.workloads.iter().map(|(name, figure)| (name.clone(), figure.verdict));
    let cells = arm.cells.iter().map(|cell| (cell_text(&cell.cell), cell.verdict));
    let scripts = arm.scripts.iter().map(|script| (script.script.clone(), script.verdict));
    workloads.chain(cells).chain(scripts).map(|(name, verdict)| (name, verdict.is_decided()))
}

fn quieter(data: &ReportData) -> Help {
    let runs: Vec<&Run> = data.grid_runs().collect();
    let stolen: Vec<f64> = runs.iter().filter_map(|run| run.figures.get(figures::STEAL_PCT)).collect();
    let stolen = stolen.iter().sum::<f64>() / stolen.len().max(1) as f64;
    let is_disturbed = |run: &&&Run| {
        run.validity == Validity::Suspect && run.doubts.iter().any(|doubt| BY_HOST.contains(&doubt.reason))
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

/// A line over several cells has a narrower interval than each cell, and a margin that holds for the line alone would
/// be exceeded by cells.
fn wider_margin(found: &Comparison) -> Option<f64> {
    let of_arm = |arm: &ArmComparison| {
        let cells = arm.cells.iter().filter_map(|cell| cell.estimate);
        let figures = arm.workloads.values().chain(&arm.grid).map(|figure| figure.grid.estimate);
        let scripts = arm.scripts.iter().filter_map(|script| script.estimate);
        cells.chain(figures).chain(scripts).collect::<Vec<_>>()
    };
    let ends: Option<Vec<f64>> = found.arms.iter().flat_map(of_arm).map(|own| widest(&own)).collect();
    let widest = ends?.into_iter().fold(0.0, f64::max).ceil();
    (widest > 100.0 * found.margin && widest < 50.0).then_some(widest)
}

/// The end of the interval that is further from no change, percent.
fn widest(of: &Estimate) -> Option<f64> {
    let (low, high) = of.interval_pct()?;
    Some(low.abs().max(high.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, host, run, target};

    const SCATTER: [f64; 8] = [0.9, -1.2, 0.4, 1.3, -0.7, -0.3, 1.0, -1.4];

    /// Two arms, B with these changes (log ratio, noise) of the response time of two workloads.
    fn measured(search: (f64, f64), orders: (f64, f64)) -> ReportData {
        let mut runs = Vec::new();
        for (round, scatter) in (1..).zip(SCATTER) {
            for (workload, (log_ratio, noise)) in [("search", search), ("orders", orders)] {
                for (arm, log, tps) in
                    [("A", 0.0, 9e3), ("B", log_ratio + noise * scatter, 9e3 + 2e3 * scatter)]
                {
                    let mut run = run(workload, 4, Some(arm), round, tps);
                    let mut response = stats::Histogram::new();
                    (0..1500).for_each(|_| response.record((2e6 * f64::exp(log)) as u64));
                    run.scripts[0].response = response;
                    runs.push(run);
                }
            }
        }
        ReportData::new(experiment(&["A", "B"]), host(), target(), runs)
    }

    fn metric(data: &ReportData) -> Option<Metric> {
        let found = Comparison::of(&data.experiment, &data.runs, Metric::Tps)?;
        let lines = Verdicts::of(&found, &data.experiment, &data.runs).lines;
        let open = super::super::open(data, &found, &lines);
        assert!(!open.is_empty());
        match another_metric(data, &found, &open) {
            Some(Help::OtherMetric { metric, .. }) => Some(metric),
            _ => None,
        }
    }

    /// Regression: a metric was called decided because one part was slower, while the open part stayed open.
    #[test]
    fn another_metric_is_one_that_decides_every_part() {
        assert_eq!(metric(&measured((0.4, 0.001), (0.02, 0.1))), None);
        assert_eq!(metric(&measured((0.4, 0.001), (-0.1, 0.001))), Some(Metric::P50));
        assert_eq!(metric(&measured((0.4, 0.001), (0.41, 0.001))), Some(Metric::P50));
    }

    /// An answer advised a margin of 18 % because its line was within that, while a cell reached 40 %; and it called 9
    /// of 72 runs disturbed next to 72 suspect ones.
    #[test]
    fn what_is_advised_holds_for_every_cell_and_run() {
        let mut data = measured((0.0, 0.02), (0.0, 0.0001));
        for run in data.runs.iter_mut().take(5) {
            run.validity = Validity::Suspect;
            run.doubts = vec![spec::Doubt { reason: Reason::OtherPrograms, detail: String::new() }];
        }
        let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
        let found = Comparison::of(&data.experiment, &data.runs, Metric::P50).unwrap();
        let widest_of = |of: &Estimate| widest(of).unwrap();
        let arm = &found.arms[0];
        let cells = arm.cells.iter().map(|cell| widest_of(cell.estimate.as_ref().unwrap()));
        let of_cells = cells.fold(0.0, f64::max);
        let of_grid = widest_of(&arm.grid.unwrap().grid.estimate);
        assert!(of_cells.ceil() > of_grid.ceil(), "{of_cells} {of_grid}");
        assert_eq!(wider_margin(&Comparison { margin: 0.001, ..found }), Some(of_cells.ceil()));
        let Help::Quieter { disturbed, runs, .. } = quieter(&data) else { panic!("a quieter host") };
        assert_eq!((disturbed, runs), (5, data.runs.len()));
    }
}
