//! Trials on the wrong side of a limit: bad ones well below it, good ones well above it. A few are chance.
//! More of them mean that the server or its host changed between the trials, and that there is no single
//! limit.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::belief::{BAD_BY_CHANCE, GOOD_BY_CHANCE};
use super::{RateClass, STEPS, Tally};

/// Rates nearer to a bound than this, in steps, are ignored: close to a limit that varies a little, trials
/// disagree by chance.
const APART: usize = STEPS as usize;
const BEYOND_CHANCE: f64 = 0.05;
/// A single trial decides nothing.
const LEAST: usize = 2;
/// This many in succession are beyond chance: where one trial in twelve goes wrong, it happens once in a
/// hundred searches of two dozen trials.
const IN_A_ROW: usize = 3;

/// Whether trials at these ascending rates contradict the bounds, given by their places. `order` has the
/// trials in order: the place of their rate, and whether they kept the promise.
pub(super) fn are_contradicted(
    tallies: &[Tally],
    order: &[(usize, bool)],
    lower: Option<usize>,
    upper: Option<usize>,
) -> bool {
    let is_below = |place: usize| lower.is_some_and(|lower| place + APART <= lower);
    let is_above = |place: usize| upper.is_some_and(|upper| place >= upper + APART);
    let decided = |class: RateClass, is_there: &dyn Fn(usize) -> bool| {
        tallies.iter().enumerate().any(|(place, tally)| tally.first == Some(class) && is_there(place))
    };
    let wrong = |is_there: &dyn Fn(usize) -> bool, is_good: bool| -> Vec<bool> {
        order.iter().filter(|(place, _)| is_there(*place)).map(|(_, good)| *good == is_good).collect()
    };
    decided(RateClass::Upper, &is_below)
        || decided(RateClass::Lower, &is_above)
        || is_no_chance(&wrong(&is_below, false), BAD_BY_CHANCE)
        || is_no_chance(&wrong(&is_above, true), GOOD_BY_CHANCE)
}

/// Whether more of these trials went wrong than chance explains, each with this probability.
fn is_no_chance(wrong: &[bool], probability: f64) -> bool {
    let count = wrong.iter().filter(|wrong| **wrong).count();
    let in_a_row = wrong.windows(IN_A_ROW).any(|trials| trials.iter().all(|wrong| *wrong));
    let Ok(chance) = Binomial::new(probability, wrong.len() as u64) else { return false };
    in_a_row || count >= LEAST && chance.sf(count as u64 - 1) < BEYOND_CHANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_trials_on_the_wrong_side_are_chance_and_more_are_not() {
        for (trials, probability, wanted) in [
            ("", 0.08, false),
            ("x", 0.08, false),
            ("xx..", 0.08, true),
            ("x.x..", 0.08, false),
            ("x..x..x...", 0.08, true),
            ("x..x..x.....", 0.08, false),
            // In succession they are a slow period, however many later trials were good.
            ("xxx..............", 0.08, true),
            ("x..", 0.03, false),
            ("xx.", 0.03, true),
        ] {
            let wrong: Vec<bool> = trials.chars().map(|trial| trial == 'x').collect();
            assert_eq!(is_no_chance(&wrong, probability), wanted, "{trials} at {probability}");
        }
    }
}
