//! `pgdyno export`: writes parts of a results file as separate files.

mod redact;
mod tiles;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lab::experiment::{ExperimentFile, ReadOptions};
use lab::{facts, plan};
use report::repeat::{Kit, KitFile, in_words};
use results::Store;
use results::data::Wanted;
use spec::shell;

use super::{chosen, loaded};
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult, INPUT_OUTPUT, SAME_OR_BETTER};
use crate::options::{FormatOption, OutputFormat, Results};
use crate::print::{data, talk, warning};

/// `pgdyno export …`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ExportCommand {
    /// Write an experiment's file and scripts into a folder, for pgdyno run
    Experiment(ExportExperiment),
    /// Write the tiles of an experiment with their times into a GeoPackage, for QGIS and the like
    Tiles(tiles::ExportTiles),
}

/// `pgdyno export experiment`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportExperiment {
    /// Which experiment [see: pgdyno table experiments]
    #[arg(value_name = "NUMBER|NAME")]
    experiment: String,
    /// New or empty folder to write; `-` prints everything instead
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace what may be private: literals in scripts and SQL, commands, comments, and hosts, users and passwords of
    /// addresses. The result cannot be run
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(command: &ExportCommand) -> ExitResult {
    match command {
        ExportCommand::Experiment(args) => experiment(args),
        ExportCommand::Tiles(args) => tiles::run(args),
    }
}

fn experiment(args: &ExportExperiment) -> ExitResult {
    let store = Store::open_read_only(&args.results.path())?;
    let found = loaded(&store, chosen(&store, Some(&args.experiment))?, Wanted::Record)?;
    let found = if args.redact { redact::redacted(found) } else { found };
    let Some(mut kit) = Kit::of(&found) else {
        let what = format!(
            "experiment {} was imported: nothing is known of how to repeat it",
            found.experiment.name
        );
        return Err(CommandFailure::with_code(BAD_INPUT, what, None));
    };
    match args.redact {
        true => kit.notes.push(redact::NOTE.to_owned()),
        false => kit = kit.located(&found),
    }
    if args.folder.as_os_str() == "-" {
        data(&match args.format.format {
            OutputFormat::Json => kit.json(),
            OutputFormat::Csv | OutputFormat::CsvFormulas => {
                let hint = "try --format text, json or md".to_owned();
                return Err(CommandFailure::with_code(
                    crate::exit::USAGE,
                    "texts cannot be written as a table",
                    Some(hint),
                ));
            }
            OutputFormat::Md => in_words(&kit, true),
            OutputFormat::Text => in_words(&kit, false),
        })?;
        return Ok(SAME_OR_BETTER);
    }
    write(&kit, &args.folder)?;
    for note in &kit.notes {
        warning(note);
    }
    if args.redact {
        return Ok(SAME_OR_BETTER);
    }
    identify(&kit, &args.folder, store.path());
    if !kit.commands.is_empty() {
        warning(
            "the experiment file names commands, programs, or files outside its folder; read the list before you repeat it:",
        );
        kit.commands.iter().for_each(|command| talk(&format!("  {}", command.words())));
    }
    let folder = args.folder.to_string_lossy();
    let folder = if folder.starts_with('-') { format!("./{folder}").into() } else { folder };
    talk(&format!("repeat it: cd {} && {}", shell::word(&folder), kit.command));
    Ok(SAME_OR_BETTER)
}

/// Writes the files with the permissions of results: readable only by their owner.
fn write(kit: &Kit, folder: &Path) -> anyhow::Result<()> {
    let refused =
        |why: String| CommandFailure::with_code(INPUT_OUTPUT, why, Some("name a new folder".to_owned()));
    spec::written::resolve(folder).map_err(|error| refused(error.to_string()))?;
    match std::fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(refused(format!("{} is not empty", folder.display())));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(folder)?,
        Err(error) => return Err(refused(format!("{} cannot be written: {error}", folder.display()))),
    }
    for KitFile { path, text, .. } in &kit.files {
        let Some(text) = text else { continue };
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| unwritable(&format!("cannot write {}", path.display()), &error))?;
        talk(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn unwritable(what: &str, error: &std::io::Error) -> anyhow::Error {
    CommandFailure::with_code(
        INPUT_OUTPUT,
        format!("{what}: {error}"),
        Some("name another folder".to_owned()),
    )
}

fn make(folder: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| unwritable(&format!("cannot make the folder {}", folder.display()), &error))
}

/// Reads the written files again, and reports whether they are the same experiment.
fn identify(kit: &Kit, folder: &Path, results: &Path) {
    let Some(path) = &kit.experiment else { return };
    let path = folder.join(path);
    let planned = ExperimentFile::read(&path, &ReadOptions::default()).map_err(anyhow::Error::from);
    if planned.as_ref().is_ok_and(lab::sources::has_any) {
        // An export executes no part of the experiment, and git runs what a repository names.
        talk(
            "it builds refs from git: whether it is the same experiment depends on where the refs are when it is run",
        );
        return;
    }
    match planned.and_then(|file| Ok(plan::resolve(&file, &facts::of_files(&file)?)?)) {
        Ok(plan) if plan::hash(&plan.content) == kit.hash => {
            let results = std::path::absolute(results).unwrap_or_else(|_| results.to_owned());
            let repeats = plan.content.has_only_jobs() || plan.content.calibrate.is_some();
            let goes_on = match (repeats, plan.content.measure.search.is_some()) {
                (true, _) => "each run of it is stored with the others",
                (false, true) => "it goes on, and --again searches again",
                (false, false) => "a larger --rounds goes on with it, and --again measures it again",
            };
            talk(&format!(
                "it is the same experiment: where its runs are stored (--results {}) {goes_on}; another results file begins with \
                 nothing",
                results.display()
            ));
            if plan.seed() != kit.seed {
                talk(&format!(
                    "its seed was {}, as --again draws a new one: started again, order and random numbers are those of seed {}",
                    kit.seed,
                    plan.seed()
                ));
            }
        }
        Ok(_) => {
            let files = match kit.notes.is_empty() {
                true => "",
                false => "a file differs (see above), or ",
            };
            warning(&format!(
                "as it stands it is another experiment to pgdyno: {files}this machine has other memory, CPUs or programs, \
                 which shares such as \"25% of memory\" refer to"
            ));
        }
        Err(error) => warning(&format!(
            "whether it is the same experiment is not known, it cannot be read here: {}",
            format!("{error:#}").lines().next().unwrap_or_default()
        )),
    }
}
