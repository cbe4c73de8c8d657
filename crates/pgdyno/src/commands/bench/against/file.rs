//! From the command line to the experiment file that does it.

use protocol::without_credentials;
use server::managed::{Choice, Installation};
use toml::Value;

use super::base::{Folder, Server, Workload, plain};
use super::kind::Change;
use super::made::Made;
use super::parts::{ROOM, entry_of, prepare, seed_of};
use super::toml_text::{TomlText, scalar, seconds};
use super::{BenchArgs, usage};
use crate::commands::bench::against_args::Compare;
use crate::commands::bench::asked::Asked;

/// A minute of measuring: 12 rounds of 5 s, shared by the two sides.
const ROUNDS: u32 = 12;
const ROUND_S: f64 = 5.0;
/// Enough for plans to be chosen for good and memory to fill again after a switch, seconds.
const WARMUP_S: f64 = 0.5;
/// Behind this the name of an arm or what is done to it is cut in the question.
const LONGEST: usize = 100;

/// A comparison that becomes a file.
pub(in crate::commands) struct Compared<'a> {
    pub(in crate::commands) asked: Asked<'a>,
    pub(in crate::commands) change: &'a Change,
    pub(in crate::commands) compare: &'a Compare,
    pub(in crate::commands) clients: u32,
    /// First line of what is saved.
    pub(in crate::commands) saved_by: &'static str,
    /// What is asked of the base and the other side.
    pub(in crate::commands) question: &'a dyn Fn(&str, &str) -> String,
    /// `[load]` and `[measure]`.
    pub(in crate::commands) load: String,
    /// Whether both sides stand on the same server, one after the other: what is done there is undone.
    pub(in crate::commands) by_turns: bool,
}

/// The arms of a comparison.
pub(in crate::commands) struct Sides {
    pub(in crate::commands) factor: &'static str,
    pub(in crate::commands) base: Value,
    /// Its levels, where they are not separate tables.
    pub(in crate::commands) levels: Vec<Value>,
    /// What the base and the other side are called in the question.
    called: [String; 2],
    /// What else the other side is called, for its own file.
    pub(in crate::commands) short: String,
}

impl Sides {
    /// What `ask` makes of the two.
    pub(in crate::commands) fn question(&self, ask: &dyn Fn(&str, &str) -> String) -> String {
        let [base, other] = self.called.each_ref().map(|called| match called.chars().count() > LONGEST {
            true => called.chars().take(LONGEST).chain(['…']).collect(),
            false => called.split_whitespace().collect::<Vec<_>>().join(" "),
        });
        ask(&base, &other)
    }
}

/// What `bench` would run with the same thing changed.
pub(super) fn of_bench<'a>(args: &'a BenchArgs, change: &'a Change) -> Compared<'a> {
    Compared {
        asked: Asked::of(args),
        change,
        compare: &args.against.compare,
        clients: args.load.client,
        saved_by: super::SAVED_BY,
        question: &|base, other| format!("Is {other} faster than {base}?"),
        load: measure(args),
        by_turns: false,
    }
}

/// The file that compares two sides.
///
/// # Errors
/// What cannot be meant, with what to write.
pub(in crate::commands) fn written(of: &Compared<'_>, folder: &Folder) -> anyhow::Result<Made> {
    let Compared { asked, change, compare, by_turns, .. } = of;
    let server = Server::of(asked)?;
    let base = Workload::of(asked);
    let other_server = other_server(change, &server)?;
    can_be_changed(compare, change, &server, *by_turns)?;
    let other_asks =
        matches!(change, Change::Scripts(scripts) if Workload::of_other(scripts).asks_pgbench_tables());
    let asks_tables = base.asks_pgbench_tables() || other_asks;
    asked.tables_fit(asks_tables)?;
    let mut tables = TomlText::default();
    // As many connections as a private server must allow, where its default is too few.
    let room = (server.is_managed() && of.clients > ROOM).then_some(of.clients + 10);
    let sides = match change {
        Change::Scripts(scripts) => {
            of_scripts(asked, &Workload::of_other(scripts), &base, folder, &mut tables)?
        }
        other => of_change(other, compare, (&base.name, room), &mut tables)?,
    };
    if let Some(connections) = room.filter(|_| !matches!(change, Change::Settings(_))) {
        tables.table(&["settings", "room"]);
        tables.entry("max_connections", Value::Integer(connections.into()));
    }
    let mut text = TomlText::default();
    text.comment(of.saved_by);
    text.entry("question", sides.question(of.question));
    if let Some(seed) = &asked.conduct.random_seed {
        text.entry("seed", seed_of(seed)?);
    }
    targets(&mut text, &server, other_server.as_ref(), compare.change_server, &[]);
    if server.is_managed() {
        prepare(asked, asks_tables, folder, &mut text);
    }
    text.table(&["workload", &base.name]);
    text.entry("pgbench", base.value(asked, folder)?);
    text.table(&["factors"]);
    text.entry("clients", Value::Integer(of.clients.into()));
    if !sides.levels.is_empty() {
        text.entry(sides.factor, sides.levels.clone());
    }
    text.table(&["compare"]);
    text.entry("factor", sides.factor);
    text.entry("base", sides.base.clone());
    if let Some(margin) = compare.margin {
        text.entry("margin", format!("{margin}%"));
    }
    let mut text = text.into_text() + &tables.into_text();
    text.push_str(&of.load);
    let servers = [Some(&server), other_server.as_ref()];
    Ok(Made {
        name: plain(&format!("{}-{}", base.name, sides.short)).replace(' ', "-"),
        text,
        logins: servers.iter().flatten().filter_map(|server| server.url().cloned()).collect(),
        left_out: servers.iter().flatten().any(|server| server.has_secret()),
    })
}

