//! `pgdyno run`: an experiment from a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::experiment::{ExperimentFile, ExperimentOverrides, ReadOptions};

use super::carry_out::{How, Shown, listen};
use super::part::PartArgs;
use super::{allowed, by_hand};
use crate::exit::{CommandFailure, ExitResult, SAME_OR_BETTER, USAGE};
use crate::options::{AnswerMetric, OutputArgs, Programs, WrittenSlices};
use crate::print::data;
use spec::plan::WorkMetric;

/// `pgdyno run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Experiment file in TOML (docs/reference/experiment.md)
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print the JSON Schema of experiment files, for editors, and run nothing
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Show the plan, and run nothing. Settings are checked if a server is reachable
    #[arg(long)]
    dry_run: bool,
    /// Allow the commands, programs and files outside its folder that the file names; --dry-run lists them
    #[arg(long)]
    allow_commands: bool,
    /// Use the table "full" of the file: more levels, more rounds, longer runs
    #[arg(long)]
    full: bool,
    /// OpenStreetMap extract for $PGDYNO_DATA in the file
    #[arg(long, value_name = "FILE", env = "PGDYNO_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Repository for builds from git, such as another clone, instead of the file's
    #[arg(long, value_name = "FOLDER")]
    source: Option<PathBuf>,
    /// Number of rounds, instead of the file's. A larger number extends a finished experiment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// Current level of the factor that you set by hand ([by_hand]), such as memory=3200. One set is measured. Without
    /// it pgdyno asks on the terminal
    #[arg(long, value_name = "FACTOR=LEVEL")]
    level: Option<String>,
    /// Sets of each level that is set by hand, instead of the file's. A larger number extends a finished experiment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    sets: Option<u32>,
    /// Measure again what is finished, as a new experiment
    #[arg(long)]
    again: bool,
    /// Allow both arms to be the same, to see random differences alone
    #[arg(long)]
    same: bool,
    /// Whether arms take turns in short slices: auto, true, false or a length such as 100ms, instead of the file's
    #[arg(long, value_name = "WHICH", value_parser = WrittenSlices::VALUES, hide_possible_values = true)]
    slices: Option<WrittenSlices>,
    /// Whether the sessions of arms in slices are kept from round to round: true or false, instead of the file's
    #[arg(long, value_name = "WHETHER")]
    keep_sessions: Option<bool>,
    /// Maximum seconds for the check of each workload before its runs, and for the plans after one, instead of the
    /// file's
    #[arg(long, value_name = "SEC", value_parser = crate::options::check_time)]
    check_time: Option<Duration>,
    /// Metric that decides the verdict, instead of the file's
    #[arg(long, short = 'm', value_enum, value_name = "METRIC")]
    metric: Option<AnswerMetric>,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let Some(path) = args.file.as_ref().filter(|_| !args.schema) else {
        let schema = serde_json::to_string_pretty(&lab::experiment::schema())?;
        data(&format!("{schema}\n"))?;
        return Ok(SAME_OR_BETTER);
    };
    let how = How {
        name: path.display().to_string(),
        dry_run: args.dry_run,
        again: args.again,
        report: args.report.as_deref(),
        pg_bin: args.programs.pg_bin.as_deref(),
        output: &args.output,
        part: args.part.asked()?,
        shown: Shown::Answer,
        is_brief: false,
        consents: args.allow_commands,
    };
    how.can_report()?;
    let extract = args.data.as_ref().map(|path| path.display().to_string());
    let read = ReadOptions { full: args.full, data: extract, source: args.source.clone() };
    let mut file = self::read(path, &read, &how)?;
    let slices = args.slices.as_ref().map(|slices| slices.asked);
    file.ask(ExperimentOverrides {
        slices,
        keep_sessions: args.keep_sessions,
        check_time: args.check_time,
        rounds: args.rounds,
        sets: args.sets,
        same: args.same,
        metric: args.metric.map(WorkMetric::from),
        looks: None,
    })?;
    by_hand::carry_out(&how, &file, args.level.as_deref(), &listen(&file)?)
}

/// Reads an experiment file, with consent to what it executes.
pub(super) fn read(path: &Path, options: &ReadOptions, how: &How<'_>) -> anyhow::Result<ExperimentFile> {
    let file = ExperimentFile::read(path, options)?;
    if options.source.is_some() && !lab::sources::has_any(&file) {
        let what = format!("--source: {} names no build from git", how.name);
        let hint = "leave it out; a build from git is git = \"REF\" in [version.NAME] (docs/reference/experiment.md)"
            .to_owned();
        return Err(CommandFailure::with_code(USAGE, what, Some(hint)));
    }
    match how.dry_run {
        true => allowed::show(&how.name, file.commands()),
        false if how.consents => {}
        false if file.commands().is_empty() => {
            // A path may have become a link to another place since it was checked.
            let held = ExperimentFile::read_held(path, options)?;
            allowed::ask(&how.name, held.commands())?;
            return Ok(held);
        }
        false => allowed::ask(&how.name, file.commands())?,
    }
    Ok(file)
}
