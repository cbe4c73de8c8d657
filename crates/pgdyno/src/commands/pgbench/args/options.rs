//! Every option of the drop-in, one per line: name, letter, mode, and effect.

use std::ffi::OsStr;
use std::ops::RangeInclusive;

use super::env::Env;
use super::fault::ArgumentError;
use super::load::check_open_files;
use super::numbers::integer;
use super::parsed::Parsed;
use super::{PgbenchCommand, own, scripts, values};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionMode {
    /// With `-i` and without.
    Both,
    Init,
    Run,
}

#[derive(Debug)]
pub(super) struct OptionSpec {
    /// Without its dashes.
    pub(super) long: &'static str,
    pub(super) short: Option<u8>,
    pub(super) mode: OptionMode,
    sets: Sets,
}

/// The command that ends parsing; usually none.
type ParseEnd = Result<Option<PgbenchCommand>, ArgumentError>;

#[derive(Debug, Clone)]
enum Sets {
    /// Without a value.
    Flag(fn(&mut Parsed)),
    /// Without a value; names a built-in script.
    Builtin(&'static str),
    Number(RangeInclusive<i32>, fn(&mut Parsed, u32)),
    Text(fn(&mut Parsed, &str) -> Result<(), ArgumentError>),
    Any(fn(&mut Parsed, &OsStr, &dyn Env) -> ParseEnd),
}

impl OptionSpec {
    pub(super) fn takes_value(&self) -> bool {
        !matches!(self.sets, Flag(_) | Builtin(_))
    }

    /// Whether no version of pgbench has it.
    pub(super) fn is_own(&self) -> bool {
        self.long != "continue-on-error" && BESIDE.iter().any(|own| own.long == self.long)
    }

    /// Processes the option; returns a command that ends parsing, if any. An error if its value is invalid.
    pub(super) fn take(&self, parsed: &mut Parsed, value: &OsStr, env: &dyn Env) -> ParseEnd {
        match &self.sets {
            Flag(set) => set(parsed),
            Builtin(name) => parsed.scripts.add_builtin(name)?,
            Number(range, set) => set(parsed, whole_number(value, &self.name(), range)?),
            Text(set) => set(parsed, &value.to_string_lossy())?,
            Any(set) => return set(parsed, value, env),
        }
        Ok(None)
    }