/// The arms of whatever is changed but the scripts; `name` is that of what is run.
///
/// # Errors
/// Scripts, and versions that are none.
pub(in crate::commands) fn of_change(
    change: &Change,
    compare: &Compare,
    (name, room): (&str, Option<u32>),
    tables: &mut TomlText,
) -> anyhow::Result<Sides> {
    Ok(match change {
        Change::Settings(settings) => of_settings(settings, name, room, tables),
        Change::Url(_) => of_servers(name),
        Change::Version { base: first, new } => of_versions(first.as_deref(), new, name, tables)?,
        Change::Sql(sql) => of_sql(sql, compare.undo.as_deref(), name, tables),
        Change::Scripts(_) => {
            return Err(usage("script: is for pgbench's scripts, and none are run here", ""));
        }
    })
}

/// Where the sides stand, each with these tile servers before it.
pub(in crate::commands) fn targets(
    text: &mut TomlText,
    server: &Server,
    other: Option<&Server>,
    change_server: bool,
    tile_servers: &[&str],
) {
    let mut place = |table: &[&str], server: &Server, change_server: bool| {
        text.table(table);
        entry_of(text, server);
        if change_server {
            text.entry("change_server", true);
        }
        if !tile_servers.is_empty() {
            text.entry("tile_servers", tile_servers.to_vec());
        }
    };
    match other {
        None => place(&["target"], server, change_server),
        Some(other) => {
            place(&["server", "base"], server, false);
            place(&["server", "other"], other, false);
        }
    }
}

/// The server of the other side, where it has one of its own.
pub(in crate::commands) fn other_server(change: &Change, base: &Server) -> anyhow::Result<Option<Server>> {
    let Change::Url(url) = change else { return Ok(None) };
    if base.is_managed() {
        let hint = "name the base's database too";
        return Err(usage("--managed: what stands on a private server is not on the other one", hint));
    }
    let wrong =
        |error: anyhow::Error| usage(&format!("--against 'url: …': {error}"), "anything that psql takes");
    let other = Server::by_url(Some(url), None, None, None).map_err(wrong)?;
    match base.is_same(&other) {
        true => Err(usage("url: both sides are the same server", "name the other one")),
        false => Ok(Some(other)),
    }
}

