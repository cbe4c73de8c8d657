//! The arguments of `pgdyno bench`: pgbench's where possible, so that its users need not learn new ones.

use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgMatches, Args, ValueEnum};
use engine::Until;
use protocol::postgres::conninfo::ConnectionString;
use script::Weighted;
use spec::experiment::{Experiment, TargetChoice};
use spec::plan::topology::Replication;
use toml::Value;

use super::against_args::AgainstArgs;
use super::given::Given;
use super::listed::{self, Listed};
use super::query_protocol::QueryProtocolArg;
use super::usage_with;
use super::user_args::UserArgs;
use crate::commands::part::PartArgs;
use crate::options::{Driver, KnownValues, OutputArgs, WaitChoice};

/// `pgdyno bench`.
#[derive(Debug, Args)]
#[command(version, disable_help_flag = true, args_override_self = true, infer_long_args = true)]
#[command(after_help = "Is my change faster? On a private server that pgdyno makes:\n  \
    pgdyno bench -S -c 4 -s 10 --managed --against 'settings: jit=off'\n\
    Which of two scripts is faster on my server?\n  \
    pgdyno bench -f old.sql -c 8 DBNAME --against 'script: new.sql'\n\
    One run, with a report as pgbench prints it:\n  \
    pgdyno bench -f my.sql -c 8 -T 30 DBNAME\n\
    pgbench's other options: pgdyno pgbench (docs/reference/pgbench.md)")]
pub(crate) struct BenchArgs {
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    pub(super) tables: TableArgs,
    #[command(flatten)]
    pub(super) load: BenchLoadArgs,
    #[command(flatten)]
    pub(crate) scripts: Scripts,
    #[command(flatten)]
    pub(super) pace: Pace,
    #[command(flatten)]
    pub(super) users: UserArgs,
    /// Sessions of each user, with --users [default: 1, unless -T]
    #[arg(long, value_name = "N", requires = "users", conflicts_with = "time", help_heading = "Users", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) sessions: Option<u64>,
    #[command(flatten)]
    pub(super) conduct: Conduct,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) against: AgainstArgs,
    #[command(flatten)]
    pub(super) part: PartArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    elsewhere: Elsewhere,
    /// All of it as typed.
    #[arg(skip)]
    pub(crate) given: Given,
}

impl BenchArgs {
    /// Sessions of each user; `None` without users, and if the run has a duration.
    pub(super) fn sessions_each(&self) -> Option<u64> {
        let is_counted = self.users.is_asked() && self.load.time.is_none();
        is_counted.then(|| self.sessions.unwrap_or(1))
    }

    /// When the run ends.
    pub(super) fn until(&self) -> Until {
        self.sessions_each().map_or_else(|| self.load.until(), Until::PerUser)
    }
}

/// What pgbench has and a run here has not: known, so that the command that has it can be named.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
struct Elsewhere {
    #[arg(short = 'l', long, hide = true)]
    log: bool,
    #[arg(long, hide = true)]
    log_prefix: Option<String>,
    #[arg(long, hide = true)]
    sampling_rate: Option<String>,
    #[arg(long, hide = true)]
    aggregate_interval: Option<String>,
    #[arg(long, hide = true)]
    failures_detailed: bool,
    #[arg(long, hide = true)]
    verbose_errors: bool,
    #[arg(long, hide = true)]
    exit_on_abort: bool,
    #[arg(long, hide = true)]
    vacuum_all: bool,
    #[arg(long, hide = true)]
    debug: bool,
    #[arg(long, hide = true)]
    show_script: Option<String>,
}

/// pgbench's tables: whether to make them, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct TableArgs {
    /// Make and fill pgbench's tables instead of running
    #[arg(short = 'i', long = "initialize", help_heading = "Initialization")]
    pub(super) initialize: bool,
    /// Initialization steps: d drop, t tables, g or G generate, v vacuum, p primary keys, f foreign keys
    #[arg(short = 'I', long, value_name = "STEPS", default_value = "dtgvp", help_heading = "Initialization")]
    pub(super) init_steps: String,
    /// Fill factor of the tables, percent
    #[arg(short = 'F', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=100), help_heading = "Initialization")]
    pub(super) fillfactor: u32,
    /// Make the tables unlogged
    #[arg(long, help_heading = "Initialization")]
    pub(super) unlogged_tables: bool,
    /// Add foreign keys (step f)
    #[arg(long, help_heading = "Initialization")]
    pub(super) foreign_keys: bool,
    /// Partitions of the accounts; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Initialization")]
    pub(super) partitions: u32,
    /// How accounts are divided among partitions
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        ignore_case = true,
        default_value_t,
        help_heading = "Initialization"
    )]
    pub(super) partition_method: PartitionMethod,
    /// Tablespace of the tables
    #[arg(long, value_name = "NAME", help_heading = "Initialization")]
    pub(super) tablespace: Option<String>,
    /// Tablespace of the primary keys
    #[arg(long, value_name = "NAME", help_heading = "Initialization")]
    pub(super) index_tablespace: Option<String>,
    /// Report progress every 5 s instead of every 100,000 rows
    #[arg(short = 'q', long, help_heading = "Initialization")]
    pub(super) quiet: bool,
    /// Scale factor, 100,000 accounts each. With your own scripts: the value of :scale
    #[arg(short = 's', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) scale: Option<u32>,
}

