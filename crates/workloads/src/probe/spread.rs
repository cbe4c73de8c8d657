//! The median and spread of a figure's shots.

/// A median, and the range of most shots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub shots: usize,
    pub median: f64,
    /// 5 % of the shots are below; the smallest of fewer than 20.
    pub low: f64,
    /// 5 % of the shots are above; the largest of fewer than 20.
    pub high: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Spread {
    /// Of some shots; `None` without any.
    #[must_use]
    pub fn of(shots: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = shots.iter().copied().filter(|shot| shot.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let few = sorted.len() < 20;
        Some(Self {
            shots: sorted.len(),
            median: quantile(&sorted, 0.5),
            low: if few { least } else { quantile(&sorted, 0.05) },
            high: if few { greatest } else { quantile(&sorted, 0.95) },
            least,
            greatest,
        })
    }

    /// Whether the ranges of both do not overlap.
    #[must_use]
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// By linear interpolation (R's type 7).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_shots_show_their_ends_and_many_their_middle() {
        assert_eq!(Spread::of(&[]), None);
        let few = Spread::of(&[3.0, 1.0, f64::NAN, 2.0]).unwrap();
        assert_eq!((few.shots, few.median, few.low, few.high), (3, 2.0, 1.0, 3.0));
        let shots: Vec<f64> = (0..=100).map(f64::from).collect();
        let many = Spread::of(&shots).unwrap();
        assert_eq!((many.median, many.low, many.high, many.least), (50.0, 5.0, 95.0, 0.0));
        assert!(many.is_apart_from(&Spread::of(&[96.0, 97.0]).unwrap()));
        assert!(!few.is_apart_from(&Spread::of(&[3.0, 4.0]).unwrap()));
    }
}
