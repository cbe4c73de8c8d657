//! What `bench` itself would run: the base of the comparison.

use std::path::Path;

use lab::bench;
use lab::target_spec::TargetAccess;
use protocol::postgres::conninfo::ConnectionString;
use script::Weighted;
use toml::Value;

use super::kind::Script as OtherScript;
use super::toml_text::{inline, one_or_many, scalar};
use super::usage;
use crate::commands::bench::args::{Mode, Script, Target};
use crate::commands::bench::asked::Asked;

/// Where the base runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Server {
    /// A private server of this name, the extensions in its database, and whether it has a Redis beside it.
    Managed { name: String, extensions: &'static [&'static str], redis: bool },
    /// A server by address. Its password never leaves this program.
    Url(ConnectionString),
}

impl Server {
    pub(in crate::commands) fn of(args: &Asked<'_>) -> anyhow::Result<Self> {
        let Target { dsn, dbname, host, port, username, managed, .. } = args.target;
        let dsn = dsn.as_ref().or(dbname.as_ref()).map(String::as_str);
        Self::given([dsn, host.as_deref(), port.as_deref(), username.as_deref()], managed.as_deref())
    }

    /// By database, host, port and user, or by the name of a private server.
    ///
    /// # Errors
    /// Both, or a connection string that is none.
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

    /// What was written on the command line, checked.
    pub(in crate::commands) fn by_url(
        dsn: Option<&str>,
        host: Option<&str>,
        port: Option<&str>,
        user: Option<&str>,
    ) -> anyhow::Result<Self> {
        Ok(Self::Url(bench::at(dsn, host, port, user)?))
    }

    pub(in crate::commands) fn access(&self) -> TargetAccess {
        match self {
            Self::Managed { name, extensions, .. } => TargetAccess::managed(name, extensions),
            Self::Url(url) => TargetAccess::url(url.clone()),
        }
    }

    /// A private server with nothing in it.
    fn managed(name: String) -> Self {
        Self::Managed { name, extensions: &[], redis: false }
    }

    pub(in crate::commands) fn is_managed(&self) -> bool {
        matches!(self, Self::Managed { .. })
    }

    /// Its connection string, where it has one.
    pub(in crate::commands) fn url(&self) -> Option<&ConnectionString> {
        match self {
            Self::Managed { .. } => None,
            Self::Url(url) => Some(url),
        }
    }

    /// Whether both lead to one place, however they are written.
    pub(in crate::commands) fn is_same(&self, other: &Self) -> bool {
        self.access().spec.is_place_of(&other.access().spec)
    }

    /// The key of its table and the value.
    pub(in crate::commands) fn entry(&self) -> (&'static str, Value) {
        match self {
            Self::Managed { name, extensions, redis } => {
                let name = Some(("name", Value::from(name.as_str())));
                let extensions =
                    (!extensions.is_empty()).then(|| ("extensions", Value::from(extensions.to_vec())));
                let redis = redis.then_some(("redis", Value::Boolean(true)));
                ("managed", inline([name, extensions, redis].into_iter().flatten()))
            }
            Self::Url(url) => ("url", Value::from(url.to_string().replace('$', "$$"))),
        }
    }

    /// Whether something in its connection string must not be written down.
    pub(in crate::commands) fn has_secret(&self) -> bool {
        self.url().is_some_and(ConnectionString::has_secret)
    }
}

/// A workload of pgbench scripts.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Workload {
    /// What arms, tables and reports call it.
    pub(in crate::commands) name: String,
    builtin: Vec<String>,
    files: Vec<String>,
}

impl Workload {
    /// What bench runs: tpcb-like, where nothing is said.
    pub(in crate::commands) fn of(args: &Asked<'_>) -> Self {
        let scripts = args.scripts.in_order.iter();
        let builtin = scripts.clone().filter_map(|script| match script {
            Script::Builtin(name) => Some(canonical(name)),
            Script::File(_) => None,
        });
        let files = scripts.clone().filter_map(|script| match script {
            Script::File(name) => Some(name.clone()),
            Script::Builtin(_) => None,
        });
        Self::new(builtin.collect(), files.collect())
    }

    pub(super) fn of_other(scripts: &[OtherScript]) -> Self {
        let (mut builtin, mut files) = (Vec::new(), Vec::new());
        for script in scripts {
            match script {
                OtherScript::Builtin(name) => builtin.push(name.clone()),
                OtherScript::File(name) => files.push(name.clone()),
            }
        }
        Self::new(builtin, files)
    }