impl TableArgs {
    /// An option without a meaning unless tables are made.
    pub(super) fn given(&self) -> Option<&'static str> {
        let all = [
            (self.init_steps != "dtgvp", "-I"),
            (self.fillfactor != 100, "-F"),
            (self.unlogged_tables, "--unlogged-tables"),
            (self.foreign_keys, "--foreign-keys"),
            (self.partitions > 0, "--partitions"),
            (self.partition_method != PartitionMethod::default(), "--partition-method"),
            (self.tablespace.is_some(), "--tablespace"),
            (self.index_tablespace.is_some(), "--index-tablespace"),
            (self.quiet, "-q"),
        ];
        all.into_iter().find_map(|(given, option)| given.then_some(option))
    }
}

/// How many clients, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(super) struct BenchLoadArgs {
    /// Number of clients or, with --users, of users. With --against also several, such as 1,4,16
    #[arg(short = 'c', long, value_name = "N[,N…]", default_value = "1", value_parser = listed::clients)]
    pub(super) client: Listed<u32>,
    /// Number of threads, at most one for each client
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: u32,
    /// Duration in seconds
    #[arg(short = 'T', long, value_name = "SEC", conflicts_with = "transactions", value_parser = seconds)]
    pub(super) time: Option<u64>,
    /// Transactions per client [default: 10, unless -T or --users]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) transactions: Option<u64>,
    /// Warm-up in seconds, which does not count [default: 0; with --against 0.5; with open arrivals of users twice the
    /// think time of a session, at most the duration]
    #[arg(long, value_name = "SEC", allow_negative_numbers = true)]
    pub(super) warmup: Option<f64>,
}

impl BenchLoadArgs {
    /// Transactions of each client; `None` if the run has a duration.
    pub(super) fn per_client(&self) -> Option<u64> {
        self.time.is_none().then(|| self.transactions.unwrap_or(10))
    }

    /// When the run ends.
    pub(super) fn until(&self) -> Until {
        match (self.time, self.per_client()) {
            (Some(seconds), _) => Until::Elapsed(seconds.saturating_mul(1_000_000_000)),
            (None, number) => Until::PerClient(number.unwrap_or_default()),
        }
    }
}

/// What the clients run.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Scripts {
    /// Script file, with a weight after @ (repeatable)
    #[arg(short = 'f', long = "file", value_name = "FILE[@W]")]
    pub(super) files: Vec<String>,
    /// Built-in script: tpcb-like, simple-update or select-only, with a weight after @ (repeatable)
    #[arg(short = 'b', long = "builtin", value_name = "NAME[@W]", value_parser = BUILTINS, hide_possible_values = true)]
    pub(super) builtins: Vec<String>,
    /// Short for -b select-only
    #[arg(short = 'S', long, action = ArgAction::Append, num_args = 0, default_missing_value = "true")]
    pub(super) select_only: Vec<bool>,
    /// Short for -b simple-update
    #[arg(short = 'N', long, action = ArgAction::Append, num_args = 0, default_missing_value = "true")]
    pub(super) skip_some_updates: Vec<bool>,
    /// All of -f, -b, -S and -N in the order they were given: scripts are numbered by it.
    #[arg(skip)]
    pub(crate) in_order: Vec<ScriptChoice>,
    /// Query protocol: simple (variables substituted in the text), extended (parse, bind and execute each time) or
    /// prepared (parse once per connection). With bench --against also several, such as simple,prepared
    #[arg(short = 'M', long = "protocol", value_name = "MODE[,MODE…]", default_value = "simple", value_parser = MODES, hide_possible_values = true)]
    pub(in crate::commands) mode: Listed<QueryProtocolArg>,
    /// Set a script variable
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    #[command(flatten)]
    pub(crate) rows: Rows,
}

