//! The cost of more rounds or longer runs, estimated from all the time spent so far, from the start of the
//! command to its end.

use jiff::Timestamp;
use spec::{Run, figures};

use crate::data::ReportData;

/// Connecting, counters and storing around a run, seconds.
const AROUND_RUN_S: f64 = 0.35;
/// Stopping servers and the answer, seconds.
const END_S: f64 = 2.0;
/// Most rounds of a plan.
const MOST_ROUNDS: u32 = 10_000;
/// More than this many times the time already spent is too much.
const MOST_TIMES: f64 = 3.0;
/// Up to this many seconds are never too much.
const LITTLE_S: f64 = 60.0;
/// More than this many seconds is too much, unless as much was already spent.
const MUCH_S: f64 = 3600.0;

pub(super) struct Cost {
    /// From the start of a command to its first run: servers, preparation, guards, seconds.
    setup_s: f64,
    /// A round with everything between its runs: restarts, warm-up, connecting, seconds.
    round_s: f64,
    rounds: u32,
    runs: f64,
    /// The requested length of a run, seconds.
    pub(super) length_s: f64,
}

impl Cost {
    /// `None` before the first run.
    pub(super) fn of(data: &ReportData) -> Option<Self> {
        let runs: Vec<&Run> = data.runs.iter().filter(|run| run.is_measured()).collect();
        let (mut seconds, mut rounds) = (0.0, 0);
        for invocation in runs.chunk_by(|a, b| a.invocation == b.invocation) {
            seconds += lasted(invocation);
            let mut own: Vec<u32> = invocation.iter().map(|run| run.round).collect();
            own.sort_unstable();
            own.dedup();
            rounds += own.len() as u32;
        }
        let setup_s = runs.iter().rev().find_map(|run| run.figures.get(figures::SETUP_S));
        let length_s = asked_s(data).or_else(|| Some(runs.first()?.measured_s))?;
        (rounds > 0).then(|| Self {
            setup_s: setup_s.unwrap_or_else(|| until_first_run_s(data)),
            round_s: seconds / f64::from(rounds),
            rounds,
            runs: runs.len() as f64 / f64::from(rounds),
            length_s,
        })
    }

    /// This many more rounds, by another command, seconds.
    pub(super) fn of_rounds(&self, more: u32) -> f64 {
        self.setup_s + f64::from(more) * self.round_s + END_S
    }

    /// All rounds again with runs this many times as long, seconds.
    pub(super) fn of_longer(&self, times: f64) -> f64 {
        let round_s = self.round_s + self.runs * self.length_s * (times - 1.0);
        self.setup_s + f64::from(self.rounds) * round_s + END_S
    }

    pub(super) fn is_too_much(&self, rounds: u32, more_s: f64) -> bool {
        let spent = self.of_rounds(self.rounds);
        let bound = (MOST_TIMES * spent).max(LITTLE_S).min(spent.max(MUCH_S));
        rounds > MOST_ROUNDS || more_s > bound
    }
}

pub(super) fn is_much(seconds: f64) -> bool {
    seconds > MUCH_S
}

/// From the first run of a command to the end of its last one, seconds.
fn lasted(invocation: &[&Run]) -> f64 {
    let own = |run: &&Run| run.warmup_s + run.measured_s + AROUND_RUN_S;
    let (Some(first), Some(last)) = (invocation.first(), invocation.last()) else { return 0.0 };
    let apart = began(first).zip(began(last));
    let apart = apart.map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64());
    // Arms that take turns begin together, and share the time of their block.
    let last_block = invocation.iter().filter(|run| last.is_sliced() && run.started_at == last.started_at);
    let end = last_block.map(own).sum::<f64>().max(own(last));
    // Times of day may be set back.
    (apart + end).max(invocation.iter().map(|run| run.measured_s).sum())
}

fn began(run: &Run) -> Option<Timestamp> {
    run.started_at.parse().ok()
}

/// If no command recorded it: from the plan's time to the first run.
fn until_first_run_s(data: &ReportData) -> f64 {
    let first = data.runs.iter().find(|run| run.is_measured()).and_then(began);
    let planned = data.experiment.created_at.parse::<Timestamp>().ok();
    let apart = first.zip(planned).map(|(first, planned)| first.duration_since(planned).as_secs_f64());
    // Imported and merged files have times of other clocks.
    apart.filter(|seconds| (0.0..600.0).contains(seconds)).unwrap_or(0.0)
}

fn asked_s(data: &ReportData) -> Option<f64> {
    Some(data.experiment.plan.plan()?.content.measure.duration_s).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(setup_s: f64, round_s: f64, rounds: u32) -> Cost {
        Cost { setup_s, round_s, rounds, runs: 2.0, length_s: 1.0 }
    }

    /// Regression: "27 min more" was the advice after a demo of five minutes, and "3,334 rounds, 14 h"
    /// after less.
    #[test]
    fn many_times_what_was_spent_is_too_much() {
        for (cost, more, wanted) in [
            (cost(0.0, 25.0, 12), 64, true),
            (cost(0.0, 25.0, 12), 24, false),
            (cost(0.0, 15.0, 4), 3334, true),
            // A little is never too much; much is, unless as much was spent.
            (cost(0.0, 1.0, 4), 50, false),
            (cost(0.0, 600.0, 4), 8, true),
            (cost(0.0, 600.0, 12), 8, false),
        ] {
            let more_s = cost.of_rounds(more);
            assert_eq!(cost.is_too_much(cost.rounds + more, more_s), wanted, "{more} of {} s", cost.round_s);
        }
    }

    /// Regression: starting servers and loading data before the first run were not in the announced time.
    #[test]
    fn what_comes_before_the_first_run_is_part_of_the_cost() {
        let cost = cost(40.0, 5.0, 4);
        assert_eq!(cost.of_rounds(8), 40.0 + 40.0 + END_S);
        // Four rounds of two runs, each nine seconds longer.
        assert_eq!(cost.of_longer(10.0), 40.0 + 20.0 + 72.0 + END_S);
    }
}
