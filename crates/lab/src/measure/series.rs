//! A run second by second: counters in memory, distributions in a file.

use std::path::Path;

use engine::{Second, Until};
use results::{Spool, SpoolWriter};
use spec::{Error, SeriesPoint};
use stats::Histogram;

/// Most steps of a run of known length with few scripts.
const STEPS: i64 = 600;
/// Most points of a run with many scripts, which has one for each script and step; but at least a tenth of the steps.
const POINTS: i64 = 60_000;
const SECOND_NS: i64 = 1_000_000_000;

/// The measured seconds. A long run joins them into longer steps, to limit their number.
#[derive(Debug)]
pub(super) struct Series {
    lengths: Lengths,
    points: Vec<SeriesPoint>,
    spool: SpoolWriter,
    /// The current step, by script.
    open: Vec<(SeriesPoint, Histogram)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    /// All equal, ns; whole seconds.
    Alike(i64),
    /// For a run of unknown length: a second at first, doubled each time the run is twice as long, from so many on.
    Growing { steps: i64 },
}

impl Lengths {
    fn of(until: Until, scripts: usize) -> Self {
        let steps = (POINTS / (scripts as i64).max(1)).clamp(STEPS / 10, STEPS);
        match until {
            Until::Elapsed(time) => {
                let seconds = i64::try_from(time / SECOND_NS.unsigned_abs()).unwrap_or(i64::MAX / SECOND_NS);
                Self::Alike((seconds + steps - 1).div_euclid(steps).max(1) * SECOND_NS)
            }
            Until::PerClient(_) | Until::PerUser(_) | Until::Caller => Self::Growing { steps },
        }
    }

    /// Start of the step with this time, both in ns.
    fn start(self, time_ns: i64) -> i64 {
        let length = match self {
            Self::Alike(length) => length,
            Self::Growing { steps } => {
                let past = time_ns / (steps * SECOND_NS);
                SECOND_NS << (i64::BITS - past.leading_zeros())
            }
        };
        time_ns / length * length
    }
}

impl Series {
    /// A series for a run of so many scripts until then; distributions wait next to the results file, if any.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub(super) fn of(until: Until, scripts: usize, results: Option<&Path>) -> Result<Self, Error> {
        let spool = SpoolWriter::near(results)?;
        Ok(Self { lengths: Lengths::of(until, scripts), points: Vec::new(), spool, open: Vec::new() })
    }

    /// Adds the next second. Returns the end of the step that it completes, in µs since the start of the
    /// measured part.
    pub(super) fn add(&mut self, second: &Second) -> Option<i64> {
        if second.start_ns < 0 {
            return None;
        }
        let start_us = self.lengths.start(second.start_ns) / 1000;
        if self.open.first().is_some_and(|(point, _)| point.start_us != start_us) {
            self.close();
        }
        if self.open.is_empty() {
            self.open =
                (0..second.scripts.len() as u32).map(|script| (empty(script), Histogram::new())).collect();
        }
        for ((point, response), figures) in self.open.iter_mut().zip(&second.scripts) {
            point.start_us = start_us;
            point.length_us += second.length_ns / 1000;
            point.ok += figures.in_time();
            point.late += figures.counts.late;
            point.failed += figures.counts.failed;
            point.skipped += figures.counts.skipped;
            response.add(&figures.response);
        }
        let end_ns = second.start_ns + second.length_ns as i64;
        (self.lengths.start(end_ns) / 1000 != start_us).then_some(end_ns / 1000)
    }

    pub(super) fn into_parts(mut self) -> (Vec<SeriesPoint>, Spool) {
        self.close();
        (self.points, self.spool.finish())
    }

    /// Closes the current step, and keeps its memory for the next one.
    fn close(&mut self) {
        for (point, response) in &mut self.open {
            if point.length_us > 0 {
                self.spool.push(point.script, point.start_us, point.length_us, response);
                self.points.push(*point);
            }
            *point = empty(point.script);
            response.clear();
        }
    }
}

fn empty(script: u32) -> SeriesPoint {
    SeriesPoint { script, start_us: 0, length_us: 0, ok: 0, late: 0, failed: 0, skipped: 0 }
}

#[cfg(test)]
mod tests {
    use engine::ScriptFigures;
    use spec::Counts;

