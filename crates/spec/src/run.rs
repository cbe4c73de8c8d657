//! A run: one measurement, or one job. Nothing in it is derived: percentiles, means and comparisons are made when reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::Histogram;

use crate::explained::StatementPlan;
use crate::figures::{self, Counters, Figures};
use crate::job::{Phase, Relation};
use crate::map::{MapPart, TileFigures, TileSample};
use crate::profile::Profile;
use crate::sample::Sample;
use crate::slice::Slice;
use crate::surroundings::Setting;
use crate::verdict::{Doubt, Reason, Validity};

/// One measurement of one cell and arm, or one job; stored as it ends.
#[derive(Debug, Clone)]
pub struct Run {
    /// Identity across files.
    pub uuid: String,
    pub kind: RunKind,
    /// The workload's name in the experiment file (`polygons`, `tpcb`; for `bench`: the script names).
    pub workload: String,
    /// All factors but the compared one, `workload` and `clients` among them: name to level.
    pub factors: BTreeMap<String, String>,
    /// Arm; `None` for runs beside the grid and experiments without comparison.
    pub arm: Option<String>,
    /// Round, from 1; 0 for preparation jobs.
    pub round: u32,
    /// Position in the order of execution over the whole experiment, from 0.
    pub sequence: u32,
    /// 1 or 2 (or more): which arm of its pair came first.
    pub position_in_pair: u32,
    /// Whether it ran beside the grid: its figures stand for themselves, and are no arm's and no cell's.
    pub beside: bool,
    /// Which of the invocations of the program that the experiment took, from 1.
    pub invocation: u32,
    /// UTC, RFC 3339.
    pub started_at: String,
    pub load: Load,
    /// Offered rate, transactions per second, the mean of the measured part where it changed; open load only.
    pub offered_rate: Option<f64>,
    /// Clients; 0 for jobs.
    pub clients: u32,
    /// Threads; 0 for jobs.
    pub threads: u32,
    pub driver: String,
    pub seed: u64,
    pub warmup_s: f64,
    /// Length of the measured part, seconds; in slices, how long a client was at work on average.
    pub measured_s: f64,
    pub validity: Validity,
    pub doubts: Vec<Doubt>,
    /// Why it is to be measured again, where it is: it stays as it is, and does not count as done.
    pub set_aside: Option<String>,
    /// Counters over all scripts.
    pub counts: Counters,
    pub figures: Figures,
    /// In force; stored once per distinct set.
    pub settings: Vec<Setting>,
    pub scripts: Vec<ScriptRecord>,
    /// Per second (in long runs: per step of several) and script.
    pub series: Vec<SeriesPoint>,
    /// Where it took turns with other arms: its slices, in order.
    pub slices: Vec<Slice>,
    pub phases: Vec<Phase>,
    /// Plans of the statements of a sample of transactions, taken beside the measured part, in the first round of an arm.
    pub plans: Vec<StatementPlan>,
    /// Sizes of relations after the run (jobs: after loading).
    pub relations: Vec<Relation>,
    /// Single tiles that were asked for in the measured part. Written with the run, and not read with it: there are many.
    pub tiles: Vec<TileFigures>,
    /// What tiles of a sample hold, by script.
    pub tile_samples: Vec<TileSample>,
    /// Files kept with it (sample tiles, plans, logs).
    pub artifacts: Vec<Artifact>,
    /// Things that happened, in order.
    pub events: Vec<RunEvent>,
    /// What collectors read while it lasted, in the order it was read.
    pub samples: Vec<Sample>,
}

impl Run {
    /// What identifies it inside its experiment.
    #[must_use]
    pub fn key(&self) -> RunKey {
        RunKey {
            workload: self.workload.clone(),
            factors: self.factors.clone(),
            arm: self.arm.clone(),
            round: self.round,
        }
    }

    /// What says that the load generator or its host reached its own limit. Arrivals that started late count where that is why a promise
    /// was broken, as `broken_by_lag` tells.
    #[must_use]
    pub fn generators_doubt(&self, broken_by_lag: impl Fn() -> bool) -> Option<&Doubt> {
        let of = |reason: Reason| self.doubts.iter().find(|doubt| doubt.reason == reason);
        of(Reason::ClientSaturated).or_else(|| of(Reason::ScheduleLate).filter(|_| broken_by_lag()))
    }

    /// Whether it is invalid only since too much of it failed or was never in time, and no client gave up: no figure of
    /// speed, and an answer to what was promised.
    #[must_use]
    pub fn is_only_failing(&self) -> bool {
        let gave_up = || self.events.iter().any(|event| event.kind == RunEvent::ABORT);
        let otherwise = |doubt: &Doubt| {
            matches!(
                doubt.reason,
                Reason::SettingsNotApplied | Reason::EmptyResults | Reason::CacheState | Reason::Imported
            )
        };
        self.validity == Validity::Invalid
            && self.set_aside.is_none()
            && self.count(figures::DUE) > 0
            && !gave_up()
            && !self.doubts.is_empty()
            && !self.doubts.iter().any(otherwise)
    }

    /// Its rate as time went by, where that changed.
    #[must_use]
    pub fn changing_rate(&self) -> Option<Profile> {
        let told = self.events.iter().find(|event| event.kind == RunEvent::RATE)?;
        told.detail.parse().ok().filter(|profile: &Profile| !profile.is_constant())
    }

