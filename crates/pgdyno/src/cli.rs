//! Every command, option and help text: the one definition that parsing, help and the reference page come from.

use std::path::PathBuf;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// A dynamometer for PostgreSQL and PostGIS: drives a database with a known load, keeps every measurement, and
/// says, with an interval and a verdict, what is faster and by how much.
#[derive(Debug, Parser)]
#[command(name = "pgdyno", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Start with: pgdyno run experiments/demo.toml --dry-run\nExit codes: docs/exit-codes.md"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment file: prepare the target, measure every cell and arm in turn, compare, report
    Run(Run),
    /// One run of pgbench scripts against a server, or pgbench's tables for it (-i)
    Bench(Box<Bench>),
    /// PostgreSQL's pgbench to the letter, and what it lacks (its own help: pgdyno pgbench --help; docs/pgbench.md)
    #[command(disable_help_flag = true)]
    Pgbench(Pgbench),
    /// Print stored results as a table: runs, cells, a crosstab, load phases or sizes
    Table(Table),
    /// Compare the arms of an experiment: change, interval and verdict per cell, workload and grid
    Compare(Compare),
    /// Write the HTML report of an experiment: one file, no network, no script needed
    Report(Report),
    /// Ask the results file a question in SQL (read only; try: select * from v_run)
    Sql(Sql),
    /// Bring results of pgbench (its reports, its logs) into the results file, to look at and to compare
    Import(Import),
    /// What this host can do as a load generator: cost of an operation, lateness, highest clean rate
    Calibrate(Calibrate),
    /// Load OpenStreetMap data, with every phase timed
    #[command(subcommand)]
    Osm(Osm),
    /// Private PostgreSQL servers that pgdyno makes and owns
    #[command(subcommand)]
    Target(Target),
}

/// Which results file.
#[derive(Debug, Args)]
pub(crate) struct Results {
    /// Results file [default: ./pgdyno.sqlite]
    #[arg(long, value_name = "FILE", env = "PGDYNO_RESULTS", hide_env_values = true)]
    pub(crate) results: Option<PathBuf>,
}

/// Which experiment in the results file.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    #[command(flatten)]
    pub(crate) results: Results,
    /// Experiment by number or name [default: the newest one]
    #[arg(long, short = 'e', value_name = "NUMBER|NAME")]
    pub(crate) experiment: Option<String>,
}

/// How to print data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    #[default]
    Text,
    /// An array of objects
    Json,
    /// Comma-separated, with a header
    Csv,
    /// A Markdown table
    Md,
}

/// How much is said while something runs.
#[derive(Debug, Args)]
pub(crate) struct Talk {
    /// Name every step of every run on standard error, one line each
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// The format option, alike everywhere.
#[derive(Debug, Args)]
pub(crate) struct FormatOption {
    /// How to print data on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `pgdyno run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Experiment file (TOML; every key is explained in docs/experiment.md)
    pub(crate) file: PathBuf,
    /// Show the plan, run by run, and do nothing; settings are checked where a server is at hand
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use the file's table "full": more levels, more rounds, longer runs
    #[arg(long)]
    pub(crate) full: bool,
    /// OpenStreetMap extract that $PGDYNO_DATA in the file stands for
    #[arg(long, value_name = "FILE", env = "PGDYNO_DATA", hide_env_values = true)]
    pub(crate) data: Option<PathBuf>,
    /// Run a finished experiment again, as a new one
    #[arg(long)]
    pub(crate) again: bool,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Folder with PostgreSQL's programs [default: the newest found]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// Query protocol, as in pgbench.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Variables are pasted into the text
    #[default]
    Simple,
    /// Parse, bind and execute each time
    Extended,
    /// Parse once per connection
    Prepared,
}

/// What moves the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// By clients per thread, and by what the kernel allows
    #[default]
    Auto,
    /// epoll or kqueue
    Portable,
    /// Linux's io_uring
    #[value(name = "io_uring")]
    IoUring,
}

impl From<Driver> for engine::DriverChoice {
    fn from(driver: Driver) -> Self {
        match driver {
            Driver::Auto => Self::Auto,
            Driver::Portable => Self::Portable,
            Driver::IoUring => Self::IoUring,
        }
    }
}

