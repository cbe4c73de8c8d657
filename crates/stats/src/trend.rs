//! Whether a series rises or falls from start to end, by least squares and Student's t for the slope. Two
//! curves are tried: a line with a bend over time, and a line over the logarithm of time, for a fall that
//! slows down. The smaller p counts, times two.
//!
//! Successive values are correlated, so the slope is less certain than they suggest: the standard error is
//! widened as for a first-order autoregression, by at least 0.3, since a short series does not show its
//! correlation.

use statrs::distribution::ContinuousCDF;

use crate::paired::{mean, student};

/// Fewest values with a trend.
const FEWEST: usize = 4;
/// The smallest and largest autocorrelation assumed around the curve.
const ALIKE: (f64, f64) = (0.3, 0.7);
/// Fewest values whose autocorrelation can be estimated.
const ENOUGH: usize = 10;

/// A variance known from elsewhere, with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownNoise {
    /// Of one value around the curve.
    pub variance: f64,
    /// At least 1.
    pub df: f64,
}

/// Two-sided p of "the series neither rises nor falls"; `None` for fewer than four values (three with known
/// noise), or if one is not finite. Known noise is pooled with the residuals around the curve.
#[must_use]
pub fn trend_p(series: &[f64], noise: Option<KnownNoise>) -> Option<f64> {
    let count = series.len();
    if count + usize::from(noise.is_some()) < FEWEST || !series.iter().all(|value| value.is_finite()) {
        return None;
    }
    let even: Vec<f64> = (0..count).map(|at| at as f64).collect();
    let slowing: Vec<f64> = (1..=count).map(|at| (at as f64).ln()).collect();
    // Without a value to spare, a line must do.
    let bends = count > FEWEST || noise.is_some();
    let ps = [slope_p(series, &even, bends, noise)?, slope_p(series, &slowing, false, noise)?];
    Some((2.0 * ps[0].min(ps[1])).min(1.0))
}

/// Two-sided p of "no slope" over these times, with a bend or without.
fn slope_p(series: &[f64], times: &[f64], has_bend: bool, noise: Option<KnownNoise>) -> Option<f64> {
    let n = series.len() as f64;
    let (level, middle) = (mean(series)?, mean(times)?);
    let times: Vec<f64> = times.iter().map(|time| time - middle).collect();
    let squares: f64 = times.iter().map(|time| time * time).sum();
    let along = |shape: &[f64]| -> f64 { shape.iter().zip(series).map(|(shape, value)| shape * value).sum() };
    let slope = along(&times) / squares;
    // Over evenly spaced times it does not change the slope.
    let bends: Vec<f64> = times.iter().map(|time| time * time - squares / n).collect();
    let bend = if has_bend { along(&bends) / bends.iter().map(|bend| bend * bend).sum::<f64>() } else { 0.0 };
    let curve = times.iter().zip(&bends).map(|(time, shape)| level + slope * time + bend * shape);
    let rests: Vec<f64> = series.iter().zip(curve).map(|(value, curve)| value - curve).collect();
    let left: f64 = rests.iter().map(|rest| rest * rest).sum();
    let parameters = if has_bend { 3.0 } else { 2.0 };
    let known = noise.unwrap_or(KnownNoise { variance: 0.0, df: 0.0 });
    let df = n - parameters + known.df;
    let variance = (left + known.variance * known.df) / df;
    let error = (variance / squares * widening(&rests, left, parameters)).sqrt();
    let nothing = level.abs() * 1e-12;
    if error <= nothing {
        return Some(if slope.abs() <= nothing { 1.0 } else { 0.0 });
    }
    Some(2.0 * student(df).sf((slope / error).abs()))
}

/// Factor by which autocorrelation increases the variance of the slope.
pub(crate) fn widening(rests: &[f64], left: f64, parameters: f64) -> f64 {
    let count = rests.len() as f64;
    let alike = if rests.len() < ENOUGH || left == 0.0 {
        ALIKE.0
    } else {
        let seen = rests.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / left;
        // Residuals are less correlated than the values.
        seen + parameters * (1.0 + 3.0 * seen.max(0.0)) / count
    };
    let alike = alike.clamp(ALIKE.0, ALIKE.1);
    (1.0 + alike) / (1.0 - alike)
}

