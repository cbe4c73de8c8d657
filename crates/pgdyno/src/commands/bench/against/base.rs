//! The base of a comparison: the run that `bench` would do without it.

use std::path::{Path, PathBuf};

use lab::connection;
use lab::target_spec::TargetAccess;
use protocol::postgres::conninfo::ConnectionString;
use script::Weighted;
use spec::experiment::{Managed, TargetChoice};
use toml::Value;

use super::usage;
use super::values::{flag, one_or_many, scalar, toml_table};
use crate::commands::bench::args::{self, Rows, ScriptChoice};
use crate::commands::bench::asked::BenchRequest;
use crate::commands::bench::query_protocol::QueryProtocolArg;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum BaseServer {
    /// A private server of this name, the extensions in its database, and whether Redis runs next to it.
    Managed { name: String, extensions: &'static [&'static str], redis: bool },
    /// A server by address. Its password never leaves this process.
    Url(ConnectionString),
}

impl BaseServer {
    pub(in crate::commands) fn of(args: &BenchRequest<'_>) -> anyhow::Result<Self> {
        let args::TargetArgs { dsn, dbname, host, port, username, managed, .. } = args.target;
        let dsn = dsn.as_ref().or(dbname.as_ref()).map(String::as_str);
        Self::given([dsn, host.as_deref(), port.as_deref(), username.as_deref()], managed.as_deref())
    }

    /// By database, host, port and user, or by the name of a private server.
    ///
    /// # Errors
    /// Both are given, or the connection string is invalid.
    pub(in crate::commands) fn given(
        [dsn, host, port, username]: [Option<&str>; 4],
        managed: Option<&str>,
    ) -> anyhow::Result<Self> {
        match managed {
            Some(_) if [dsn, host, port, username].into_iter().any(|part| part.is_some()) => Err(usage(
                "--managed is a private server; a database or server is given too",
                "leave one of them out",
            )),
            Some(name) => Ok(Self::managed(name.to_owned())),
            None => Self::by_url(dsn, host, port, username),
        }
    }

    pub(in crate::commands) fn by_url(
        dsn: Option<&str>,
        host: Option<&str>,
        port: Option<&str>,
        user: Option<&str>,
    ) -> anyhow::Result<Self> {
        Ok(Self::Url(connection::at(dsn, host, port, user)?))
    }

    pub(in crate::commands) fn access(&self) -> TargetAccess {
        match self {
            Self::Managed { name, extensions, .. } => TargetAccess::managed(name, extensions),
            Self::Url(url) => TargetAccess::url(url.clone()),
        }
    }

    fn managed(name: String) -> Self {
        Self::Managed { name, extensions: &[], redis: false }
    }

    pub(in crate::commands) fn is_managed(&self) -> bool {
        matches!(self, Self::Managed { .. })
    }

    pub(in crate::commands) fn url(&self) -> Option<&ConnectionString> {
        match self {
            Self::Managed { .. } => None,
            Self::Url(url) => Some(url),
        }
    }

    pub(in crate::commands) fn is_same(&self, other: &Self) -> bool {
        self.access().spec.is_place_of(&other.access().spec)
    }

    /// The target of an experiment. A dollar in an address is escaped.
    pub(in crate::commands) fn target(&self) -> TargetChoice {
        match self {
            Self::Managed { name, extensions, redis } => TargetChoice {
                managed: Some(Managed {
                    name: Some(name.clone()),
                    version: None,
                    extensions: extensions.iter().copied().collect(),
                    redis: *redis,
                }),
                ..TargetChoice::default()
            },
            Self::Url(url) => {
                TargetChoice { url: Some(url.to_string().replace('$', "$$")), ..TargetChoice::default() }
            }
        }
    }

    pub(in crate::commands) fn has_secret(&self) -> bool {
        self.url().is_some_and(ConnectionString::has_secret)
    }
}

#[derive(Debug, Clone)]
pub(in crate::commands) struct BaseWorkload {
    /// The name in arms, tables and reports.
    pub(in crate::commands) name: String,
    /// As given, built-in ones with their full name.
    scripts: Vec<ScriptChoice>,
}