/// Whether the server of the base may be changed so.
pub(in crate::commands) fn can_be_changed(
    own: &Compare,
    change: &Change,
    server: &Server,
    by_turns: bool,
) -> anyhow::Result<()> {
    let is_sql = matches!(change, Change::Sql(_));
    if own.undo.is_some() && !is_sql {
        return Err(usage("--undo undoes 'sql: …', and nothing else", ""));
    }
    if own.change_server && (server.is_managed() || !is_sql && !matches!(change, Change::Settings(_))) {
        let what = "--change-server is for settings and SQL on a server that is not pgdyno's";
        return Err(usage(what, "leave it out"));
    }
    match change {
        Change::Version { .. } if !server.is_managed() => {
            let hint = "--managed … --against 'version: …'; for two servers of your own: 'url: …'";
            Err(usage("version: needs a private server, which pgdyno makes of each version", hint))
        }
        Change::Sql(_) if by_turns || !server.is_managed() => {
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
    tables: &mut TomlText,
) -> Sides {
    let is_named = |name: &str| settings.iter().any(|(setting, _)| setting == name);
    let make_room = |tables: &mut TomlText, is_named: bool| {
        if let Some(connections) = room.filter(|_| !is_named) {
            tables.entry("max_connections", Value::Integer(connections.into()));
        }
    };
    let each = settings.iter().map(|(name, of)| format!("{name} {}", without_credentials(of)));
    let name = plain(&each.collect::<Vec<_>>().join(" and "));
    tables.table(&["settings", "base"]);
    make_room(tables, false);
    tables.table(&["settings", &name]);
    make_room(tables, is_named("max_connections"));
    for (name, value) in settings {
        tables.entry(name, scalar(value));
    }
    let each = settings.iter().map(|(name, of)| format!("{name} = {}", without_credentials(of)));
    let other = format!("{workload} with {}", each.collect::<Vec<_>>().join(", "));
    let called = ["without".to_owned(), other];
    Sides { factor: "settings", base: "base".into(), levels: Vec::new(), called, short: name }
}

fn of_scripts(
    asked: &Asked<'_>,
    other: &Workload,
    base: &Workload,
    folder: &Folder,
    tables: &mut TomlText,
) -> anyhow::Result<Sides> {
    let name = if other.name == base.name { format!("{} new", other.name) } else { other.name.clone() };
    tables.table(&["workload", &name]);
    tables.entry("pgbench", other.value(asked, folder)?);
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

/// Versions by their numbers, builds by their own tables.
fn of_versions(
    first: Option<&str>,
    new: &str,
    workload: &str,
    tables: &mut TomlText,
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
    let mut name = |level: &str, build: &str| {
        if level.parse::<u32>().is_ok() {
            return level.to_owned();
        }
        let bin =
            std::path::absolute(level).map_or_else(|_| level.to_owned(), |bin| bin.display().to_string());
        tables.table(&["version", build]);
        tables.entry("bin", bin.replace('$', "$$"));
        build.to_owned()
    };
    let [base, new] = [name(&base, "base-build"), name(new, "build")];
    let called = [format!("on {base}"), format!("{workload} on PostgreSQL {new}")];
    let levels = [&base, &new].map(|level| scalar(level)).to_vec();
    let short = format!("version-{base}-{new}");
    Ok(Sides { factor: "version", base: scalar(&base), levels, called, short })
}

fn newest() -> anyhow::Result<u32> {
    Ok(Installation::find(&Choice { version: None, pg_bin: None })?.major)
}

fn of_sql(sql: &str, undo: Option<&str>, workload: &str, tables: &mut TomlText) -> Sides {
    tables.table(&["change", "sql", "before"]);
    tables.table(&["change", "sql", "after"]);
    tables.entry("do", sql);
    if let Some(undo) = undo {
        tables.entry("undo", undo);
    }
    let called = ["before".to_owned(), format!("{workload} after: {sql}")];
    let short = "after-sql".to_owned();
    Sides { factor: "sql", base: "before".into(), levels: Vec::new(), called, short }
}

/// How each round is measured: the two sides share its length.
fn measure(args: &BenchArgs) -> String {
    let mut text = TomlText::default();
    if args.pace.rate.is_some() || args.pace.latency_limit.is_some() {
        text.table(&["load"]);
        if let Some(rate) = &args.pace.rate {
            // A number is written as one; what it may be is told where the file is read.
            text.entry("rate", rate.parse::<f64>().map_or_else(|_| rate.as_str().into(), Value::from));
        }
        if let Some(limit) = args.pace.latency_limit {
            text.entry("promise", format!("{limit}ms"));
        }
    }
    text.table(&["measure"]);
    let round = args.load.time.map_or(ROUND_S, |seconds| seconds as f64);
    text.entry("warmup", seconds(args.load.warmup.unwrap_or(WARMUP_S)));
    text.entry("duration", seconds(round / 2.0));
    text.entry("rounds", Value::Integer(args.against.rounds.unwrap_or(ROUNDS).into()));
    if let Some(slices) = args.against.slices.as_ref().filter(|slices| slices.text != "auto") {
        text.entry("slices", scalar(&slices.text));
    }
    if args.load.jobs != 1 {
        text.entry("threads", Value::Integer(args.load.jobs.into()));
    }
    args.conduct.write_generator(&mut text);
    text.into_text()
}