    fn name(&self) -> String {
        match self.short {
            Some(letter) => format!("-{}/--{}", char::from(letter), self.long),
            None => format!("--{}", self.long),
        }
    }
}

const fn spec(long: &'static str, short: u8, mode: OptionMode, sets: Sets) -> OptionSpec {
    OptionSpec { long, short: if short == 0 { None } else { Some(short) }, mode, sets }
}

use OptionMode::{Both, Init, Run};
use Sets::{Any, Builtin, Flag, Number, Text};

const FROM_0: RangeInclusive<i32> = 0..=i32::MAX;
const FROM_1: RangeInclusive<i32> = 1..=i32::MAX;

/// The options of pgbench 18, in the order in which its message lists them for an ambiguous abbreviation.
pub(super) static PGBENCH: [OptionSpec; 44] = [
    spec("builtin", b'b', Run, Any(builtin)),
    spec("client", b'c', Run, Any(client)),
    spec("connect", b'C', Run, Flag(|all| all.workload.reconnect = true)),
    spec("dbname", b'd', Both, Text(|all, text| keep(&mut all.connection.database, text))),
    spec("define", b'D', Run, Text(define)),
    spec("file", b'f', Run, Any(|all, path, env| and_on(all.scripts.add_file(path, env)))),
    spec("fillfactor", b'F', Init, Number(10..=100, |all, percent| all.init.tables.fillfactor = percent)),
    spec("host", b'h', Both, Text(|all, text| keep(&mut all.connection.host, text))),
    spec("initialize", b'i', Both, Flag(|all| all.initialize = true)),
    spec("init-steps", b'I', Init, Text(|all, text| some(&mut all.init.steps, values::steps(text)))),
    spec("jobs", b'j', Run, Number(FROM_1, |all, count| all.load.threads = Some(count))),
    spec("log", b'l', Run, Flag(|all| all.log.log = true)),
    spec(
        "latency-limit",
        b'L',
        Run,
        Text(|all, text| put(&mut all.load.latency_limit_us, values::latency_limit_us(text))),
    ),
    spec("no-vacuum", b'n', Both, Flag(|all| all.preparation.no_vacuum = true)),
    spec("port", b'p', Both, Text(|all, text| keep(&mut all.connection.port, text))),
    spec("progress", b'P', Run, Number(FROM_1, |all, seconds| all.progress.seconds = Some(seconds))),
    spec(
        "protocol",
        b'M',
        Run,
        Text(|all, text| {
            put(&mut all.workload.mode, values::mode(text).map_err(|error| error.of_list(text)))
        }),
    ),
    spec("quiet", b'q', Init, Flag(|all| all.init.tables.quiet = true)),
    spec("report-per-command", b'r', Run, Flag(|all| all.output.per_command = true)),
    spec("rate", b'R', Run, Text(|all, text| some(&mut all.load.rate, values::rate(text)))),
    spec("scale", b's', Both, Number(FROM_1, scale)),
    spec("select-only", b'S', Run, Builtin("select-only")),
    spec("skip-some-updates", b'N', Run, Builtin("simple-update")),
    spec("time", b'T', Run, Number(FROM_1, |all, seconds| all.load.seconds = Some(seconds))),
    spec("transactions", b't', Run, Number(FROM_1, |all, count| all.load.transactions = Some(count))),
    spec("username", b'U', Both, Text(|all, text| keep(&mut all.connection.user, text))),
    spec("vacuum-all", b'v', Run, Flag(|all| all.preparation.vacuum_accounts = true)),
    spec("unlogged-tables", 0, Init, Flag(|all| all.init.tables.unlogged = true)),
    spec("tablespace", 0, Init, Text(|all, text| keep(&mut all.init.tables.tablespace, text))),
    spec("index-tablespace", 0, Init, Text(|all, text| keep(&mut all.init.tables.index_tablespace, text))),
    spec("sampling-rate", 0, Run, Text(|all, text| some(&mut all.log.sampling, values::sampling_rate(text)))),
    spec("aggregate-interval", 0, Run, Number(FROM_1, |all, seconds| all.log.aggregate = Some(seconds))),
    spec("progress-timestamp", 0, Run, Flag(|all| all.progress.timestamp = true)),
    spec("log-prefix", 0, Run, Text(|all, text| keep(&mut all.log.prefix, text))),
    spec("foreign-keys", 0, Init, Flag(|all| all.init.tables.foreign_keys = true)),
    spec("random-seed", 0, Run, Any(random_seed)),
    spec("show-script", 0, Both, Any(show_script)),
    spec("partitions", 0, Init, Number(FROM_0, |all, count| all.init.tables.partitions = count)),
    spec(
        "partition-method",
        0,
        Init,
        Text(|all, text| some(&mut all.init.partition_method, values::partition_method(text))),
    ),
    spec("failures-detailed", 0, Run, Flag(|all| all.output.failures_detailed = true)),
    spec("max-tries", 0, Run, Text(|all, text| put(&mut all.workload.max_tries, values::max_tries(text)))),
    spec("verbose-errors", 0, Run, Flag(|all| all.output.verbose_errors = true)),
    spec("exit-on-abort", 0, Run, Flag(|all| all.load.exit_on_abort = true)),
    spec("debug", 0, Both, Flag(|all| all.debug = true)),
];

/// pgbench 19's option and pgdyno's own. An abbreviation matches these only if it matches none of
/// [`PGBENCH`], so that command lines for pgbench keep their meaning.
pub(super) static BESIDE: [OptionSpec; 15] = [
    spec("allow-changed-settings", 0, Run, Flag(|all| all.preparation.allow_changed_settings = true)),
    spec("client-cpus", 0, Run, Text(|all, text| some(&mut all.load.cpus, own::cpus(text)))),
    spec("continue-on-error", 0, Run, Flag(|all| all.workload.continue_on_error = true)),
    spec("driver", 0, Run, Text(|all, text| put(&mut all.load.driver, own::driver(text)))),
    spec("format", 0, Run, Text(|all, text| put(&mut all.output.format, own::parse_format(text)))),
    spec("group", 0, Run, Text(|all, text| own::group(text).map(|group| all.scripts.groups.push(group)))),
    spec("hosts", 0, Run, Text(|all, text| put(&mut all.scripts.hosts, own::hosts(text)))),
    spec("init-batch", 0, Init, Number(FROM_1, |all, rows| all.init.loading.batch = Some(rows.into()))),
    spec("init-jobs", 0, Init, Number(FROM_1, |all, count| all.init.loading.jobs = count)),
    spec("percentiles", 0, Run, Text(|all, text| put(&mut all.output.percentiles, own::percentiles(text)))),
    spec("read-script", 0, Run, Text(read_script)),
    spec("reconnect", 0, Run, Flag(|all| all.workload.reconnect_lost = true)),
    spec("results", 0, Run, Text(|all, text| some(&mut all.output.results, own::results(text)))),
    spec("startup-script", 0, Run, Any(startup_script)),
    spec("warmup", 0, Run, Text(|all, text| put(&mut all.load.warmup, own::warmup(text)))),
];

fn put<T>(place: &mut T, value: Result<T, ArgumentError>) -> Result<(), ArgumentError> {
    *place = value?;
    Ok(())
}

fn some<T>(place: &mut Option<T>, value: Result<T, ArgumentError>) -> Result<(), ArgumentError> {
    put(place, value.map(Some))
}

fn keep(place: &mut Option<String>, text: &str) -> Result<(), ArgumentError> {
    some(place, Ok(text.to_owned()))
}

fn and_on(done: Result<(), ArgumentError>) -> ParseEnd {
    done.map(|()| None)
}

fn builtin(all: &mut Parsed, name: &OsStr, _: &dyn Env) -> ParseEnd {
    if name == "list" {
        return Ok(Some(PgbenchCommand::ListScripts));
    }
    and_on(all.scripts.add_builtin(&name.to_string_lossy()))
}

fn show_script(_: &mut Parsed, name: &OsStr, _: &dyn Env) -> ParseEnd {
    scripts::builtin(&name.to_string_lossy()).map(|builtin| Some(PgbenchCommand::ShowScript(builtin)))
}

fn startup_script(all: &mut Parsed, path: &OsStr, env: &dyn Env) -> ParseEnd {
    and_on(some(&mut all.scripts.startup, scripts::startup(path, env)))
}

fn client(all: &mut Parsed, value: &OsStr, env: &dyn Env) -> ParseEnd {
    let clients = whole_number(value, "-c/--client", &FROM_1)
        .map_err(|error| error.of_list(&value.to_string_lossy()))?;
    all.load.clients = Some(clients);
    and_on(check_open_files(clients, env))
}

fn random_seed(all: &mut Parsed, value: &OsStr, env: &dyn Env) -> ParseEnd {
    and_on(all.set_seed(&value.to_string_lossy(), "--random-seed option", env))
}

fn define(all: &mut Parsed, text: &str) -> Result<(), ArgumentError> {
    let (name, value) = values::definition(text)?;
    all.workload.define.insert(name, value);
    Ok(())
}

fn scale(all: &mut Parsed, scale: u32) {
    all.workload.scale = Some(scale);
    all.init.tables.scale = scale;
}

fn read_script(all: &mut Parsed, text: &str) -> Result<(), ArgumentError> {
    all.scripts.read_scripts.extend(own::read_scripts(text)?);
    Ok(())
}

/// A non-negative integer in a range; messages call the option `option`.
fn whole_number(value: &OsStr, option: &str, range: &RangeInclusive<i32>) -> Result<u32, ArgumentError> {
    let number = integer(&value.to_string_lossy(), option, *range.start(), *range.end());
    number.map(i32::cast_unsigned).map_err(ArgumentError::error)
}

/// The options that a long name, perhaps abbreviated, matches.
#[derive(Debug)]
pub(super) enum OptionMatch {
    One(&'static OptionSpec),
    Ambiguous(Vec<&'static OptionSpec>),
    Unknown,
}

/// Finds an option by its long name or an unambiguous abbreviation.
pub(super) fn by_long(name: &[u8]) -> OptionMatch {
    let exact = |spec: &&'static OptionSpec| spec.long.as_bytes() == name;
    if let Some(found) = PGBENCH.iter().find(exact).or_else(|| BESIDE.iter().find(exact)) {
        return OptionMatch::One(found);
    }
    for table in [&PGBENCH[..], &BESIDE[..]] {
        let mut starting: Vec<_> =
            table.iter().filter(|spec| spec.long.as_bytes().starts_with(name)).collect();
        match starting.len() {
            0 => {}
            1 => return OptionMatch::One(starting.remove(0)),
            _ => return OptionMatch::Ambiguous(starting),
        }
    }
    OptionMatch::Unknown
}

/// The mode of an option; `None` if it does not exist.
pub(crate) fn mode_of(long: &str) -> Option<OptionMode> {
    PGBENCH.iter().chain(&BESIDE).find(|spec| spec.long == long).map(|spec| spec.mode)
}

/// Long names of all options of pgbench 18.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PGBENCH.iter().map(|spec| spec.long)
}

pub(super) fn by_letter(letter: u8) -> Option<&'static OptionSpec> {
    PGBENCH.iter().find(|spec| spec.short == Some(letter))
}
