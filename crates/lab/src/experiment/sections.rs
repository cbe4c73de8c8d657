//! The tables of an experiment file, one function each. A mistake is noted; `None` means that one was.

use std::path::Path;
use std::time::Duration;

use protocol::postgres::Parameters;
use toml::de::DeValue;
use workloads::Preparation;
use workloads::pgbench::init::InitOptions;

use super::keys;
use super::model::{
    ArmSpec, Beside, CellOrder, Compare, DurationSpec, Factors, LoadKind, LoadSpec, Measure, NamedWorkload,
    TargetSpec,
};
use super::reader::{Field, Section};
use super::workload;
use target::settings::{Machine, reserved, resolve};

/// Change that counts as none, unless the file says otherwise.
const MARGIN: f64 = 0.03;
const WARMUP: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 8;
const MAX_CLIENTS: u64 = 100_000;
const MAX_ROUNDS: u64 = 10_000;
/// Offered transactions per second: from one in a quarter of an hour to more than any server does.
const RATES: (f64, f64) = (0.001, 10_000_000.0);
/// Longest part of a run, and shortest one that counts.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
const SHORTEST: Duration = Duration::from_millis(1);
/// Longest pause of a user, and promise.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) fn target(root: &Section<'_>) -> Option<TargetSpec> {
    let hint = "add [target] with managed = {} (a private server) or url = \"postgres://…\"";
    let section = root.required("target", hint)?.section()?;
    section.check_keys();
    section.exclusive("managed", "url", "a target is one server");
    section.exclusive("managed", "redis", "write managed = { redis = true }");
    section.exclusive("managed", "change_server", "a managed server may always be changed");
    if let Some(field) = section.get("managed") {
        return managed(&field.section()?);
    }
    let field = section.required("url", hint)?;
    let url = field.expanded()?;
    if let Err(error) = Parameters::parse(&url) {
        field.wrong(format!("`{}`: {error}", field.path), None);
        return None;
    }
    let redis = match section.get("redis") {
        Some(field) => Some(redis_url(&field)?),
        None => None,
    };
    let change_server = section.get("change_server").and_then(|field| field.boolean()).unwrap_or(false);
    Some(TargetSpec::url(url, redis, change_server))
}

fn managed(section: &Section<'_>) -> Option<TargetSpec> {
    section.check_keys();
    let name = match section.get("name") {
        Some(field) => {
            let name = field.string()?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
                field.wrong(format!("\"{name}\" is not 1 to 40 letters, digits, - and _"), None);
                return None;
            }
            name
        }
        None => "default".to_owned(),
    };
    let version = section.get("version").and_then(|field| version(&field));
    let extensions = section.get("extensions").map(|field| texts(&field)).unwrap_or_default();
    let redis = section.get("redis").and_then(|field| field.boolean()).unwrap_or(false);
    Some(TargetSpec::Managed { name, version, extensions, redis })
}

/// `15` or `"15"`.
fn version(field: &Field<'_>) -> Option<u32> {
    if let Some(text) = field.value.get_ref().as_str() {
        let version = text.parse().ok().filter(|version| (9..=99).contains(version));
        if version.is_none() {
            field.wrong(format!("\"{text}\" is not a major version of PostgreSQL"), Some("e.g. 15".into()));
        }
        return version;
    }
    field.integer(9, 99).map(|version| version as u32)
}

fn redis_url(field: &Field<'_>) -> Option<String> {
    let url = field.expanded()?;
    let place = url.strip_prefix("redis://").unwrap_or_default().trim_end_matches('/');
    let port = place.rsplit_once(':').map_or("6379", |(_, port)| port);
    if place.is_empty() || place.contains('@') || port.parse::<u16>().is_err() {
        field.wrong(
            format!("`{}` must be redis://HOST or redis://HOST:PORT", field.path),
            Some("user names, passwords and database numbers are not supported".into()),
        );
        return None;
    }
    Some(url)
}

pub(super) fn prepare(root: &Section<'_>, folder: &Path) -> Preparation {
    let Some(section) = root.section("prepare") else { return Preparation::default() };
    section.check_keys();
    let osm = section.get("osm").and_then(|field| osm(&field, folder));
    let pgbench = section.get("pgbench").and_then(|field| pgbench_tables(&field));
    let sql = section.get("sql").map(|field| paths(&field, folder)).unwrap_or_default();
    Preparation { osm, pgbench, sql }
}

