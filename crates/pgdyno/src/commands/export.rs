//! `pgdyno export`: out of a results file, so that it can be used without it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use lab::experiment::{ExperimentFile, ReadOptions};
use lab::plan::Plan;
use report::ReportData;
use report::repeat::{Kit, KitFile, in_words};
use results::Store;
use target::settings::Machine;

use crate::exit::{BAD_INPUT, Failure, INPUT_OUTPUT, Outcome, SAME_OR_BETTER};
use crate::options::{Format, FormatOption, Results};
use crate::print::{data, talk, warning};

/// `pgdyno export …`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Write an experiment's file and all its scripts into a folder, which pgdyno run then repeats
    Experiment(Experiment),
}

/// `pgdyno export experiment`.
#[derive(Debug, clap::Args)]
pub(crate) struct Experiment {
    /// Which one [see: pgdyno table experiments]
    #[arg(value_name = "NUMBER|NAME")]
    experiment: String,
    /// Folder to write, new or empty; `-` prints all of it instead
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::Experiment(args) = command;
    let store = Store::open_read_only(&args.results.path())?;
    let found = ReportData::load(&store, store.find(Some(&args.experiment))?)?;
    let Some(kit) = Kit::of(&found) else {
        let what = format!(
            "experiment {} was imported: nothing is known of how to repeat it",
            found.experiment.name
        );
        return Err(Failure::with_code(BAD_INPUT, what, None));
    };
    if args.folder.as_os_str() == "-" {
        data(&match args.format.format {
            Format::Json => kit.json(),
            Format::Csv => {
                let hint = "try --format text, json or md".to_owned();
                return Err(Failure::with_code(crate::exit::USAGE, "texts are no table", Some(hint)));
            }
            Format::Md => in_words(&kit, true),
            Format::Text => in_words(&kit, false),
        })?;
        return Ok(SAME_OR_BETTER);
    }
    write(&kit, &args.folder)?;
    for note in &kit.notes {
        warning(note);
    }
    let command = identified(&kit, &args.folder);
    talk(&format!("repeat it: cd {} && {command}", args.folder.display()));
    Ok(SAME_OR_BETTER)
}

/// Writes the files, for their owner only, as the results are.
fn write(kit: &Kit, folder: &Path) -> anyhow::Result<()> {
    let refused = |why: String| Failure::with_code(INPUT_OUTPUT, why, Some("name a new folder".to_owned()));
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
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        talk(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn make(folder: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// The command that repeats it, once what was written has been read again: is it the same experiment?
fn identified(kit: &Kit, folder: &Path) -> String {
    let Some(path) = &kit.experiment else { return kit.command.clone() };
    let identity = |full: bool| {
        let file = ExperimentFile::read(&folder.join(path), &ReadOptions { full, data: None })?;
        anyhow::Ok(Plan::expand(&file, Machine::here())?.hash())
    };
    let long = kit.command.contains(" --full");
    match (identity(false), identity(true)) {
        (Ok(hash), _) if hash == kit.hash && !long => {
            talk("it is the same experiment: pgdyno would go on with it")
        }
        (_, Ok(hash)) if hash == kit.hash => {
            talk("it is the same experiment: pgdyno would go on with it");
            if !long {
                return kit.command.replacen(path, &format!("{path} --full"), 1);
            }
        }
        (Ok(_), _) => warning(
            "as it stands it is another experiment to pgdyno: a file differs (see above), or this machine has other memory, \
             CPUs or programs, which shares such as \"25% of memory\" refer to",
        ),
        (Err(error), _) => warning(&format!(
            "whether it is the same experiment is not known, it cannot be read here: {}",
            format!("{error:#}").lines().next().unwrap_or_default()
        )),
    }
    kit.command.clone()
}
