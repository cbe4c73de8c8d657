//! `pgdyno target …`: starts, lists, stops and removes private servers; restores settings of any server.

use results::{CellValue, Table};
use server::child::Watchdog;
use server::home::Home;
use server::managed::{self, Choice, Cluster, Status};
use server::settings::journal::{self, ForgetScope, LeftBy, Leftover, Recovered};
use server::settings::restore_managed_settings;
use server::source_build::{self, CachedBuild, CachedBuilds};
use server::storage;
use server::{self, Target};
use spec::{Class, Error};
use spec::{shell, visible};

use super::{print, signals};
use crate::exit::{ExitResult, SAME_OR_BETTER};
use crate::options::{FormatOption, OutputFormat, Programs};
use crate::print::{self, data, talk, warning};

/// `pgdyno target …`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum TargetCommand {
    /// Start a private server, made if it is new, and print how to connect
    Start(StartArgs),
    /// Stop a private server. Its data stays
    Stop(NameArgs),
    /// List private servers, and servers whose settings were left changed
    Status(StatusArgs),
    /// Undo what an interrupted pgdyno left changed on a server
    Restore(RestoreArgs),
    /// Stop a private server and delete its data
    Destroy(NameArgs),
    /// List or remove kept builds from git
    Builds(BuildsArgs),
}

/// `pgdyno target start`.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    programs: Programs,
    /// Extensions to create in its database
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    extensions: Vec<String>,
}

/// Name of a managed target.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// Name of the private server
    #[arg(default_value = "default")]
    name: String,
}

/// `pgdyno target status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    format: FormatOption,
}

/// `pgdyno target restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Name of a private server, or the connection string of another server [default: every server that was left
    /// changed]
    #[arg(value_name = "NAME|URI")]
    server: Option<String>,
    /// Connection string of a server that pgdyno did not make, if the environment does not have its password
    #[arg(long, short = 'd', value_name = "URI", conflicts_with = "server")]
    url: Option<String>,
    /// Undo nothing and delete the records of changes, for servers that are gone or repaired by hand. Lists what may be
    /// left
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    format: FormatOption,
}

