//! What the program is told while an experiment runs. Only the program prints.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use spec::{Arrivals, Doubt, Promise, Run, Validity, figures};
use stats::Histogram;

/// A named step of an experiment. The first six come once (a guard for each workload, copies only where arms stand
/// side by side), the next eight for each run (settings and changes only when these change, cache only where it is a
/// factor), the last two at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Make, start or reach the servers.
    Target,
    /// Open the results file and find what is stored already.
    Results,
    /// Load the data.
    Prepare,
    /// Copy a prepared server, for arms that stand side by side.
    Copy,
    /// Start such a copy.
    Start,
    /// See that each workload has what it needs and does something.
    Guard,
    /// Bring the server to the settings of an arm.
    Settings,
    /// Do what one's own factor asks for, such as making an index.
    Change,
    /// Bring data, checkpoints and autovacuum into the state every run starts from.
    Reset,
    /// Start the server again with its data in memory or not, where a factor says so.
    Cache,
    /// Load that does not count.
    WarmUp,
    /// Load that counts.
    Measure,
    /// Read counters and judge the run.
    Collect,
    Store,
    /// Put the server's own settings back.
    Restore,
    Stop,
}

impl Step {
    /// All steps in the order they come.
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

    /// One word, as the program shows it.
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

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Version of [`LabEvent`] as it is serialised: raised when a name in it changes or goes.
pub const EVENTS_VERSION: u32 = 1;

/// What happens, told as it happens; serialised, each is an object with the kind of event under `event`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LabEvent {
    Step {
        step: Step,
        /// What is done, in words.
        what: String,
    },
    /// Something worth knowing came out of a step.
    Note {
        /// In words.
        text: String,
    },
    /// Something the user should know or change.
    Warning {
        /// In words.
        text: String,
    },
    Begin {
        /// Runs of the whole plan.
        planned: usize,
        /// Of these, stored by earlier sessions.
        stored: usize,
        /// Expected time for the rest; 0 where nothing is known of it yet. At least, where `left_at_most` says more.
        left: Duration,
        /// The most that the rest takes as a rule, where that is not known better.
        #[serde(default)]
        left_at_most: Option<Duration>,
        results: PathBuf,
    },
    RunStarted {
        /// Its number in the plan, from 1.
        number: usize,
        /// Runs of the whole plan.
        planned: usize,
        /// In words, e.g. `polygons, 4 clients, gis, round 3`.
        what: String,
        /// Warm-up and measured part together.
        takes: Duration,
        /// What comes after it.
        next: Option<String>,
        /// Expected time from now to the end of the experiment.
        left: Duration,
    },
    /// A second of load is over.
    Second {
        run: String,
        /// µs from the start of the measured part; negative during warm-up.
        start_us: i64,
        /// µs; the last one may be shorter than a second.
        length_us: u64,
        /// One entry per script.
        scripts: Vec<ScriptSecond>,
    },
    /// A run was judged and stored.
    RunFinished {
        run: String,
        /// Its number in the plan, from 1.
        number: usize,
        /// Runs of the whole plan.
        planned: usize,
        /// In words.
        what: String,
        /// Successful transactions per second; 0 of a job.
        tps: f64,
        /// How long a job took, seconds.
        #[serde(default)]
        took_s: Option<f64>,
        /// Mean response time, ms; `None` without a success.
        latency_mean_ms: Option<f64>,
        /// 99th percentile of response time, ms; `None` without a success.
        latency_p99_ms: Option<f64>,
        /// Whether it took turns with other arms, so that response times are from slices.
        #[serde(default)]
        sliced: bool,
        /// Commands per second, where a transaction is a pipeline of several.
        #[serde(default)]
        commands_per_s: Option<f64>,
        /// Share of what was looked for in a cache and found there, percent, where it may be missing.
        #[serde(default)]
        hit_pct: Option<f64>,
        /// What became of its arrivals; open load only.
        arrivals: Option<Box<Arrivals>>,
        /// How its promise was kept; only where there is one.
        promise: Option<Promise>,
        /// Of a trial of a search that counts.
        #[serde(default)]
        trial: Option<Trial>,
        /// Whether it can be believed.
        validity: Validity,
        doubts: Vec<Doubt>,
        /// Expected time to the end of the experiment.
        left: Duration,
    },
    /// A preparation job is over.
    JobFinished {
        /// In words.
        what: String,
        /// How long it took, when it was done.
        took: Duration,
        /// Whether its result was there already.
        reused: bool,
    },
}

/// What became of one script in one second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScriptSecond {
    /// Succeeded within the promise; all successes, when there is none.
    pub ok: u64,
    pub late: u64,
    /// Failed after their last try.
    pub failed: u64,
    pub skipped: u64,
    /// Tried again, whatever became of them.
    #[serde(default)]
    pub retried: u64,
    /// Tries beyond the first.
    #[serde(default)]
    pub retries: u64,
    /// Sum of the lags of what succeeded, ns.
    #[serde(default)]
    pub lag_ns: f64,
    /// Response times of what succeeded.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub response: Histogram,
}

/// V2 of HdrHistogram with its exact sums, which the encoding does not hold.
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
    /// A second of load, of the run of this identity.
    pub(crate) fn second(run: &str, second: &engine::Second) -> Self {
        let script = |figures: &engine::ScriptFigures| ScriptSecond {
            ok: figures.in_time(),
            late: figures.counts.late,
            failed: figures.counts.failed,
            skipped: figures.counts.skipped,
            retried: figures.counts.retried,
            retries: figures.counts.retries,
            lag_ns: figures.response.sum_ns().saturating_sub(figures.service.sum_ns()) as f64,
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

/// How a trial of a search kept the promise.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    pub kept: bool,
    /// Share of what was offered that broke the term which was kept worst, percent.
    pub bad_pct: f64,
    /// Share of arrivals that still waited at the end or were skipped, percent, where that alone breaks every promise.
    pub left_pct: Option<f64>,
}

/// Is told what happens.
pub trait Progress {
    /// Called on the thread that runs the experiment; what takes long here delays it.
    fn event(&mut self, event: LabEvent);
}

/// Hears nothing.
impl Progress for () {
    fn event(&mut self, _event: LabEvent) {}
}

impl<F: FnMut(LabEvent)> Progress for F {
    fn event(&mut self, event: LabEvent) {
        self(event);
    }
}

/// Shorthands for the events that are told often.
pub(crate) trait Tell {
    fn step(&mut self, step: Step, what: impl Into<String>);
    fn note(&mut self, text: impl Into<String>);
    fn warn(&mut self, text: impl Into<String>);
}

impl Tell for &mut dyn Progress {
    fn step(&mut self, step: Step, what: impl Into<String>) {
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
