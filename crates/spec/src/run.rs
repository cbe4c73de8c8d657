//! A run: one measurement, or one job. Nothing in it is derived: percentiles, means and comparisons are
//! computed when reading.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stats::Histogram;

use crate::explained::StatementPlan;
use crate::figures::{self, Counters, Figures};
use crate::job::{Phase, Relation};
use crate::map::{MapPart, TileFigures, TileProbe, TileSample};
use crate::part::RunPart;
use crate::profile::Profile;
use crate::sample::Sample;
use crate::slice::Slice;
use crate::surroundings::{Host, Setting};
use crate::users::SessionTimes;
use crate::verdict::{Doubt, Reason, Validity};

/// One measurement of one cell and arm, or one job; stored when it ends.
#[derive(Debug, Clone)]
pub struct Run {
    /// Identity across files.
    pub uuid: String,
    pub kind: RunKind,
    /// The workload's name in the experiment file (`polygons`, `tpcb`; for `bench`: the script names).
    pub workload: String,
    /// All factors except the compared one, name to level; includes `workload` and `clients`.
    pub factors: BTreeMap<String, String>,
    /// `None` outside the grid and in experiments without comparison.
    pub arm: Option<String>,
    /// Round, from 1; 0 for preparation jobs.
    pub round: u32,
    /// Position in the order of execution over the whole experiment, from 0.
    pub sequence: u32,
    /// Position in its pair, from 1.
    pub position_in_pair: u32,
    /// Whether it ran outside the grid: its figures belong to no arm and no cell.
    pub beside: bool,
    /// Which invocation of the program within the experiment, from 1.
    pub invocation: u32,
    /// UTC, RFC 3339.
    pub started_at: String,
    pub load: OfferedLoad,
    /// Offered rate, transactions per second; the mean of the measured part if it changed; open load only.
    pub offered_rate: Option<f64>,
    /// Clients; 0 for jobs.
    pub clients: u32,
    /// Threads; 0 for jobs.
    pub threads: u32,
    pub driver: String,
    pub seed: u64,
    pub warmup_s: f64,
    /// Length of the measured part, seconds; in slices, mean time at work per client.
    pub measured_s: f64,
    pub validity: Validity,
    pub doubts: Vec<Doubt>,
    /// Why it is measured again, if it is: the run stays stored, but does not count as done.
    pub set_aside: Option<String>,
    pub counts: Counters,
    pub figures: Figures,
    /// In force; stored once per distinct set, which the runs of an experiment share.
    pub settings: Arc<[Setting]>,
    pub scripts: Vec<ScriptRecord>,
    /// How long sessions of users took; users only.
    pub sessions: Option<SessionTimes>,
    /// Per second (in long runs: several seconds) and script.
    pub series: Vec<SeriesPoint>,
    /// Its slices, in order, if it took turns with other arms.
    pub slices: Vec<Slice>,
    pub phases: Vec<Phase>,
    /// Plans of the statements of sampled transactions, taken outside the measured part in an arm's first
    /// round.
    pub plans: Vec<StatementPlan>,
    /// Sizes of relations after the run (jobs: after loading).
    pub relations: Vec<Relation>,
    /// Single tiles requested in the measured part. Stored with the run, but loaded separately because of
    /// their number.
    pub tiles: Vec<TileFigures>,
    pub tile_samples: Vec<TileSample>,
    pub tile_probes: Vec<TileProbe>,
    /// Files kept with it (sample tiles, plans, logs).
    pub artifacts: Vec<Artifact>,
    pub events: Vec<RunEvent>,
    /// Readings of the collectors during the run, in order.
    pub samples: Vec<Sample>,
    /// The shares of its load that are in this run, by number: none if one generator made the whole load, one if the
    /// other shares are in other files, all after merging them.
    pub parts: Vec<RunPart>,
    /// The host that made the load, if it is not its experiment's. The runs of an experiment share it.
    pub host: Option<Arc<Host>>,
}

