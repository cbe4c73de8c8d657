//! Where a series changes its level: E-divisive with α = 1 (Matteson & James 2014, DOI
//! 10.1080/01621459.2013.849605), with Student's t instead of permutations (Fleming et al. 2023, arXiv
//! 2301.03034): fast and deterministic.
//!
//! A series is cut where the values before, and the values after it up to some later point, differ most; then
//! its parts are cut again. The second part may end before the series does, which finds a dip between two
//! equal levels. Successive values are correlated, so their mean is less certain than they suggest: the
//! standard error is widened by the autocorrelation around the levels.

use statrs::distribution::ContinuousCDF;

use crate::paired::{mean, student};

/// A cut is accepted below this p, multiplied by the number of places where it could be.
const P: f64 = 0.001;
/// Fewest values of a level, without the value in which a step happened.
const FEWEST: usize = 2;
/// The strongest autocorrelation assumed around the levels.
const STRONGEST: f64 = 0.7;
/// Fewest values whose autocorrelation can be estimated.
const ENOUGH: usize = 10;

/// A part of a series on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesLevel {
    pub from: usize,
    /// Index after its last value.
    pub to: usize,
    pub mean: f64,
}

impl SeriesLevel {
    fn of(series: &[f64], from: usize, to: usize) -> Self {
        Self { from, to, mean: mean(&series[from..to]).unwrap_or_default() }
    }

    /// Change from another level to this one, as a share of the other; infinite from 0.
    #[must_use]
    pub fn change_from(&self, before: &Self) -> f64 {
        if self.mean == before.mean { 0.0 } else { self.mean / before.mean - 1.0 }
    }
}

/// The levels of a series in order: one if it keeps its level, none if it is empty. A level has at least
/// `fewest` values (2 or more), and differs from its neighbours by at least `least`, as a share of the level
/// before.
///
/// Time and memory grow with the square of the number of values: 600 of them take 3 MB.
#[must_use]
pub fn levels(series: &[f64], fewest: usize, least: f64) -> Vec<SeriesLevel> {
    if series.is_empty() || !series.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let fewest = fewest.max(FEWEST);
    let mut cuts = Vec::new();
    cut(series, &Distances::of(series), (0, series.len(), fewest), &mut cuts);
    cuts.sort_unstable();
    settled(series, cuts, least)
}

/// Where two neighbouring levels may part: for each index the probability that the second level begins
/// there, the most probable first. They add up to 1. Empty below three values.
///
/// The likelihood of a single step of the mean, with normal noise of unknown variance (Hinkley 1970, DOI
/// 10.1093/biomet/57.1.1), each place being as probable as any other beforehand.
#[must_use]
pub fn places_of_step(series: &[f64]) -> Vec<(usize, f64)> {
    let squares = |part: &[f64]| {
        let level = mean(part).unwrap_or_default();
        part.iter().map(|value| (value - level).powi(2)).sum::<f64>()
    };
    if series.len() < 3 {
        return Vec::new();
    }
    let power = series.len() as f64 / 2.0;
    let all = squares(series);
    // Without any noise the one place that leaves none is certain.
    let floor = all * 1e-12 + f64::MIN_POSITIVE;
    let likely = |at: usize| {
        let (before, after) = series.split_at(at);
        (at, -power * (squares(before) + squares(after)).max(floor).ln())
    };
    let mut places: Vec<(usize, f64)> = (1..series.len()).map(likely).collect();
    let most = places.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    places.iter_mut().for_each(|(_, log)| *log = (*log - most).exp());
    let sum: f64 = places.iter().map(|(_, part)| part).sum();
    places.iter_mut().for_each(|(_, part)| *part /= sum);
    places.sort_by(|one, other| other.1.total_cmp(&one.1));
    places
}

/// Cuts a part of a series, then the resulting parts.
fn cut(
    series: &[f64],
    distances: &Distances,
    (from, to, fewest): (usize, usize, usize),
    cuts: &mut Vec<usize>,
) {
    let Some((at, end)) = furthest_apart(distances, from, to, fewest) else { return };
    let places = (to - from + 1 - 2 * fewest) as f64;
    if p_of(series, from, at, end) * places >= P {
        return;
    }
    cuts.push(at);
    cut(series, distances, (from, at, fewest), cuts);
    cut(series, distances, (at, to, fewest), cuts);
}

/// Where to cut, and where the level after it ends; `None` if there is no room for two levels.
fn furthest_apart(distances: &Distances, from: usize, to: usize, fewest: usize) -> Option<(usize, usize)> {
    let mut best: Option<(f64, (usize, usize))> = None;
    for at in from + fewest..(to + 1).saturating_sub(fewest) {
        for end in at + fewest..=to {
            let apart = distances.apart(from, at, end);
            if best.is_none_or(|(furthest, _)| apart > furthest) {
                best = Some((apart, (at, end)));
            }
        }
    }
    best.map(|(_, place)| place)
}

