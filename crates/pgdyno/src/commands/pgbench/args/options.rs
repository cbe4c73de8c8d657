//! Every option of the drop-in: its name, its letter, whether it takes a value.

/// Which option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opt {
    Builtin,
    Client,
    Connect,
    Dbname,
    Define,
    File,
    Fillfactor,
    Host,
    Initialize,
    InitSteps,
    Jobs,
    Log,
    LatencyLimit,
    NoVacuum,
    Port,
    Progress,
    Protocol,
    Quiet,
    ReportPerCommand,
    Rate,
    Scale,
    SelectOnly,
    SkipSomeUpdates,
    Time,
    Transactions,
    Username,
    VacuumAll,
    UnloggedTables,
    Tablespace,
    IndexTablespace,
    SamplingRate,
    AggregateInterval,
    ProgressTimestamp,
    LogPrefix,
    ForeignKeys,
    RandomSeed,
    ShowScript,
    Partitions,
    PartitionMethod,
    FailuresDetailed,
    MaxTries,
    VerboseErrors,
    ExitOnAbort,
    Debug,
    AllowChangedSettings,
    ContinueOnError,
    Driver,
    Format,
    Group,
    Hosts,
    InitBatch,
    InitJobs,
    Percentiles,
    ReadScript,
    Reconnect,
    Results,
    Resume,
    StartupScript,
    Warmup,
}

/// In which mode an option has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// With `-i` and without.
    Both,
    /// With `-i` only.
    Initialization,
    /// Without `-i` only.
    Benchmark,
}

/// How an option is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    /// Which one.
    pub(super) opt: Opt,
    /// Long name, without its dashes.
    pub(super) long: &'static str,
    /// Letter, where there is one.
    pub(super) short: Option<u8>,
    /// Whether a value follows.
    pub(super) value: bool,
    /// Where it has a meaning.
    pub(super) mode: Mode,
}

const fn spec(opt: Opt, long: &'static str, short: u8, value: bool, mode: Mode) -> Spec {
    Spec { opt, long, short: if short == 0 { None } else { Some(short) }, value, mode }
}

use Mode::{Benchmark, Both, Initialization};

/// The options of pgbench 18, in the order in which it names them when an abbreviation is ambiguous.
pub(super) const PGBENCH: [Spec; 44] = [
    spec(Opt::Builtin, "builtin", b'b', true, Benchmark),
    spec(Opt::Client, "client", b'c', true, Benchmark),
    spec(Opt::Connect, "connect", b'C', false, Benchmark),
    spec(Opt::Dbname, "dbname", b'd', true, Both),
    spec(Opt::Define, "define", b'D', true, Benchmark),
    spec(Opt::File, "file", b'f', true, Benchmark),
    spec(Opt::Fillfactor, "fillfactor", b'F', true, Initialization),
    spec(Opt::Host, "host", b'h', true, Both),
    spec(Opt::Initialize, "initialize", b'i', false, Both),
    spec(Opt::InitSteps, "init-steps", b'I', true, Initialization),
    spec(Opt::Jobs, "jobs", b'j', true, Benchmark),
    spec(Opt::Log, "log", b'l', false, Benchmark),
    spec(Opt::LatencyLimit, "latency-limit", b'L', true, Benchmark),
    spec(Opt::NoVacuum, "no-vacuum", b'n', false, Both),
    spec(Opt::Port, "port", b'p', true, Both),
    spec(Opt::Progress, "progress", b'P', true, Benchmark),
    spec(Opt::Protocol, "protocol", b'M', true, Benchmark),
    spec(Opt::Quiet, "quiet", b'q', false, Initialization),
    spec(Opt::ReportPerCommand, "report-per-command", b'r', false, Benchmark),
    spec(Opt::Rate, "rate", b'R', true, Benchmark),
    spec(Opt::Scale, "scale", b's', true, Both),
    spec(Opt::SelectOnly, "select-only", b'S', false, Benchmark),
    spec(Opt::SkipSomeUpdates, "skip-some-updates", b'N', false, Benchmark),
    spec(Opt::Time, "time", b'T', true, Benchmark),
    spec(Opt::Transactions, "transactions", b't', true, Benchmark),
    spec(Opt::Username, "username", b'U', true, Both),
    spec(Opt::VacuumAll, "vacuum-all", b'v', false, Benchmark),
    spec(Opt::UnloggedTables, "unlogged-tables", 0, false, Initialization),
    spec(Opt::Tablespace, "tablespace", 0, true, Initialization),
    spec(Opt::IndexTablespace, "index-tablespace", 0, true, Initialization),
    spec(Opt::SamplingRate, "sampling-rate", 0, true, Benchmark),
    spec(Opt::AggregateInterval, "aggregate-interval", 0, true, Benchmark),
    spec(Opt::ProgressTimestamp, "progress-timestamp", 0, false, Benchmark),
    spec(Opt::LogPrefix, "log-prefix", 0, true, Benchmark),
    spec(Opt::ForeignKeys, "foreign-keys", 0, false, Initialization),
    spec(Opt::RandomSeed, "random-seed", 0, true, Benchmark),
    spec(Opt::ShowScript, "show-script", 0, true, Both),
    spec(Opt::Partitions, "partitions", 0, true, Initialization),
    spec(Opt::PartitionMethod, "partition-method", 0, true, Initialization),
    spec(Opt::FailuresDetailed, "failures-detailed", 0, false, Benchmark),
    spec(Opt::MaxTries, "max-tries", 0, true, Benchmark),
    spec(Opt::VerboseErrors, "verbose-errors", 0, false, Benchmark),
    spec(Opt::ExitOnAbort, "exit-on-abort", 0, false, Benchmark),
    spec(Opt::Debug, "debug", 0, false, Both),
];

