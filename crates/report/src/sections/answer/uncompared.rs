//! The figures of the runs if nothing is compared, in words.

use results::answer::Uncompared;
use results::cells::Response;
use results::comparison::{Metric, Spread};

use crate::numbers;
use crate::spread::outliers_in_words;

pub(super) fn words(of: &Uncompared) -> String {
    match of {
        Uncompared::OnlyJobs => "Nothing was driven by clients; the jobs are below.".to_owned(),
        Uncompared::NoValidRun => "No valid run to speak of.".to_owned(),
        Uncompared::OneJob { took_s } => format!(
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
        Uncompared::Jobs { runs, least_s, most_s } => format!(
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