fn osm(field: &Field<'_>, folder: &Path) -> Option<workloads::osm::Options> {
    let mut options: workloads::osm::Options = workload::read(field)?;
    let section = field.section()?;
    if let Some(extract) = section.get("extract") {
        options.extract = folder.join(extract.expanded()?);
        if let (true, Err(error)) = (field.source.look, workloads::osm::check_extract(&options.extract)) {
            extract.wrong(error.to_string(), None);
        }
    }
    options.style = options.style.map(|style| folder.join(style));
    if let (Some(style), Some(field)) = (&options.style, section.get("style")) {
        is_readable(&field, style);
    }
    if let Err(error) = options.validate() {
        workload::note(field, &error);
        return None;
    }
    Some(options)
}

fn pgbench_tables(field: &Field<'_>) -> Option<InitOptions> {
    let options: InitOptions = workload::read(field)?;
    if let Err(error) = options.validate() {
        workload::note(field, &error);
        return None;
    }
    Some(options)
}

pub(super) fn workloads(root: &Section<'_>, folder: &Path) -> Vec<NamedWorkload> {
    let hint = "describe at least one: [workload.lookup] pgbench = { builtin = \"select-only\" }";
    let Some(section) = root.required("workload", hint).and_then(|field| field.section()) else {
        return Vec::new();
    };
    section.check_names("a workload");
    let mut named = Vec::new();
    for field in section.fields() {
        let Some(kinds) = field.section() else { continue };
        // A workload is a table of one table.
        if kinds.fields().iter().any(|kind| kind.section().is_none()) {
            continue;
        }
        let Some(spec) = workload::read::<workloads::Spec>(&field) else { continue };
        let good = if field.source.look { spec.open(folder).map(drop) } else { spec.validate() };
        if let Err(error) = good {
            workload::note(&field, &error);
            continue;
        }
        named.push(NamedWorkload { name: field.key.clone(), spec });
    }
    named
}

pub(super) fn arms(root: &Section<'_>) -> Vec<ArmSpec> {
    let Some(section) = root.section("settings") else { return Vec::new() };
    section.check_names("an arm");
    section.fields().iter().filter_map(arm).collect()
}

fn arm(field: &Field<'_>) -> Option<ArmSpec> {
    let section = field.section()?;
    let fields = section.fields();
    let settings: Vec<_> = fields.iter().map(|field| (field, setting(field))).collect();
    let line = |field: &Field<'_>| field.source.line(field.key_span.start);
    let lines = settings.iter().filter_map(|(field, found)| Some((found.as_ref()?.0.clone(), line(field))));
    Some(ArmSpec {
        name: field.key.clone(),
        lines: lines.collect(),
        settings: settings.iter().filter_map(|(_, found)| found.clone()).collect(),
    })
}

fn setting(field: &Field<'_>) -> Option<(String, String)> {
    let name = field.key.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(plain) {
        field.source.problem(&field.key_span, format!("`{}` is not the name of a setting", field.key), None);
        return None;
    }
    if let Some(elsewhere) = keys::elsewhere(&name) {
        let message = format!("`{}` is not a setting", field.key);
        let hint = format!(
            "an arm holds settings by their names in pg_settings; `{elsewhere}` is a key of this file"
        );
        field.source.problem(&field.key_span, message, Some(hint));
        return None;
    }
    let value = match field.value.get_ref() {
        DeValue::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        DeValue::Integer(_) => signed_integer(field)?,
        DeValue::Float(number) => number.as_str().replace('_', ""),
        DeValue::String(text) => {
            // Any machine will do to see whether a share makes sense.
            if let Err(error) = resolve(text, Machine { memory_bytes: 1 << 30, cores: 1 }) {
                field.wrong(error.to_string(), None);
                return None;
            }
            text.to_string()
        }
        _ => {
            field.wrong(format!("`{}` must be a text, a number, true or false", field.path), None);
            return None;
        }
    };
    if let Some(why) = reserved(&name, &value) {
        field.source.problem(&field.key_span, format!("`{}` cannot be a factor: {why}", field.key), None);
        return None;
    }
    Some((name, value))
}

fn signed_integer(field: &Field<'_>) -> Option<String> {
    let DeValue::Integer(number) = field.value.get_ref() else { return None };
    let value = i64::from_str_radix(number.as_str(), number.radix());
    if value.is_err() {
        field.wrong(format!("`{}` is too large", field.path), None);
    }
    value.ok().map(|value| value.to_string())
}

