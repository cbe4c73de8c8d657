//! `pgdyno osm load`: one OSM load with its phases.

use std::path::PathBuf;

use lab::bench;
use lab::target_spec::TargetSpec;

use super::bench::{phases, stored, told_where};
use super::{print, signals};
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::options::{Output, Programs};
use crate::progress::Screen;

/// `pgdyno osm …`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Load an extract with osm2pgsql into a database, timing nodes, ways, relations, each table and index
    Load(Load),
}

/// `pgdyno osm load`.
#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    /// Extract (.osm.pbf)
    #[arg(env = "PGDYNO_DATA", hide_env_values = true)]
    extract: PathBuf,
    /// Database as connection string or URI [default: a private server that pgdyno makes]
    #[arg(long, short = 'd', value_name = "URI")]
    url: Option<String>,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::Load(args) = command;
    let target = match &args.url {
        Some(url) => bench::at(Some(url), None, None, None)?,
        None => TargetSpec::Managed {
            name: "default".into(),
            version: None,
            extensions: vec!["postgis".into()],
            redis: false,
            bin: None,
        },
    };
    let options = workloads::osm::Options::new(&args.extract);
    let stop = signals::listen_at_once()?;
    let results = args.output.results.path();
    let mut screen = Screen::new(args.output.verbose);
    let kept =
        bench::load_osm(&target, args.programs.pg_bin.clone(), &options, Some(&results), &mut screen, &stop)?;
    drop(screen);
    print(&phases(&kept.run), args.output.format.format)?;
    let id = kept.stored.as_ref().and_then(|stored| stored.as_ref().ok()).copied();
    stored(kept.stored)?;
    told_where(&results, "sizes", id);
    Ok(SAME_OR_BETTER)
}