/// `pgdyno bench`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Bench {
    /// Print help
    #[arg(long, short = '?', action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Database name, connection string or URI [default: as libpq: PGDATABASE, else the user's name]
    #[arg(value_name = "DBNAME|URI")]
    pub(crate) dsn: Option<String>,
    /// Make and fill pgbench's tables instead of running
    #[arg(short = 'i', long = "initialize", help_heading = "Initialization")]
    pub(crate) initialize: bool,
    /// Initialization steps: d drop, t tables, g or G generate, v vacuum, p primary keys, f foreign keys
    #[arg(short = 'I', long, value_name = "STEPS", default_value = "dtgvp", help_heading = "Initialization")]
    pub(crate) init_steps: String,
    /// Fill factor of the tables, percent
    #[arg(short = 'F', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=100), help_heading = "Initialization")]
    pub(crate) fillfactor: u32,
    /// Make the tables unlogged
    #[arg(long, help_heading = "Initialization")]
    pub(crate) unlogged_tables: bool,
    /// Scale: 100,000 accounts each; with scripts, the value of :scale
    #[arg(short = 's', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) scale: Option<u32>,
    /// Clients
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client: u32,
    /// Threads
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: u32,
    /// Duration in seconds
    #[arg(short = 'T', long, value_name = "SEC", conflicts_with = "transactions", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: Option<u64>,
    /// Transactions per client [default: 10, unless -T]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: Option<u64>,
    /// Seconds of load before anything counts
    #[arg(long, value_name = "SEC", default_value_t = 0.0)]
    pub(crate) warmup: f64,
    /// Script file, with a weight after @ (repeatable)
    #[arg(short = 'f', long = "file", value_name = "FILE[@W]")]
    pub(crate) files: Vec<String>,
    /// Built-in script: tpcb-like, simple-update, select-only, with a weight after @ (repeatable)
    #[arg(short = 'b', long = "builtin", value_name = "NAME[@W]")]
    pub(crate) builtins: Vec<String>,
    /// Same as -b select-only
    #[arg(short = 'S', long)]
    pub(crate) select_only: bool,
    /// Same as -b simple-update
    #[arg(short = 'N', long)]
    pub(crate) skip_some_updates: bool,
    /// All of -f, -b, -S and -N in the order they were given: scripts are numbered by it.
    #[arg(skip)]
    pub(crate) scripts: Vec<ScriptArgument>,
    /// Query protocol
    #[arg(short = 'M', long = "protocol", value_enum, default_value_t, value_name = "MODE")]
    pub(crate) mode: Mode,
    /// Set a script variable
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Open load: transactions per second, with Poisson arrivals
    #[arg(short = 'R', long, value_name = "TPS")]
    pub(crate) rate: Option<f64>,
    /// Latency limit in milliseconds: slower transactions count as late, hopeless ones are skipped under --rate
    #[arg(short = 'L', long, value_name = "MS")]
    pub(crate) latency_limit: Option<f64>,
    /// Tries per transaction that fails by serialization or deadlock
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tries: u32,
    /// Connect anew for each transaction
    #[arg(short = 'C', long)]
    pub(crate) connect: bool,
    /// Make lost connections again and go on; the transaction lost with one counts as failed
    #[arg(long)]
    pub(crate) reconnect: bool,
    /// Do not vacuum pgbench's tables before the run
    #[arg(short = 'n', long)]
    pub(crate) no_vacuum: bool,
    /// Report the latency of each statement
    #[arg(short = 'r', long)]
    pub(crate) report_per_command: bool,
    /// Scripts may find and change nothing at all: the run is valid nevertheless
    #[arg(long)]
    pub(crate) may_be_empty: bool,
    /// How bytes are moved
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    pub(crate) driver: Driver,
    /// Seed of all randomness [default: drawn anew; always recorded]
    #[arg(long, value_name = "N")]
    pub(crate) random_seed: Option<u64>,
    /// Server's host or socket folder
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Connection")]
    pub(crate) host: Option<String>,
    /// Server's port
    #[arg(short = 'p', long, value_name = "PORT", help_heading = "Connection")]
    pub(crate) port: Option<String>,
    /// User name
    #[arg(short = 'U', long, value_name = "NAME", help_heading = "Connection")]
    pub(crate) username: Option<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno pgbench`: its arguments are pgbench's own.
#[derive(Debug, Args)]
pub(crate) struct Pgbench {
    /// pgbench's options and the name of a database, or a connection string
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|DBNAME")]
    pub(crate) arguments: Vec<std::ffi::OsString>,
}

/// What `pgdyno table` prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableKind {
    /// One line per run, in the order they ran
    Runs,
    /// One line per cell and arm: mean, maximum, percentiles
    #[default]
    Cells,
    /// Clients down, arms across, per workload, with percent change
    Crosstab,
    /// Phases of loads
    Phases,
    /// Sizes of tables and indexes
    Sizes,
    /// The experiments in the file
    Experiments,
}

/// `pgdyno table`.
#[derive(Debug, Args)]
pub(crate) struct Table {
    /// Which table
    #[arg(value_enum, default_value_t)]
    pub(crate) kind: TableKind,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// What is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metric {
    /// Throughput, transactions per second
    #[default]
    Tps,
    /// Median response time
    P50,
    /// 95th percentile of response time
    P95,
    /// 99th percentile of response time
    P99,
}

/// `pgdyno compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// What is compared
    #[arg(long, short = 'm', value_enum, default_value_t)]
    pub(crate) metric: Metric,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// File to write; `-` for standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "pgdyno-report.html")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// `pgdyno sql`.
