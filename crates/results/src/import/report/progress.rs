//! Progress lines (`pgbench -P`) as figures over time.

use std::fmt::Write;

use super::model::ProgressLine;
use spec::SeriesPoint;

/// Larger progress times are seconds since 1970.
const EPOCH_S: f64 = 100_000_000.0;

/// Length of each interval and its start, seconds since the first began. With time stamps the first
/// interval is assumed to be as long as the second.
fn intervals(lines: &[ProgressLine]) -> Vec<(f64, f64)> {
    let Some(first) = lines.first() else { return Vec::new() };
    let began = if first.time_s < EPOCH_S {
        0.0
    } else {
        let second = lines.get(1).map_or(first.time_s, |line| line.time_s);
        first.time_s - (second - first.time_s)
    };
    let mut from = began;
    lines
        .iter()
        .map(|line| {
            let interval = (from - began, (line.time_s - from).max(0.0));
            from = line.time_s;
            interval
        })
        .collect()
}

/// When the first interval began, µs since 1970; `None` unless the lines have time stamps.
pub(in crate::import) fn began_us(lines: &[ProgressLine]) -> Option<i64> {
    let (first, (_, length)) = (lines.first()?, *intervals(lines).first()?);
    (first.time_s >= EPOCH_S).then_some(((first.time_s - length) * 1e6) as i64)
}

/// The lines as a series of the first script. Counts are rate times length, so they may be off by a few;
/// without distributions.
pub(in crate::import) fn series(lines: &[ProgressLine]) -> Vec<SeriesPoint> {
    let counted = |line: &ProgressLine, length: f64| (line.tps * length).round().max(0.0) as u64;
    lines
        .iter()
        .zip(intervals(lines))
        .filter(|(_, (_, length))| *length > 0.0)
        .map(|(line, (start, length))| SeriesPoint {
            script: 0,
            start_us: (start * 1e6).round() as i64,
            length_us: (length * 1e6).round() as u64,
            ok: counted(line, length),
            late: 0,
            failed: line.failed,
            skipped: line.skipped,
        })
        .collect()
}

/// The lines as comma-separated values, with a header; times in seconds since the first interval began.
pub(in crate::import) fn csv(lines: &[ProgressLine]) -> String {
    let mut text = String::from(
        "end_s,tps,latency_mean_us,latency_stddev_us,failed,lag_mean_us,skipped,retried,retries\n",
    );
    let us = |ms: Option<f64>| ms.map(|ms| format!("{:.0}", ms * 1000.0)).unwrap_or_default();
    for (line, (start, length)) in lines.iter().zip(intervals(lines)) {
        let _ = writeln!(
            text,
            "{:.3},{},{},{},{},{},{},{},{}",
            start + length,
            line.tps,
            us(line.latency_ms),
            us(line.stddev_ms),
            line.failed,
            us(line.lag_ms),
            line.skipped,
            line.retried,
            line.retries
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time_s: f64, tps: f64) -> ProgressLine {
        ProgressLine { time_s, tps, latency_ms: Some(0.5), ..ProgressLine::default() }
    }

    #[test]
    fn rates_become_counts() {
        let lines = [line(5.0, 100.0), line(10.1, 200.0), line(10.1, 9.0), line(15.0, 0.0)];
        let seen: Vec<_> = series(&lines).iter().map(|p| (p.start_us, p.length_us, p.ok)).collect();
        assert_eq!(seen, [(0, 5_000_000, 500), (5_000_000, 5_100_000, 1020), (10_100_000, 4_900_000, 0)]);
        assert_eq!(began_us(&lines), None);
        assert_eq!(csv(&lines[..1]).lines().nth(1), Some("5.000,100,500,,0,,0,0,0"));
    }

    #[test]
    fn time_stamps_say_when_it_began() {
        let lines = [line(1_700_000_010.5, 10.0), line(1_700_000_020.5, 20.0)];
        assert_eq!(began_us(&lines), Some(1_700_000_000_500_000));
        let seen: Vec<_> = series(&lines).iter().map(|p| (p.start_us, p.ok)).collect();
        assert_eq!(seen, [(0, 100), (10_000_000, 200)]);
        assert!(series(&lines[..1]).is_empty(), "a single time stamp has no length");
        assert!(began_us(&[]).is_none() && series(&[]).is_empty());
    }
}