/// pgbench 19's option and pgdyno's own ones. An abbreviation means one of these only when it means none of
/// [`PGBENCH`], so that command lines written for pgbench keep their meaning.
pub(super) const BESIDE: [Spec; 15] = [
    spec(Opt::AllowChangedSettings, "allow-changed-settings", 0, false, Benchmark),
    spec(Opt::ContinueOnError, "continue-on-error", 0, false, Benchmark),
    spec(Opt::Driver, "driver", 0, true, Benchmark),
    spec(Opt::Format, "format", 0, true, Benchmark),
    spec(Opt::Group, "group", 0, true, Benchmark),
    spec(Opt::Hosts, "hosts", 0, true, Benchmark),
    spec(Opt::InitBatch, "init-batch", 0, true, Initialization),
    spec(Opt::InitJobs, "init-jobs", 0, true, Initialization),
    spec(Opt::Percentiles, "percentiles", 0, true, Benchmark),
    spec(Opt::ReadScript, "read-script", 0, true, Benchmark),
    spec(Opt::Reconnect, "reconnect", 0, false, Benchmark),
    spec(Opt::Results, "results", 0, true, Benchmark),
    spec(Opt::Resume, "resume", 0, false, Initialization),
    spec(Opt::StartupScript, "startup-script", 0, true, Benchmark),
    spec(Opt::Warmup, "warmup", 0, true, Benchmark),
];

/// What a long name, perhaps abbreviated, stands for.
#[derive(Debug)]
pub(super) enum Found {
    /// This one.
    One(&'static Spec),
    /// Several.
    Ambiguous(Vec<&'static Spec>),
    /// None.
    Unknown,
}

/// Finds an option by its long name or an unambiguous abbreviation of it.
pub(super) fn by_long(name: &[u8]) -> Found {
    let exact = |spec: &&'static Spec| spec.long.as_bytes() == name;
    if let Some(found) = PGBENCH.iter().find(exact).or_else(|| BESIDE.iter().find(exact)) {
        return Found::One(found);
    }
    for table in [&PGBENCH[..], &BESIDE[..]] {
        let mut starting: Vec<_> =
            table.iter().filter(|spec| spec.long.as_bytes().starts_with(name)).collect();
        match starting.len() {
            0 => {}
            1 => return Found::One(starting.remove(0)),
            _ => return Found::Ambiguous(starting),
        }
    }
    Found::Unknown
}

/// Finds an option by its letter.
pub(super) fn by_letter(letter: u8) -> Option<&'static Spec> {
    PGBENCH.iter().find(|spec| spec.short == Some(letter))
}
