//! Two sides measured in turn, compared pair by pair.

use std::time::Duration;

use server::host::HostSample;

use crate::quiet;

/// One measurement of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// What one operation costs, µs of CPU, or whatever is to be small.
    pub(crate) cost: f64,
    /// Operations per second, or whatever is to be large.
    pub(crate) speed: f64,
}

/// Median, least and greatest.
pub(crate) type Spread = (f64, f64, f64);

/// How loud the machine was, as far as the kernel tells. No pair is left out for it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Noise {
    /// Greatest CPU pressure seen before a pair, percent.
    pub(crate) pressure: Option<f64>,
    /// Pairs before which it was above what counts as quiet.
    pub(crate) loud: usize,
    pub(crate) pairs: usize,
    /// Greatest share of CPU time that the hypervisor took during a pair, percent.
    pub(crate) steal: Option<f64>,
}

impl Noise {
    fn before(&mut self, pressure: Option<f64>) {
        self.pairs += 1;
        self.loud += usize::from(pressure.is_some_and(quiet::is_loud));
        self.pressure = greatest(self.pressure, pressure);
    }

    fn during(&mut self, steal: Option<f64>) {
        self.steal = greatest(self.steal, steal);
    }
}

fn greatest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Two sides: medians of both, and of the pairs' ratios with their range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) ours: Sample,
    /// Median of theirs.
    pub(crate) theirs: Sample,
    /// Ours through theirs.
    pub(crate) cost: Spread,
    /// The same of the speeds.
    pub(crate) speed: Spread,
    /// How loud the machine was.
    pub(crate) noise: Noise,
}

/// Measures both sides so many times, ours first in every other pair.
pub(crate) fn compare(
    pairs: u32,
    patience: Duration,
    mut ours: impl FnMut() -> anyhow::Result<Sample>,
    mut theirs: impl FnMut() -> anyhow::Result<Sample>,
) -> anyhow::Result<Compared> {
    let mut taken = Vec::new();
    let mut noise = Noise::default();
    for pair in 0..pairs {
        noise.before(quiet::wait(patience));
        let start = HostSample::take(None);
        taken.push(if pair % 2 == 0 {
            let own = ours()?;
            [own, theirs()?]
        } else {
            let other = theirs()?;
            [ours()?, other]
        });
        noise.during(HostSample::take(None).figures_since(&start).get(spec::figures::STEAL_PCT));
    }
    let over_all = |figure: &dyn Fn(&[Sample; 2]) -> f64| spread(taken.iter().map(figure).collect());
    let median = |side: usize| Sample {
        cost: over_all(&|pair| pair[side].cost).0,
        speed: over_all(&|pair| pair[side].speed).0,
    };
    Ok(Compared {
        ours: median(0),
        theirs: median(1),
        cost: over_all(&|[ours, theirs]| ours.cost / theirs.cost),
        speed: over_all(&|[ours, theirs]| ours.speed / theirs.speed),
        noise,
    })
}

pub(crate) fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median =
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    (median, values[0], values[values.len() - 1])
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let sides = Cell::new(0);
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

    #[test]
    fn the_greatest_noise_stays() {
        let mut noise = Noise::default();
        for (pressure, steal) in [(Some(3.0), None), (Some(54.0), Some(20.0)), (None, Some(1.0))] {
            noise.before(pressure);
            noise.during(steal);
        }
        assert_eq!(noise, Noise { pressure: Some(54.0), loud: 1, pairs: 3, steal: Some(20.0) });
    }

    #[test]
    fn the_order_of_sides_alternates() {
        let order = RefCell::new(String::new());
        let side = |name: char, cost: f64| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(Sample { cost, speed: 1.0 })
            }
        };
        let compared = compare(3, Duration::ZERO, side('a', 1.0), side('b', 2.0)).unwrap();
        assert_eq!(*order.borrow(), "abbaab");
        assert_eq!(compared.cost, (0.5, 0.5, 0.5));
    }
}
