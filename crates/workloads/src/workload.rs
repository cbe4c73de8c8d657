//! The seam between `lab` and a workload: what all have in common, what clients carry out, and what is done once to its end.

use std::ops::{Deref, DerefMut};

use engine::{Client, Gaps};
use spec::figures::Figures;
use spec::{Artifact, Counts, MapPart, TextKind, TileSample};

use crate::answers::Sampled;
use crate::error::WorkloadError;
use crate::jobs::Job;
use crate::place::{Places, Site};
use crate::plans::Explained;
use crate::tiles::Tile;

/// One script, layer or command, as counted in `Outcome::script`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptInfo {
    /// File as given, `<builtin: …>` as pgbench names it, table or command.
    pub name: String,
    /// SHA-256 of its text, hex.
    pub text_hash: String,
    /// Relative frequency; with one script it means nothing.
    pub weight: u32,
    /// Which part of a map it asks for, where it does.
    pub part: Option<MapPart>,
}

/// A tile whose figures are kept by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileItem {
    /// Index into [`Workload::scripts`].
    pub script: u16,
    pub tile: Tile,
}

/// A text that a workload asks by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// File as given, or what it is of.
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

/// What `prepare` chose; plain data, the same for every arm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// SHA-256 of `json`, hex.
    pub hash: String,
    /// The data.
    pub json: String,
    /// In words, e.g. `400 tiles of planet_osm_polygon, z12-z16`.
    pub summary: String,
}

/// What the guard found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guarded {
    /// Rows that came back.
    pub rows: u64,
    /// Payload bytes that came back.
    pub bytes: u64,
    pub figures: Figures,
    /// What tiles hold, by script.
    pub samples: Vec<TileSample>,
    /// Why every figure of such a run would be meaningless; `None` when the workload does something, and when only its
    /// runs can tell.
    pub empty: Option<String>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// The clients of a run: how many, and how they are dealt their randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clients {
    /// At least 1.
    pub count: usize,
    /// Threads the engine will use; the first clients go to the first thread, as evenly as possible.
    pub threads: usize,
    /// Seed of this run's randomness.
    pub seed: u64,
    /// Whether clients report the latency of each statement.
    pub statements: bool,
}

impl Clients {
    /// Clients and threads there really are: at least one client, and no thread without one.
    #[must_use]
    pub(crate) fn seats(&self) -> (usize, usize) {
        let clients = self.count.max(1);
        (clients, self.threads.clamp(1, clients))
    }
}

/// What the connections of a workload must be able to carry; a pooler may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Statements are prepared once by name and used again.
    pub prepared: bool,
    /// Transactions of several statements.
    pub transaction_blocks: bool,
    /// A connection for each transaction.
    pub reconnects: bool,
}

/// What all workloads have.
///
/// `lab` calls, per experiment: `check`, `prepare`, `guard` (once per arm is enough), `artifacts`; per run: `reset`, then
/// [`ClientWorkload::clients`] or [`JobWorkload::job`]; in the end `conclude`. `scripts` never changes.
pub trait Workload: Send {
    /// What is counted apart, in the order of `Outcome::script`.
    fn scripts(&self) -> Vec<ScriptInfo>;

    /// The texts of what it asks, and of files that say what it asks; those it makes only once it is prepared.
    fn texts(&self) -> Vec<Asked> {
        Vec::new()
    }

    /// What its connections must be able to carry.
    fn carried(&self) -> Carried {
        Carried::default()
    }

    /// What it asks that belongs to a session and not to a transaction, with its place; `None` where nothing does.
    fn of_session(&self) -> Option<String> {
        None
    }

    /// Whether its transactions change data, as far as can be known without asking a server.
    fn writes(&self) -> bool {
        false
    }

    /// Whether it was said that nothing may come back.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Whether it asks a Redis server, whose counters then belong to its runs.
    fn asks_redis(&self) -> bool {
        false
    }

    /// Whether it asks a web server that pgdyno did not start.
    fn asks_web(&self) -> bool {
        false
    }