    /// One of which nothing is known but what it is: closed load, no clients, nothing measured, nothing against it.
    #[must_use]
    pub fn new(kind: RunKind, key: RunKey) -> Self {
        let RunKey { workload, factors, arm, round } = key;
        Self {
            uuid: uuid::Uuid::new_v4().to_string(),
            kind,
            workload,
            factors,
            arm,
            round,
            sequence: 0,
            position_in_pair: 1,
            beside: false,
            invocation: 1,
            started_at: String::new(),
            load: Load::Closed,
            offered_rate: None,
            clients: 0,
            threads: 0,
            driver: String::new(),
            seed: 0,
            warmup_s: 0.0,
            measured_s: 0.0,
            validity: Validity::Valid,
            doubts: Vec::new(),
            set_aside: None,
            counts: Counters::default(),
            figures: Figures::default(),
            settings: Vec::new(),
            scripts: Vec::new(),
            series: Vec::new(),
            slices: Vec::new(),
            phases: Vec::new(),
            plans: Vec::new(),
            relations: Vec::new(),
            tiles: Vec::new(),
            tile_samples: Vec::new(),
            artifacts: Vec::new(),
            events: Vec::new(),
            samples: Vec::new(),
        }
    }
}

/// What identifies a run inside its experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    pub workload: String,
    /// All factors but the compared one.
    pub factors: BTreeMap<String, String>,
    /// Arm, where something is compared.
    pub arm: Option<String>,
    /// Round, from 1; 0 for preparation.
    pub round: u32,
}

/// What kind of thing a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Clients driven by the engine.
    Client,
    /// A program or SQL run once to its end (OSM load, `pgbench -i`).
    Job,
}

/// How a workload is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Clients, as fast as they can.
    Closed,
    /// Open: arrivals on a schedule.
    Rate,
    /// Sessions with think time.
    Users,
    /// A program or SQL, once to its end.
    Job,
}

/// One script's figures in a run.
#[derive(Debug, Clone)]
pub struct ScriptRecord {
    /// File or builtin name.
    pub name: String,
    /// Hash of its text, hex.
    pub text_hash: String,
    pub weight: u32,
    /// Which part of a map it asks for; `None` of what asks for no map.
    pub part: Option<MapPart>,
    /// Counters as in [`Run::counts`].
    pub counts: Counters,
    /// From intended start to end.
    pub response: Histogram,
    /// From actual start to end.
    pub service: Histogram,
}

/// One second of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPoint {
    /// Index into [`Run::scripts`].
    pub script: u32,
    /// µs since the start of the measured part.
    pub start_us: i64,
    pub length_us: u64,
    /// Succeeded within the promise; all successes, when there is none.
    pub ok: u64,
    pub late: u64,
    pub failed: u64,
    pub skipped: u64,
}

/// A file kept with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Name, e.g. `tile/14/8851/6439`.
    pub name: String,
    /// `application/vnd.mapbox-vector-tile`, `application/json`, `text/plain`.
    pub media_type: String,
    /// What it shows, in words.
    pub caption: String,
    pub bytes: Vec<u8>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// µs since the start of the measured part.
    pub time_us: i64,
    /// `outage`, `remark`, `version`, `reused`, `imported`, ...
    pub kind: String,
    /// In words.
    pub detail: String,
}

impl RunEvent {
    /// Kind of the event that says how a rate changed, as it was written.
    pub const RATE: &'static str = "rate";
    /// Kind of the event that says what an arm answers otherwise than the base.
    pub const OTHER_ANSWERS: &'static str = "other answers";
    /// Kind of those that say that an arm answers as the base does.
    pub const SAME_ANSWERS: &'static str = "same answers";
    /// Kind of the event that says the same for programs: an [`AnswerDifference`](crate::AnswerDifference) in JSON, one for each
    /// script.
    pub const ANSWER_DIFFERENCE: &'static str = "answer difference";
    /// Kind of the event that says that an arm did not ask for what was chosen from the base's data.
    pub const OWN_CHOICE: &'static str = "own choice";
    /// Kind of the event that says that a run was measured again, which time, and why: the former one counts no more.
    pub const AGAIN: &'static str = "measured again";
    /// Kind of the event that says that a client gave up, and why.
    pub const ABORT: &'static str = "abort";
    /// Why another run was measured in its place, since the machine disturbed this one.
    pub const SUPERSEDED: &'static str = "superseded";
    /// Kind of the event that says what is inferred of the CPU credits of the server's host.
    pub const CREDITS: &'static str = "credits";
    /// Kind of the event that says why arms that were to take turns did not.
    pub const UNCUT: &'static str = "uncut";
    /// Kind of the event that says why arms took turns in slices where what one does in the background is another's burden.
    pub const SLICED_ALL_THE_SAME: &'static str = "sliced all the same";
    /// Kind of the event that says in how many slices, of what length, a run took turns.
    pub const SLICED: &'static str = "slices";
    /// Kind of the event that says on which CPUs the processes of all arms were put by turns.
    pub const SPREAD: &'static str = "spread";
    /// Kind of the event that says what was noticed of what a workload asks for, before it was timed.
    pub const REMARK: &'static str = "remark";
    /// Kind of the event that says of which statements no plan was taken, and why.
    pub const NO_PLANS: &'static str = "no plans";
    /// Kind of the event that says which of several servers a run was done on, such as a copy.
    pub const SERVER: &'static str = "server";
}