impl BaseWorkload {
    /// The workload of bench: tpcb-like by default.
    ///
    /// # Errors
    /// Users whose texts are wrong, or who do not go with other options.
    pub(in crate::commands) fn of(args: &BenchRequest<'_>) -> anyhow::Result<Self> {
        Ok(Self::new(args.script_choices()?))
    }

    pub(super) fn of_other(scripts: &[ScriptChoice]) -> Self {
        Self::new(scripts.to_vec())
    }

    fn new(mut scripts: Vec<ScriptChoice>) -> Self {
        if scripts.is_empty() {
            scripts.push(ScriptChoice::Builtin("tpcb-like".to_owned()));
        }
        for script in &mut scripts {
            if let ScriptChoice::Builtin(name) = script {
                *name = canonical(name);
            }
        }
        let mut names: Vec<String> = scripts.iter().take(NAMED).map(ScriptChoice::stem).collect();
        if scripts.len() > NAMED {
            names.truncate(1);
            names.push(format!("{} more", scripts.len() - 1));
        }
        Self { name: plain(&names.join(" and ")), scripts }
    }

    pub(in crate::commands) fn asks_pgbench_tables(&self) -> bool {
        self.scripts.iter().any(|script| matches!(script, ScriptChoice::Builtin(_)))
    }

    /// The workload as experiment value; paths are relative to `folder`. Reads standard input if it is a script.
    pub(in crate::commands) fn value(
        &self,
        args: &BenchRequest<'_>,
        folder: &Folder,
    ) -> anyhow::Result<Value> {
        // Tables that are made here have it.
        let is_of_tables = args.target.managed.is_some() && self.asks_pgbench_tables();
        let scale = args.tables.scale.filter(|_| !is_of_tables);
        let scale = ("scale", scale.map(|scale| Value::Integer(scale.into())));
        let target = ("target", args.target.replicas.target.as_deref().map(Value::from));
        let options = [self.scripts(folder)?, scale, target].into_iter().chain(options_of(args, folder)?);
        Ok(Value::Table(toml_table([("pgbench", Some(Value::Table(toml_table(options))))])))
    }

    /// The option with the scripts: that of one kind, or that of any kinds in one order.
    fn scripts(&self, folder: &Folder) -> anyhow::Result<(&'static str, Option<Value>)> {
        let builtin = self.scripts.iter().map(|script| match script {
            ScriptChoice::Builtin(name) => Some(Value::from(name.as_str())),
            ScriptChoice::File(_) => None,
        });
        let files = self.scripts.iter().map(|script| match script {
            ScriptChoice::File(file) if !script.is_input() => Some(Value::from(folder.path(file))),
            _ => None,
        });
        if let Some(names) = builtin.collect::<Option<Vec<_>>>() {
            return Ok(("builtin", Some(one_or_many(names))));
        }
        if let Some(files) = files.collect::<Option<Vec<_>>>() {
            return Ok(("files", Some(one_or_many(files))));
        }
        let each = self.scripts.iter().map(|script| {
            Ok(Value::Table(match script {
                ScriptChoice::Builtin(name) => toml_table([("builtin", Some(name.as_str().into()))]),
                ScriptChoice::File(file) if script.is_input() => of_input(file)?,
                ScriptChoice::File(file) => toml_table([("file", Some(folder.path(file).into()))]),
            }))
        });
        Ok(("scripts", Some(Value::Array(each.collect::<anyhow::Result<_>>()?))))
    }
}

/// Most scripts that the name of a workload lists.
const NAMED: usize = 8;

/// `-f -`: the script that standard input holds.
fn of_input(written: &str) -> anyhow::Result<toml::Table> {
    let Weighted { weight, .. } =
        Weighted::parse(written).map_err(|error| usage(&format!("-f {written}: {error}"), ""))?;
    let text = std::io::read_to_string(std::io::stdin()).map_err(|error| {
        usage(&format!("-f -: standard input cannot be read: {error}"), "name a file: -f FILE")
    })?;
    Ok(toml_table([
        ("text", Some(text.into())),
        ("name", Some("-".into())),
        ("weight", (weight != 1).then(|| Value::Integer(weight.into()))),
    ]))
}

