//! Whether the runs are valid, and their figures if nothing is compared.

use results::answer::{Doubtful, Doubts, Instead};
use results::cells::Response;
use results::comparison::{Metric, Spread};

use super::Told;
use crate::numbers;
use crate::spread::outliers_in_words;

impl Told<'_> {
    pub(super) fn validity(&self) -> String {
        let again = &self.answer.doubts.again;
        if again.runs == 0 {
            return self.validity_of_all();
        }
        let were = if again.runs == 1 { "run was" } else { "runs were" };
        let they = if again.runs == 1 { "it" } else { "they" };
        format!(
            "{} {} {were} measured again, because the machine disturbed {} ({}): what {they} gave before counts no more.",
            self.validity_of_all(),
            again.runs,
            if again.runs == 1 { "it" } else { "them or the other arm" },
            reasons(again),
        )
    }

    fn validity_of_all(&self) -> String {
        let Doubts { runs, suspect, invalid, .. } = &self.answer.doubts;
        let all = numbers::counted(*runs, "run");
        let sentence = |of: &Doubtful, word: &str, consequence: &str| {
            let verb = if of.runs == 1 { "is" } else { "are" };
            format!("{} of {all} {verb} {word} ({}) {consequence}", of.runs, reasons(of))
        };
        match (*runs, suspect.runs, invalid.runs) {
            (0, ..) if matches!(self.answer.instead, Instead::OneJob { .. } | Instead::OnlyJobs) => {
                "Jobs alone: nothing to be judged.".to_owned()
            }
            (0, ..) => "No run is stored yet.".to_owned(),
            (1, 0, 0) => "The one run is valid.".to_owned(),
            (_, 0, 0) => format!("All {all} are valid."),
            _ => {
                let invalid = Some(invalid).filter(|of| of.runs > 0);
                let invalid = invalid.map(|of| sentence(of, "invalid", "and left out of all figures."));
                let suspect = Some(suspect).filter(|of| of.runs > 0);
                let suspect = suspect.map(|of| sentence(of, "suspect", "but counted."));
                invalid.into_iter().chain(suspect).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

pub(super) fn instead(of: &Instead) -> String {
    match of {
        Instead::OnlyJobs => "Nothing was driven by clients; the jobs are below.".to_owned(),
        Instead::NoValidRun => "No valid run to speak of.".to_owned(),
        Instead::OneJob { took_s } => format!(
            "{}. One run has no interval: repeat it before believing small differences.",
            numbers::duration(*took_s)
        ),
        Instead::OneRun { tps, response, started_only } => format!(
            "{} transactions per second, response time{} {}. One run has no interval: repeat it before believing small differences.",
            tps.map_or(numbers::ABSENT.to_owned(), numbers::tps),
            if *started_only { " of those started" } else { "" },
            percentiles(response),
        ),
        Instead::NoPairYet { runs } => {
            format!("{} so far, but no pair of arms to compare yet.", numbers::counted(*runs, "run"))
        }
        Instead::Jobs { runs, least_s, most_s } => format!(
            "{} of jobs took {} to {}; nothing is compared. Means with their intervals, and what else they took: pgdyno table jobs",
            numbers::counted(*runs, "run"),
            numbers::duration(*least_s),
            numbers::duration(*most_s),
        ),
        Instead::OneCell { runs, tps, spread, response } => one_cell(*runs, *tps, spread, response),
        Instead::NothingToCompare { runs } => {
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

/// `errors 2, throttled 1`.
fn reasons(of: &Doubtful) -> String {
    if of.reasons.is_empty() {
        return "no reason stored".to_owned();
    }
    let each = of.reasons.iter().map(|(reason, count)| format!("{} {count}", reason.text()));
    each.collect::<Vec<_>>().join(", ")
}