#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// One SQL statement that reads; the schema is in docs/schema.md
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// What pgbench printed (reports, one or many in a file), and the logs of pgbench -l; threads' files that lie
    /// beside a log are taken in, and a log comes together with the report of its run; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Experiment to put the runs into; the same name adds to it
    #[arg(long, value_name = "NAME", default_value = "import")]
    pub(crate) name: String,
    /// What is asked, for tables and reports
    #[arg(long, value_name = "TEXT")]
    pub(crate) question: Option<String>,
    /// Level of a factor for all files given: storage=nvme (repeatable); workload, clients, scale, protocol come from
    /// reports
    #[arg(long, short = 'l', value_name = "FACTOR=LEVEL", value_parser = level)]
    pub(crate) level: Vec<(String, String)>,
    /// Factor whose levels are compared: its levels become the arms
    #[arg(long, value_name = "FACTOR")]
    pub(crate) compare: Option<String>,
    /// Level that the others are compared with [default: the first imported]
    #[arg(long, value_name = "LEVEL", requires = "compare")]
    pub(crate) base: Option<String>,
    /// Take in again what is in the results file already
    #[arg(long)]
    pub(crate) again: bool,
    /// pgbench ran with this --sampling-rate: counts are scaled up from the log
    #[arg(long, value_name = "SHARE", help_heading = "How pgbench ran, where its files do not say it")]
    pub(crate) sampling_rate: Option<f64>,
    /// pgbench ran with this --rate
    #[arg(
        short = 'R',
        long,
        value_name = "TPS",
        help_heading = "How pgbench ran, where its files do not say it"
    )]
    pub(crate) rate: Option<f64>,
    /// pgbench ran with this --latency-limit: slower transactions count as late
    #[arg(
        short = 'L',
        long,
        value_name = "MS",
        help_heading = "How pgbench ran, where its files do not say it"
    )]
    pub(crate) latency_limit: Option<f64>,
    /// pgbench ran with these --max-tries
    #[arg(long, value_name = "N", help_heading = "How pgbench ran, where its files do not say it")]
    pub(crate) max_tries: Option<u32>,
    /// pgbench ran with this --aggregate-interval
    #[arg(long, value_name = "SEC", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How pgbench ran, where its files do not say it")]
    pub(crate) aggregate_interval: Option<u32>,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `FACTOR=LEVEL`, both not empty.
fn level(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((factor, level)) if !factor.trim().is_empty() && !level.trim().is_empty() => {
            Ok((factor.trim().to_owned(), level.trim().to_owned()))
        }
        _ => Err("write FACTOR=LEVEL, as in storage=nvme".to_owned()),
    }
}

/// `pgdyno calibrate`.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// How bytes are moved
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    pub(crate) driver: Driver,
    /// Seconds that all measurements take together, about
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..=3600))]
    pub(crate) seconds: u32,
    /// Numbers of clients, all on one thread
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,8,64", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) clients: Vec<u32>,
    /// Folder with PostgreSQL's programs [default: the newest found; without any only the sink is asked]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno osm …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Osm {
    /// Load an extract with osm2pgsql into a database, timing nodes, ways, relations, each table and index
    Load(OsmLoad),
}

