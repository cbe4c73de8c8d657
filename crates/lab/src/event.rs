//! Events of an experiment in progress. Only the program prints.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use spec::{Arrivals, Doubt, Promise, Run, Validity, figures};
use stats::Histogram;

/// A named step of an experiment. The first six come once (a guard for each workload; copies only if arms
/// have their own servers), the next eight for each run (settings and changes only when these change, cache
/// only as a factor), the last two at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentStep {
    Target,
    Results,
    Prepare,
    /// Copy a prepared server for arms with separate servers.
    Copy,
    Start,
    /// Check that each workload has what it needs and does something.
    Guard,
    Settings,
    Change,
    /// Bring data, checkpoints and autovacuum to the same state before every run.
    Reset,
    /// Restart the server with its data in memory or not, if a factor requires it.
    Cache,
    WarmUp,
    Measure,
    Collect,
    Store,
    Restore,
    Stop,
}

impl ExperimentStep {
    /// All steps in order.
    pub const ALL: [Self; 16] = [
        Self::Target,
        Self::Results,
        Self::Prepare,
        Self::Copy,
        Self::Start,
        Self::Guard,
        Self::Settings,
        Self::Change,
        Self::Reset,
        Self::Cache,
        Self::WarmUp,
        Self::Measure,
        Self::Collect,
        Self::Store,
        Self::Restore,
        Self::Stop,
    ];

    /// One word for display.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Results => "results",
            Self::Prepare => "prepare",
            Self::Copy => "copy",
            Self::Start => "start",
            Self::Guard => "guard",
            Self::Settings => "settings",
            Self::Change => "change",
            Self::Reset => "reset",
            Self::Cache => "cache",
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
            Self::Collect => "collect",
            Self::Store => "store",
            Self::Restore => "restore",
            Self::Stop => "stop",
        }
    }
}

impl fmt::Display for ExperimentStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Version of the serialised [`LabEvent`]: raised when a name in it changes or is removed.
pub const EVENTS_VERSION: u32 = 1;

/// An event, sent as it happens. Serialised, each is an object with its kind under `event`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LabEvent {
    Step {
        step: ExperimentStep,
        what: String,
    },
    Note {
        text: String,
    },
    Warning {
        text: String,
    },
    Begin {
        planned: usize,
        /// Runs stored by earlier invocations.
        stored: usize,
        /// Expected remaining time; 0 if unknown. A lower bound if `left_at_most` is set.
        left: Duration,
        /// Usual upper bound of the remaining time, if the exact one is unknown.
        #[serde(default)]
        left_at_most: Option<Duration>,
        results: PathBuf,
    },
    RunStarted {
        number: usize,
        planned: usize,
        /// Text, e.g. `polygons, 4 clients, gis, round 3`.
        what: String,
        takes: Duration,
        next: Option<String>,
        left: Duration,
    },
    Second {
        run: String,
        /// µs from the start of the measured part; negative during warm-up.
        start_us: i64,
        /// µs; the last one may be shorter than a second.
        length_us: u64,
        scripts: Vec<ScriptSecond>,
    },
    RunFinished {
        run: String,
        number: usize,
        planned: usize,
        what: String,
        /// Successful transactions per second; 0 for a job.
        tps: f64,
        /// Duration of a job, seconds.
        #[serde(default)]
        took_s: Option<f64>,
        /// Mean response time, ms; `None` without a success.
        latency_mean_ms: Option<f64>,
        /// 99th percentile of response time, ms; `None` without a success.
        latency_p99_ms: Option<f64>,
        /// Whether it took turns with other arms, so that response times are from slices.
        #[serde(default)]
        sliced: bool,
        /// Commands per second, if a transaction is a pipeline of several.
        #[serde(default)]
        commands_per_s: Option<f64>,
        /// Cache hits as a share of lookups, percent, if the data may be missing there.
        #[serde(default)]
        hit_pct: Option<f64>,
        /// Open load only.
        arrivals: Option<Box<Arrivals>>,
        promise: Option<Promise>,
        /// For a trial of a search that counts.
        #[serde(default)]
        trial: Option<Trial>,
        validity: Validity,
        doubts: Vec<Doubt>,
        left: Duration,
    },
    JobFinished {
        what: String,
        /// When it was done.
        took: Duration,
        reused: bool,
    },
}

/// Counts of one script in one second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScriptSecond {
    /// Succeeded within the promise; without a promise, all successes.
    pub ok: u64,
    pub late: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Transactions with at least one further try, whatever the outcome.
    #[serde(default)]
    pub retried: u64,
    #[serde(default)]
    pub retries: u64,
    /// Sum of the lags of successful transactions, ns.
    #[serde(default)]
    pub lag_ns: f64,
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub response: Histogram,
}

