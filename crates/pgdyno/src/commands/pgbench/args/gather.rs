//! The options of a command line as they are met, each checked by itself.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use ::report::pgbench::Percentile;
use script::{Seed, SeedError};
use workloads::pgbench::Mode as QueryMode;
use workloads::pgbench::init::PartitionMethod;

use super::options::{Mode, Opt, Spec};
use super::own::{self, GroupAsked};
use super::scripts::ScriptsAsked;
use super::settings::{Connection, Format, HostPolicy, ScriptText};
use super::values::{
    definition, fillfactor, max_tries, number, partition_method, positive, sampling_rate, steps,
};
use super::{Ask, Env, Fault, Level, Line, scripts};
use engine::DriverChoice;

/// All that options said, before they are looked at together. Absent numbers are 0, as in pgbench.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// What is to be said first.
    pub(super) said: Vec<Line>,
    pub(super) seed: u64,
    pub(super) connection: Connection,
    pub(super) debug: bool,
    pub(super) scale: Option<u32>,
    pub(super) no_vacuum: bool,
    pub(super) initialize: bool,
    /// Whether an option of initialisation was given.
    pub(super) initialization: bool,
    /// Whether an option of a run was given.
    pub(super) benchmark: bool,
    /// The first of our own options of each kind.
    pub(super) own_initialization: Option<&'static str>,
    /// The same of a run.
    pub(super) own_benchmark: Option<&'static str>,
    pub(super) init: Init,
    pub(super) run: Run,
}

/// Options of `-i`.
#[derive(Debug)]
pub(super) struct Init {
    pub(super) steps: Option<String>,
    pub(super) fillfactor: u32,
    pub(super) quiet: bool,
    pub(super) foreign_keys: bool,
    pub(super) unlogged: bool,
    pub(super) tablespace: Option<String>,
    pub(super) index_tablespace: Option<String>,
    pub(super) partitions: u32,
    pub(super) partition_method: Option<PartitionMethod>,
    pub(super) jobs: Option<u32>,
    pub(super) batch: Option<u64>,
    pub(super) resume: bool,
}

/// Options of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) scripts: ScriptsAsked,
    pub(super) clients: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) transactions: u32,
    pub(super) seconds: u32,
    pub(super) mode: QueryMode,
    pub(super) define: Vec<(String, String)>,
    pub(super) reconnect: bool,
    pub(super) reconnect_lost: bool,
    pub(super) vacuum_all: bool,
    pub(super) per_command: bool,
    pub(super) rate: Option<f64>,
    pub(super) latency_limit_us: u64,
    pub(super) max_tries: Option<u32>,
    pub(super) failures_detailed: bool,
    pub(super) verbose_errors: bool,
    pub(super) exit_on_abort: bool,
    pub(super) continue_on_error: bool,
    pub(super) allow_changed_settings: bool,
    pub(super) progress: u32,
    pub(super) progress_timestamp: bool,
    pub(super) log: bool,
    pub(super) log_prefix: Option<String>,
    pub(super) aggregate: u32,
    pub(super) sampling: Option<f64>,
    pub(super) percentiles: Vec<Percentile>,
    pub(super) format: Format,
    pub(super) results: Option<PathBuf>,
    pub(super) warmup: Duration,
    pub(super) startup: Option<ScriptText>,
    pub(super) groups: Vec<GroupAsked>,
    pub(super) hosts: HostPolicy,
    pub(super) driver: DriverChoice,
    pub(super) read_scripts: Vec<usize>,
}

impl Default for Init {
    fn default() -> Self {
        Self {
            steps: None,
            fillfactor: 100,
            quiet: false,
            foreign_keys: false,
            unlogged: false,
            tablespace: None,
            index_tablespace: None,
            partitions: 0,
            partition_method: None,
            jobs: None,
            batch: None,
            resume: false,
        }
    }
}

