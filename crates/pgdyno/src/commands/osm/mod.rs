//! `pgdyno osm`: fetches, generates and loads extracts, with a time for every phase.

mod fetch;
mod load;
mod synth;
mod watched;

use std::path::PathBuf;

use osm::synth::ExtractScale;

use crate::exit::ExitResult;
use crate::options::{OutputArgs, Programs};

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
    /// Load a synthetic extract of this scale instead, 0.001 to 10000 (see osm synth)
    #[arg(long, value_parser = synth::scale)]
    scale: Option<ExtractScale>,
    /// Its seed [default: 1]
    #[arg(long, requires = "scale", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Database as connection string or URI [default: a private server]
    #[arg(long, short = 'd', value_name = "URI")]
    url: Option<String>,
    /// Replace existing tables of these names, also tables that pgdyno did not make
    #[arg(long)]
    replace: bool,
    /// Also write this as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show the plan, and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: OutputArgs,
    // Last: what follows a heading is under it.
    #[command(flatten)]
    how: How,
}

/// How osm2pgsql is asked; names and defaults are its own where it has them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "osm2pgsql")]
struct How {
    /// Prefix of the tables' names
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
    /// Put all tags into an hstore column
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
    /// Make this schema first, for the tables of a flex style (repeatable)
    #[arg(long = "schema", value_name = "NAME")]
    schemas: Vec<String>,
    /// Further options of osm2pgsql: "--multi-geometry --latlong"
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

pub(crate) fn run(command: &OsmCommand) -> ExitResult {
    match command {
        OsmCommand::Load(args) => load::run(args),
        OsmCommand::Fetch(args) => fetch::run(args),
        OsmCommand::Synth(args) => synth::run(args),
    }
}