pub(super) fn compare(root: &Section<'_>, arms: &[ArmSpec]) -> Option<Compare> {
    let section = root.section("compare")?;
    section.check_keys();
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let factor = section.required("factor", "factor = \"settings\"")?.word(&["settings"])?;
    let base = section.required("base", "name the arm that the others are compared with")?;
    let base = if names.is_empty() { base.string()? } else { base.word(&names)? };
    let margin = match section.get("margin") {
        Some(field) => margin(&field)?,
        None => MARGIN,
    };
    Some(Compare { factor, base, margin })
}

/// `"3%"`.
fn margin(field: &Field<'_>) -> Option<f64> {
    let text = field.string()?;
    let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
    if percent.is_none() {
        let hint = Some("write a share: margin = \"3%\"".to_owned());
        field.wrong(format!("`{}`: \"{text}\" is not between 0% and 100%", field.path), hint);
    }
    percent.map(|percent| percent / 100.0)
}

pub(super) fn load(root: &Section<'_>) -> Option<LoadSpec> {
    let factors = root.section("factors");
    let rate_levels = factors.and_then(|factors| factors.get("rate")).is_some();
    let closed = if rate_levels { LoadKind::Rate } else { LoadKind::Closed };
    let Some(section) = root.section("load") else { return Some(LoadSpec { kind: closed, limit: None }) };
    section.check_keys();
    section.exclusive("rate", "users", "load is either offered on a schedule or by users that pause");
    if let (true, Some(field)) = (rate_levels, section.get("rate").or_else(|| section.get("users"))) {
        field.wrong(format!("`{}` and [factors] rate cannot stand together", field.path), None);
    }
    let limit = match section.get("limit") {
        Some(field) => Some(field.duration(Duration::from_micros(1), A_DAY)?),
        None => None,
    };
    let kind = if section.get("rate").is_some() {
        LoadKind::Rate
    } else if let Some(users) = section.get("users") {
        users_load(&users.section()?)?
    } else {
        closed
    };
    Some(LoadSpec { kind, limit })
}

fn users_load(section: &Section<'_>) -> Option<LoadKind> {
    section.check_keys();
    let think = section
        .required("think", "the pause between two transactions: think = \"1s\"")?
        .duration(Duration::ZERO, A_DAY)?;
    let ramp = match section.get("ramp") {
        Some(field) => field.duration(Duration::ZERO, A_DAY)?,
        None => Duration::ZERO,
    };
    Some(LoadKind::Users { think, ramp })
}

fn above_zero(field: &Field<'_>) -> Option<Duration> {
    field.duration(SHORTEST, LONGEST)
}

pub(super) fn factors(
    root: &Section<'_>,
    full: Option<&Section<'_>>,
    workloads: &[NamedWorkload],
) -> Option<Factors> {
    let overlay = full.and_then(|full| full.section("factors"));
    if let Some(overlay) = &overlay {
        overlay.check_keys();
    }
    let aside = beside(root).map(|beside| beside.workload).unwrap_or_default();
    let mut factors = Factors {
        workload: workloads.iter().map(|w| w.name.clone()).filter(|name| !aside.contains(name)).collect(),
        clients: vec![1],
        rate: Vec::new(),
    };
    let own = root.section("factors");
    if let Some(section) = own.clone() {
        section.check_keys();
    }
    if let Some(section) = own.or_else(|| overlay.clone()).map(|section| section.under(overlay.as_ref())) {
        if let Some(field) = section.get("workload") {
            factors.workload = distinct(&field, texts(&field));
        }
        if let Some(field) = section.get("clients") {
            factors.clients = distinct(&field, clients(&field));
        }
        if let Some(field) = section.get("rate") {
            factors.rate = distinct(&field, rates(&field));
        }
    }
    if let Some(field) = root.section("load").and_then(|load| load.get("rate")) {
        factors.rate = vec![rate(&field)?];
    }
    Some(factors)
}

pub(super) fn beside(root: &Section<'_>) -> Option<Beside> {
    let section = root.section("beside")?;
    section.check_keys();
    let field = section.required("workload", "name the workloads that run outside the grid")?;
    let workload = distinct(&field, texts(&field));
    let clients = match section.get("clients") {
        Some(field) => distinct(&field, clients(&field)),
        None => vec![1],
    };
    Some(Beside { workload, clients })
}