/// `pgdyno target builds`.
#[derive(Debug, clap::Args)]
pub(crate) struct BuildsArgs {
    /// Remove all builds, or those of this name or commit. Builds that a pgdyno uses now stay
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    remove: Option<Option<String>>,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(command: &TargetCommand) -> ExitResult {
    for name in managed::stop_orphans(&home()?) {
        talk(&format!(
            "stopped private server {name:?}, which a pgdyno that was killed with its watchdogs left running"
        ));
    }
    for told in storage::remove_dead(&home()?) {
        talk(&told);
    }
    match command {
        TargetCommand::Start(args) => start(args),
        TargetCommand::Stop(args) => stop(args),
        TargetCommand::Status(args) => status(args),
        TargetCommand::Destroy(args) => destroy(args),
        TargetCommand::Restore(args) => restore(args),
        TargetCommand::Builds(args) => builds(args),
    }?;
    Ok(SAME_OR_BETTER)
}

fn start(args: &StartArgs) -> anyhow::Result<()> {
    let home = home()?;
    server::remove_dead_members(&home);
    let choice = Choice { pg_bin: args.programs.pg_bin.clone(), version: None };
    let options = managed::ServerOptions { choice, detached: true, ..managed::ServerOptions::default() };
    let stop = signals::listen_at_once()?;
    talk(&format!("starting private server {:?} under {}", args.name.name, home.folder().display()));
    let ran = managed::status(&home, &args.name.name).is_ok_and(|server| server.pid.is_some());
    let watchdog = Watchdog::current()?;
    let target = Target::managed(&home, &args.name.name, &options, &args.extensions, &watchdog, &stop)
        .inspect_err(|_| {
            // Otherwise a server started only for a failing step would continue to run unnoticed.
            if !ran && let Ok(mut server) = open(&args.name.name) {
                let _ = server.stop();
            }
        })?;
    target.recovered().iter().for_each(|recovered| warning(&recovered.words()));
    talk(&format!("it runs until: pgdyno target stop {}", shell::word(&args.name.name)));
    Ok(data(&format!("{}\n", visible::line(&target.redacted())))?)
}

fn stop(args: &NameArgs) -> anyhow::Result<()> {
    server::remove_dead_members(&home()?);
    open(&args.name)?.stop()?;
    let name = shell::word(&args.name);
    talk(&format!("server {:?} is stopped; its data stays until: pgdyno target destroy {name}", args.name));
    Ok(())
}

fn destroy(args: &NameArgs) -> anyhow::Result<()> {
    let home = home()?;
    server::remove_dead_members(&home);
    let left = managed::status(&home, &args.name).ok().and_then(|server| journal::left_in(&server.journal));
    open(&args.name)?.destroy()?;
    if let Some(left) = left.filter(|left| !left.changes.is_empty()) {
        let list = left.list();
        warning(&format!(
            "changes that a killed pgdyno made on it were not undone, and what they did elsewhere stays: {list}"
        ));
    }
    talk(&format!("server {:?} is stopped and its data removed", args.name));
    Ok(())
}

fn builds(args: &BuildsArgs) -> anyhow::Result<()> {
    let home = home()?;
    if let Some(which) = &args.remove {
        let done = source_build::remove(&home, which.as_deref())?;
        let words =
            |names: &[String]| if names.is_empty() { "no builds".to_owned() } else { names.join(", ") };
        talk(&format!("removed {} ({})", words(&done.removed), spec::bytes(done.bytes)));
        if !done.in_use.is_empty() {
            warning(&format!("a pgdyno uses these builds now, and they stay: {}", words(&done.in_use)));
        }
        return Ok(());
    }
    let CachedBuilds { folder, builds } = source_build::cached(&home)?;
    let bytes: u64 = builds.iter().map(|(_, build, _)| build.bytes).sum();
    let sum = format!("{} in {}", spec::bytes(bytes), folder.display());
    talk(&match builds.is_empty() {
        true => "no builds; make some with: pgdyno bench --managed --against 'build: git REF'".to_owned(),
        false => format!("{sum}; remove them with: pgdyno target builds --remove"),
    });
    let mut table =
        Table::new(["name", "commit", "source", "built by", "options", "built at", "size", "in use"]);
    for (_, build, in_use) in builds {
        let CachedBuild { name, commit, source, kind, options, built_at, bytes, .. } = build;
        let options: Vec<_> = options.iter().map(|option| shell::word(option)).collect();
        let way = kind.words().to_owned();
        let texts = [
            name,
            commit[..commit.len().min(10)].to_owned(),
            source.display().to_string(),
            way,
            options.join(" "),
            built_at,
        ];
        let used = CellValue::Text(if in_use { "yes" } else { "no" }.to_owned());
        let cells = texts.into_iter().map(CellValue::Text);
        table.push(cells.chain([CellValue::Text(spec::bytes(bytes)), used]));
    }
    print(&table, args.format.format)
}

fn open(name: &str) -> anyhow::Result<Cluster> {
    let watchdog = Watchdog::current()?;
    Ok(Cluster::open(&home()?, name, &watchdog, &server::Stop::new())?)
}

fn status(args: &StatusArgs) -> anyhow::Result<()> {
    let home = home()?;
    let (servers, wrong) = managed::list(&home)?;
    let left = journal::left(&home)?;
    if servers.is_empty() && wrong.is_empty() && left.is_empty() {
        talk("no private server; make one with: pgdyno target start");
    }
    for server in servers.iter().filter(|server| server.changed && server.used_by.is_none()) {
        let name = &server.name;
        warning(&format!(
            "settings of private server {name:?} are still as an earlier pgdyno left them; put them back with: \
             pgdyno target restore {}",
            shell::word(name)
        ));
    }
    let of_private = servers.iter().filter(|server| server.used_by.is_none());
    for (server, left) in of_private.filter_map(|server| Some((server, journal::left_in(&server.journal)?))) {
        warning(&format!(
            "private server {:?} is still as an earlier pgdyno left it: {}; undo that with: pgdyno target restore {}",
            server.name,
            left.list(),
            shell::word(&server.name)
        ));
    }
    left.iter().filter_map(left_words).for_each(|words| warning(&words));
    // People copy it, so keep it out of columns that wrap.
    let is_for_people = args.format.format.is_for_people();
    let connections: Vec<_> =
        servers.iter().filter_map(|server| Some((server.name.clone(), server.connection()?))).collect();
    let columns = ["name", "state", "version", "pid", "used by", "folder", "settings", "connection"];
    let mut table = Table::new(if is_for_people { &columns[..7] } else { &columns });
    for mut row in servers.into_iter().map(row).chain(left.into_iter().map(foreign_row)) {
        row.truncate(table.columns.len());
        table.push(row);
    }
    print(&table, args.format.format)?;
    for (name, connection) in connections.iter().filter(|_| is_for_people) {
        let line = format!("connect to {name}: psql {}", shell::word(connection));
        data(&format!("{}\n", visible::line(&line)))?;
    }
    all_well(wrong)
}

/// Prints the errors of servers that were skipped, and fails if there are any.
fn all_well(mut wrong: Vec<Error>) -> anyhow::Result<()> {
    let last = wrong.pop();
    wrong.into_iter().for_each(|error| warning(&error.to_string()));
    last.map_or(Ok(()), |error| Err(error.into()))
}

fn row(server: Status) -> Vec<CellValue> {
    let state = match (server.pid, server.ready) {
        (Some(_), true) => "running",
        (Some(_), false) => "starting",
        (None, _) => "stopped",
    };
    let made = journal::left_in(&server.journal).filter(|left| !left.changes.is_empty());
    let settings = match (server.changed || made.is_some(), server.used_by) {
        (false, _) => "its own",
        (true, Some(_)) => "changed by a run under way",
        (true, None) => "left changed",
    };
    let settings = made.map_or_else(|| settings.to_owned(), |left| format!("{settings}: {}", left.list()));
    let connection = server.connection();
    vec![
        server.name.into(),
        state.into(),
        server.server_version.into(),
        server.pid.into(),
        server.used_by.into(),
        server.folder.display().to_string().into(),
        settings.into(),
        connection.into(),
    ]
}

/// A server known only from a journal: it is not contacted.
fn foreign_row(left: Leftover) -> Vec<CellValue> {
    let list = left.list();
    let (used_by, settings) = match left.by {
        LeftBy::Living(pid) => (Some(pid), format!("changed by a run under way: {list}")),
        LeftBy::Killed => (None, format!("left changed: {list}")),
        LeftBy::Unknown(reason) => (None, format!("unknown: {reason}")),
    };
    vec![
        left.dsn.into(),
        "not pgdyno's".into(),
        CellValue::Null,
        CellValue::Null,
        used_by.into(),
        CellValue::Null,
        settings.into(),
        CellValue::Null,
    ]
}

fn left_words(left: &Leftover) -> Option<String> {
    match &left.by {
        LeftBy::Living(_) => None,
        LeftBy::Killed => Some(format!(
            "{} of {} are still as an earlier pgdyno left them: {}; put them back with: pgdyno target restore",
            left.kind(),
            left.dsn,
            left.list()
        )),
        LeftBy::Unknown(reason) => Some(format!(
            "settings of a server may be changed: the journal {} cannot be read: {reason}",
            left.dsn
        )),
    }
}

/// The server that an option or argument names.
fn asked(args: &RestoreArgs) -> ForgetScope<'_> {
    let is_connection = |text: &str| text.contains("://") || text.contains('=');
    match (args.url.as_deref(), args.server.as_deref()) {
        (Some(url), _) => ForgetScope::At(url),
        (None, Some(url)) if is_connection(url) => ForgetScope::At(url),
        (None, Some(name)) => ForgetScope::Private(name),
        (None, None) => ForgetScope::All,
    }
}

