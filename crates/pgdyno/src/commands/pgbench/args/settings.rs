//! What a command line asks for, checked and typed.

use std::path::PathBuf;
use std::time::Duration;

use ::report::pgbench::Percentile;
use engine::DriverChoice;
use script::Builtin;
use workloads::pgbench::Mode;
use workloads::pgbench::init::{PartitionMethod, Step};

/// Where to connect; what is `None` is left to libpq's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Connection {
    /// Name of the database, connection string or URI: the argument, else `PGDATABASE`, else `PGUSER`.
    /// `None`: the name of the operating system's user.
    pub(crate) database: Option<String>,
    /// `-h`
    pub(crate) host: Option<String>,
    /// `-p`
    pub(crate) port: Option<String>,
    /// `-U`
    pub(crate) user: Option<String>,
}

/// `-i`: make and fill pgbench's tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InitSettings {
    /// Where to.
    pub(crate) connection: Connection,
    /// `--debug`
    pub(crate) debug: bool,
    /// The steps, with `-n` and `--foreign-keys` taken into account; may be empty.
    pub(crate) steps: Vec<Step>,
    /// `-F`, percent: 10..=100.
    pub(crate) fillfactor: u32,
    /// `-q`
    pub(crate) quiet: bool,
    /// `-s`, at least 1.
    pub(crate) scale: u32,
    /// `--tablespace`
    pub(crate) tablespace: Option<String>,
    /// `--index-tablespace`
    pub(crate) index_tablespace: Option<String>,
    /// `--unlogged-tables`
    pub(crate) unlogged: bool,
    /// `--partitions`; 0 for none.
    pub(crate) partitions: u32,
    /// `--partition-method`
    pub(crate) partition_method: PartitionMethod,
    /// `--init-jobs`: connections that load at once, at least 1.
    pub(crate) jobs: Option<u32>,
    /// `--init-batch`: rows per transaction, at least 1.
    pub(crate) batch: Option<u64>,
    /// `--resume`: go on where an interrupted initialisation stopped.
    pub(crate) resume: bool,
}

/// One script of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptAsked {
    /// Which.
    pub(crate) origin: Origin,
    /// Its weight, 0..=2^31-1.
    pub(crate) weight: u32,
}

/// Where a script comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It comes with pgbench.
    Builtin(&'static Builtin),
    /// A file or standard input, already read and found correct.
    File(ScriptText),
}

/// A script that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptText {
    /// Name as it was given.
    pub(crate) name: String,
    /// All of it.
    pub(crate) text: Vec<u8>,
}

/// `--group`: clients that run scripts of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// How many clients; groups take clients in the order they are given, from client 0.
    pub(crate) clients: u32,
    /// Scripts by index from 0, each with its weight in this group; never all 0.
    pub(crate) scripts: Vec<(usize, u32)>,
}

/// How long a run lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// `-t`: so many transactions per client.
    Transactions(u32),
    /// `-T`: so many seconds.
    Seconds(u32),
}

/// What is vacuumed before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vacuum {
    /// `-n`: nothing.
    Nothing,
    /// Branches and tellers; the history is emptied.
    Small,
    /// `-v`: the accounts as well.
    All,
}

/// `-P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgressAsked {
    /// Seconds between two reports, at least 1.
    pub(crate) seconds: u32,
    /// `--progress-timestamp`
    pub(crate) timestamp: bool,
}

/// `-l`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogAsked {
    /// `--log-prefix`
    pub(crate) prefix: String,
    /// `--aggregate-interval`, s.
    pub(crate) aggregate: Option<u32>,
    /// `--sampling-rate`, above 0 and at most 1.
    pub(crate) sampling: Option<f64>,
}

/// `--hosts`: which of several hosts a client connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HostPolicy {
    /// The first that answers, as in libpq.
    #[default]
    First,
    /// One after another.
    RoundRobin,
    /// Any, drawn from the run's seed.
    Random,
    /// Each client both: the primary, and a standby for the scripts of `--read-script`.
    ReadWrite,
}

/// How the report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// As pgbench prints it.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// A fact a line.
    Lines,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSettings {
    /// Where to.
    pub(crate) connection: Connection,
    /// `--debug`
    pub(crate) debug: bool,
    /// The scripts in the order of `-f`, `-b`, `-S` and `-N`, 1 to 128; without any it is tpcb-like.
    pub(crate) scripts: Vec<ScriptAsked>,
    /// `-c`, at least 1.
    pub(crate) clients: u32,
    /// `-j`, at least 1 and at most the clients.
    pub(crate) threads: u32,
    /// `-t` or `-T`
    pub(crate) length: Length,
    /// `-s`, at least 1.
    pub(crate) scale: Option<u32>,
    /// `-M`
    pub(crate) mode: Mode,
    /// `-D`, in their order; names are valid, neither is empty.
    pub(crate) define: Vec<(String, String)>,
    /// `-C`
    pub(crate) reconnect: bool,
    /// `--reconnect`
    pub(crate) reconnect_lost: bool,
    /// `--allow-changed-settings`: measure although a killed pgdyno left settings of the server changed.
    pub(crate) allow_changed_settings: bool,
    /// `-n`, `-v`
    pub(crate) vacuum: Vacuum,
    /// `-r`
    pub(crate) per_command: bool,
    /// `-R`, transactions per second; above 0 and finite.
    pub(crate) rate: Option<f64>,
    /// `-L` in whole µs, above 0.
    pub(crate) latency_limit_us: Option<u64>,
    /// `--max-tries`; 0 for no bound.
    pub(crate) max_tries: u32,
    /// `--failures-detailed`
    pub(crate) failures_detailed: bool,
    /// `--verbose-errors`
    pub(crate) verbose_errors: bool,
    /// `--exit-on-abort`
    pub(crate) exit_on_abort: bool,
    /// `--continue-on-error`
    pub(crate) continue_on_error: bool,
    /// `-P`
    pub(crate) progress: Option<ProgressAsked>,
    /// `-l`
    pub(crate) log: Option<LogAsked>,
    /// Seed of all randomness.
    pub(crate) seed: u64,
    /// `--percentiles`, in their order, none twice.
    pub(crate) percentiles: Vec<Percentile>,
    /// `--format`
    pub(crate) format: Format,
    /// `--results`
    pub(crate) results: Option<PathBuf>,
    /// `--warmup`; zero for none.
    pub(crate) warmup: Duration,
    /// `--startup-script`
    pub(crate) startup: Option<ScriptText>,
    /// `--group`; empty when all clients choose among all scripts, else their clients add up to [`Self::clients`].
    pub(crate) groups: Vec<Group>,
    /// `--hosts`
    pub(crate) hosts: HostPolicy,
    /// `--driver`
    pub(crate) driver: DriverChoice,
    /// Indices from 0 of the scripts that go to standbys under [`HostPolicy::ReadWrite`], ascending; else empty.
    pub(crate) read_scripts: Vec<usize>,
}

impl ScriptAsked {
    /// Name in reports.
    pub(crate) fn name(&self) -> &str {
        match &self.origin {
            Origin::Builtin(builtin) => builtin.description,
            Origin::File(file) => &file.name,
        }
    }
}