/// The last fifth of a series (at least one value) relative to its first fifth, minus 1: -0.5 where it
/// halves. `None` where the first fifth is 0.
#[must_use]
pub fn change_of_ends(series: &[f64]) -> Option<f64> {
    let fifth = (series.len() / 5).max(1);
    let (first, last) = (series.get(..fifth)?, series.get(series.len() - fifth..)?);
    let change = mean(last)? / mean(first)? - 1.0;
    change.is_finite().then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_points::tests::Noise;

    /// The rule for a change: p and size.
    const P: f64 = 0.001;
    const LEAST: f64 = 0.15;

    fn changes(series: &[f64]) -> bool {
        let scaled: Vec<f64> = series.iter().map(|value| value.max(0.0).sqrt()).collect();
        let is_large = change_of_ends(series).is_some_and(|change| change.abs() >= LEAST);
        is_large && trend_p(&scaled, None).is_some_and(|p| p < P)
    }

    /// How many in 1000 of these series change.
    fn in_1000(mut series: impl FnMut(&mut Noise) -> Vec<f64>) -> usize {
        let mut noise = Noise(7);
        (0..1000).filter(|_| changes(&series(&mut noise))).count()
    }

    #[test]
    fn steady_series_have_no_trend() {
        for count in [4, 5, 8, 10, 12, 20, 30, 60] {
            let alike = |alike| in_1000(move |noise| noise.alike(count, 10.0, alike));
            let poisson = |mean| in_1000(move |noise| noise.poissons(count, mean));
            assert!(alike(0.0) <= 3, "{count}: {}", alike(0.0));
            assert!(alike(0.3) <= 5, "{count}: {}", alike(0.3));
            assert!(alike(0.6) <= 25, "{count}: {}", alike(0.6));
            assert!(poisson(5.0).max(poisson(50.0)) <= 5, "{count}: {} {}", poisson(5.0), poisson(50.0));
        }
    }

    /// A table that grows while it is counted: a fall that slows down.
    #[test]
    fn a_fall_that_slows_down_is_found() {
        let fall = |count: usize, deviation: f64, noise: &mut Noise| -> Vec<f64> {
            let at = |k| 100.0 / (1.0 + 8.0 * k as f64 / count as f64).sqrt();
            (0..count).map(|k| at(k) * (1.0 + deviation * noise.normal())).collect()
        };
        for (count, deviation, least) in [(8, 0.02, 990), (10, 0.05, 850), (20, 0.1, 900)] {
            let found = in_1000(|noise| fall(count, deviation, noise));
            assert!(found >= least, "{count} values, {deviation}: {found}");
        }
    }

    #[test]
    fn noise_that_is_known_makes_a_short_series_sure() {
        let falls = [2972.0_f64, 2200.0, 1700.0, 1467.0].map(f64::ln);
        let noise = KnownNoise { variance: 0.03 * 0.03, df: 3.0 };
        let (alone, with_noise) = (trend_p(&falls, None).unwrap(), trend_p(&falls, Some(noise)).unwrap());
        assert!(with_noise < 0.001 && with_noise < alone, "{with_noise} {alone}");
        let noisy = KnownNoise { variance: 0.3 * 0.3, df: 3.0 };
        assert!(trend_p(&falls, Some(noisy)).unwrap() > 0.1);
    }

    #[test]
    fn short_and_even_series() {
        assert_eq!(trend_p(&[1.0, 2.0, 3.0], None), None);
        assert_eq!(trend_p(&[f64::NAN; 8], None), None);
        assert_eq!(trend_p(&[5.0; 8], None), Some(1.0));
        assert!(trend_p(&[8.0, 7.0, 6.0, 5.0, 4.0, 3.0], None).unwrap() < 1e-6);
        assert_eq!(change_of_ends(&[144.0, 84.0, 48.0, 53.0, 72.0]), Some(-0.5));
        assert_eq!(change_of_ends(&[0.0, 1.0]), None);
        assert_eq!(change_of_ends(&[]), None);
    }
}