fn restore(args: &RestoreArgs) -> anyhow::Result<()> {
    match asked(args) {
        scope if args.forget => forget(args, scope),
        ForgetScope::At(url) => restore_left(args, Some(url)),
        ForgetScope::Private(name) => restore_private(args, name),
        ForgetScope::All => restore_left(args, None),
    }
}

fn forget(args: &RestoreArgs, scope: ForgetScope<'_>) -> anyhow::Result<()> {
    let found = journal::forget(&home()?, scope)?;
    let (held, forgotten): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|left| matches!(left.by, LeftBy::Living(_)));
    if forgotten.is_empty() && held.is_empty() {
        talk("nothing to forget: no pgdyno left a server changed");
    }
    let mut table = Table::new(["server", "may be left"]);
    for left in forgotten {
        let list = match &left.by {
            LeftBy::Unknown(reason) => format!("not known: {reason}"),
            _ => left.list(),
        };
        talk(&format!("{}: forgotten, and not undone; what may be left: {list}", left.dsn));
        table.push(vec![left.dsn.into(), list.into()]);
    }
    if args.format.format != OutputFormat::Text {
        print(&table, args.format.format)?;
    }
    held.into_iter().map(Recovered::InUse).find_map(problem).map_or(Ok(()), |error| Err(error.into()))
}

