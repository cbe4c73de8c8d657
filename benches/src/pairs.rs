//! Compares two sides measured in turn, pair by pair.

use std::time::{Duration, Instant};

use server::host::HostSample;

use crate::stop;

#[derive(Debug, Clone, Copy)]
pub(crate) struct CostSample {
    /// CPU of one operation in µs, or another figure that should be small.
    pub(crate) cost: f64,
    /// Operations per second, or another figure that should be large.
    pub(crate) speed: f64,
}

/// Median, smallest and largest.
pub(crate) type Spread = (f64, f64, f64);

/// Noise of the machine, as far as the kernel reports it. No pair is left out because of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Noise {
    /// Highest CPU pressure before a pair, percent.
    pub(crate) pressure: Option<f64>,
    /// Pairs that began under a pressure that is not quiet.
    pub(crate) loud: usize,
    pub(crate) pairs: usize,
    /// Largest share of CPU time that the hypervisor took during a pair, percent.
    pub(crate) steal: Option<f64>,
}

impl Noise {
    fn before(&mut self, pressure: Option<f64>) {
        self.pairs += 1;
        self.loud += usize::from(pressure.is_some_and(is_loud));
        self.pressure = greatest(self.pressure, pressure);
    }

    fn during(&mut self, steal: Option<f64>) {
        self.steal = greatest(self.steal, steal);
    }
}

fn greatest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Medians of both sides, and of the pairs' ratios with their range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) ours: CostSample,
    pub(crate) theirs: CostSample,
    /// Ours / theirs.
    pub(crate) cost: Spread,
    /// Ours / theirs.
    pub(crate) speed: Spread,
    pub(crate) noise: Noise,
}

/// Measures both sides this many times, ours first in every other pair.
pub(crate) fn compare(
    pairs: u32,
    patience: Duration,
    mut ours: impl FnMut() -> anyhow::Result<CostSample>,
    mut theirs: impl FnMut() -> anyhow::Result<CostSample>,
) -> anyhow::Result<Compared> {
    let mut taken = Vec::new();
    let mut noise = Noise::default();
    for pair in 0..pairs {
        noise.before(wait_until_quiet(patience));
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
    let over_all = |figure: &dyn Fn(&[CostSample; 2]) -> f64| spread(taken.iter().map(figure).collect());
    let median = |side: usize| CostSample {
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

/// Highest CPU pressure (share of the last 10 s in which something waited for a CPU, percent) of a quiet
/// machine.
const LOUD_PCT: f64 = 15.0;

/// Whether this pressure, percent, is too high for a quiet machine.
fn is_loud(pressure: f64) -> bool {
    pressure >= LOUD_PCT
}

/// Waits up to `timeout` until the machine is quiet; returns the pressure then.
pub(crate) fn wait_until_quiet(timeout: Duration) -> Option<f64> {
    let start = Instant::now();
    loop {
        let pressure = pressure()?;
        if !is_loud(pressure) || start.elapsed() >= timeout || stop::switch().at_once() {
            return Some(pressure);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// `some avg10=1.23 …` of /proc/pressure/cpu.
fn pressure() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let average = text.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    average.parse().ok()
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
            // The machine gets slower all the time; the ratio stays the same.
            let drift = f64::from((sides.get() + 1) / 2);
            Ok(CostSample { cost: factor * drift, speed: 1.0 / drift })
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
                Ok(CostSample { cost, speed: 1.0 })
            }
        };
        let compared = compare(3, Duration::ZERO, side('a', 1.0), side('b', 2.0)).unwrap();
        assert_eq!(*order.borrow(), "abbaab");
        assert_eq!(compared.cost, (0.5, 0.5, 0.5));
    }
}
