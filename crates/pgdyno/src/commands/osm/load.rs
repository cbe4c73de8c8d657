//! `pgdyno osm load`: a load as an experiment that only prepares.

use std::path::{Path, PathBuf};

use toml::Value;
use workloads::osm::OsmOptions;

use super::{How, OsmLoadArgs};
use crate::commands::bench::against::base::{BaseServer, Folder};
use crate::commands::bench::against::made::{MadeExperiment, Use};
use crate::commands::bench::against::values::changed;
use crate::commands::carry_out::Shown;
use crate::exit::ExitResult;

const NAME: &str = "osm load";

/// Options by the keys that they make.
const ORIGINS: [(&str, &str); 11] = [
    ("extract", "EXTRACT"),
    ("scale", "--scale"),
    ("prefix", "--prefix"),
    ("output", "--output"),
    ("style", "--style"),
    ("cache_mb", "--cache"),
    ("processes", "--number-processes"),
    ("flat_nodes", "--flat-nodes"),
    ("schemas", "--schema"),
    ("args", "--args"),
    ("program", "--program"),
];

pub(super) fn run(args: &OsmLoadArgs) -> ExitResult {
    let of = Use {
        nowhere: NAME,
        asked: None,
        save: args.save.as_deref(),
        dry_run: args.dry_run,
        again: false,
        same: false,
        report: None,
        pg_bin: args.programs.pg_bin.as_deref(),
        output: &args.output,
        shown: Shown::Answer,
    };
    of.carry_out(|folder| made(args, folder))
}

fn made(args: &OsmLoadArgs, folder: &Folder) -> anyhow::Result<MadeExperiment> {
    let server = match &args.url {
        Some(url) => BaseServer::by_url(Some(url), None, None, None)?,
        None => BaseServer::Managed { name: "default".to_owned(), extensions: &["postgis"], redis: false },
    };
    let saved_by = "Made by pgdyno osm load; docs/reference/experiment.md explains every key.";
    let mut made = MadeExperiment::new(NAME, saved_by, &[&server]);
    made.origins.are_input = true;
    made.origins.add(&["target", "url"], "--url");
    made.origins.add(&["prepare", "osm"], NAME);
    for (key, option) in ORIGINS {
        made.origins.add(&["prepare", "osm", "*", key], option);
    }
    made.experiment.target = Some(server.target());
    let options = changed(&args.options(folder), &OsmOptions::new(""))?;
    made.experiment.prepare = [("osm".to_owned(), Value::Table(options))].into_iter().collect();
    Ok(made)
}

impl OsmLoadArgs {
    fn options(&self, folder: &Folder) -> OsmOptions {
        let extract = self.extract.as_deref().filter(|extract| !self.is_only_in_environment(extract));
        // Its messages and the stored experiment name its place, wherever the command was given.
        let extract =
            extract.map(|extract| std::path::absolute(extract).unwrap_or_else(|_| extract.to_owned()));
        let path = |path: &PathBuf| folder.in_file(path);
        let How { output, style, cache, number_processes, flat_nodes, schemas, program, .. } = &self.how;
        OsmOptions {
            extract: extract.as_ref().map(path).unwrap_or_default(),
            scale: self.scale,
            seed: self.seed,
            prefix: self.how.prefix.clone(),
            output: output.clone(),
            style: style.as_ref().map(path),
            slim: !self.how.no_slim,
            drop: self.how.drop,
            hstore: self.how.hstore,
            cache_mb: *cache,
            processes: *number_processes,
            flat_nodes: flat_nodes.as_ref().map(path),
            args: self.how.args.clone(),
            schemas: schemas.clone(),
            // A name is looked up.
            program: program.as_ref().map(|program| match program.components().count() {
                1 => program.clone(),
                _ => path(program),
            }),
            replace: self.replace,
        }
    }

    /// Whether a scale was given, and the extract only by the environment variable for all commands.
    fn is_only_in_environment(&self, extract: &Path) -> bool {
        let variable = std::env::var_os("PGDYNO_DATA");
        self.scale.is_some() && variable.is_some_and(|variable| variable == extract.as_os_str())
    }
}
