//! Whether a quantity changes over a life: of a session, a process, a cache.
//!
//! Two designs:
//!
//! - **Many lives.** Each life is reduced to one summary, its change by least squares over age. The changes of
//!   the lives are then a plain sample with a t interval (Matthews, Altman, Campbell & Royston, "Analysis of
//!   serial measurements in medical research", BMJ 1990;300:230-235, DOI 10.1136/bmj.300.6719.230). Successive
//!   values of a life may be correlated as they like: only lives have to be independent.
//! - **Few lives of several rounds each.** A value is the mean of a round. One slope for all lives, with a
//!   level for each, is fitted by least squares (analysis of covariance). Its standard error allows for
//!   correlated rounds as that of a [trend](crate::trend_p) does.
//!
//! A change counts if its whole interval lies beyond a bound that matters: a test of a minimum effect (Murphy &
//! Myors, J. Appl. Psychol. 1999;84:234-248, DOI 10.1037/0021-9010.84.2.234). So its error rate is at most the
//! interval's where the true change is as large as the bound, and far lower where nothing changes.

use std::collections::BTreeMap;

use crate::paired::{Estimate, mean, paired};
use crate::trend::widening;

/// Fewest points of a life with a slope.
const FEWEST_POINTS: usize = 4;
/// Fewest rounds of long lives that leave this many degrees of freedom: with one, any slope looks possible.
const FEWEST_DF: usize = 2;

/// A value at an age, in any unit of time; the logarithm of a figure that changes by factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LifePoint {
    pub age: f64,
    pub value: f64,
    /// Points of a round are correlated.
    pub round: u32,
}

/// The change of the value from the beginning to the end of a life, and its standard error over lives or
/// rounds. Points are in order of age. `None` without a life of at least four points, or if the lives span no time.
#[must_use]
pub fn change_over_life(lives: &[Vec<LifePoint>]) -> Option<Estimate> {
    let lives: Vec<&[LifePoint]> =
        lives.iter().map(Vec::as_slice).filter(|life| life.len() >= FEWEST_POINTS).collect();
    let is_long = |life: &&[LifePoint]| life.iter().any(|point| point.round != life[0].round);
    if lives.iter().any(is_long) {
        return over_rounds(&lives);
    }
    let changes: Vec<f64> = lives.iter().filter_map(|life| Some(slope_of(life)? * span(life))).collect();
    paired(&changes)
}

/// Whether the change is surely larger than this bound, in the unit of the values, with 95 % confidence for all lines of
/// the [estimate](Estimate::among) together.
#[must_use]
pub fn exceeds(change: &Estimate, bound: f64) -> bool {
    change.interval(0.95).is_some_and(|(low, high)| low > bound || high < -bound)
}

fn span(life: &[LifePoint]) -> f64 {
    match life {
        [first, .., last] => last.age - first.age,
        _ => 0.0,
    }
}

fn slope_of(life: &[LifePoint]) -> Option<f64> {
    let (ages, values) =
        (around_levels(&[life], |point| point.age), around_levels(&[life], |point| point.value));
    let squares = product(&ages, &ages);
    (squares > 0.0).then(|| product(&ages, &values) / squares)
}

/// One slope over the means of rounds, with a level for each life; the change is that of the longest life. Two curves are
/// tried, as for a [trend](crate::trend_p): a line with a bend over age, and a line over its logarithm, for what costs more
/// with each execution and so is executed less often. The surer one counts, as one of two.
fn over_rounds(lives: &[&[LifePoint]]) -> Option<Estimate> {
    let lives: Vec<Vec<LifePoint>> = lives.iter().map(|life| rounds_of(life)).collect();
    // A life of one round has no slope between rounds.
    let lives: Vec<&[LifePoint]> = lives.iter().map(Vec::as_slice).filter(|life| life.len() > 1).collect();
    let is_positive = lives.iter().flat_map(|life| *life).all(|point| point.age > 0.0);
    let even = curve(&lives, |age| age, true)?;
    let slowing = is_positive.then(|| curve(&lives, f64::ln, false)).flatten();
    let t = |of: &Estimate| of.standard_error.map_or(0.0, |error| (of.log_ratio / error).abs());
    let surer = slowing.filter(|slowing| t(slowing) > t(&even)).unwrap_or(even);
    Some(surer.among(if is_positive { 2 } else { 1 }))
}

