//! What the program is told while an experiment runs. Only the program prints.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use record::{Arrivals, Doubt, Promise, Validity};

/// A named step of an experiment. The first four come once (a guard for each workload), the next six for each run
/// (settings only when the arm changes), the last two at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Make, start or reach the servers.
    Target,
    /// Open the results file and find what is stored already.
    Results,
    /// Load the data.
    Prepare,
    /// See that each workload has what it needs and does something.
    Guard,
    /// Bring the server to the settings of an arm.
    Settings,
    /// Bring data, checkpoints and autovacuum into the state every run starts from.
    Reset,
    /// Load that does not count.
    WarmUp,
    /// Load that counts.
    Measure,
    /// Read counters and judge the run.
    Collect,
    /// Store the run.
    Store,
    /// Put the server's own settings back.
    Restore,
    /// Stop what was started.
    Stop,
}

impl Step {
    /// All steps in the order they come.
    pub const ALL: [Self; 12] = [
        Self::Target,
        Self::Results,
        Self::Prepare,
        Self::Guard,
        Self::Settings,
        Self::Reset,
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
            Self::Guard => "guard",
            Self::Settings => "settings",
            Self::Reset => "reset",
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

/// What happens, told as it happens.
#[derive(Debug, Clone, PartialEq)]
pub enum LabEvent {
    /// A step begins.
    Step {
        /// Which.
        step: Step,
        /// What is done, in words.
        what: String,
    },
    /// Something worth knowing came out of a step.
    Note(String),
    /// Something the user should know or change.
    Warning(String),
    /// The runs begin.
    Begin {
        /// Runs of the whole plan.
        planned: usize,
        /// Of these, stored by earlier sessions.
        stored: usize,
        /// Expected time for the rest.
        left: Duration,
        /// The results file.
        results: PathBuf,
    },
    /// A run begins.
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
        /// From the start of the measured part; `None` during warm-up.
        elapsed: Option<Duration>,
        /// Successful transactions per second in it.
        tps: f64,
        /// Mean response time in it, ms; `None` without a success.
        latency_ms: Option<f64>,
        /// Failed transactions in it.
        failed: u64,
        /// Transactions in it that succeeded late.
        late: u64,
        /// Arrivals skipped in it.
        skipped: u64,
    },
    /// A run was judged and stored.
    RunFinished {
        /// Its number in the plan, from 1.
        number: usize,
        /// Runs of the whole plan.
        planned: usize,
        /// In words.
        what: String,
        /// Successful transactions per second.
        tps: f64,
        /// Mean response time, ms; `None` without a success.
        latency_mean_ms: Option<f64>,
        /// 99th percentile of response time, ms; `None` without a success.
        latency_p99_ms: Option<f64>,
        /// What became of its arrivals; open load only.
        arrivals: Option<Arrivals>,
        /// How its promise was kept; only where there is one.
        promise: Option<Promise>,
        /// Whether it can be believed.
        validity: Validity,
        /// Why not.
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
        self.event(LabEvent::Note(text.into()));
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.event(LabEvent::Warning(text.into()));
    }
}