impl Gathered {
    /// `PGBENCH_RANDOM_SEED`, or the clock.
    pub(super) fn seed_from_environment(&mut self, env: &dyn Env) -> Result<(), Fault> {
        let Some(text) = env.variable("PGBENCH_RANDOM_SEED") else {
            self.seed = env.now_us();
            return Ok(());
        };
        self.set_seed(&text.to_string_lossy(), "PGBENCH_RANDOM_SEED environment variable", env)
    }

    fn set_seed(&mut self, text: &str, from: &str, env: &dyn Env) -> Result<(), Fault> {
        let fault =
            |first: Fault| first.and(Level::Error, format!("error while setting random seed from {from}"));
        self.seed = match Seed::parse(text) {
            Ok(Seed::Time) => env.now_us(),
            Ok(Seed::Strong) => {
                env.strong().map_err(|_| fault(Fault::error("could not generate random seed")))?
            }
            Ok(Seed::Value(value)) => value,
            Err(error) => {
                return Err(fault(Fault::error(error.to_string()).and(Level::Detail, SeedError::DETAIL)));
            }
        };
        self.said.push((Level::Info, format!("setting random seed to {}", self.seed)));
        Ok(())
    }

    /// Takes one option; gives what is to be done when nothing more matters.
    pub(super) fn take(
        &mut self,
        spec: &'static Spec,
        value: &OsStr,
        env: &dyn Env,
    ) -> Result<Option<Ask>, Fault> {
        let text = &*value.to_string_lossy();
        match spec.mode {
            Mode::Both => return self.take_common(spec.opt, text),
            Mode::Initialization => {
                self.initialization = true;
                if own::is_own(spec) {
                    self.own_initialization.get_or_insert(spec.long);
                }
                self.take_initialization(spec.opt, text)?;
            }
            Mode::Benchmark => {
                self.benchmark = true;
                if own::is_own(spec) {
                    self.own_benchmark.get_or_insert(spec.long);
                }
                if spec.opt == Opt::Builtin && text == "list" {
                    return Ok(Some(Ask::ListScripts));
                }
                self.take_scripts(spec.opt, value, env)?;
            }
        }
        Ok(None)
    }

    fn take_common(&mut self, opt: Opt, text: &str) -> Result<Option<Ask>, Fault> {
        match opt {
            Opt::Initialize => self.initialize = true,
            Opt::Dbname => self.connection.database = Some(text.to_owned()),
            Opt::Host => self.connection.host = Some(text.to_owned()),
            Opt::Port => self.connection.port = Some(text.to_owned()),
            Opt::Username => self.connection.user = Some(text.to_owned()),
            Opt::NoVacuum => self.no_vacuum = true,
            Opt::Scale => self.scale = Some(number(text, "-s/--scale", 1)?),
            Opt::ShowScript => return Ok(Some(Ask::ShowScript(scripts::builtin(text)?))),
            _ => self.debug = true,
        }
        Ok(None)
    }

    fn take_initialization(&mut self, opt: Opt, text: &str) -> Result<(), Fault> {
        let init = &mut self.init;
        match opt {
            Opt::InitSteps => init.steps = Some(steps(text)?),
            Opt::Fillfactor => init.fillfactor = fillfactor(text)?,
            Opt::Quiet => init.quiet = true,
            Opt::UnloggedTables => init.unlogged = true,
            Opt::Tablespace => init.tablespace = Some(text.to_owned()),
            Opt::IndexTablespace => init.index_tablespace = Some(text.to_owned()),
            Opt::ForeignKeys => init.foreign_keys = true,
            Opt::Partitions => init.partitions = number(text, "--partitions", 0)?,
            Opt::PartitionMethod => init.partition_method = Some(partition_method(text)?),
            Opt::InitJobs => init.jobs = Some(number(text, "--init-jobs", 1)?),
            Opt::InitBatch => init.batch = Some(number(text, "--init-batch", 1)?.into()),
            _ => init.resume = true,
        }
        Ok(())
    }