/// HdrHistogram V2 with exact sums, which the encoding does not hold.
#[derive(Serialize, Deserialize)]
struct Encoded {
    v2: Vec<u8>,
    sum_ns: String,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

fn encode<S: Serializer>(histogram: &Histogram, serializer: S) -> Result<S::Ok, S::Error> {
    let stats::Encoded { v2, sum_ns, sum_squares, min_ns, max_ns, .. } = histogram.encoded();
    let (min_ns, max_ns) = (min_ns.unwrap_or(u64::MAX), max_ns.unwrap_or(0));
    Encoded { v2, sum_ns: sum_ns.to_string(), sum_squares, min_ns, max_ns }.serialize(serializer)
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
    use serde::de::Error;
    let Encoded { v2, sum_ns, sum_squares, min_ns, max_ns } = Encoded::deserialize(deserializer)?;
    let sum_ns = sum_ns.parse().map_err(D::Error::custom)?;
    Histogram::decode(&v2, sum_ns, sum_squares, min_ns, max_ns).map_err(D::Error::custom)
}

impl LabEvent {
    /// A second of load, for the run with this identity.
    pub(crate) fn second(run: &str, second: &engine::Second) -> Self {
        let script = |figures: &engine::ScriptFigures| ScriptSecond {
            ok: figures.in_time(),
            late: figures.counts.late,
            failed: figures.counts.failed,
            skipped: figures.counts.skipped,
            retried: figures.counts.retried,
            retries: figures.counts.retries,
            lag_ns: figures.response.sum_ns().saturating_sub(figures.service().sum_ns()) as f64,
            response: figures.response.clone(),
        };
        Self::Second {
            run: run.to_owned(),
            start_us: second.start_ns / 1000,
            length_us: second.length_ns / 1000,
            scripts: second.scripts.iter().map(script).collect(),
        }
    }

    pub(crate) fn finished(run: &Run, number: usize, planned: usize, what: String, left: Duration) -> Self {
        let response = run.response();
        Self::RunFinished {
            run: run.uuid.clone(),
            number,
            planned,
            what,
            tps: run.tps().unwrap_or_default(),
            took_s: run.took_s(),
            latency_mean_ms: response.mean_ns().map(|ns| ns / 1e6),
            latency_p99_ms: response.percentile_ns(0.99).map(|ns| ns as f64 / 1e6),
            sliced: run.is_sliced(),
            commands_per_s: run.commands_per_s(),
            hit_pct: run.hit_pct(),
            arrivals: Arrivals::of(run).map(Box::new),
            promise: Promise::of(run),
            trial: trial(run),
            validity: run.validity,
            doubts: run.doubts.clone(),
            left,
        }
    }
}

fn trial(run: &Run) -> Option<Trial> {
    Some(Trial {
        kept: run.figures.get(figures::PROMISE_KEPT)? > 0.5,
        bad_pct: run.figures.get(figures::PROMISE_BAD_PCT)?,
        left_pct: run.figures.get(figures::PROMISE_LEFT_PCT),
    })
}

/// How well a trial of a search kept the promise.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    pub kept: bool,
    /// Share of the offered transactions that broke the worst kept term, percent.
    pub bad_pct: f64,
    /// Share of arrivals that still waited at the end or were skipped, percent, if that alone breaks every
    /// promise.
    pub left_pct: Option<f64>,
}

/// Receives the events of an experiment in progress, in order.
pub trait Progress {
    /// Called on the thread that runs the experiment; a slow receiver delays it.
    fn event(&mut self, event: LabEvent);
}

impl Progress for () {
    fn event(&mut self, _event: LabEvent) {}
}

impl<F: FnMut(LabEvent)> Progress for F {
    fn event(&mut self, event: LabEvent) {
        self(event);
    }
}

pub(crate) trait ProgressExt {
    fn step(&mut self, step: ExperimentStep, what: impl Into<String>);
    fn note(&mut self, text: impl Into<String>);
    fn warn(&mut self, text: impl Into<String>);
}

impl ProgressExt for &mut dyn Progress {
    fn step(&mut self, step: ExperimentStep, what: impl Into<String>) {
        self.event(LabEvent::Step { step, what: what.into() });
    }

    fn note(&mut self, text: impl Into<String>) {
        self.event(LabEvent::Note { text: text.into() });
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.event(LabEvent::Warning { text: text.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_survives_serialisation_with_its_distribution() {
        let mut figures = engine::ScriptFigures::default();
        (figures.counts.ok, figures.completed) = (3, 3);
        [100_000, 2_000_000, 3_000_000_000].into_iter().for_each(|ns| figures.response.record(ns));
        let second = engine::Second {
            start_ns: -1_000_000_000,
            length_ns: 1_000_000_000,
            scripts: vec![figures],
            ..engine::Second::default()
        };
        let event = LabEvent::second("a-run", &second);
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(
            (&json["event"], &json["run"], &json["start_us"]),
            (&"second".into(), &"a-run".into(), &(-1_000_000).into())
        );
        let again: LabEvent = serde_json::from_value(json).unwrap();
        let LabEvent::Second { scripts, .. } = again else { panic!("another event") };
        assert_eq!((scripts[0].ok, scripts[0].response.count()), (3, 3));
        assert_eq!(scripts[0].response.curve(), second.scripts[0].response.curve());
    }
}