    fn new(mut builtin: Vec<String>, files: Vec<String>) -> Self {
        if builtin.is_empty() && files.is_empty() {
            builtin.push("tpcb-like".to_owned());
        }
        let names = builtin.iter().chain(&files).map(|name| stem(name));
        let name = plain(&names.collect::<Vec<_>>().join(" and "));
        Self { name, builtin, files }
    }

    pub(in crate::commands) fn asks_pgbench_tables(&self) -> bool {
        !self.builtin.is_empty()
    }

    /// The value of its key `pgbench`; `folder` is what paths are written from.
    pub(in crate::commands) fn value(&self, args: &Asked<'_>, folder: &Folder) -> anyhow::Result<Value> {
        let texts = |texts: Vec<String>| one_or_many(texts.into_iter().map(Value::from).collect());
        let mut entries = Vec::new();
        if !self.builtin.is_empty() {
            entries.push(("builtin", texts(self.builtin.clone())));
        }
        if !self.files.is_empty() {
            entries.push(("files", texts(self.files.iter().map(|file| folder.path(file)).collect())));
        }
        entries.extend(options(args)?);
        // With pgbench's tables it is counted.
        let scale = args.tables.scale.filter(|_| self.builtin.is_empty());
        entries.extend(scale.map(|scale| ("scale", Value::Integer(scale.into()))));
        Ok(inline(entries))
    }
}

/// Options of a workload that are not as they always are.
fn options(args: &Asked<'_>) -> anyhow::Result<Vec<(&'static str, Value)>> {
    let define = args.scripts.define.iter().map(|pair| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), scalar(value))),
        _ => Err(usage(&format!("-D {pair}: write NAME=VALUE"), "pgdyno bench --help")),
    });
    let define: toml::Table = define.collect::<anyhow::Result<_>>()?;
    let conduct = args.conduct;
    let mode = match args.scripts.mode {
        Mode::Simple => None,
        Mode::Extended => Some("extended"),
        Mode::Prepared => Some("prepared"),
    };
    let flag = |name, wanted: bool, value: bool| wanted.then_some((name, Value::Boolean(value)));
    let found = [
        mode.map(|mode| ("mode", Value::from(mode))),
        (!define.is_empty()).then_some(("define", Value::Table(define))),
        (conduct.max_tries != 1).then(|| ("max_tries", Value::Integer(conduct.max_tries.into()))),
        flag("reconnect", conduct.connect, true),
        flag("reconnect_lost", conduct.reconnect, true),
        flag("continue_on_error", conduct.continue_on_error, true),
        flag("vacuum", conduct.no_vacuum, false),
        flag("may_be_empty", conduct.may_be_empty, true),
        args.latency_limit_ms.map(|limit| ("latency_limit_ms", Value::Float(limit))),
    ];
    Ok(found.into_iter().flatten().collect())
}

/// Where the experiment file stands, or would.
#[derive(Debug)]
pub(in crate::commands) struct Folder {
    /// Whether it is the folder that the user is in.
    here: bool,
}

impl Folder {
    /// That of a file, or the present one.
    pub(in crate::commands) fn of(file: Option<&Path>) -> Self {
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        let same = |folder: &Path| {
            let [one, other] = [folder, Path::new(".")].map(std::fs::canonicalize);
            one.ok().is_some_and(|one| other.is_ok_and(|other| one == other))
        };
        Self { here: folder.is_none_or(same) }
    }

    /// A path that the user wrote, as the file has it.
    pub(in crate::commands) fn path(&self, written: &str) -> String {
        match (self.here, std::path::absolute(written)) {
            (false, Ok(absolute)) => absolute.to_string_lossy().into_owned(),
            _ => written.to_owned(),
        }
    }
}

/// A built-in script by its whole name, whatever prefix was given.
fn canonical(written: &str) -> String {
    let Ok(Weighted { name, .. }) = Weighted::parse(written) else { return written.to_owned() };
    match script::Builtin::find(&name) {
        Ok(found) => written.replacen(&name, found.name, 1),
        Err(_) => written.to_owned(),
    }
}

/// A script's name without folder, ending and weight.
fn stem(written: &str) -> String {
    let name = Weighted::parse(written).map_or_else(|_| written.to_owned(), |weighted| weighted.name);
    Path::new(&name).file_stem().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned())
}

/// A name with nothing in it that needs more than quotes: letters, digits, spaces, `_` and `-`.
pub(in crate::commands) fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || "_- ".contains(c) { c } else { '-' };
    let plain: String = name.trim().chars().map(fits).take(60).collect();
    plain.trim().to_owned()
}