    /// Figures of a run that only the workload can make of what was counted, in the order of its scripts.
    fn figures(&self, _counts: &[Counts]) -> Figures {
        Figures::default()
    }

    /// Whether the target has what the workload needs.
    ///
    /// # Errors
    /// What is missing, and what to try.
    fn check(&mut self, site: &mut Site<'_>) -> Result<(), WorkloadError>;

    /// Chooses what will be asked. The same data and seed give the same choice.
    ///
    /// # Errors
    /// When nothing can be chosen or the server refuses.
    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, WorkloadError>;

    /// Takes what another arm chose, in place of choosing; `prepare` is called where it did not.
    ///
    /// # Errors
    /// When it is not a choice of such a workload.
    fn adopt(&mut self, _chosen: &Prepared) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Puts the workload's own data into the state every run starts from; gives remarks (as pgbench, which goes on
    /// when its tables cannot be vacuumed).
    ///
    /// # Errors
    /// When the connection fails.
    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, WorkloadError>;

    /// Proves, on the control connection and outside the timed part, that the workload does something.
    ///
    /// # Errors
    /// When the first execution fails.
    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, WorkloadError>;

    /// Asks for a sample of transactions, the same for equal seeds, without changing anything.
    ///
    /// # Errors
    /// When the server refuses.
    fn sample(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Sampled, WorkloadError> {
        Ok(Sampled::NotTaken("nothing comes back that could be compared".to_owned()))
    }

    /// Explains the queries of a sample of transactions, the same for equal seeds, without changing anything: where does
    /// their time go? `site` has a connection like those of the clients, which is used for nothing else. `slowest` are the
    /// tiles that took longest in the run, the slowest first: their plans are kept beside the sample.
    ///
    /// # Errors
    /// When a connection fails; what is not explained is told in the answer.
    fn explain(
        &mut self,
        _site: &mut Site<'_>,
        _seed: u64,
        _slowest: &[TileItem],
    ) -> Result<Explained, WorkloadError> {
        Ok(Explained::not("statements of this workload are not explained"))
    }

    /// Files to keep with the experiment, such as sample tiles.
    ///
    /// # Errors
    /// When the server refuses.
    fn artifacts(&mut self, site: &mut Site<'_>) -> Result<Vec<Artifact>, WorkloadError>;

    /// Takes away what runs left that is of no use to anybody; called once, when the last run is over.
    ///
    /// # Errors
    /// When the server refuses.
    fn conclude(&mut self, _site: &mut Site<'_>) -> Result<(), WorkloadError> {
        Ok(())
    }
}

/// A workload that clients of the engine carry out.
pub trait ClientWorkload: Workload {
    /// Commands whose latency is reported, in the order of `Io::statement`; empty when there are none.
    fn statements(&self) -> Vec<StatementInfo> {
        Vec::new()
    }

    /// Tiles whose figures its clients report one by one, in the order of `Io::item`; called after `prepare`.
    fn items(&self) -> Vec<TileItem> {
        Vec::new()
    }

    /// The gaps between arrivals at this rate (per second, above 0), where the workload's own streams draw them.
    fn gaps(&self, rate: f64, wanted: Clients) -> Option<Gaps> {
        let _ = (rate, wanted);
        None
    }

    /// The clients of one run; call it after `prepare`.
    ///
    /// # Errors
    /// When the workload's server is not among `places`.
    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, WorkloadError>;
}

/// A workload that is done once to its end in each run: how long that takes is what is measured.
pub trait JobWorkload: Workload {
    /// What is done.
    fn job(&self) -> &dyn Job;
}

/// A workload, by who carries it out.
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
    /// What clients carry out; `None` of a job.
    #[must_use]
    pub fn clients(&self) -> Option<&dyn ClientWorkload> {
        match self {
            Self::Clients(workload) => Some(&**workload),
            Self::Job(_) => None,
        }
    }

    /// What is done once to its end; `None` of what clients carry out.
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