    use super::*;

    fn second(number: i64, scripts: usize) -> Second {
        let mut figures = ScriptFigures::counted(Counts { ok: 1, ..Counts::default() }, 1);
        figures.response.record(1000 + number.unsigned_abs());
        Second {
            start_ns: number * SECOND_NS,
            length_ns: SECOND_NS as u64,
            scripts: vec![figures; scripts],
            ..Second::default()
        }
    }

    fn points(until: Until, seconds: i64) -> Vec<SeriesPoint> {
        let mut series = Series::of(until, 2, None).unwrap();
        (-2..seconds).for_each(|number| _ = series.add(&second(number, 2)));
        let (points, _) = series.into_parts();
        assert_eq!(
            points.iter().map(|point| point.ok).sum::<u64>(),
            2 * seconds.unsigned_abs(),
            "nothing is lost"
        );
        points.into_iter().filter(|point| point.script == 1).collect()
    }

    /// Samples were a step before their time.
    #[test]
    fn a_step_is_over_with_its_last_second() {
        let ends = |until, seconds: i64| {
            let mut series = Series::of(until, 1, None).unwrap();
            (-1..seconds).filter_map(|number| series.add(&second(number, 1))).collect::<Vec<_>>()
        };
        let three = Until::Elapsed(3 * SECOND_NS.unsigned_abs());
        assert_eq!(ends(three, 3), [1_000_000, 2_000_000, 3_000_000]);
        // Steps of two seconds.
        let long = Until::Elapsed(2 * STEPS.unsigned_abs() * SECOND_NS.unsigned_abs());
        assert_eq!(ends(long, 5), [2_000_000, 4_000_000]);
    }

    #[test]
    fn long_runs_have_longer_steps() {
        let elapsed = |seconds: i64| Until::Elapsed((seconds * SECOND_NS) as u64);
        for (seconds, steps, length_s) in [(5, 5, 1), (600, 600, 1), (601, 301, 2), (3600, 600, 6)] {
            let points = points(elapsed(seconds), seconds);
            assert_eq!((points.len(), points[0].length_us), (steps, length_s * 1_000_000), "{seconds} s");
            assert!(
                points.windows(2).all(|pair| pair[1].start_us == pair[0].start_us + pair[0].length_us as i64)
            );
        }
        let unknown = points(Until::PerClient(1), 3600);
        assert!(unknown.len() < 1600 && unknown[599].length_us == 1_000_000, "{}", unknown.len());
        assert!(
            unknown.windows(2).all(|pair| pair[1].start_us == pair[0].start_us + pair[0].length_us as i64)
        );
        assert_eq!(unknown.last().unwrap().length_us, 8_000_000);
    }

    #[test]
    fn with_many_scripts_there_are_fewer_steps() {
        let hour = Until::Elapsed(3600 * SECOND_NS.unsigned_abs());
        let steps = |until, scripts| {
            3600 * SECOND_NS
                / match Lengths::of(until, scripts) {
                    Lengths::Alike(length) => length,
                    Lengths::Growing { steps } => 3600 * SECOND_NS / steps,
                }
        };
        assert_eq!([1, 100, 300, 1000].map(|scripts| steps(hour, scripts)), [600, 600, 200, 60]);
        assert_eq!([1, 1000].map(|scripts| steps(Until::PerClient(1), scripts)), [600, 60]);
    }

    /// Distributions of 200 kB for each second and script piled up.
    #[test]
    #[cfg(target_os = "linux")]
    fn memory_stays_the_same_however_long_a_run_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut series = Series::of(Until::PerClient(1), 4, Some(&folder.path().join("r.sqlite"))).unwrap();
        let mut second = second(0, 4);
        let mut add = |from: i64, to: i64| {
            for number in from..to {
                second.start_ns = number * SECOND_NS;
                series.add(&second);
            }
        };
        add(0, 10);
        let early = resident_kib();
        add(10, 300);
        let growth = resident_kib() - early;
        // 290 times 4 would have been 255 MB; other tests run at the same time.
        assert!(growth < 100_000, "{growth} KiB more");
        assert_eq!(series.into_parts().0.len(), 4 * 300);
    }

    #[cfg(target_os = "linux")]
    fn resident_kib() -> i64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}