fn restore_private(args: &RestoreArgs, name: &str) -> anyhow::Result<()> {
    let mut cluster = open(name)?;
    let mended = restore_managed_settings(&mut cluster)?;
    let mut table = restored_table();
    if mended {
        table.push(vec![
            format!("private server {name}").into(),
            "all".into(),
            CellValue::Null,
            CellValue::Null,
        ]);
    }
    let undone = restore_changes(&mut cluster)?;
    if !mended && undone.is_none() {
        talk(&format!("nothing to put back: private server {name:?} has its own settings"));
    }
    tell(undone, table, args)
}

/// Undoes user-defined changes on a private server; starts it if needed.
fn restore_changes(cluster: &mut Cluster) -> anyhow::Result<Option<Recovered>> {
    Ok(journal::restore_changes(cluster, &Watchdog::current()?)?)
}

fn restore_left(args: &RestoreArgs, url: Option<&str>) -> anyhow::Result<()> {
    let home = home()?;
    let mut found = server::url::restore_left(&home, url, &Watchdog::current()?)?;
    let mut wrong = Vec::new();
    if url.is_none() {
        let servers;
        (servers, wrong) = managed::list(&home)?;
        for server in servers.iter().filter(|server| server.used_by.is_none()) {
            if journal::left_in(&server.journal).is_some() {
                found.extend(restore_changes(&mut open(&server.name)?)?);
            }
        }
    }
    if found.is_empty() {
        talk(match url {
            Some(_) => "nothing to put back: no pgdyno left this server changed",
            None => "nothing to put back: no pgdyno left a server changed",
        });
    }
    tell(found, restored_table(), args)?;
    all_well(wrong)
}

fn tell(
    found: impl IntoIterator<Item = Recovered>,
    mut table: Table,
    args: &RestoreArgs,
) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    for recovered in found {
        match recovered {
            Recovered::Undone { dsn, undone } => {
                talk(&format!("{dsn}: {}", undone.words()));
                table.push(vec![
                    dsn.into(),
                    undone
                        .restored
                        .iter()
                        .chain(&undone.changes)
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(", ")
                        .into(),
                    undone.as_before.join(", ").into(),
                    undone.left_alone.join(", ").into(),
                ]);
            }
            other => problems.extend(problem(other)),
        }
    }
    print(&table, args.format.format)?;
    let Some(last) = problems.pop() else { return Ok(()) };
    for problem in problems {
        print::print_error(&problem.to_string(), problem.hint());
    }
    Err(last.into())
}

fn restored_table() -> Table {
    Table::new(["server", "put back", "as before already", "left alone"])
}

fn problem(recovered: Recovered) -> Option<Error> {
    match recovered {
        Recovered::Undone { .. } => None,
        Recovered::InUse(left) => {
            let what =
                format!("{} of {} are in use: a run under way has changed them", left.kind(), left.dsn);
            Some(Error::new(Class::Refused, what).with_hint("wait for its end; it puts them back itself"))
        }
        Recovered::Pending { left, error, .. } => {
            let what = match &left.by {
                LeftBy::Unknown(_) => error.to_string(),
                _ => format!("{} of {} are not put back: {error}", left.kind(), left.dsn),
            };
            Some(error.in_words(what))
        }
    }
}

fn home() -> anyhow::Result<Home> {
    Ok(Home::locate()?)
}
