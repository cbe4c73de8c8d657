//! The figures of the runs if nothing is compared, in words.

use results::ReportData;
use results::answer::Uncompared;
use results::cells::Response;
use results::comparison::{Metric, Spread};
use spec::Run;

use crate::conclusion::{Conclusion, Step};
use crate::numbers;
use crate::spread::outliers_in_words;

/// One run or several, as a short answer.
pub(super) fn conclusion(data: &ReportData, of: &Uncompared) -> Conclusion {
    let what = |tps: f64| format!("{} {} per second", numbers::tps(tps), operation(data));
    let repeat = |of: Conclusion| Conclusion {
        next: vec![Step::Advice("repeat it (--rounds 5): one run has no interval".to_owned())],
        ..of
    };
    match of {
        Uncompared::OneJob { took_s, tiles } => {
            let took = format!("took {}.", numbers::duration(*took_s));
            let tiles = tiles.map(|tiles| format!(": {}", spec::count(tiles, "tile"))).unwrap_or_default();
            repeat(Conclusion::new(format!("{}{tiles} {took}", workloads(data))))
        }
        Uncompared::Jobs { runs, spread: Some(spread), .. } => {
            let interval = spread.interval().map(|(low, high)| {
                let (low, high) = (numbers::duration(low.max(0.0)), numbers::duration(high));
                format!(" (95 % interval [{low}, {high}])")
            });
            Conclusion::new(format!(
                "{} took {}{}, the mean of {}.",
                workloads(data),
                numbers::duration(spread.summary().mean.unwrap_or_default()),
                interval.unwrap_or_default(),
                numbers::counted(*runs, "run"),
            ))
        }
        Uncompared::OneRun { tps, response, started_only } => {
            let tps = tps.map_or(numbers::ABSENT.to_owned(), what);
            let of = if *started_only { " of those started" } else { "" };
            let said = format!("{}: {tps}, response time{of} {}.", workloads(data), percentiles(response));
            repeat(Conclusion::new(said))
        }
        Uncompared::OneCell { runs, tps: [mean, ..], spread, response } => {
            let interval = spread.interval().map(|(low, high)| {
                format!(" (95 % interval [{}, {}])", numbers::tps(low.max(0.0)), numbers::tps(high))
            });
            Conclusion::new(format!(
                "{}: {}{}, the mean of {}; response time {}.",
                workloads(data),
                what(*mean),
                interval.unwrap_or_default(),
                numbers::counted(*runs, "run"),
                percentiles(response)
            ))
        }
        other => Conclusion::new(words(other)),
    }
}

fn workloads(data: &ReportData) -> String {
    data.workloads().join(", ")
}

/// What is counted: users who pan and zoom ask for views of several tiles.
fn operation(data: &ReportData) -> &'static str {
    let asks_for_tiles = |run: &Run| run.scripts.iter().any(|script| script.part.is_some());
    match data.grid_runs().any(asks_for_tiles) {
        true if crate::zooms::are_views(data) => "views",
        true => "tiles",
        false => "transactions",
    }
}

pub(super) fn words(of: &Uncompared) -> String {
    match of {
        Uncompared::OnlyJobs => "Nothing was driven by clients; the jobs are below.".to_owned(),
        Uncompared::NoValidRun => "No valid run to speak of.".to_owned(),
        Uncompared::OneJob { took_s, .. } => format!(
            "{}. One run has no interval: repeat it before believing small differences.",
            numbers::duration(*took_s)
        ),
        Uncompared::OneRun { tps, response, started_only } => format!(
            "{} transactions per second, response time{} {}. One run has no interval: repeat it before believing small differences.",
            tps.map_or(numbers::ABSENT.to_owned(), numbers::tps),
            if *started_only { " of those started" } else { "" },
            percentiles(response),
        ),
        Uncompared::NoPairYet { runs } => {
            format!("{} so far, but no pair of arms to compare yet.", numbers::counted(*runs, "run"))
        }
        Uncompared::Jobs { runs, least_s, most_s, .. } => format!(
            "{} of jobs took {} to {}; nothing is compared. Means with their intervals, and what else they took: pgdyno table jobs",
            numbers::counted(*runs, "run"),
            numbers::duration(*least_s),
            numbers::duration(*most_s),
        ),
        Uncompared::OneCell { runs, tps, spread, response } => one_cell(*runs, *tps, spread, response),
        Uncompared::NothingToCompare { runs } => {
            format!("{}; nothing is compared.", numbers::counted(*runs, "run"))
        }
    }
}

fn one_cell(runs: usize, [mean, least, most]: [f64; 3], spread: &Spread, response: &Response) -> String {
    let interval = spread.interval().map(|(low, high)| {
        format!("95 % interval [{}, {}], range ", numbers::tps(low.max(0.0)), numbers::tps(high))
    });
    let outliers = (!spread.outliers().is_empty())
        .then(|| format!("; outliers: {}", outliers_in_words(spread, Metric::Tps)));
    format!(
        "{} transactions per second, the mean of {} ({}{} to {}){}; response time {}. Nothing is compared.",
        numbers::tps(mean),
        numbers::counted(runs, "run"),
        interval.unwrap_or_default(),
        numbers::tps(least),
        numbers::tps(most),
        outliers.unwrap_or_default(),
        percentiles(response),
    )
}

fn percentiles(of: &Response) -> String {
    format!("p50 {}, p99 {}", numbers::percentile(of, 0.5), numbers::percentile(of, 0.99))
}