/// The change along a line over this function of age, with a bend where there are rounds to spare.
fn curve(lives: &[&[LifePoint]], time: fn(f64) -> f64, bends: bool) -> Option<Estimate> {
    let length = |life: &&[LifePoint]| Some(time(life.last()?.age) - time(life.first()?.age));
    let longest = lives.iter().filter_map(length).reduce(f64::max)?;
    let rounds: usize = lives.iter().map(|life| life.len()).sum();
    let df = rounds.checked_sub(lives.len() + 1).filter(|df| *df >= FEWEST_DF)?;
    let values = around_levels(lives, |point| point.value);
    let times = around_levels(lives, |point| time(point.age));
    let squares = product(&times, &times);
    if squares <= 0.0 {
        return None;
    }
    let middle =
        lives.iter().flat_map(|life| *life).map(|point| time(point.age)).sum::<f64>() / rounds as f64;
    let bend = without(around_levels(lives, |point| (time(point.age) - middle).powi(2)), &times);
    let rests = without(values.clone(), &times);
    // Without a bend that differs from a line there is nothing to fit.
    let has_bend = bends && df > FEWEST_DF && product(&bend, &bend) > 1e-9 * squares;
    let (rests, df) = if has_bend { (without(rests, &bend), df - 1) } else { (rests, df) };
    let slope = product(&times, &values) / squares;
    let left = product(&rests, &rests);
    let parameters = (rounds - df) as f64;
    let variance = left / df as f64 / squares * widening(&rests, left, parameters);
    Some(Estimate {
        log_ratio: slope * longest,
        standard_error: Some(variance.sqrt() * longest),
        df: df as f64,
        n: rounds,
        lines: 1,
    })
}

