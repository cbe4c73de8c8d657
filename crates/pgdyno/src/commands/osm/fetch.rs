//! `pgdyno osm fetch`: an extract by name, from Geofabrik, a mirror, or the cache.

use std::path::PathBuf;
use std::time::Duration;

use osm::fetch::{
    ATTRIBUTION, Cache, Destination, ExtractSource, FetchTimeouts, Fetched, IndexEntry, UnknownExtract,
};
use report::visible;
use results::Table;
use server::child::Account;
use server::home::{Home, HomeFolder};

use super::watched::Watched;
use crate::commands::{print, signals};
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult, SAME_OR_BETTER};
use crate::options::{FormatOption, OutputFormat, size};
use crate::print::{data, talk, warning};

/// `pgdyno osm fetch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Extract: Geofabrik's id (malta, us/delaware), its last part (delaware), its path (europe/malta) or its name
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// List extracts whose id, name or parent contains PATTERN; with --offline, those on this machine
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, conflicts_with_all = ["name", "output"])]
    list: Option<Option<String>>,
    /// File to write; an existing one is replaced at the end [default: in the home of pgdyno, with id and date]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "offline")]
    output: Option<PathBuf>,
    /// Use the newest extract that was fetched before
    #[arg(long)]
    offline: bool,
    /// Address of a mirror that has Geofabrik's files under the same paths [default: download.geofabrik.de]
    #[arg(long, value_name = "URL", env = "PGDYNO_OSM_MIRROR", hide_env_values = true)]
    mirror: Option<String>,
    /// Timeout of a silent connection, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Largest size of the extract, such as 500MB [default: 256GB, and 1GB if the server does not announce the size]
    #[arg(long, value_name = "SIZE", conflicts_with = "offline", value_parser = size)]
    max_size: Option<u64>,
    /// Allow a redirect from https:// to http://, which is not protected against tampering
    #[arg(long, conflicts_with = "offline")]
    allow_http: bool,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let home = Home::locate()?;
    home.open()?;
    let cache = Cache::at(&home.path(HomeFolder::Extracts));
    let name = args.name.as_deref().unwrap_or_default();
    if args.offline {
        return match &args.list {
            Some(pattern) => list(cache.index().matching(pattern.as_deref().unwrap_or_default()), args),
            None => given(&cache.newest(name).map_err(|error| not_kept(error, &cache))?, args),
        };
    }
    let timeouts = FetchTimeouts { silence: Duration::from_secs(args.timeout), ..FetchTimeouts::default() };
    let mut source = ExtractSource::new(args.mirror.as_deref(), timeouts)?;
    if let Some(bytes) = args.max_size {
        source = source.with_max_size(bytes);
    }
    if args.allow_http {
        source = source.with_http_allowed();
    }
    let stop = signals::listen_at_once()?;
    let index = source.index(&mut Watched::new("the index", stop.clone()))?;
    if let Some(pattern) = &args.list {
        return list(index.matching(pattern.as_deref().unwrap_or_default()), args);
    }
    let entry = index.find(name)?;
    let to = match &args.output {
        Some(path) => Destination::File(path),
        None => {
            let account = Account::unprivileged()?;
            home.make_part(HomeFolder::Extracts, account.as_ref())?;
            Destination::Cache(&cache)
        }
    };
    let fetched = source.fetch(entry, to, &mut Watched::new(&entry.id, stop))?;
    given(&fetched, args)
}

/// Adds similar names from the cache to an error, since the server was not asked.
fn not_kept(error: spec::Error, cache: &Cache) -> anyhow::Error {
    let Some(UnknownExtract { name, near }) = error.attached() else { return error.into() };
    let kept: Vec<String> = match near.as_slice() {
        [] => cache.index().entries().iter().map(|entry| entry.id.clone()).collect(),
        near => near.to_vec(),
    };
    let kept = if kept.is_empty() { "nothing".to_owned() } else { kept.join(", ") };
    let what = format!("{name} was not fetched before; what is kept: {kept}");
    CommandFailure::with_code(BAD_INPUT, what, Some("without --offline it is fetched".to_owned()))
}

fn list<'a>(entries: impl Iterator<Item = &'a IndexEntry>, args: &Args) -> ExitResult {
    let mut table = Table::new(["id", "name", "parent"]);
    for entry in entries {
        table.push(vec![entry.id.clone().into(), entry.name.clone().into(), entry.parent.clone().into()]);
    }
    print(&table, args.format.format)?;
    Ok(SAME_OR_BETTER)
}

fn given(fetched: &Fetched, args: &Args) -> ExitResult {
    let date = fetched.last_modified.as_deref().and_then(|time| time.get(..10));
    let date = date.map_or(String::new(), |day| format!(" of {day}"));
    let how = match (fetched.there_already, args.offline) {
        (_, true) => ", fetched before",
        (true, false) => ", there already, and what the server has",
        (false, false) => ", whole by its MD5 sum",
    };
    let name = format!("{} ({})", fetched.entry.id, fetched.entry.name);
    talk(&format!("{name}{date}, {}{how}", indicatif::DecimalBytes(fetched.bytes)));
    if let Some(doubt) = &fetched.doubt {
        warning(doubt);
    }
    talk(ATTRIBUTION);
    match args.format.format {
        OutputFormat::Text => data(&format!("{}\n", visible::line(&fetched.path.to_string_lossy())))?,
        format => print(facts(fetched), format)?,
    }
    Ok(SAME_OR_BETTER)
}

fn facts(fetched: &Fetched) -> Table {
    let mut table = Table::new(["id", "name", "url", "path", "bytes", "md5", "last_modified", "fetched"]);
    table.push(vec![
        fetched.entry.id.clone().into(),
        fetched.entry.name.clone().into(),
        fetched.url.clone().into(),
        fetched.path.display().to_string().into(),
        fetched.bytes.into(),
        fetched.md5.clone().into(),
        fetched.last_modified.clone().into(),
        if fetched.there_already { "before" } else { "now" }.into(),
    ]);
    table
}
