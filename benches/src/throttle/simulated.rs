//! Runs in simulated time, judged by the same rules.

use lab::validity::{Evidence, Machine, Probe, Probes, judge};
use record::{Counts, Reason, SeriesPoint};
use stats::credits::Bucket;

/// Transactions per second at full speed, and how far a second is off, as a share.
const RATE: f64 = 5000.0;
const OFF: f64 = 0.04;
/// As long as the real ones.
const SECONDS: u32 = super::RUN_S;

/// How many of so many runs in which a t2.micro's credits end are named, and as what: cells of a table.
pub(super) fn credits(runs: u32) -> String {
    let mut noise = Noise(1);
    let (mut throttled, mut named) = (0, 0);
    for number in 0..runs {
        let ends = 3.0 + f64::from(number) * (f64::from(SECONDS) - 6.0) / f64::from(runs.max(2) - 1);
        let mut bucket = Bucket::t2_micro(0.9 * ends / 60.0);
        let had: Vec<f64> = (0..SECONDS).map(|_| bucket.pass(1.0, 1.0)).collect();
        let stolen = 100.0 * had.iter().map(|share| 1.0 - share).sum::<f64>() / f64::from(SECONDS);
        let after_ms = 4.0 / bucket.pass(0.1, 1.0);
        // A guest may or may not be told what is taken from it.
        let steal_pct = number.is_multiple_of(2).then_some(stolen);
        let rates: Vec<f64> = had.iter().map(|share| RATE * share * noise.near_1()).collect();
        let reasons = reasons(&rates, steal_pct, after_ms);
        throttled += u32::from(reasons.contains(&Reason::Throttled));
        named += u32::from(!reasons.is_empty());
    }
    format!("{runs} | **{named}** | {throttled} | | | ")
}

/// How many of so many runs in which nothing happens are named.
pub(super) fn false_alarms(runs: u32) -> u32 {
    let mut noise = Noise(2);
    let alarms = (0..runs).filter(|_| {
        let rates: Vec<f64> = (0..SECONDS).map(|_| RATE * noise.near_1()).collect();
        !reasons(&rates, Some(0.0), 4.0 * noise.near_1()).is_empty()
    });
    alarms.count() as u32
}

fn reasons(rates: &[f64], steal_pct: Option<f64>, after_ms: f64) -> Vec<Reason> {
    let point = |(second, rate): (usize, &f64)| SeriesPoint {
        script: 0,
        start_us: second as i64 * 1_000_000,
        length_us: 1_000_000,
        ok: *rate as u64,
        late: 0,
        failed: 0,
        skipped: 0,
    };
    let series: Vec<SeriesPoint> = rates.iter().enumerate().map(point).collect();
    let ok = series.iter().map(|point| point.ok).sum();
    let counts = Counts { due: ok, ok, rows: ok, bytes: ok, ..Counts::default() };
    let script = engine::ScriptFigures { counts, completed: ok, ..engine::ScriptFigures::default() };
    let measured = engine::Measured { scripts: vec![script], ..engine::Measured::default() };
    let probe = |ms| Some(Probe { least_ms: ms, mean_ms: ms });
    let probes = Probes { usual: None, before: probe(4.0), after: probe(after_ms) };
    let evidence = Evidence {
        measured: &measured,
        series: &series,
        rate: None,
        profile: None,
        clients: 4,
        limit_s: None,
        trend: None,
        machine: Machine { steal_pct, probes, ..Machine::default() },
        host_lag_us: None,
        is_trial: false,
        changed: None,
        scripts: &[],
        may_be_empty: false,
        hit_pct: None,
        cold_pct: None,
    };
    judge(&evidence).1.into_iter().map(|doubt| doubt.reason).collect()
}

/// A small generator, so that these runs stay as they are.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 1: the sum of twelve is nearly normal.
    fn near_1(&mut self) -> f64 {
        1.0 + OFF * ((0..12).map(|_| self.uniform()).sum::<f64>() - 6.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ends_of_credits_are_named_and_next_to_nothing_else() {
        assert_eq!(credits(20), "20 | **20** | 20 | | | ");
        let alarms = false_alarms(1000);
        assert!(alarms <= 5, "{alarms} of 1000");
    }
}
