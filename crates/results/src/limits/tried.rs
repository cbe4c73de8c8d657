//! Which trials count, and what the search learns from them.

use std::collections::BTreeMap;

use spec::{AskedLimit, Reason, Run, figures};
use stats::Trial;

/// A bad trial under a throttled or stolen processor does not count, up to this many times per rate.
const REPEATS: usize = 2;
/// This many trials in succession at one rate that broke the promise while the generator stalled show that the
/// generator or its host cannot offer it: the rate counts as one that breaks the promise.
const STALLED_IN_A_ROW: usize = 3;
/// After this many uncounted trials in succession, at any rates, the search ends: without a counted one, ...
const NONE_COUNTED: usize = 6;
/// ... and else. Where the generator ends it, bisecting passes through five rates or fewer.
const UNCOUNTED_IN_A_ROW: usize = 15;
/// A promise that so many trials kept at a rate or above it is kept at that rate.
const KEPT_AT_OR_ABOVE: usize = 3;

/// The trials that count, in order.
pub(super) fn counted<'r>(trials: &[&'r Run]) -> Vec<&'r Run> {
    trials.iter().zip(counts(trials)).filter(|(_, counts)| *counts).map(|(run, _)| *run).collect()
}

/// Trials that do not count since the generator stalled.
pub(super) fn stalled<'r>(trials: &[&'r Run]) -> Vec<&'r Run> {
    let is_stalled = |(run, counts): &(&&Run, bool)| !counts && is_stalled(run);
    trials.iter().zip(counts(trials)).filter(is_stalled).map(|(run, _)| *run).collect()
}

/// What a search learns from all trials of an arm, in order: the counted ones, and bad ones at rates at which the
/// generator stalled again and again.
pub(super) fn learnt(asked: &AskedLimit, trials: &[&Run]) -> Vec<Trial> {
    let mut in_a_row: BTreeMap<u64, usize> = BTreeMap::new();
    let mut learnt = Vec::with_capacity(trials.len());
    for (run, counts) in trials.iter().zip(counts(trials)) {
        let Some(rate) = run.tried_level() else { continue };
        let before = in_a_row.entry(rate.to_bits()).or_default();
        if counts {
            *before = 0;
            learnt.extend(trial(run).map(|trial| Trial { used: used(asked, run), ..trial }));
        } else if is_stalled(run) {
            *before += 1;
            // The first ones count, too, once they are enough.
            let bad = match *before {
                STALLED_IN_A_ROW => STALLED_IN_A_ROW,
                more if more > STALLED_IN_A_ROW => 1,
                _ => 0,
            };
            learnt.extend(std::iter::repeat_n(Trial { rate, good: false, used: None }, bad));
        }
    }
    learnt
}

/// Whether the last trials of an arm, too many, did not count.
pub(super) fn is_stuck(trials: &[&Run]) -> bool {
    let uncounted = counts(trials).into_iter().rev().take_while(|counts| !counts).count();
    uncounted >= if uncounted == trials.len() { NONE_COUNTED } else { UNCOUNTED_IN_A_ROW }
}

/// Highest rate below another at which, or above which, enough trials kept the promise, and no counted trial broke it
/// below; for a search that ended before it could try each rate often enough.
pub(super) fn kept_below(trials: &[&Run], upper: f64) -> Option<f64> {
    let counted = counted(trials).into_iter().filter_map(trial);
    let (good, bad): (Vec<Trial>, Vec<Trial>) = counted.partition(|trial| trial.good);
    let broken = bad.iter().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
    let mut kept: Vec<f64> = good.iter().map(|trial| trial.rate).filter(|rate| *rate < broken).collect();
    kept.sort_by(|one, other| other.total_cmp(one));
    kept.into_iter().skip(KEPT_AT_OR_ABOVE - 1).find(|rate| *rate < upper)
}

/// Whether so many of these trials at a rate stalled that this is why it counts as one that breaks the promise.
pub(super) fn are_decisive(stalled: usize, broken: usize) -> bool {
    stalled >= STALLED_IN_A_ROW && stalled > broken
}

/// Lowest number of users with which a trial has enough transactions for the promise, from the trials so far: ten
/// times as many as one bad one may be of; or just as many, if the first trial already had fewer. Never above a
/// number that was tried; `None` without a counted trial.
pub(super) fn fewest_users(asked: &AskedLimit, trials: &[&Run]) -> Option<f64> {
    let counted = counted(trials);
    let due = |run: &Run| run.count(figures::DUE) as f64;
    let first = due(counted.first()?);
    let share = asked.promise.iter().map(|term| term.share).reduce(f64::min)?;
    let enough = asked.promise.iter().map(spec::Term::least_arrivals).reduce(f64::max)?;
    let needed = if first >= enough { enough } else { 1.0 / share };
    let each = counted.iter().filter_map(|run| Some(due(run) / run.tried_level()?)).reduce(f64::max)?;
    let lowest = trials.iter().filter_map(|run| run.tried_level()).reduce(f64::min)?;
    (each > 0.0).then(|| (needed / each).min(lowest))
}

/// The run as a trial of its rate; `None` if it is not valid.
fn trial(run: &Run) -> Option<Trial> {
    let kept = run.figures.get(figures::PROMISE_KEPT)?;
    Some(Trial { rate: run.tried_level()?, good: kept > 0.5, used: None })
}

pub(super) fn kept(run: &Run) -> bool {
    trial(run).is_some_and(|trial| trial.good)
}

/// Bad share of a trial over the allowed one; `None` if the terms allow different shares.
fn used(asked: &AskedLimit, run: &Run) -> Option<f64> {
    let allowed = asked.promise.first()?.share;
    let bad = run.figures.get(figures::PROMISE_BAD_PCT)? / 100.0;
    let is_left = run.figures.get(figures::PROMISE_LEFT_PCT).is_some();
    (!is_left && asked.promise.iter().all(|term| term.share == allowed)).then(|| bad / allowed)
}

fn counts(trials: &[&Run]) -> Vec<bool> {
    let mut disturbed: BTreeMap<u64, usize> = BTreeMap::new();
    let counts = |run: &&Run| {
        let Some(trial) = trial(run) else { return false };
        if trial.good || !is_disturbed(run) {
            return true;
        }
        let before = disturbed.entry(trial.rate.to_bits()).or_default();
        *before += 1;
        *before > REPEATS
    };
    trials.iter().map(counts).collect()
}

fn is_disturbed(run: &Run) -> bool {
    run.doubts.iter().any(|doubt| matches!(doubt.reason, Reason::Throttled | Reason::Steal))
}

/// Whether the generator stalled.
fn is_stalled(run: &Run) -> bool {
    run.doubts.iter().any(|doubt| doubt.reason == Reason::GeneratorStalled)
}

#[cfg(test)]
#[path = "tried_tests.rs"]
mod tests;
