//! Turns the command line into an experiment.

use std::path::Path;

use protocol::without_credentials;
use server::managed::{Choice, Installation};
use spec::experiment::{
    BoundedDuration, ChangeStepValue, ChangeTable, Compare as ComparedFactor, Experiment, LengthOrBounds,
    LoadShape, Measure, Share, TargetChoice, Version, Whole,
};
use toml::Value;

use super::base::{BaseServer, BaseWorkload, Folder, plain};
use super::builds::{self, BuildOrigin, NamedBuild};
use super::kind::AgainstChange;
use super::made::MadeExperiment;
use super::parts::{self, ROOM, prepared, seed};
use super::values::{rate, scalar};
use super::{BenchArgs, usage};
use crate::commands::bench::against_args::Compare;
use crate::commands::bench::asked::BenchRequest;
use crate::options::WrittenSlices;

/// A minute of measurement: 12 rounds of 5 s, shared by the two sides.
const ROUNDS: u32 = 12;
const ROUND_S: f64 = 5.0;
/// Enough to settle plans and to refill memory after a switch, seconds.
const WARMUP_S: f64 = 0.5;
/// Longest text for an arm in the question, characters.
const LONGEST: usize = 100;

pub(in crate::commands) struct Compared<'a> {
    pub(in crate::commands) asked: BenchRequest<'a>,
    pub(in crate::commands) change: &'a AgainstChange,
    pub(in crate::commands) compare: &'a Compare,
    /// At least one: the levels of a factor.
    pub(in crate::commands) clients: Vec<u32>,
    pub(in crate::commands) saved_by: &'static str,
    pub(in crate::commands) question: &'a dyn Fn(&str, &str) -> String,
    pub(in crate::commands) load: LoadShape,
    pub(in crate::commands) measure: Measure,
    /// Whether both sides use the same server, one after the other: changes are undone.
    pub(in crate::commands) by_turns: bool,
}

pub(in crate::commands) struct Sides {
    pub(in crate::commands) factor: &'static str,
    pub(in crate::commands) base: Value,
    /// Its levels, unless they are separate tables.
    pub(in crate::commands) levels: Vec<Value>,
    called: [String; 2],
    /// Name of the other side in the file's name.
    pub(in crate::commands) short: String,
}

impl Sides {
    pub(in crate::commands) fn question(&self, ask: &dyn Fn(&str, &str) -> String) -> String {
        let [base, other] = self.called.each_ref().map(|called| match called.chars().count() > LONGEST {
            true => called.chars().take(LONGEST).chain(['…']).collect(),
            false => called.split_whitespace().collect::<Vec<_>>().join(" "),
        });
        ask(&base, &other)
    }

    pub(in crate::commands) fn compare(self, experiment: &mut Experiment, margin: Option<f64>) {
        if !self.levels.is_empty() {
            experiment.factors.insert(self.factor.to_owned(), self.levels.into_iter().collect());
        }
        experiment.compare = Some(ComparedFactor {
            factor: self.factor.to_owned(),
            base: self.base,
            margin: margin.map(Share::percent),
            metric: None,
            looks: None,
            take_apart: None,
            same: false,
        });
    }
}

pub(super) fn of_bench<'a>(args: &'a BenchArgs, change: &'a AgainstChange) -> Compared<'a> {
    let load = LoadShape {
        rate: args.pace.rate.as_deref().map(rate),
        promise: args.pace.latency_limit.map(|limit_ms| BoundedDuration::seconds(limit_ms / 1e3)),
        ..LoadShape::default()
    };
    let round_s = args.load.time.map_or(ROUND_S, |seconds| seconds as f64);
    let measure = Measure {
        warmup: Some(BoundedDuration::seconds(args.load.warmup.unwrap_or(WARMUP_S))),
        // The two sides share the length of a round.
        duration: Some(LengthOrBounds::Fixed(BoundedDuration::seconds(round_s / 2.0))),
        rounds: Some(Whole::new(args.against.rounds.unwrap_or(ROUNDS))),
        slices: args.against.slices.as_ref().and_then(WrittenSlices::value),
        keep_sessions: args.against.keep_sessions,
        check_time: args.against.check_time.map(|time| BoundedDuration::seconds(time.as_secs_f64())),
        threads: (args.load.jobs != 1).then(|| Whole::new(args.load.jobs)),
        ..Measure::default()
    };
    Compared {
        asked: BenchRequest::of(args),
        change,
        compare: &args.against.compare,
        clients: args.load.client.each().to_vec(),
        saved_by: super::SAVED_BY,
        question: &|base, other| format!("Is {other} faster than {base}?"),
        load,
        measure,
        by_turns: false,
    }
}