/// Variables from the rows of a file or a query.
#[derive(Debug, Args)]
pub(crate) struct Rows {
    /// Set script variables from the rows of FILE.csv, whose first line names the variables, or of 'query: SELECT …'
    #[arg(long, value_name = "ROWS")]
    pub(crate) variables: Option<String>,
    /// When a client takes a row: transaction, client (once, before the run), or session (of a user) [default:
    /// transaction]
    #[arg(long, value_name = "WHEN", requires = "variables", value_parser = ["transaction", "client", "session"], hide_possible_values = true)]
    pub(crate) variables_per: Option<String>,
    /// The order of the rows: listed, or random by the run's seed [default: listed]
    #[arg(long, value_name = "ORDER", requires = "variables", value_parser = ["listed", "random"], hide_possible_values = true)]
    pub(crate) variables_order: Option<String>,
    /// Whether rows repeat in a run: repeat, or once (a client without a further row stops) [default: repeat]
    #[arg(long, value_name = "USE", requires = "variables", value_parser = ["once", "repeat"], hide_possible_values = true)]
    pub(crate) variables_use: Option<String>,
}

/// How fast, and within which time; a promise goes by pgbench's name for it.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(super) struct Pace {
    /// Rate in transactions per second, with random (Poisson) arrivals. Or a rate that changes: "step 100, 200 every
    /// 10s", "ramp 100..1000 over 30s", "sine 500 +- 200 every 20s", "spike 100 to 1000 for 2s at 10s"
    #[arg(short = 'R', long, value_name = "TPS")]
    pub(super) rate: Option<String>,
    /// Latency limit in milliseconds. Slower transactions count as late. With -R, transactions that cannot meet it are
    /// skipped
    #[arg(short = 'L', long, value_name = "MS")]
    pub(super) latency_limit: Option<f64>,
}

/// How a run is carried out.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Conduct {
    /// Maximum number of tries of a transaction that fails by serialization or deadlock. 0: no maximum, which needs -T
    /// or -L
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) max_tries: u32,
    /// Count a transaction with an SQL error as failed, and continue
    #[arg(long)]
    pub(super) continue_on_error: bool,
    /// Open a new connection for each transaction; with --users, for each session
    #[arg(short = 'C', long)]
    pub(super) connect: bool,
    /// Reconnect after a lost connection; its transaction counts as failed
    #[arg(long)]
    pub(super) reconnect: bool,
    /// Do not vacuum pgbench's tables before the run. With -i: leave out step v
    #[arg(short = 'n', long)]
    pub(super) no_vacuum: bool,
    /// Report progress every SEC seconds
    #[arg(short = 'P', long, value_name = "SEC", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) progress: Option<u32>,
    /// Report progress with the Unix time
    #[arg(long, requires = "progress")]
    pub(super) progress_timestamp: bool,
    /// Report the latency of each statement
    #[arg(short = 'r', long)]
    pub(super) report_per_command: bool,
    /// Accept scripts that return and change no rows
    #[arg(long)]
    pub(super) may_be_empty: bool,
    /// How the load generator sends and receives bytes
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    pub(super) driver: Driver,
    /// How threads wait for answers
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(super) wait: WaitChoice,
    /// Current level of a factor that you set by hand, such as memory=3200. The run is one set of it
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(super) level: Option<String>,
    /// Seed of all random numbers: a number, time or rand [default: a new one, recorded]
    #[arg(long, value_name = "N")]
    pub(crate) random_seed: Option<String>,
}

impl Conduct {
    /// Sets the driver and the way of waiting for all runs of an experiment.
    pub(in crate::commands) fn choose_generator(&self, experiment: &mut Experiment) {
        experiment.measure.driver = self.driver.asked();
        experiment.measure.wait = self.wait.asked();
    }
}

/// pgbench's built-in scripts; prefixes and weights are allowed.
const BUILTINS: KnownValues<String> =
    KnownValues { read: |text| Ok(text.to_owned()), names: &["tpcb-like", "simple-update", "select-only"] };

const MODES: KnownValues<Listed<QueryProtocolArg>> =
    KnownValues { read: listed::modes, names: &["simple", "extended", "prepared"] };

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse::<u64>().ok().filter(|seconds| *seconds >= 1);
    seconds.ok_or_else(|| "must be whole seconds, at least 1, as pgbench has it".to_owned())
}

/// Where the server is.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct TargetArgs {
    /// Database name, connection string or URI [default: PGDATABASE, or your user name]
    #[arg(value_name = "DBNAME|URI")]
    pub(super) dsn: Option<String>,
    /// Same as DBNAME, which has priority
    #[arg(short = 'd', long, value_name = "DBNAME|URI", help_heading = "Connection")]
    pub(super) dbname: Option<String>,
    /// Host or socket folder of the server
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Connection")]
    pub(super) host: Option<String>,
    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT", help_heading = "Connection")]
    pub(super) port: Option<String>,
    /// User name
    #[arg(short = 'U', long, value_name = "NAME", help_heading = "Connection")]
    pub(super) username: Option<String>,
    /// Run on a private server, with pgbench's tables at scale -s [name: default]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "default", help_heading = "Connection")]
    pub(super) managed: Option<String>,
    /// SQL file, or plain dump of pg_dump, to load into the private server first (repeatable)
    #[arg(long, value_name = "FILE", requires = "managed", help_heading = "Connection")]
    pub(super) prepare: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) replicas: Replicas,
}