    fn take_scripts(&mut self, opt: Opt, value: &OsStr, env: &dyn Env) -> Result<(), Fault> {
        let text = &*value.to_string_lossy();
        let run = &mut self.run;
        match opt {
            Opt::Builtin => run.scripts.add_builtin(text),
            Opt::SelectOnly => run.scripts.add_builtin("select-only"),
            Opt::SkipSomeUpdates => run.scripts.add_builtin("simple-update"),
            Opt::File => run.scripts.add_file(value, env),
            Opt::StartupScript => {
                run.startup = Some(scripts::startup(value, env)?);
                Ok(())
            }
            Opt::RandomSeed => self.set_seed(text, "--random-seed option", env),
            Opt::Client => {
                run.clients = Some(number(text, "-c/--client", 1)?);
                super::checks::open_files(run.clients.unwrap_or(1), env)
            }
            _ => run.take_number(opt, text),
        }
    }
}

impl Run {
    fn take_number(&mut self, opt: Opt, text: &str) -> Result<(), Fault> {
        match opt {
            Opt::Jobs => self.threads = Some(number(text, "-j/--jobs", 1)?),
            Opt::Transactions => self.transactions = number(text, "-t/--transactions", 1)?,
            Opt::Time => self.seconds = number(text, "-T/--time", 1)?,
            Opt::Progress => self.progress = number(text, "-P/--progress", 1)?,
            Opt::AggregateInterval => self.aggregate = number(text, "--aggregate-interval", 1)?,
            Opt::Rate => self.rate = Some(positive(text, "rate limit")?),
            Opt::LatencyLimit => {
                let limit_ms = positive(text, "latency limit")?;
                self.latency_limit_us = (limit_ms * 1000.0) as u64;
            }
            Opt::SamplingRate => self.sampling = Some(sampling_rate(text)?),
            Opt::MaxTries => self.max_tries = Some(max_tries(text)?),
            _ => return self.take_word(opt, text),
        }
        Ok(())
    }

    fn take_word(&mut self, opt: Opt, text: &str) -> Result<(), Fault> {
        match opt {
            Opt::Protocol => {
                let fault = |_| Fault::error(format!("invalid query mode (-M): \"{text}\""));
                self.mode = text.parse::<QueryMode>().map_err(fault)?;
            }
            Opt::Define => self.define.push(definition(text)?),
            Opt::LogPrefix => self.log_prefix = Some(text.to_owned()),
            Opt::Percentiles => self.percentiles = own::percentiles(text)?,
            Opt::Format => self.format = own::format(text)?,
            Opt::Results => self.results = Some(own::results(text)?),
            Opt::Warmup => self.warmup = own::warmup(text)?,
            Opt::Group => self.groups.push(own::group(text)?),
            Opt::Hosts => self.hosts = own::hosts(text)?,
            Opt::Driver => self.driver = own::driver(text)?,
            Opt::ReadScript => self.read_scripts.extend(own::read_scripts(text)?),
            _ => self.set_flag(opt),
        }
        Ok(())
    }

    fn set_flag(&mut self, opt: Opt) {
        match opt {
            Opt::Connect => self.reconnect = true,
            Opt::Reconnect => self.reconnect_lost = true,
            Opt::VacuumAll => self.vacuum_all = true,
            Opt::ReportPerCommand => self.per_command = true,
            Opt::Log => self.log = true,
            Opt::ProgressTimestamp => self.progress_timestamp = true,
            Opt::FailuresDetailed => self.failures_detailed = true,
            Opt::VerboseErrors => self.verbose_errors = true,
            Opt::ExitOnAbort => self.exit_on_abort = true,
            Opt::ContinueOnError => self.continue_on_error = true,
            Opt::AllowChangedSettings => self.allow_changed_settings = true,
            // Every option of the table has its arm in one of these functions: a test takes them all.
            _ => debug_assert!(false, "no place for {opt:?}"),
        }
    }
}