/// Removes cuts that are too small between the final levels, the smallest first.
fn settled(series: &[f64], mut cuts: Vec<usize>, least: f64) -> Vec<SeriesLevel> {
    loop {
        let ends = cuts.iter().copied().chain([series.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let levels: Vec<SeriesLevel> =
            starts.zip(ends).map(|(from, to)| SeriesLevel::of(series, from, to)).collect();
        let doubtful = levels.windows(2).enumerate().filter(|(_, pair)| {
            pair[1].change_from(&pair[0]).abs() < least
                || p_of(series, pair[0].from, pair[1].from, pair[1].to) >= P
        });
        let size = |pair: &[SeriesLevel]| (pair[1].mean - pair[0].mean).abs();
        match doubtful.min_by(|(_, one), (_, other)| size(one).total_cmp(&size(other))) {
            Some((cut, _)) => drop(cuts.remove(cut)),
            None => return levels,
        }
    }
}

/// Two-sided p of equal means on both sides of a cut. The value in which a step happened belongs to both
/// levels, and may be left out on either side.
fn p_of(series: &[f64], from: usize, at: usize, to: usize) -> f64 {
    let (before, after) = (&series[from..at], &series[at..to]);
    let mut ways = vec![p_between(before, after)];
    if before.len() > FEWEST {
        ways.push(p_between(&before[..before.len() - 1], after));
    }
    if after.len() > FEWEST {
        ways.push(p_between(before, &after[1..]));
    }
    ways.into_iter().fold(1.0, f64::min)
}

/// By Student's t for equal variances.
fn p_between(before: &[f64], after: &[f64]) -> f64 {
    let (Some(one), Some(other)) = (mean(before), mean(after)) else { return 1.0 };
    let left = |part: &[f64], level: f64| part.iter().map(|value| value - level).collect::<Vec<_>>();
    let rests = [left(before, one), left(after, other)];
    let (m, n) = (before.len() as f64, after.len() as f64);
    let df = m + n - 2.0;
    let squares: f64 = rests.iter().flatten().map(|rest| rest * rest).sum();
    let error = (squares / df * (1.0 / m + 1.0 / n) * dependence(&rests)).sqrt();
    if error == 0.0 {
        return if one == other { 1.0 } else { 0.0 };
    }
    2.0 * student(df).sf(((other - one) / error).abs())
}

/// Factor by which autocorrelation increases the variance of a mean, for a first-order autoregression.
fn dependence(rests: &[Vec<f64>]) -> f64 {
    let count: usize = rests.iter().map(Vec::len).sum();
    let squares: f64 = rests.iter().flatten().map(|rest| rest * rest).sum();
    if count < ENOUGH || squares == 0.0 {
        return 1.0;
    }
    let products: f64 = rests.iter().flat_map(|part| part.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let seen = products / squares;
    // Residuals around their own mean are less correlated than the values.
    let parts = rests.len() as f64;
    let alike = (seen + parts * (1.0 + 3.0 * seen.max(0.0)) / count as f64).clamp(0.0, STRONGEST);
    (1.0 + alike) / (1.0 - alike)
}

/// Sums of distances between values of a series.
struct Distances {
    /// `sums[i * wide + j]`: over the first i values and the first j.
    sums: Vec<f64>,
    wide: usize,
}

impl Distances {
    fn of(series: &[f64]) -> Self {
        let wide = series.len() + 1;
        let mut sums = vec![0.0; wide * wide];
        for (i, one) in series.iter().enumerate() {
            let mut row = 0.0;
            for (j, other) in series.iter().enumerate() {
                row += (one - other).abs();
                sums[(i + 1) * wide + j + 1] = sums[i * wide + j + 1] + row;
            }
        }
        Self { sums, wide }
    }

    /// Sum over all values of one part and all of another.
    fn between(&self, (a, b): (usize, usize), (c, d): (usize, usize)) -> f64 {
        let sum = |i: usize, j: usize| self.sums[i * self.wide + j];
        sum(b, d) - sum(a, d) - sum(b, c) + sum(a, c)
    }

    /// The energy distance of two adjacent parts, scaled by their lengths.
    fn apart(&self, from: usize, at: usize, end: usize) -> f64 {
        let (before, after) = ((from, at), (at, end));
        let (m, n) = ((at - from) as f64, (end - at) as f64);
        // Sums within a part contain each pair twice.
        let within = |part, count: f64| self.between(part, part) / (count * (count - 1.0));
        let energy = 2.0 * self.between(before, after) / (m * n) - within(before, m) - within(after, n);
        energy * m * n / (m + n)
    }
}

#[cfg(test)]
pub(crate) mod tests;
