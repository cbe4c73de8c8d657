//! The interface between `lab` and a workload: what all have in common, and what clients and jobs add.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use engine::{Client, Gaps};
use spec::figures::Figures;
use spec::{Artifact, Counts, Error, MapPart, TextKind, TileProbe, TileSample};

use crate::answers::Sampled;
use crate::each::Each;
use crate::jobs::Job;
use crate::pgbench::Rows;
use crate::place::{Places, Site};
use crate::plans::SamplePlans;
use crate::tiles::Tile;

/// What to look at when a script never returns anything.
pub const EMPTY_SCRIPT: &str = "look at conditions and variables";
/// What to look at when a web server never returns anything.
pub(crate) const EMPTY_WEB: &str =
    "look at the path of the URL, at the zooms, and at what the web server has";

/// One script, layer or command, as counted in `TransactionOutcome::script`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptInfo {
    /// File as given, `<builtin: …>` as in pgbench, table or command.
    pub name: String,
    /// SHA-256 of its text, hex.
    pub text_hash: String,
    /// Relative frequency; ignored with one script.
    pub weight: u32,
    /// The part of a map it requests, if any.
    pub part: Option<MapPart>,
}

/// A tile with separate figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileItem {
    /// Index into [`Workload::scripts`].
    pub script: u16,
    pub tile: Tile,
}

/// A text that defines a workload's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestText {
    /// File as given, or its subject.
    pub name: String,
    pub kind: TextKind,
    pub text: Vec<u8>,
}

/// One command of a script, for latencies per statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementInfo {
    /// Index into [`Workload::scripts`].
    pub script: usize,
    /// First line of its text.
    pub text: String,
}

/// What `prepare` chose; the same for every arm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// SHA-256 of `json`, hex.
    pub hash: String,
    pub json: String,
    /// In words, e.g. `400 tiles of planet_osm_polygon, z12-z16`.
    pub summary: String,
    /// Rows of variables: too many for `json`, which has their hash.
    pub rows: Option<Arc<Rows>>,
}

/// The result of the guard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guarded {
    pub rows: u64,
    /// Payload bytes returned.
    pub bytes: u64,
    pub figures: Figures,
    /// What tiles hold, by script.
    pub samples: Vec<TileSample>,
    /// How long tiles took, by script.
    pub probes: Vec<TileProbe>,
    /// Why every figure of such a run would be meaningless; `None` when the workload does something, and when
    /// only its runs can show it.
    pub empty: Option<String>,
    /// What users should know before they see a figure.
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
    /// Whether its map data come from OpenStreetMap; `None` without map data.
    pub is_of_osm: Option<bool>,
}

/// Attached to the error of a guard at whose request the connection ended: over another connection it leaves that
/// request out.
#[derive(Debug, Clone, Copy)]
pub struct GuardAgain;

/// The clients of a run: their number, and the distribution of their random streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clients {
    /// At least 1.
    pub count: usize,
    /// Threads of the engine; the first clients are on the first thread, as evenly as possible.
    pub threads: usize,
    /// Seed of this run's random numbers.
    pub seed: u64,
    /// Whether clients report the latency of each statement.
    pub statements: bool,
}

impl Clients {
    /// The actual clients and threads: at least one client, and no thread without one.
    #[must_use]
    pub(crate) fn seats(&self) -> (usize, usize) {
        let clients = self.count.max(1);
        (clients, self.threads.clamp(1, clients))
    }
}

/// What a workload needs from its connections; a pooler may not support it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadNeeds {
    /// Statements are prepared once by name and reused.
    pub prepared: bool,
    /// Transactions of several statements.
    pub transaction_blocks: bool,
    /// A connection for each transaction.
    pub reconnects: bool,
}

/// The common part of all workloads.
///
/// `lab` calls, per experiment: `check`, `prepare`, `guard` (once per arm is enough), `artifacts`; per run:
/// `reset`, then [`ClientWorkload::clients`] or [`JobWorkload::job`]; in the end `conclude`. `scripts` never
/// changes.
pub trait Workload: Send {
    /// The separately counted parts, in the order of `TransactionOutcome::script`.
    fn scripts(&self) -> Vec<ScriptInfo>;

    /// The texts that define its requests, including files; generated ones exist only after `prepare`.
    fn texts(&self) -> Vec<RequestText> {
        Vec::new()
    }

    /// What it needs from its connections.
    fn carried(&self) -> LoadNeeds {
        LoadNeeds::default()
    }

    /// A request that belongs to a session and not to a transaction, with its position; `None` if there is
    /// none.
    fn of_session(&self) -> Option<String> {
        None
    }

    /// Checks what can be checked without a server: called before one is started.
    ///
    /// # Errors
    /// What is wrong, and what to try.
    fn check_texts(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether its transactions change data, as far as known without a server.
    fn writes(&self) -> bool {
        false
    }

    /// Whether the user allowed empty results.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// What to look at when it never returns anything.
    fn advice_on_empty(&self) -> &'static str {
        EMPTY_SCRIPT
    }

    /// Whether it uses a Redis server, whose counters then belong to its runs.
    fn asks_redis(&self) -> bool {
        false
    }

    /// Whether it uses a web server that pgdyno did not start.
    fn asks_web(&self) -> bool {
        false
    }