/// The experiment that compares two sides.
pub(in crate::commands) fn made(of: Compared<'_>, folder: &Folder) -> anyhow::Result<MadeExperiment> {
    let Compared { asked, change, compare, by_turns, .. } = of;
    let server = BaseServer::of(&asked)?;
    let base = BaseWorkload::of(&asked)?;
    let other_server = other_server(change, &server)?;
    can_be_changed(compare, change, &server, by_turns)?;
    let other_asks = matches!(change, AgainstChange::Scripts(scripts) if BaseWorkload::of_other(scripts).asks_pgbench_tables());
    let asks_tables = base.asks_pgbench_tables() || other_asks;
    asked.tables_fit(asks_tables)?;
    let servers: Vec<&BaseServer> = [Some(&server), other_server.as_ref()].into_iter().flatten().collect();
    let mut made = MadeExperiment::new("", of.saved_by, &servers);
    made.experiment.seed = seed(asked.conduct.random_seed.as_deref())?;
    made.experiment.load = of.load;
    made.experiment.load.users = parts::users(&asked, None, folder)?;
    made.experiment.measure = of.measure;
    asked.conduct.choose_generator(&mut made.experiment);
    targets(&mut made.experiment, &server, other_server.as_ref(), compare.change_server, &[]);
    match (&mut made.experiment.target, asked.target.replicas.given()) {
        (Some(target), _) => asked.target.replicas.put(target)?,
        (None, Some(option)) => {
            let what = format!("{option} is for one server, and two are compared");
            return Err(usage(&what, "write an experiment file with replicas in each [server.NAME]"));
        }
        (None, None) => {}
    }
    if server.is_managed() {
        made.experiment.prepare = prepared(&asked, asks_tables, folder)?;
    }
    made.experiment.workload.insert(&base.name, base.value(&asked, folder)?);
    // `max_connections` of a private server, if its default is too low.
    let most = of.clients.iter().copied().max().unwrap_or(0);
    let room = (server.is_managed() && most > ROOM).then_some(most);
    let sides = match change {
        AgainstChange::Scripts(scripts) => {
            of_scripts(&asked, &BaseWorkload::of_other(scripts), &base, folder, &mut made)?
        }
        other => of_change(other, compare, (&base.name, room), &mut made)?,
    };
    if let Some(connections) = room.filter(|_| !matches!(change, AgainstChange::Settings(_))) {
        made.experiment.settings.insert("room", [parts::room(connections)].into_iter().collect());
    }
    made.name = plain(&format!("{}-{}", base.name, sides.short)).replace(' ', "-");
    made.experiment.question = Some(sides.question(of.question));
    let clients = of.clients.iter().map(|clients| i64::from(*clients));
    made.experiment.factors.insert("clients".to_owned(), clients.collect());
    if let modes @ [_, _, ..] = asked.scripts.mode.each() {
        made.experiment.factors.insert("mode".to_owned(), modes.iter().map(|mode| mode.name()).collect());
    }
    sides.compare(&mut made.experiment, compare.margin);
    Ok(made)
}

/// The arms of any change except of scripts; `name` is the workload's.
///
/// # Errors
/// The change is of scripts, or a version is invalid.
pub(in crate::commands) fn of_change(
    change: &AgainstChange,
    compare: &Compare,
    (name, room): (&str, Option<u32>),
    made: &mut MadeExperiment,
) -> anyhow::Result<Sides> {
    let experiment = &mut made.experiment;
    Ok(match change {
        AgainstChange::Settings(settings) => of_settings(settings, name, room, experiment),
        AgainstChange::Url(_) => of_servers(name),
        AgainstChange::Version { base: first, new } => of_versions(first.as_deref(), new, name, experiment)?,
        AgainstChange::Builds(builds) => of_builds(builds, name, experiment)?,
        AgainstChange::Sql(sql) => of_sql(sql, compare.undo.as_deref(), name, experiment),
        AgainstChange::Scripts(_) => {
            return Err(usage("script: is for pgbench's scripts, and none are run here", ""));
        }
    })
}