fn options_of(
    args: &BenchRequest<'_>,
    folder: &Folder,
) -> anyhow::Result<[(&'static str, Option<Value>); 10]> {
    let define = args.scripts.define.iter().map(|pair| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), scalar(value))),
        _ => Err(usage(&format!("-D {pair}: write NAME=VALUE"), "pgdyno bench --help")),
    });
    let define: toml::Table = define.collect::<anyhow::Result<_>>()?;
    let conduct = args.conduct;
    // Several are levels of a factor.
    let mode = match args.scripts.mode.each() {
        [only] if *only != QueryProtocolArg::Simple => Some(only.name()),
        _ => None,
    };
    Ok([
        ("mode", mode.map(Value::from)),
        ("define", (!define.is_empty()).then_some(Value::Table(define))),
        ("variables", rows_of(&args.scripts.rows, folder)),
        ("max_tries", (conduct.max_tries != 1).then(|| Value::Integer(conduct.max_tries.into()))),
        // With users it is for each session.
        ("reconnect", flag(conduct.connect && !args.users.is_asked())),
        ("reconnect_lost", flag(conduct.reconnect)),
        ("continue_on_error", flag(conduct.continue_on_error)),
        ("vacuum", conduct.no_vacuum.then_some(Value::Boolean(false))),
        ("may_be_empty", flag(conduct.may_be_empty)),
        ("latency_limit_ms", args.latency_limit_ms.map(Value::Float)),
    ])
}

/// `--variables` and its options.
fn rows_of(rows: &Rows, folder: &Folder) -> Option<Value> {
    let source = match rows.variables.as_deref()?.strip_prefix("query:") {
        Some(query) => ("query", Some(query.trim().into())),
        None => ("csv", rows.variables.as_deref().map(|file| folder.path(file).into())),
    };
    let word = |word: &Option<String>| word.as_deref().map(Value::from);
    let (per, order, usage) =
        (word(&rows.variables_per), word(&rows.variables_order), word(&rows.variables_use));
    Some(Value::Table(toml_table([source, ("per", per), ("order", order), ("use", usage)])))
}

#[derive(Debug)]
pub(in crate::commands) struct Folder {
    /// Whether it is the working directory.
    here: bool,
}

impl Folder {
    /// The folder of a file, or the working directory.
    pub(in crate::commands) fn of(file: Option<&Path>) -> Self {
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        let same = |folder: &Path| {
            let [one, other] = [folder, Path::new(".")].map(std::fs::canonicalize);
            one.ok().is_some_and(|one| other.is_ok_and(|other| one == other))
        };
        Self { here: folder.is_none_or(same) }
    }

    /// The user's path as the file has it.
    pub(in crate::commands) fn path(&self, written: &str) -> String {
        match (self.here, std::path::absolute(written)) {
            (false, Ok(absolute)) => absolute.to_string_lossy().into_owned(),
            _ => written.to_owned(),
        }
    }

    /// The same with dollars escaped.
    pub(in crate::commands) fn in_file(&self, path: &Path) -> PathBuf {
        self.path(&path.to_string_lossy()).replace('$', "$$").into()
    }

    /// The same as an experiment value.
    pub(in crate::commands) fn value(&self, path: &Path) -> Value {
        self.in_file(path).to_string_lossy().into_owned().into()
    }
}

/// The full name of a built-in script, from any prefix.
fn canonical(written: &str) -> String {
    let Ok(Weighted { name, .. }) = Weighted::parse(written) else { return written.to_owned() };
    match script::Builtin::find(&name) {
        Ok(found) => written.replacen(&name, found.name, 1),
        Err(_) => written.to_owned(),
    }
}

/// Replaces all characters except letters, digits, spaces, `_` and `-`.
pub(in crate::commands) fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || "_- ".contains(c) { c } else { '-' };
    let plain: String = name.trim().chars().map(fits).take(60).collect();
    plain.trim().to_owned()
}
