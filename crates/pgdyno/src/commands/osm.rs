//! `pgdyno osm load`: one OSM load with its phases.

use lab::bench;
use lab::experiment::TargetSpec;

use super::bench::{phases, stored};
use super::{print, results_path, signals};
use crate::cli::{self, Osm};
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::print::talk;
use crate::progress::Screen;

pub(crate) fn run(command: &cli::Osm) -> Outcome {
    let Osm::Load(args) = command;
    let target = match &args.url {
        Some(url) => bench::at(Some(url), None, None, None)?,
        None => TargetSpec::Managed {
            name: "default".into(),
            version: None,
            extensions: vec!["postgis".into()],
            redis: false,
        },
    };
    let options = workloads::osm::Options::new(&args.extract);
    let stop = signals::listen_at_once()?;
    let results = results_path(&args.results);
    let mut screen = Screen::new(args.talk.verbose);
    let kept = bench::load_osm(&target, args.pg_bin.clone(), &options, Some(&results), &mut screen, &stop)?;
    drop(screen);
    print(&phases(&kept.run), args.format.format)?;
    stored(kept.stored)?;
    talk(&format!("results: {} (try: pgdyno table sizes)", results.display()));
    Ok(SAME_OR_BETTER)
}