/// The servers of the sides, each with these tile servers in front.
pub(in crate::commands) fn targets(
    experiment: &mut Experiment,
    server: &BaseServer,
    other: Option<&BaseServer>,
    change_server: bool,
    tile_servers: &[&str],
) {
    let target = |server: &BaseServer, change_server: bool| TargetChoice {
        change_server,
        tile_servers: tile_servers.iter().copied().collect(),
        ..server.target()
    };
    match other {
        None => experiment.target = Some(target(server, change_server)),
        Some(other) => {
            experiment.server.insert("base", target(server, false));
            experiment.server.insert("other", target(other, false));
        }
    }
}

pub(in crate::commands) fn other_server(
    change: &AgainstChange,
    base: &BaseServer,
) -> anyhow::Result<Option<BaseServer>> {
    let AgainstChange::Url(url) = change else { return Ok(None) };
    if base.is_managed() {
        let hint = "name the base's database too";
        return Err(usage("--managed: what stands on a private server is not on the other one", hint));
    }
    let wrong =
        |error: anyhow::Error| usage(&format!("--against 'url: …': {error}"), "anything that psql takes");
    let other = BaseServer::by_url(Some(url), None, None, None).map_err(wrong)?;
    match base.is_same(&other) {
        true => Err(usage("url: both sides are the same server", "name the other one")),
        false => Ok(Some(other)),
    }
}

pub(in crate::commands) fn can_be_changed(
    own: &Compare,
    change: &AgainstChange,
    server: &BaseServer,
    by_turns: bool,
) -> anyhow::Result<()> {
    let is_sql = matches!(change, AgainstChange::Sql(_));
    if own.undo.is_some() && !is_sql {
        return Err(usage("--undo undoes 'sql: …', and nothing else", ""));
    }
    if own.change_server && (server.is_managed() || !is_sql && !matches!(change, AgainstChange::Settings(_)))
    {
        let what = "--change-server is for settings and SQL on a server that is not pgdyno's";
        return Err(usage(what, "leave it out"));
    }
    match change {
        AgainstChange::Version { .. } | AgainstChange::Builds(_) if !server.is_managed() => {
            let hint = "--managed … --against 'version: …' or 'build: …'; for two existing servers: 'url: …'";
            Err(usage("versions and builds need a private server, which pgdyno makes of each", hint))
        }
        AgainstChange::Sql(_) if by_turns || !server.is_managed() => {
            let lacks = [
                (own.undo.is_none(), "--undo 'SQL that undoes it'"),
                (!own.change_server && !server.is_managed(), "--change-server"),
            ];
            let lacks: Vec<&str> = lacks.iter().filter(|(lacks, _)| *lacks).map(|(_, what)| *what).collect();
            match lacks.is_empty() {
                true => Ok(()),
                false => {
                    let what = match by_turns {
                        true => "sql: is done and undone on one server, where the sides are tried in turn",
                        false => "sql: changes a server that is not pgdyno's",
                    };
                    let copies = if by_turns { "" } else { "; or --managed, where nothing need be undone" };
                    Err(usage(what, &format!("{}{copies}", lacks.join(" and "))))
                }
            }
        }
        _ => Ok(()),
    }
}

fn of_settings(
    settings: &[(String, String)],
    workload: &str,
    room: Option<u32>,
    experiment: &mut Experiment,
) -> Sides {
    let is_named = |name: &str| settings.iter().any(|(setting, _)| setting == name);
    let each = settings.iter().map(|(name, of)| format!("{name} {}", without_credentials(of)));
    let name = plain(&each.collect::<Vec<_>>().join(" and "));
    let room = room.map(parts::room);
    let own = settings.iter().map(|(name, value)| (name.clone(), scalar(value)));
    let beside_own = room.clone().filter(|(name, _)| !is_named(name));
    experiment.settings.insert("base", room.into_iter().collect());
    experiment.settings.insert(&name, beside_own.into_iter().chain(own).collect());
    let each = settings.iter().map(|(name, of)| format!("{name} = {}", without_credentials(of)));
    let other = format!("{workload} with {}", each.collect::<Vec<_>>().join(", "));
    let called = ["without".to_owned(), other];
    Sides { factor: "settings", base: "base".into(), levels: Vec::new(), called, short: name }
}

fn of_scripts(
    asked: &BenchRequest<'_>,
    other: &BaseWorkload,
    base: &BaseWorkload,
    folder: &Folder,
    made: &mut MadeExperiment,
) -> anyhow::Result<Sides> {
    let name = if other.name == base.name { format!("{} new", other.name) } else { other.name.clone() };
    made.experiment.workload.insert(&name, other.value(asked, folder)?);
    for option in ["builtin", "files", "scripts"] {
        made.origins.add(&["workload", &name, "pgbench", option], "--against 'script: …'");
    }
    let called = [base.name.clone(), name.clone()];
    let levels = called.iter().map(|name| Value::from(name.as_str())).collect();
    let short = format!("against-{name}");
    Ok(Sides { factor: "workload", base: base.name.as_str().into(), levels, called, short })
}

