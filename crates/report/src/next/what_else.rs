//! What helps where more rounds would cost too much, the likeliest first.

use results::answer::{Outcome, Verdicts};
use results::comparison::{Comparison, Metric};
use spec::{Reason, Run, RunKind, Validity, figures};
use stats::{Estimate, TooFew};

use super::Open;
use crate::numbers;
use results::ReportData;
use results::cells::CellFigures;

/// From this share of stolen CPU on another host is the first thing to try, percent.
const STOLEN_PCT: f64 = 2.0;
/// Runs shorter than this gain by being longer, seconds.
const SHORT_S: f64 = 30.0;

pub(super) fn helps(data: &ReportData, found: &Comparison, open: &[Open]) -> Vec<String> {
    let helps = [
        another_metric(data, found),
        quieter(data),
        fewer_clients(data),
        fewer_cells(data, found, open),
        longer_runs(data),
        larger_job(data),
        wider_margin(found, open),
    ];
    helps.into_iter().flatten().collect()
}

/// Figures that need fewer transactions than this percentile.
pub(super) fn fewer_transactions(few: TooFew) -> String {
    let lower = [(0.95, "p95"), (0.5, "p50")].into_iter().filter_map(|(quantile, name)| {
        let needs = TooFew::of(quantile, 0)?.needed;
        (needs < few.needed).then(|| format!("{name} needs {}", numbers::count(needs)))
    });
    let lower: Vec<String> = lower.collect();
    let lower = if lower.is_empty() { String::new() } else { format!(" ({})", lower.join(", ")) };
    format!("throughput, or a percentile that needs fewer transactions{lower}")
}

/// A metric of the same runs that is decided already.
fn another_metric(data: &ReportData, found: &Comparison) -> Option<String> {
    let others = [(Metric::Tps, "tps"), (Metric::P50, "p50"), (Metric::P95, "p95"), (Metric::P99, "p99")];
    others.into_iter().filter(|(metric, _)| *metric != found.metric).find_map(|(metric, name)| {
        let other = Comparison::of(&data.experiment, &data.runs, metric)?;
        let answer = Verdicts::of(&other, &data.experiment, &data.runs);
        let decided = matches!(answer.outcome, Outcome::NothingSlower | Outcome::SomethingSlower);
        // A schedule sets the throughput.
        (decided && !other.has_scheduled()).then(|| {
            let which = spec::shell::word(data.called()).into_owned();
            format!(
                "another metric: the {} is decided (pgdyno compare {which} --metric {name})",
                other.noun()
            )
        })
    })
}

fn quieter(data: &ReportData) -> Option<String> {
    let runs: Vec<&Run> = data.grid_runs().collect();
    let stolen: Vec<f64> = runs.iter().filter_map(|run| run.figures.get(figures::STEAL_PCT)).collect();
    let stolen = stolen.iter().sum::<f64>() / stolen.len().max(1) as f64;
    let disturbed = |run: &&&Run| {
        let by_host = [Reason::Steal, Reason::Throttled, Reason::Unsteady];
        run.validity == Validity::Suspect && run.doubts.iter().any(|doubt| by_host.contains(&doubt.reason))
    };
    let disturbed = runs.iter().filter(disturbed).count();
    Some(match (stolen >= STOLEN_PCT, disturbed) {
        (true, _) => {
            let share = numbers::percent(stolen / 100.0);
            format!("a quieter host or hour ({share} of the CPU was stolen by other machines)")
        }
        (false, 0) => "a quieter host or hour".to_owned(),
        (false, some) => {
            let runs = numbers::counted(runs.len(), "run");
            let verb = if some == 1 { "was" } else { "were" };
            format!("a quieter host or hour ({some} of {runs} {verb} disturbed)")
        }
    })
}

fn fewer_clients(data: &ReportData) -> Option<String> {
    let clients = data.grid_runs().map(|run| run.clients).max().unwrap_or(0);
    (clients > data.host.cores && data.target.kind == "managed")
        .then(|| format!("fewer clients ({clients} and the server share {} CPUs)", data.host.cores))
}

/// Where most of the time goes to cells that are decided.
fn fewer_cells(data: &ReportData, found: &Comparison, open: &[Open]) -> Option<String> {
    let of_open = open.iter().map(|open| open.name.clone()).collect::<Option<Vec<String>>>()?;
    let cells = found.arms.iter().map(|arm| arm.cells.len()).max()?;
    let is_part = !of_open.is_empty() && of_open.len() < cells && data.workloads().len() > 1;
    is_part.then(|| format!("fewer cells: measure {} alone, the others are decided", of_open.join(", ")))
}

fn longer_runs(data: &ReportData) -> Option<String> {
    // A job takes as long as it takes.
    let lengths = data.grid_runs().filter(|run| run.kind != RunKind::Job).map(|run| run.measured_s);
    let shortest = lengths.fold(f64::INFINITY, f64::min);
    (shortest < SHORT_S).then(|| format!("longer runs (these measured {})", numbers::duration(shortest)))
}

fn larger_job(data: &ReportData) -> Option<String> {
    let jobs = data.grid.iter().any(CellFigures::is_job);
    jobs.then(|| "a larger job: what disturbs it weighs less the longer it takes".to_owned())
}

fn wider_margin(found: &Comparison, open: &[Open]) -> Option<String> {
    let ends = open.iter().filter_map(|open| widest(&open.estimate));
    let widest = ends.fold(0.0, f64::max).ceil();
    (widest > 100.0 * found.margin && widest < 50.0).then(|| {
        format!(
            "a wider margin, if that is all you need to know: what was measured lies within {}, and `--margin {widest}` (`margin = \
             \"{widest}%\"` in a file) asks for no more; a margin is chosen before one looks, so it is measured again",
            numbers::percent(widest / 100.0),
        )
    })
}

/// The end of the interval that is further from no change, percent.
fn widest(of: &Estimate) -> Option<f64> {
    let (low, high) = of.interval_pct()?;
    Some(low.abs().max(high.abs()))
}
