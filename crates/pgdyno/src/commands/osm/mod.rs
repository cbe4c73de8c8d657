//! `pgdyno osm`: fetches, generates and loads extracts, with a time for every phase.

mod fetch;
mod synth;
mod watched;

use std::path::{Path, PathBuf};

use lab::bench::{self, KeepIn};
use lab::target_spec::TargetAccess;
use osm::synth::ExtractScale;

use super::bench::{phases, stored, told_where};
use super::{print, signals};
use crate::commands::typed;
use crate::exit::{ExitResult, SAME_OR_BETTER};
use crate::options::{OutputArgs, Programs};
use crate::progress::Screen;

/// `pgdyno osm …`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum OsmCommand {
    /// Load an extract with osm2pgsql into a database, timing nodes, ways, relations, each table and index
    Load(Box<OsmLoadArgs>),
    /// Get an extract from Geofabrik or a mirror of it, and print where it is: pgdyno osm load "$(pgdyno osm fetch malta)"
    Fetch(fetch::Args),
    /// Make a synthetic extract of any scale: roads, buildings, land use, water, points of interest, boundaries
    Synth(synth::Args),
}

/// `pgdyno osm load`.
#[derive(Debug, clap::Args)]
pub(crate) struct OsmLoadArgs {
    /// Extract (.osm.pbf)
    #[arg(env = "PGDYNO_DATA", hide_env_values = true, required_unless_present = "scale")]
    extract: Option<PathBuf>,
    /// Load a synthetic extract of this scale instead of a file, 0.001 to 10000 (see osm synth)
    #[arg(long, value_parser = synth::scale)]
    scale: Option<ExtractScale>,
    /// Its seed [default: 1]
    #[arg(long, requires = "scale")]
    seed: Option<u64>,
    /// Database as connection string or URI [default: a private server that pgdyno makes]
    #[arg(long, short = 'd', value_name = "URI")]
    url: Option<String>,
    #[command(flatten)]
    how: How,
    /// Replace existing tables of the same names, also tables that pgdyno did not make
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: OutputArgs,
}

impl OsmLoadArgs {
    /// Whether a scale was given, and the extract only by the environment variable for all commands.
    fn is_only_in_environment(&self, extract: &Path) -> bool {
        let variable = std::env::var_os("PGDYNO_DATA");
        self.scale.is_some() && variable.is_some_and(|variable| variable == extract.as_os_str())
    }
}

/// How osm2pgsql is asked; names and defaults are its own where it has them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "osm2pgsql")]
struct How {
    /// First part of the tables' names
    #[arg(long, short = 'p', default_value = "planet_osm")]
    prefix: String,
    /// Output: pgsql or flex
    #[arg(long, short = 'O', value_name = "OUTPUT")]
    output: Option<String>,
    /// Style file; for output flex a Lua file
    #[arg(long, short = 'S', value_name = "FILE")]
    style: Option<PathBuf>,
    /// Load without --slim, which is osm2pgsql's default
    #[arg(long, conflicts_with = "drop")]
    no_slim: bool,
    /// Drop the tables of nodes, ways and relations after the load
    #[arg(long)]
    drop: bool,
    /// All tags in a column of type hstore
    #[arg(long, short = 'k')]
    hstore: bool,
    /// Memory for node locations in MB [default: from the size of the extract]
    #[arg(long, short = 'C', value_name = "MB")]
    cache: Option<u32>,
    /// Parallel processes [default: CPUs, at most 8]
    #[arg(long, value_name = "N")]
    number_processes: Option<u32>,
    /// Keep node locations in this file
    #[arg(long, short = 'F', value_name = "FILE")]
    flat_nodes: Option<PathBuf>,
    /// Make this schema first, for a flex style that puts tables there (repeatable)
    #[arg(long = "schema", value_name = "NAME")]
    schemas: Vec<String>,
    /// More options for osm2pgsql, unchanged: "--multi-geometry --latlong"
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    args: String,
    /// The osm2pgsql program [default: the one on the PATH]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

impl How {
    fn options(&self, extract: &Path, replace: bool) -> workloads::osm::OsmOptions {
        workloads::osm::OsmOptions {
            prefix: self.prefix.clone(),
            output: self.output.clone(),
            style: self.style.clone(),
            slim: !self.no_slim,
            drop: self.drop,
            hstore: self.hstore,
            cache_mb: self.cache,
            processes: self.number_processes,
            flat_nodes: self.flat_nodes.clone(),
            args: self.args.clone(),
            schemas: self.schemas.clone(),
            program: self.program.clone(),
            replace,
            ..workloads::osm::OsmOptions::new(extract)
        }
    }
}

pub(crate) fn run(command: &OsmCommand) -> ExitResult {
    match command {
        OsmCommand::Load(args) => load(args),
        OsmCommand::Fetch(args) => fetch::run(args),
        OsmCommand::Synth(args) => synth::run(args),
    }
}

fn load(args: &OsmLoadArgs) -> ExitResult {
    let target = match &args.url {
        Some(url) => TargetAccess::url(bench::at(Some(url), None, None, None)?),
        None => TargetAccess::managed("default", &["postgis"]),
    };
    let extract = args.extract.as_deref().filter(|extract| !args.is_only_in_environment(extract));
    let mut options = args.how.options(extract.unwrap_or(Path::new("")), args.replace);
    (options.scale, options.seed) = (args.scale, args.seed);
    let stop = signals::listen_at_once()?;
    let results = args.output.results.path();
    let mut screen = Screen::new(args.output.verbose);
    let _measuring = args.output.measuring(&mut screen);
    let keep = Some(KeepIn { results: &results, command: typed::command() });
    let kept = bench::load_osm(&target, args.programs.pg_bin.clone(), &options, keep, &mut screen, &stop)?;
    drop(screen);
    print(&phases(&kept.run), args.output.format.format)?;
    if args.output.format.format.is_for_people() {
        let amounts = report::tables::amounts(&kept.run);
        let amounts: Vec<String> = amounts.iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        crate::print::data(&format!("\n{}\n", amounts.join(", ")))?;
    }
    let id = kept.stored.as_ref().and_then(|stored| stored.as_ref().ok()).copied();
    stored(kept.stored)?;
    told_where(&results, &["jobs", "sizes"], id);
    Ok(SAME_OR_BETTER)
}
