//! Figures of a run over the age of its sessions.
//!
//! Age is time at work since a session connected, the warm-up included. The time that an arm is held does not count:
//! a session that waits does nothing that could change it, and two arms that take turns would otherwise age by each
//! other's slices. So figures of runs in slices and of uncut runs are of the same age.

use std::collections::BTreeMap;

use crate::figures;
use crate::run::Run;
use crate::sample::{BACKENDS, PRIVATE_BYTES};
use crate::slice::Slice;

/// What may change with the age of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgingQuantity {
    /// Transactions per second.
    Throughput,
    /// Server CPU per transaction, µs; of runs in slices.
    Cpu,
    /// Private memory of the server processes of an arm's clients together, bytes; of runs in slices.
    Memory,
}

impl AgingQuantity {
    /// In the order of the answer's tables.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::Cpu, Self::Memory];

    /// The stored name, its unit last.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "tps",
            Self::Cpu => "server_cpu_us_per_tx",
            Self::Memory => "backends_private_bytes",
        }
    }
}

/// A value at an age; points with one `place` in runs of a round belong together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgePoint {
    pub place: u32,
    /// Seconds.
    pub age_s: f64,
    pub value: f64,
}

impl Run {
    /// For how long its sessions had worked before its measured part, seconds.
    #[must_use]
    pub fn age_at_start_s(&self) -> f64 {
        self.figures.get(figures::SESSION_AGE_S).unwrap_or_default() + self.warmup_s
    }

    /// The points of a quantity over the age of its sessions, in order: of its quads that count; of an uncut run its
    /// whole seconds. Empty where it was not read.
    #[must_use]
    pub fn over_age(&self, quantity: AgingQuantity) -> Vec<AgePoint> {
        match quantity {
            AgingQuantity::Memory => self.memory_over_age(),
            AgingQuantity::Throughput if !self.is_sliced() => self.seconds_over_age(),
            AgingQuantity::Throughput => self.quads_over_age(Self::quad_tps),
            AgingQuantity::Cpu => self.quads_over_age(Self::quad_server_cpu_us_per_tx),
        }
    }

    fn quads_over_age(&self, value: impl Fn(&Self, u32) -> Option<f64>) -> Vec<AgePoint> {
        let mut worked_s = self.age_at_start_s();
        let mut points = Vec::new();
        for quad in self.slices.chunk_by(|one, next| one.quad == next.quad) {
            let length_s = quad.iter().map(worked).sum::<f64>();
            let place = quad[0].quad;
            points.extend(value(self, place).filter(|value| *value > 0.0).map(|value| AgePoint {
                place,
                age_s: worked_s + length_s / 2.0,
                value,
            }));
            worked_s += length_s;
        }
        points
    }

    fn seconds_over_age(&self) -> Vec<AgePoint> {
        // Over all scripts.
        let mut steps: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for point in self.series.iter().filter(|point| point.length_us >= WHOLE_US) {
            let step = steps.entry(point.start_us).or_insert((0.0, point.length_us as f64 / 1e6));
            step.0 += (point.ok + point.late) as f64;
        }
        let points = (0..).zip(steps).map(|(place, (start_us, (done, seconds)))| AgePoint {
            place,
            age_s: self.age_at_start_s() + start_us as f64 / 1e6 + seconds / 2.0,
            value: done / seconds,
        });
        points.filter(|point| point.value > 0.0).collect()
    }

    fn memory_over_age(&self) -> Vec<AgePoint> {
        let read = self.samples.iter().filter(|own| own.source == BACKENDS && own.name == PRIVATE_BYTES);
        let points = (0..).zip(read).map(|(place, sample)| AgePoint {
            place,
            age_s: self.age_at_start_s() + sample.time_us as f64 / 1e6,
            value: sample.value,
        });
        points.filter(|point| point.value > 0.0).collect()
    }
}

/// Shorter steps of a series are the rest of a run, µs.
const WHOLE_US: u64 = 900_000;

/// How long an arm worked in a slice, seconds.
fn worked(slice: &Slice) -> f64 {
    (slice.length_us + slice.drain_us) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::one;
    use crate::{Sample, Scope, SeriesPoint};

    fn slice(quad: u32, succeeded: u64, is_void: bool) -> Slice {
        Slice {
            quad,
            start_us: 0,
            length_us: 90_000,
            drain_us: 10_000,
            succeeded,
            at_work_us: 4e5,
            steal_pct: None,
            server_cpu_us: Some(50.0 * succeeded as f64),
            is_void,
        }
    }

    #[test]
    fn quads_are_as_old_as_the_work_before_them() {
        let mut run = one(201);
        run.warmup_s = 2.0;
        run.slices = vec![
            slice(0, 100, false),
            slice(0, 100, false),
            slice(1, 7, true),
            slice(1, 7, true),
            slice(2, 50, false),
            slice(2, 50, false),
        ];
        let ages = |run: &Run| -> Vec<(u32, f64, f64)> {
            let points = run.over_age(AgingQuantity::Throughput);
            points.iter().map(|point| (point.place, (1e6 * point.age_s).round() / 1e6, point.value)).collect()
        };
        assert_eq!(
            ages(&run),
            [(0, 2.1, 1000.0), (2, 2.5, 500.0)],
            "a void quad makes older and has no value"
        );
        run.figures.set(figures::SESSION_AGE_S, 12.0);
        assert_eq!(ages(&run), [(0, 14.1, 1000.0), (2, 14.5, 500.0)], "kept from earlier rounds");
        let cpu: Vec<f64> = run.over_age(AgingQuantity::Cpu).iter().map(|point| point.value).collect();
        assert_eq!(cpu, [50.0, 50.0]);
    }

    #[test]
    fn an_uncut_run_has_its_whole_seconds_over_all_scripts() {
        let mut run = one(201);
        run.warmup_s = 1.0;
        let point = |script, start_us, length_us, ok| SeriesPoint {
            script,
            start_us,
            length_us,
            ok,
            late: 1,
            failed: 9,
            skipped: 9,
        };
        run.series = vec![
            point(0, 0, 1_000_000, 9),
            point(1, 0, 1_000_000, 19),
            point(0, 1_000_000, 1_000_000, 4),
            point(0, 2_000_000, 300_000, 4),
        ];
        let found: Vec<_> =
            run.over_age(AgingQuantity::Throughput).iter().map(|point| (point.age_s, point.value)).collect();
        assert_eq!(found, [(1.5, 30.0), (2.5, 5.0)]);
        assert!(run.over_age(AgingQuantity::Cpu).is_empty());
    }

    #[test]
    fn memory_is_read_between_slices() {
        let mut run = one(201);
        let sample = |source: &str, time_us, value| Sample {
            scope: Scope::Arm,
            source: source.to_owned(),
            name: PRIVATE_BYTES.to_owned(),
            time_us,
            value,
        };
        run.samples = vec![sample(BACKENDS, 0, 5e6), sample("host", 10, 1.0), sample(BACKENDS, 500_000, 6e6)];
        let points = run.over_age(AgingQuantity::Memory);
        let wanted = [(0, 0.0, 5e6), (1, 0.5, 6e6)];
        assert_eq!(points.iter().map(|p| (p.place, p.age_s, p.value)).collect::<Vec<_>>(), wanted);
    }
}
