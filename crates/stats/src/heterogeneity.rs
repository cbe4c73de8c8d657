//! Whether cells differ from each other by more than their noise.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::paired::Estimate;

/// From this p on, cells do not differ by more than their noise.
const LEVEL: f64 = 0.05;

/// How much cells differ beyond their own errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heterogeneity {
    /// Cochran's Q: squared distances from the weighted mean, in units of the cells' own errors.
    pub q: f64,
    /// p of "all cells have the same change".
    pub p: f64,
}

impl Heterogeneity {
    /// Whether the cells differ by more than their own errors explain: p is below 0.05.
    #[must_use]
    pub fn is_beyond_noise(&self) -> bool {
        self.p < LEVEL
    }
}

/// Heterogeneity of at least two cells with positive standard errors; otherwise `None`.
///
/// The test is that of Alexander & Govern (J. Educ. Stat. 1994, 19(2)): each cell's t against the weighted mean,
/// made normal by Hill's approximation (Comm. ACM 1970, Algorithm 395), squared and added. Cells may have
/// different errors, and few rounds. Cochran's Q against chi-squared and Welch's F find differences by chance more
/// often when rounds are few. What the cells of a round share makes all of them careful.
#[must_use]
pub fn heterogeneity(cells: &[Estimate]) -> Option<Heterogeneity> {
    let known: Vec<(f64, f64, f64)> = cells
        .iter()
        .filter_map(|cell| Some((cell.log_ratio, cell.standard_error.filter(|error| *error > 0.0)?, cell.df)))
        .collect();
    if known.len() < 2 {
        return None;
    }
    let weight = |error: f64| error.powi(-2);
    let weights: f64 = known.iter().map(|(_, error, _)| weight(*error)).sum();
    let center = known.iter().map(|(value, error, _)| value * weight(*error)).sum::<f64>() / weights;
    let distances = || known.iter().map(|(value, error, df)| ((value - center) / error, *df));
    let squares: f64 = distances().map(|(t, df)| normal(t, df).powi(2)).sum();
    let all_alike = ChiSquared::new(known.len() as f64 - 1.0).expect("at least one degree of freedom");
    Some(Heterogeneity { q: distances().map(|(t, _)| t * t).sum(), p: all_alike.sf(squares) })
}

/// The normal deviate with the tail of `|t|` at these degrees of freedom, at least 1 (Hill's approximation).
fn normal(t: f64, df: f64) -> f64 {
    let a = df.max(1.0) - 0.5;
    let b = 48.0 * a * a;
    let c = (a * (t * t / df.max(1.0)).ln_1p()).sqrt();
    let high = 4.0 * c.powi(7) + 33.0 * c.powi(5) + 240.0 * c.powi(3) + 855.0 * c;
    c + (c.powi(3) + 3.0 * c) / b - high / (10.0 * b * b + 8.0 * b * c.powi(4) + 1000.0 * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::{paired, student};
    use crate::simulated::Normals;
    use statrs::distribution::Normal;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
    }

    fn cell(log_ratio: f64) -> Estimate {
        Estimate { log_ratio, standard_error: Some(0.01), df: 7.0, n: 8, lines: 1 }
    }

    #[test]
    fn equal_cells_are_homogeneous_and_different_ones_not() {
        close(heterogeneity(&[cell(0.02), cell(0.02)]).unwrap().p, 1.0, 1e-12);
        let apart = heterogeneity(&[cell(0.0), cell(0.2)]).unwrap();
        close(apart.q, 200.0, 1e-6);
        assert!(apart.is_beyond_noise() && apart.p < 1e-4, "{apart:?}");
        assert!(heterogeneity(&[cell(0.0)]).is_none());
        let without_error = Estimate { standard_error: None, ..cell(0.3) };
        assert!(heterogeneity(&[cell(0.0), without_error]).is_none());
    }

    #[test]
    fn a_deviate_has_the_tail_of_its_t() {
        for df in [2.0, 3.0, 5.0, 11.0, 40.0] {
            for t in [0.5, 1.0, 2.0, 4.0] {
                let tail = Normal::standard().sf(normal(t, df));
                close(tail / student(df).sf(t), 1.0, 0.05);
            }
        }
    }

    /// Cells that are alike differ by chance in about 5 of 100 comparisons, whatever their errors.
    fn false_alarms(cells: usize, rounds: usize, shared: f64, spread: impl Fn(usize) -> f64) -> f64 {
        let mut normals = Normals::new(7);
        let trials = 3000;
        let alarms = (0..trials).filter(|_| {
            let common: Vec<f64> = (0..rounds).map(|_| shared.sqrt() * normals.next()).collect();
            let cells: Vec<Estimate> = (0..cells)
                .map(|cell| {
                    let own = |common: &f64| common + (1.0 - shared).sqrt() * normals.next();
                    let values: Vec<f64> = common.iter().map(own).map(|value| spread(cell) * value).collect();
                    paired(&values).unwrap()
                })
                .collect();
            heterogeneity(&cells).unwrap().is_beyond_noise()
        });
        alarms.count() as f64 / f64::from(trials)
    }

    #[test]
    fn cells_that_are_alike_seldom_differ() {
        for cells in [2, 3, 6, 12] {
            for rounds in [4, 8, 12] {
                for (named, rate) in [
                    ("equal errors", false_alarms(cells, rounds, 0.0, |_| 1.0)),
                    (
                        "errors 1 to 4",
                        false_alarms(cells, rounds, 0.0, |cell| 1.0 + 3.0 * cell as f64 / (cells - 1) as f64),
                    ),
                ] {
                    assert!((0.03..0.08).contains(&rate), "{cells} cells, {rounds} rounds, {named}: {rate}");
                }
                let careful = false_alarms(cells, rounds, 0.5, |_| 1.0);
                assert!(careful < 0.06, "{cells} cells, {rounds} rounds that share half: {careful}");
            }
        }
    }

    /// 12 rounds that scatter by 4 %, and changes of 17 %, 37 % and 25 %.
    #[test]
    fn cells_that_differ_are_found() {
        let mut normals = Normals::new(5);
        let found = (0..500).filter(|_| {
            let cells = [1.17f64, 1.37, 1.25].map(|ratio| {
                let values: Vec<f64> = (0..12).map(|_| ratio.ln() + 0.04 * normals.next()).collect();
                paired(&values).unwrap()
            });
            heterogeneity(&cells).unwrap().is_beyond_noise()
        });
        assert_eq!(found.count(), 500);
    }
}