impl Run {
    /// Its key within the experiment.
    #[must_use]
    pub fn key(&self) -> RunKey {
        RunKey {
            workload: self.workload.clone(),
            factors: self.factors.clone(),
            arm: self.arm.clone(),
            round: self.round,
        }
    }

    /// The same, borrowed.
    #[must_use]
    pub fn borrowed_key(&self) -> RunKeyRef<'_> {
        let Self { workload, factors, arm, round, .. } = self;
        RunKeyRef { workload, factors, arm: arm.as_deref(), round: *round }
    }

    /// The doubt that the load generator or its host reached a limit. Late starts count only if they broke a
    /// promise, as `broken_by_lag` reports.
    #[must_use]
    pub fn generators_doubt(&self, broken_by_lag: impl Fn() -> bool) -> Option<&Doubt> {
        let of = |reason: Reason| self.doubts.iter().find(|doubt| doubt.reason == reason);
        of(Reason::ClientSaturated).or_else(|| of(Reason::ScheduleLate).filter(|_| broken_by_lag()))
    }

    /// Whether it is invalid only because too much failed or was never in time, and no client aborted: not a
    /// figure of speed, but an answer about the promise.
    #[must_use]
    pub fn is_only_failing(&self) -> bool {
        let gave_up = || self.events.iter().any(|event| event.kind == RunEvent::ABORT);
        let otherwise = |doubt: &Doubt| {
            matches!(
                doubt.reason,
                Reason::SettingsNotApplied
                    | Reason::EmptyResults
                    | Reason::CacheState
                    | Reason::PartMissing
                    | Reason::PartLate
                    | Reason::Imported
            )
        };
        self.validity == Validity::Invalid
            && self.set_aside.is_none()
            && self.count(figures::DUE) > 0
            && !gave_up()
            && !self.doubts.is_empty()
            && !self.doubts.iter().any(otherwise)
    }

    /// Its profile, if the rate changed over time.
    #[must_use]
    pub fn changing_rate(&self) -> Option<Profile> {
        let told = self.events.iter().find(|event| event.kind == RunEvent::RATE)?;
        told.detail.parse().ok().filter(|profile: &Profile| !profile.is_constant())
    }

    /// What a search for a limit tries: the rate, or the number of users; `None` for a run at full speed.
    #[must_use]
    pub fn tried_level(&self) -> Option<f64> {
        match self.load {
            OfferedLoad::Users => Some(f64::from(self.clients)),
            OfferedLoad::Closed | OfferedLoad::Rate | OfferedLoad::Job => self.offered_rate,
        }
    }

    /// An empty run: closed load, no clients, nothing measured, valid.
    #[must_use]
    pub fn new(kind: RunKind, key: RunKey) -> Self {
        Self::of_identity(uuid::Uuid::new_v4().to_string(), kind, key)
    }

    /// The same with its identity; making one up asks the kernel for random numbers.
    #[must_use]
    pub fn of_identity(uuid: String, kind: RunKind, key: RunKey) -> Self {
        let RunKey { workload, factors, arm, round } = key;
        Self {
            uuid,
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
            load: OfferedLoad::Closed,
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
            settings: Arc::default(),
            scripts: Vec::new(),
            sessions: None,
            series: Vec::new(),
            slices: Vec::new(),
            phases: Vec::new(),
            plans: Vec::new(),
            relations: Vec::new(),
            tiles: Vec::new(),
            tile_samples: Vec::new(),
            tile_probes: Vec::new(),
            artifacts: Vec::new(),
            events: Vec::new(),
            samples: Vec::new(),
            parts: Vec::new(),
            host: None,
        }
    }
}

/// The key of a run within its experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    pub workload: String,
    pub factors: BTreeMap<String, String>,
    pub arm: Option<String>,
    pub round: u32,
}

/// The same, borrowed: for questions about thousands of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunKeyRef<'r> {
    pub workload: &'r str,
    pub factors: &'r BTreeMap<String, String>,
    pub arm: Option<&'r str>,
    pub round: u32,
}

