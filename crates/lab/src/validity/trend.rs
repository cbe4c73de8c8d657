//! Whether a run's speed has a trend: for workloads that change their data, which may change the cost of the
//! next transaction.

use spec::figures::{self, Figure};
use spec::{SeriesPoint, Slice};
use stats::{change_of_ends, trend_p};

/// p below which a trend within a run is not chance, and the same for a change that is larger than noise.
const P: f64 = 0.001;
const P_LARGE: f64 = 0.01;
/// From this change of speed on it is large, as a share.
const LARGE: f64 = 0.4;
/// The smallest change of speed that is reported, as a share.
pub const CHANGE: f64 = 0.15;
/// A rise must continue in the second half of the run, and a fall after its first stretch, by this share:
/// caches that warm up rise at the beginning, and one fast second is not a fall.
const GOES_ON: f64 = 0.05;
/// Speeds of equal stretches of a run, in order: its quads if it took turns, else its whole seconds (in long
/// runs: steps).
pub(crate) fn speeds(series: &[SeriesPoint], slices: &[Slice]) -> Vec<f64> {
    let mut stretches: std::collections::BTreeMap<i64, (f64, f64)> = std::collections::BTreeMap::new();
    for slice in slices.iter().filter(|slice| !slice.is_void) {
        let stretch = stretches.entry(slice.quad.into()).or_default();
        stretch.0 += slice.succeeded as f64;
        stretch.1 += slice.at_work_us;
    }
    for point in series.iter().filter(|point| slices.is_empty() && point.length_us >= 900_000) {
        let stretch = stretches.entry(point.start_us).or_insert((0.0, point.length_us as f64));
        stretch.0 += (point.ok + point.late) as f64;
    }
    stretches.into_values().filter(|(_, time)| *time > 0.0).map(|(done, time)| done / time).collect()
}

/// The change of speed within a run as a share, and whether it is a trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    pub(super) change: f64,
    pub(super) is_sure: bool,
}

impl Trend {
    /// The trend of these speeds; `None` if there are too few.
    pub(crate) fn of(speeds: &[f64]) -> Option<Self> {
        // Counts of transactions vary by their square root.
        let scaled: Vec<f64> = speeds.iter().map(|speed| speed.sqrt()).collect();
        let p = trend_p(&scaled, None)?;
        let change = change_of_ends(speeds)?;
        let behind = |from: usize| change_of_ends(&speeds[from..]).unwrap_or_default();
        let goes_on = if change < 0.0 { behind(1) <= -GOES_ON } else { behind(speeds.len() / 2) >= GOES_ON };
        let least_p = if change.abs() >= LARGE { P_LARGE } else { P };
        Some(Self { change, is_sure: p < least_p && change.abs() >= CHANGE && goes_on })
    }

    pub(crate) fn figure(self) -> (Figure, f64) {
        (figures::SPEED_CHANGE_PCT, 100.0 * self.change)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{point, series};
    use super::*;

    fn sure(speeds: &[f64]) -> Option<f64> {
        Trend::of(speeds).filter(|trend| trend.is_sure).map(|trend| trend.change)
    }

    fn over(seconds: usize, speed: impl Fn(f64) -> f64) -> Vec<f64> {
        // A little constant noise.
        let noise = |k: usize| 0.99 + ((k * 7919) % 21) as f64 / 1000.0;
        (0..seconds).map(|k| noise(k) * speed(k as f64 / seconds as f64)).collect()
    }

    /// An insert and a count of the same table; pgdyno named the change in one run of four.
    #[test]
    fn a_table_that_grows_while_it_is_counted_is_a_trend() {
        for seconds in [8, 10, 20, 60] {
            let found = sure(&over(seconds, |at| 2000.0 / (1.0 + 8.0 * at).sqrt()));
            assert!(found.is_some_and(|change| (-0.7..-0.4).contains(&change)), "{seconds} s: {found:?}");
        }
        assert!(sure(&over(20, |at| 100.0 + 100.0 * at)).is_some());
    }

    #[test]
    fn a_steady_run_and_one_that_warms_up_have_none() {
        assert_eq!(sure(&over(20, |_| 1000.0)), None);
        assert_eq!(sure(&over(20, |at| 1000.0 - 80.0 * at)), None, "less than is told");
        let warms_up = |at: f64| 1000.0 * (1.0 - 0.8 * (-12.0 * at).exp());
        assert_eq!(sure(&over(20, warms_up)), None);
        assert_eq!(sure(&[5.0, 4.0, 3.0]), None);
        let mut one_fast_second = over(20, |_| 1000.0);
        one_fast_second[0] = 3000.0;
        assert_eq!(sure(&one_fast_second), None);
    }

    #[test]
    fn speeds_are_those_of_whole_seconds_or_of_quads() {
        let mut seconds = series(&[10, 20]);
        seconds.push(SeriesPoint { script: 1, ..point(0, 5) });
        seconds.push(SeriesPoint { length_us: 300_000, ..point(2, 1) });
        assert_eq!(speeds(&seconds, &[]), [15e-6, 20e-6]);
        let slice = |quad, succeeded, is_void| Slice {
            quad,
            start_us: 0,
            length_us: 100_000,
            drain_us: 0,
            succeeded,
            at_work_us: 100.0,
            steal_pct: None,
            server_cpu_us: None,
            is_void,
        };
        let slices = [slice(0, 10, false), slice(0, 20, false), slice(1, 9, true), slice(2, 40, false)];
        assert_eq!(speeds(&seconds, &slices), [0.15, 0.4]);
    }
}