/// Values of all points, each around the mean of its life.
fn around_levels(lives: &[&[LifePoint]], value: impl Fn(&LifePoint) -> f64) -> Vec<f64> {
    let of_life = |life: &&[LifePoint]| {
        let values: Vec<f64> = life.iter().map(&value).collect();
        let level = mean(&values).unwrap_or_default();
        values.into_iter().map(move |value| value - level).collect::<Vec<f64>>()
    };
    lives.iter().flat_map(of_life).collect()
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Values without their part along a shape.
fn without(mut values: Vec<f64>, shape: &[f64]) -> Vec<f64> {
    let along = product(&values, shape) / product(shape, shape);
    values.iter_mut().zip(shape).for_each(|(value, shape)| *value -= along * shape);
    values
}

/// The mean of each round, in order.
fn rounds_of(life: &[LifePoint]) -> Vec<LifePoint> {
    let mut rounds: BTreeMap<u32, (f64, f64, f64)> = BTreeMap::new();
    for point in life {
        let sum = rounds.entry(point.round).or_default();
        *sum = (sum.0 + 1.0, sum.1 + point.age, sum.2 + point.value);
    }
    let mut all: Vec<LifePoint> = rounds
        .into_iter()
        .map(|(round, (n, age, value))| LifePoint { age: age / n, value: value / n, round })
        .collect();
    all.sort_by(|a, b| a.age.total_cmp(&b.age));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_points::tests::Noise;

    const MARGIN: f64 = 0.03;

    /// The noise of one comparison: deviation of a point in percent, correlation of successive points, and what
    /// each life has for itself, in percent.
    #[derive(Clone, Copy)]
    struct Host {
        deviation: f64,
        alike: f64,
        of_life: f64,
    }

    /// A life of as many points in each of these rounds; its log ratio grows by `change` from beginning to end.
    fn life(noise: &mut Noise, host: Host, rounds: &[u32], points: usize, change: f64) -> Vec<LifePoint> {
        let all = rounds.len() * points;
        let values = noise.alike(all, host.deviation, host.alike);
        let level = host.of_life / 100.0 * noise.normal();
        let at = |(k, value): (usize, f64)| LifePoint {
            age: 2.0 + 10.0 * k as f64 / all as f64,
            value: (value / 100.0).max(0.01).ln() + level + change * k as f64 / (all - 1) as f64,
            round: rounds[k / points],
        };
        values.into_iter().enumerate().map(at).collect()
    }

    /// How many of 1000 comparisons claim a change.
    fn claims(mut lives: impl FnMut(&mut Noise) -> Vec<Vec<LifePoint>>) -> usize {
        let mut noise = Noise(11);
        let mut found = |noise: &mut Noise| {
            change_over_life(&lives(noise)).is_some_and(|change| exceeds(&change, MARGIN.ln_1p()))
        };
        (0..1000).filter(|_| found(&mut noise)).count()
    }

    const HOSTS: [Host; 3] = [
        Host { deviation: 2.0, alike: 0.0, of_life: 0.0 },
        Host { deviation: 8.0, alike: 0.6, of_life: 3.0 },
        Host { deviation: 20.0, alike: 0.9, of_life: 10.0 },
    ];

    /// The stated rate is 5 %; nothing changes, so nearly none may be claimed, also where successive points are
    /// correlated.
    #[test]
    fn of_equal_arms_on_a_busy_host_nearly_none_is_claimed() {
        for host in HOSTS {
            for rounds in [2, 3, 5, 8] {
                let new = claims(|noise| (1..=rounds).map(|of| life(noise, host, &[of], 20, 0.0)).collect());
                assert!(new <= 50, "{} %, {rounds} lives: {new}", host.deviation);
            }
            for rounds in [4, 8, 12] {
                let all: Vec<u32> = (1..=rounds).collect();
                let kept = claims(|noise| vec![life(noise, host, &all, 20, 0.0)]);
                assert!(kept <= 50, "{} %, {rounds} rounds of one life: {kept}", host.deviation);
            }
        }
    }

    /// A change as large as the bound is claimed at the stated rate at most: one side is in question.
    #[test]
    fn a_change_as_large_as_the_bound_is_claimed_at_the_stated_rate() {
        let bound = MARGIN.ln_1p();
        let found = claims(|noise| (1..=6).map(|round| life(noise, HOSTS[0], &[round], 20, bound)).collect());
        assert!((5..=40).contains(&found), "{found}");
    }

    /// CPU per transaction that quadruples in a life.
    #[test]
    fn a_change_that_matters_is_found() {
        let change = 4.0_f64.ln();
        for host in &HOSTS[..2] {
            let new = claims(|noise| (1..=4).map(|of| life(noise, *host, &[of], 20, change)).collect());
            assert!(new >= 990, "{} %: {new}", host.deviation);
            let kept = claims(|noise| vec![life(noise, *host, &[1, 2, 3, 4, 5], 20, change)]);
            assert!(kept >= 990, "{} %: {kept}", host.deviation);
        }
        let few = claims(|noise| (1..=6).map(|of| life(noise, HOSTS[0], &[of], 20, 0.15)).collect());
        assert!(few >= 950, "15 %: {few}");
    }

    /// Each execution costs more than the one before, so that a session executes less and less: its cost grows with the
    /// square root of its age.
    #[test]
    fn a_cost_that_grows_with_each_execution_is_found() {
        let root = |noise: &mut Noise| -> Vec<LifePoint> {
            let values = noise.alike(8 * 5, 8.0, 0.6);
            let at = |(k, value): (usize, f64)| {
                let age = 0.2 + 0.2 * k as f64;
                let cost = (1.0 + 9.0 * age).sqrt();
                LifePoint { age, value: (value / 100.0).max(0.01).ln() + cost.ln(), round: k as u32 / 5 }
            };
            values.into_iter().enumerate().map(at).collect()
        };
        let found = claims(|noise| vec![root(noise)]);
        assert!(found >= 990, "{found}");
    }

    /// A second life begins where the first one began, at another level.
    #[test]
    fn lives_of_several_rounds_have_one_slope_and_a_level_each() {
        let lives: Vec<Vec<LifePoint>> = [(0.0, [1, 2, 3]), (5.0, [4, 5, 6])]
            .into_iter()
            .map(|(level, rounds)| {
                let point = |k: usize| LifePoint {
                    age: k as f64,
                    value: level + 0.1 * k as f64 + 0.001 * (k % 2) as f64,
                    round: rounds[k / 4],
                };
                (0..12).map(point).collect()
            })
            .collect();
        let change = change_over_life(&lives).unwrap();
        // From the mean age of the first round to that of the last.
        assert!((change.log_ratio - 0.8).abs() < 1e-9, "{change:?}");
        assert_eq!((change.df, change.n), (2.0, 6), "two levels, a slope and a bend");
        assert!(exceeds(&change, MARGIN.ln_1p()));
    }

    #[test]
    fn too_little_is_no_change() {
        let point = |k: usize, round| LifePoint { age: k as f64, value: k as f64, round };
        assert_eq!(change_over_life(&[]), None);
        assert_eq!(change_over_life(&[(0..3).map(|k| point(k, 1)).collect()]), None);
        let one: Vec<LifePoint> = (0..9).map(|k| point(k, 1)).collect();
        let change = change_over_life(std::slice::from_ref(&one)).unwrap();
        assert!(
            (change.log_ratio - 8.0).abs() < 1e-9 && !exceeds(&change, MARGIN.ln_1p()),
            "one life has no interval"
        );
        let three = (0..9).map(|k| point(k, 1 + k as u32 / 3)).collect();
        assert_eq!(change_over_life(&[three]), None, "three rounds leave one degree of freedom");
        let standing = (0..9).map(|k| LifePoint { age: 1.0, ..point(k, 1) }).collect();
        assert_eq!(change_over_life(&[standing]), None);
    }
}