/// `pgdyno osm load`.
#[derive(Debug, Args)]
pub(crate) struct OsmLoad {
    /// Extract (.osm.pbf)
    #[arg(env = "PGDYNO_DATA", hide_env_values = true)]
    pub(crate) extract: PathBuf,
    /// Database as connection string or URI [default: a private server that pgdyno makes]
    #[arg(long, short = 'd', value_name = "URI")]
    pub(crate) url: Option<String>,
    /// Folder with PostgreSQL's programs [default: the newest found]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno target …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Target {
    /// Make (if need be) and start a private server that stays until it is stopped; prints its connection string
    Start(TargetStart),
    /// Stop a private server; its data stays
    Stop(TargetName),
    /// Say which private servers there are, which run, and which servers have settings that were left changed
    Status(TargetStatus),
    /// Put back settings that a pgdyno that was killed left changed on a server; says what it put back
    Restore(TargetRestore),
    /// Stop a private server and delete its data
    Destroy(TargetName),
}

/// `pgdyno target start`.
#[derive(Debug, Args)]
pub(crate) struct TargetStart {
    #[command(flatten)]
    pub(crate) name: TargetName,
    /// Folder with PostgreSQL's programs [default: the newest found]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
    /// Extensions to create in its database
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) extensions: Vec<String>,
}

/// Name of a managed target.
#[derive(Debug, Args)]
pub(crate) struct TargetName {
    /// Name of the private server
    #[arg(default_value = "default")]
    pub(crate) name: String,
}

/// `pgdyno target status`.
#[derive(Debug, Args)]
pub(crate) struct TargetStatus {
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// `pgdyno target restore`.
#[derive(Debug, Args)]
pub(crate) struct TargetRestore {
    /// Private server by name, or a connection string or URI of a server that is not pgdyno's [default: all servers
    /// that are not pgdyno's and were left changed]
    #[arg(value_name = "NAME|URI")]
    pub(crate) server: Option<String>,
    /// Server that is not pgdyno's, as connection string or URI; needed where its password is not in the environment
    /// or the passfile
    #[arg(long, short = 'd', value_name = "URI", conflicts_with = "server")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// One script as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptArgument {
    /// `-f`, with its weight.
    File(String),
    /// `-b` and its short forms, with its weight.
    Builtin(String),
}

/// Reads the arguments of the process.
///
/// # Errors
/// clap's, for help, version and wrong usage.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    parse_from(std::env::args_os())
}

fn parse_from(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let matches = Cli::command().try_get_matches_from(args)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Command::Bench(bench), Some(given)) = (&mut cli.command, matches.subcommand_matches("bench")) {
        bench.scripts = in_order(bench, given);
    }
    Ok(cli)
}

/// clap keeps each option's values apart; the places on the command line put them in order again.
fn in_order(bench: &Bench, given: &ArgMatches) -> Vec<ScriptArgument> {
    let places = |id: &str| given.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
    let mut scripts: Vec<(usize, ScriptArgument)> = Vec::new();
    scripts.extend(places("files").into_iter().zip(bench.files.iter().cloned().map(ScriptArgument::File)));
    scripts.extend(
        places("builtins").into_iter().zip(bench.builtins.iter().cloned().map(ScriptArgument::Builtin)),
    );
    for (wanted, id, name) in [
        (bench.select_only, "select_only", "select-only"),
        (bench.skip_some_updates, "skip_some_updates", "simple-update"),
    ] {
        if wanted {
            scripts
                .extend(places(id).first().map(|&place| (place, ScriptArgument::Builtin(name.to_owned()))));
        }
    }
    scripts.sort_by_key(|(place, _)| *place);
    scripts.into_iter().map(|(_, script)| script).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn scripts_keep_the_order_they_were_given_in() {
        let args = ["pgdyno", "bench", "-f", "a.sql@2", "-S", "-b", "tpcb", "-f", "b.sql", "-N", "db"];
        let cli = parse_from(args.map(Into::into)).expect("valid");
        let Command::Bench(bench) = cli.command else { panic!("bench") };
        let names: Vec<String> = bench
            .scripts
            .iter()
            .map(|script| match script {
                ScriptArgument::File(name) | ScriptArgument::Builtin(name) => name.clone(),
            })
            .collect();
        assert_eq!(names, ["a.sql@2", "select-only", "tpcb", "b.sql", "simple-update"]);
    }
}
