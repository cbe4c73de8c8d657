//! Two things in turn, compared pair by pair.

use std::time::Duration;

use crate::quiet;

/// One measurement of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// What one operation costs, µs of CPU, or whatever is to be small.
    pub(crate) cost: f64,
    /// Operations per second, or whatever is to be large.
    pub(crate) speed: f64,
}

/// Medians of both sides, and of the pairs' ratios with their range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    /// Median of ours.
    pub(crate) ours: Sample,
    /// Median of theirs.
    pub(crate) theirs: Sample,
    /// Ours through theirs: median, least, greatest.
    pub(crate) cost: (f64, f64, f64),
    /// The same of the speeds.
    pub(crate) speed: (f64, f64, f64),
    /// Greatest CPU pressure seen before a pair, percent; `None` where it is not known.
    pub(crate) pressure: Option<f64>,
}

/// Measures both sides so many times, ours first in every other pair.
pub(crate) fn compare(
    pairs: u32,
    patience: Duration,
    mut ours: impl FnMut() -> anyhow::Result<Sample>,
    mut theirs: impl FnMut() -> anyhow::Result<Sample>,
) -> anyhow::Result<Compared> {
    let mut taken = Vec::new();
    let mut pressure: Option<f64> = None;
    for pair in 0..pairs {
        if let Some(now) = quiet::wait(patience) {
            pressure = Some(pressure.unwrap_or(0.0).max(now));
        }
        taken.push(if pair % 2 == 0 {
            let first = ours()?;
            (first, theirs()?)
        } else {
            let first = theirs()?;
            (ours()?, first)
        });
    }
    let of = |pick: &dyn Fn(&(Sample, Sample)) -> f64| spread(taken.iter().map(pick).collect());
    let side = |cost: (f64, f64, f64), speed: (f64, f64, f64)| Sample { cost: cost.0, speed: speed.0 };
    Ok(Compared {
        ours: side(of(&|pair| pair.0.cost), of(&|pair| pair.0.speed)),
        theirs: side(of(&|pair| pair.1.cost), of(&|pair| pair.1.speed)),
        cost: of(&|pair| pair.0.cost / pair.1.cost),
        speed: of(&|pair| pair.0.speed / pair.1.speed),
        pressure,
    })
}

/// Median, least and greatest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median =
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    (median, values[0], values[values.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let sides = std::cell::Cell::new(0);
        let next = |factor: f64| {
            sides.set(sides.get() + 1);
            // The machine gets slower all the time; the ratio stays.
            let drift = f64::from((sides.get() + 1) / 2);
            Ok(Sample { cost: factor * drift, speed: 1.0 / drift })
        };
        let compared = compare(3, Duration::ZERO, || next(1.0), || next(2.0)).unwrap();
        assert_eq!(compared.cost, (0.5, 0.5, 0.5));
        assert_eq!(compared.speed, (1.0, 1.0, 1.0));
        assert_eq!((compared.ours.cost, compared.theirs.cost), (2.0, 4.0));
        assert_eq!(spread(vec![4.0, 1.0, 2.0, 3.0]), (2.5, 1.0, 4.0));
    }
}