    /// Figures of a run that only the workload can make of what was counted, in the order of its scripts.
    fn figures(&self, _counts: &[Counts]) -> Figures {
        Figures::default()
    }

    /// Checks that the target has what the workload needs.
    ///
    /// # Errors
    /// What is missing, and what to try.
    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error>;

    /// Chooses the requests. The same data and seed give the same choice.
    ///
    /// # Errors
    /// When nothing can be chosen or the server refuses.
    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, Error>;

    /// Takes another arm's choice instead of choosing; returns its own.
    ///
    /// # Errors
    /// When it is not a choice of such a workload.
    fn adopt(&mut self, chosen: &Prepared) -> Result<Prepared, Error> {
        Ok(chosen.clone())
    }

    /// Puts the workload's own data into the initial state of every run; returns remarks (as pgbench, which
    /// continues when its tables cannot be vacuumed).
    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, Error>;

    /// Checks, on the control connection and outside the timed part, that the workload does something.
    ///
    /// # Errors
    /// When the first execution fails.
    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, Error>;

    /// Executes what goes to a replica once on one, where nothing else is executed first: it changes nothing there.
    ///
    /// # Errors
    /// When the replica refuses it, as it does writes.
    fn guard_on_replica(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Runs a sample of transactions, the same for equal seeds, without changing anything.
    fn sample(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Sampled, Error> {
        Ok(Sampled::NotTaken("nothing comes back that could be compared".to_owned()))
    }

    /// Explains the queries of a sample of transactions, the same for equal seeds, without changing anything.
    /// `site` has a separate connection like the clients'. `slowest` are the slowest tiles of the run, the
    /// slowest first: their plans are stored outside the sample.
    ///
    /// # Errors
    /// When a connection fails; missing plans are part of the answer.
    fn explain(
        &mut self,
        _site: &mut Site<'_>,
        _seed: u64,
        _slowest: &[TileItem],
    ) -> Result<SamplePlans, Error> {
        Ok(SamplePlans::not("statements of this workload are not explained"))
    }

    /// Files to store with the experiment, such as sample tiles.
    fn artifacts(&mut self, site: &mut Site<'_>) -> Result<Vec<Artifact>, Error>;

    /// Removes what runs left; called once, after the last run.
    fn conclude(&mut self, _site: &mut Site<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A workload whose clients the engine drives.
pub trait ClientWorkload: Workload {
    /// Commands with reported latency, in the order of `Io::statement`; may be empty.
    fn statements(&self) -> Vec<StatementInfo> {
        Vec::new()
    }

    /// Position of a command at which a client failed ([`engine::Abort::statement`]): `file.sql, line 3:
    /// SELECT …`.
    fn statement_position(&self, _statement: usize) -> Option<String> {
        None
    }

    /// Value of pgbench's `:scale`, if there is one; known after `check`.
    fn scale(&self) -> Option<u64> {
        None
    }

    /// Checks that what it asks for suffices for these clients, each of which does this if that is fixed; called
    /// before a server is started, where what only a server knows is missing, and after `prepare`.
    ///
    /// # Errors
    /// What is missing, and what to try.
    fn suffices(&self, clients: u32, each: Option<Each>) -> Result<(), Error> {
        let _ = (clients, each);
        Ok(())
    }

    /// Where the clients of a run with this seed go, as text, if scripts name a replica and there are so many.
    fn routes(&self, replicas: usize, seed: u64) -> Option<String> {
        let _ = (replicas, seed);
        None
    }

    /// Tiles with separate figures, in the order of `Io::item`; called after `prepare`.
    fn items(&self) -> Vec<TileItem> {
        Vec::new()
    }

    /// The gaps between arrivals at this rate (per second, above 0), if the workload draws them.
    fn gaps(&self, rate: f64, wanted: Clients) -> Option<Gaps> {
        let _ = (rate, wanted);
        None
    }

    /// The clients of one run; call it after `prepare`.
    ///
    /// # Errors
    /// When the workload's server is not among `places`.
    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error>;
}

/// A workload that runs once to its end in each run: its duration is measured.
pub trait JobWorkload: Workload {
    fn job(&self) -> &dyn Job;
}

/// A workload by its kind.
pub enum Work {
    Clients(Box<dyn ClientWorkload>),
    /// A program or SQL, once to its end.
    Job(Box<dyn JobWorkload>),
}

impl Deref for Work {
    type Target = dyn Workload;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Clients(workload) => &**workload,
            Self::Job(workload) => &**workload,
        }
    }
}

impl DerefMut for Work {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Clients(workload) => &mut **workload,
            Self::Job(workload) => &mut **workload,
        }
    }
}

impl Work {
    /// `None` for a job.
    #[must_use]
    pub fn clients(&self) -> Option<&dyn ClientWorkload> {
        match self {
            Self::Clients(workload) => Some(&**workload),
            Self::Job(_) => None,
        }
    }

    /// `None` for a client workload.
    #[must_use]
    pub fn job(&self) -> Option<&dyn Job> {
        match self {
            Self::Clients(_) => None,
            Self::Job(workload) => Some(workload.job()),
        }
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.clients().is_some() { "Clients" } else { "Job" };
        formatter.debug_tuple(kind).finish()
    }
}