fn of_servers(workload: &str) -> Sides {
    let called = ["on the base server".to_owned(), format!("{workload} on the other server")];
    let short = "other-server".to_owned();
    Sides { factor: "server", base: "base".into(), levels: Vec::new(), called, short }
}

/// Versions by number, builds by the folder of their programs.
fn of_versions(
    first: Option<&str>,
    new: &str,
    workload: &str,
    experiment: &mut Experiment,
) -> anyhow::Result<Sides> {
    let base = match first {
        Some(first) => first.to_owned(),
        None => newest()?.to_string(),
    };
    if base == new {
        let installed: Vec<String> =
            Installation::all().iter().map(|found| found.major.to_string()).collect();
        let what = format!("both sides are PostgreSQL {base}, which is the newest here");
        let hint = format!("name the base first: 'version: 17, 18'; installed: {}", installed.join(", "));
        return Err(usage(&what, &hint));
    }
    let folders: Vec<&str> =
        [base.as_str(), new].into_iter().filter(|level| level.parse::<u32>().is_err()).collect();
    let mut builds = builds::named(&folders).map_err(|why| usage(&why.replace('\n', "; "), ""))?.into_iter();
    let mut level = |written: &str| match written.parse::<u32>() {
        Ok(_) => written.to_owned(),
        Err(_) => builds.next().map_or_else(String::new, |build| with_build(build, experiment)),
    };
    let levels = [level(&base), level(new)];
    Ok(of_levels(&levels, workload))
}

/// The first of several builds is the base; one alone is compared with the newest version here.
fn of_builds(builds: &[NamedBuild], workload: &str, experiment: &mut Experiment) -> anyhow::Result<Sides> {
    let mut levels: Vec<String> = builds.iter().map(|build| with_build(build.clone(), experiment)).collect();
    if let [_] = levels[..] {
        levels.insert(0, newest()?.to_string());
    }
    Ok(of_levels(&levels, workload))
}

/// Adds a build to the experiment; its level.
fn with_build(build: NamedBuild, experiment: &mut Experiment) -> String {
    let path = |path: &Path| Some(path.display().to_string().replace('$', "$$"));
    let texts = |texts: Vec<String>| texts.into_iter().map(Value::from).collect();
    let initdb = texts(build.initdb);
    let settings = build.settings.iter().map(|(name, value)| (name.clone(), scalar(value))).collect();
    let version = match build.from {
        BuildOrigin::Folder(bin) => Version { bin: path(&bin), ..Version::default() },
        BuildOrigin::Git { reference, options, source } => Version {
            git: Some(reference),
            source: path(&source),
            configure: texts(options),
            ..Version::default()
        },
    };
    experiment.version.insert(&build.name, Version { initdb, settings, ..version });
    build.name
}

/// Versions and builds, the base first.
fn of_levels(levels: &[String], workload: &str) -> Sides {
    let (base, others) = levels.split_first().expect("a comparison has a base");
    let others = others.join(" or ");
    let called = [format!("on {base}"), format!("{workload} on PostgreSQL {others}")];
    let short = format!("version-{}", levels.join("-"));
    Sides {
        factor: "version",
        base: scalar(base),
        levels: levels.iter().map(|level| scalar(level)).collect(),
        called,
        short,
    }
}

fn newest() -> anyhow::Result<u32> {
    Ok(Installation::find(&Choice { version: None, pg_bin: None })?.major)
}

fn of_sql(sql: &str, undo: Option<&str>, workload: &str, experiment: &mut Experiment) -> Sides {
    let after = ChangeTable {
        do_: Some(ChangeStepValue::Sql(sql.to_owned())),
        undo: undo.map(|undo| ChangeStepValue::Sql(undo.to_owned())),
        check: None,
    };
    let levels = [("before", ChangeTable::default()), ("after", after)];
    experiment
        .change
        .insert("sql", levels.map(|(name, level)| (name.to_owned(), level)).into_iter().collect());
    let called = ["without".to_owned(), format!("{workload} with {sql}")];
    let short = "after-sql".to_owned();
    Sides { factor: "sql", base: "before".into(), levels: Vec::new(), called, short }
}