/// Replicas of the server, and whether scripts go to them.
#[derive(Debug, Args)]
pub(crate) struct Replicas {
    /// Replicas: with --managed their number; else the connection string of one (repeatable)
    #[arg(long, value_name = "N|URI", help_heading = "Connection")]
    pub(super) replicas: Vec<String>,
    /// What commits of the private server wait for: async (no replica), sync (all flushed), or remote_apply (all
    /// applied) [default: async]
    #[arg(long, value_name = "MODE", requires = "replicas", value_parser = REPLICATIONS, hide_possible_values = true, help_heading = "Connection")]
    pub(super) replication: Option<String>,
    /// The server that scripts go to: primary, or replica (several take turns by client) [default: primary]
    #[arg(long, value_name = "SERVER", value_parser = LOAD_TARGETS, hide_possible_values = true, help_heading = "Connection")]
    pub(super) target: Option<String>,
}

const REPLICATIONS: [&str; 3] = ["async", "sync", "remote_apply"];
const LOAD_TARGETS: [&str; 2] = ["primary", "replica"];

impl Replicas {
    /// Puts replicas next to the server of an experiment.
    ///
    /// # Errors
    /// When a connection string contains a password, which would be in files.
    pub(in crate::commands) fn put(&self, target: &mut TargetChoice) -> anyhow::Result<()> {
        let has_secret = |text: &String| ConnectionString::parse(text).is_ok_and(|url| url.has_secret());
        if self.replicas.iter().any(has_secret) {
            let hint = "put it into a passfile (~/.pgpass), or into PGPASSWORD for all servers";
            return Err(usage_with(
                "--replicas: a connection string with a password is not taken here",
                hint,
            ));
        }
        let of = |text: &String| match text.parse::<u32>() {
            Ok(number) => Value::Integer(number.into()),
            // A plain dollar.
            Err(_) => Value::String(text.replace('$', "$$")),
        };
        target.replicas = self.replicas.iter().map(of).collect();
        target.replication = self.replication.as_deref().and_then(Replication::of_name);
        Ok(())
    }

    /// An option of these that was given.
    pub(in crate::commands) fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.replicas.is_empty(), "--replicas"),
            (self.replication.is_some(), "--replication"),
            (self.target.is_some(), "--target"),
        ];
        all.into_iter().find_map(|(given, option)| given.then_some(option))
    }
}

/// How accounts are divided among partitions, as in pgbench.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PartitionMethod {
    /// By ranges of account numbers
    #[default]
    Range,
    /// By a hash of the account number
    Hash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptChoice {
    /// `-f`, with its weight.
    File(String),
    /// `-b` and its short forms, with its weight.
    Builtin(String),
}

impl ScriptChoice {
    /// Whether it is standard input.
    pub(super) fn is_input(&self) -> bool {
        matches!(self, Self::File(name) if name == "-" || name.starts_with("-@"))
    }

    /// Its name without folder, extension and weight.
    pub(super) fn stem(&self) -> String {
        let (Self::File(written) | Self::Builtin(written)) = self;
        if self.is_input() {
            return "input".to_owned();
        }
        let name = Weighted::parse(written).map_or_else(|_| written.clone(), |weighted| weighted.name);
        Path::new(&name).file_stem().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned())
    }
}

impl Scripts {
    /// clap groups values by option; indexes on the command line restore the order.
    pub(crate) fn put_in_order(&mut self, given: &ArgMatches) {
        let places = |id: &str| given.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let files = self.files.iter().cloned().map(ScriptChoice::File);
        let builtins = self.builtins.iter().cloned().map(ScriptChoice::Builtin);
        let mut scripts: Vec<(usize, ScriptChoice)> = places("files").into_iter().zip(files).collect();
        scripts.extend(places("builtins").into_iter().zip(builtins));
        for (times, id, name) in [
            (self.select_only.len(), "select_only", "select-only"),
            (self.skip_some_updates.len(), "skip_some_updates", "simple-update"),
        ] {
            let places = places(id).into_iter().take(times);
            scripts.extend(places.map(|place| (place, ScriptChoice::Builtin(name.to_owned()))));
        }
        scripts.sort_by_key(|(place, _)| *place);
        self.in_order = scripts.into_iter().map(|(_, script)| script).collect();
    }
}