pub(super) fn measure(root: &Section<'_>, full: Option<&Section<'_>>) -> Option<Measure> {
    let overlay = full.and_then(|full| full.section("measure"));
    if let Some(overlay) = &overlay {
        overlay.check_keys();
    }
    let own = root.section("measure");
    if let Some(section) = &own {
        section.check_keys();
    }
    let mut measure = Measure {
        warmup: WARMUP,
        duration: DurationSpec::Fixed(DURATION),
        rounds: ROUNDS,
        threads: 1,
        order: CellOrder::Random,
    };
    let Some(section) = own.or_else(|| overlay.clone()).map(|section| section.under(overlay.as_ref())) else {
        return Some(measure);
    };
    if let Some(field) = section.get("warmup") {
        measure.warmup = field.duration(Duration::ZERO, LONGEST)?;
    }
    measure.duration = duration(&section, overlay.as_ref())?;
    if let Some(field) = section.get("rounds") {
        measure.rounds = field.integer(1, MAX_ROUNDS)? as u32;
    }
    if let Some(field) = section.get("threads") {
        measure.threads = field.integer(1, 1024)? as u32;
    }
    if let Some(field) = section.get("order") {
        let word = field.word(&["random", "listed"])?;
        measure.order = if word == "listed" { CellOrder::Listed } else { CellOrder::Random };
    }
    Some(measure)
}

/// `duration = "10s"`, or `budget = "4min"` with `duration = { from = "1s", to = "10s" }`.
fn duration(section: &Section<'_>, overlay: Option<&Section<'_>>) -> Option<DurationSpec> {
    // A fixed length in [full] stands for itself, also where the rest of the file has a budget.
    let fixed_over = overlay.and_then(|over| over.get("duration")).is_some_and(|field| !is_table(&field));
    let budget =
        section.get("budget").filter(|_| !fixed_over || overlay.is_some_and(|o| o.get("budget").is_some()));
    match (section.get("duration"), budget) {
        (None, None) => Some(DurationSpec::Fixed(DURATION)),
        (Some(field), None) if !is_table(&field) => Some(DurationSpec::Fixed(above_zero(&field)?)),
        (Some(field), Some(budget)) if is_table(&field) => {
            let bounds = field.section()?;
            bounds.check_keys();
            let hint = "duration = { from = \"1s\", to = \"10s\" }";
            let from = above_zero(&bounds.required("from", hint)?)?;
            let to_field = bounds.required("to", hint)?;
            let to = above_zero(&to_field)?;
            if to < from {
                to_field.wrong("`to` is shorter than `from`".into(), None);
                return None;
            }
            Some(DurationSpec::Sized { budget: above_zero(&budget)?, from, to })
        }
        (Some(field), None) => {
            field.wrong(
                "a duration with bounds needs the time there is".into(),
                Some("add budget = \"4min\", or write duration = \"10s\"".into()),
            );
            None
        }
        (_, Some(budget)) => {
            budget.wrong(
                "a budget needs bounds for the length of a run".into(),
                Some("duration = { from = \"1s\", to = \"10s\" }".into()),
            );
            None
        }
    }
}

fn is_table(field: &Field<'_>) -> bool {
    field.value.get_ref().is_table()
}

fn texts(field: &Field<'_>) -> Vec<String> {
    field.elements().iter().filter_map(Field::string).collect()
}

fn paths(field: &Field<'_>, folder: &Path) -> Vec<std::path::PathBuf> {
    let path = |element: &Field<'_>| {
        let path = folder.join(element.expanded()?);
        is_readable(element, &path);
        Some(path)
    };
    field.elements().iter().filter_map(path).collect()
}

/// Notes a file that cannot be read.
fn is_readable(field: &Field<'_>, path: &Path) {
    if !field.source.look {
        return;
    }
    let opened = std::fs::File::open(path).and_then(|file| file.metadata());
    match opened {
        Ok(data) if data.is_dir() => field.wrong(format!("{} is a folder", path.display()), None),
        Ok(_) => {}
        Err(error) => field.wrong(format!("{} cannot be read: {error}", path.display()), None),
    }
}

fn clients(field: &Field<'_>) -> Vec<u32> {
    let number = |element: &Field<'_>| element.integer(1, MAX_CLIENTS).map(|number| number as u32);
    field.elements().iter().filter_map(number).collect()
}

fn rates(field: &Field<'_>) -> Vec<f64> {
    field.elements().iter().filter_map(rate).collect()
}

fn rate(field: &Field<'_>) -> Option<f64> {
    field.number(RATES.0, RATES.1)
}

/// Notes levels that are listed twice.
fn distinct<T: PartialEq + std::fmt::Debug>(field: &Field<'_>, levels: Vec<T>) -> Vec<T> {
    for (index, level) in levels.iter().enumerate() {
        if levels[..index].contains(level) {
            field.wrong(format!("`{}` lists {level:?} twice", field.path), None);
        }
    }
    levels
}