impl RunKey {
    /// Itself, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> RunKeyRef<'_> {
        let Self { workload, factors, arm, round } = self;
        RunKeyRef { workload, factors, arm: arm.as_deref(), round: *round }
    }
}

/// The kind of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    Client,
    /// A program or SQL, run once to its end (OSM load, `pgbench -i`).
    Job,
}

/// How load is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OfferedLoad {
    /// Clients without pauses.
    Closed,
    Rate,
    Users,
    Job,
}

/// Figures of one script in a run.
#[derive(Debug, Clone)]
pub struct ScriptRecord {
    pub name: String,
    pub text_hash: String,
    pub weight: u32,
    pub part: Option<MapPart>,
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
    pub caption: String,
    pub bytes: Vec<u8>,
}

/// An event in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// µs since the start of the measured part.
    pub time_us: i64,
    /// `outage`, `remark`, `version`, `reused`, `imported`, ...
    pub kind: String,
    pub detail: String,
}

impl RunEvent {
    /// The profile of the rate, as written.
    pub const RATE: &'static str = "rate";
    /// How an arm's answers differ from the base's.
    pub const OTHER_ANSWERS: &'static str = "other answers";
    /// An arm's answers are the same as the base's.
    pub const SAME_ANSWERS: &'static str = "same answers";
    /// The difference of answers for programs: an [`AnswerDifference`](crate::AnswerDifference) in JSON, one
    /// for each script.
    pub const ANSWER_DIFFERENCE: &'static str = "answer difference";
    /// An arm used other values than those chosen from the base's data.
    pub const OWN_CHOICE: &'static str = "own choice";
    /// A run was measured again, with its number and the reason: the previous run no longer counts.
    pub const AGAIN: &'static str = "measured again";
    /// The lines of the server's log about a crash of its process, a line each.
    pub const CRASH: &'static str = "crash";
    /// A client aborted, with the reason.
    pub const ABORT: &'static str = "abort";
    /// Why another run replaced this one: the machine disturbed it.
    pub const SUPERSEDED: &'static str = "superseded";
    /// The inferred CPU credits of the server's host.
    pub const CREDITS: &'static str = "credits";
    /// Why arms did not take turns in slices although wanted.
    pub const UNCUT: &'static str = "uncut";
    /// Why arms took turns in slices although background work of one disturbs another.
    pub const SLICED_ALL_THE_SAME: &'static str = "sliced all the same";
    /// Number and length of the slices of a run.
    pub const SLICED: &'static str = "slices";
    /// Whether the sessions of a run were new, or kept from the round before, and for how long they had worked.
    pub const SESSIONS: &str = "sessions";
    /// The CPUs on which the processes of all arms were placed in turn.
    pub const SPREAD: &'static str = "spread";
    /// A remark on a workload, made before it was timed.
    pub const REMARK: &'static str = "remark";
    /// Where its map data come from: [`RunEvent::OPEN_STREET_MAP`] or elsewhere.
    pub const MAP_SOURCE: &'static str = "map source";
    /// The detail of [`RunEvent::MAP_SOURCE`] for data of OpenStreetMap.
    pub const OPEN_STREET_MAP: &'static str = "OpenStreetMap";
    /// Statements without a plan, with the reason.
    pub const NO_PLANS: &'static str = "no plans";
    /// The server of the run, if there are several, such as copies.
    pub const SERVER: &'static str = "server";
    /// A replica of the run: how it was made, and its settings.
    pub const REPLICA: &'static str = "replica";

    /// Records where map data come from.
    #[must_use]
    pub fn map_source(is_of_osm: bool) -> Self {
        let detail = if is_of_osm { Self::OPEN_STREET_MAP } else { "elsewhere" };
        Self { time_us: 0, kind: Self::MAP_SOURCE.to_owned(), detail: detail.to_owned() }
    }
}
