//! `pgdyno gate`: whether a change may go in, for a job of CI. Runs an experiment, adds rounds while a budget
//! lasts, judges, and keeps the history of its commits.

mod args;
mod budget;
mod commits;
mod conclusion;
mod files;
mod measuring;

use std::path::Path;

use ::report::ReportData;
use lab::experiment::{ExperimentFile, ExperimentOverrides, ReadOptions};
use results::Store;
use results::comparison::MeasuredExperiment;
use spec::plan::WorkMetric;

pub(crate) use self::args::Args;
use self::conclusion::concluded;
use self::files::GateFolder;
use self::measuring::{Gate, measured};
use super::carry_out::{How, Shown, listen};
use super::chosen;
use super::part::AskedPart;
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult};

/// Looks at the answer of a gate with a budget: after the rounds of the file, after
/// twice as many, and when the budget is spent.
const LOOKS: u32 = 3;

pub(crate) fn run(args: &Args) -> ExitResult {
    let how = How {
        name: args.file.display().to_string(),
        dry_run: args.dry_run,
        again: args.again,
        report: None,
        pg_bin: args.programs.pg_bin.as_deref(),
        output: &args.out,
        part: AskedPart::WHOLE,
        shown: Shown::Answer,
        is_brief: false,
        consents: args.allow_commands,
    };
    let data = args.data.as_ref().map(|path| path.display().to_string());
    let read = ReadOptions { full: false, data, source: args.source.clone() };
    let mut file = super::run::read(&args.file, &read, &how)?;
    compares(&file, &how.name)?;
    let planned = if args.budget.is_zero() { 1 } else { LOOKS };
    file.ask(ExperimentOverrides {
        rounds: args.rounds,
        metric: args.metric.map(WorkMetric::from),
        looks: Some(planned),
        ..ExperimentOverrides::default()
    })?;
    let base = args.base.as_deref().map(|path| stored_base(path, args)).transpose()?;
    let stop = listen(&file)?;
    if args.dry_run {
        return how.carry_out_by(&file, None, &stop);
    }
    let folder = GateFolder::at(&args.output)?;
    let gate = Gate { args, planned, base: base.as_ref() };
    let found = measured(&gate, how, &mut file, &stop)?;
    concluded(&gate, &file, &found, &folder)
}

/// Refuses a file without a comparison of figures that are looked at while rounds are added.
fn compares(file: &ExperimentFile, name: &str) -> anyhow::Result<()> {
    let refused =
        |what: String, hint: &str| Err(CommandFailure::with_code(BAD_INPUT, what, Some(hint.to_owned())));
    match () {
        () if !file.names_a_base() => refused(
            format!("{name} compares nothing: a gate needs a base and a new arm"),
            "give the file [compare] with factor and base; pgdyno bench --against … --save FILE writes one",
        ),
        () if file.searches_limits() => refused(
            format!("{name} searches limits: a gate judges throughput, server CPU or response times"),
            "pgdyno run FILE has exit codes, too",
        ),
        () if file.by_hand().is_some() => refused(
            format!("{name} compares levels that a person sets: a gate runs without one"),
            "compare settings, versions, scripts or servers",
        ),
        () => Ok(()),
    }
}

fn stored_base(path: &Path, args: &Args) -> anyhow::Result<MeasuredExperiment> {
    let store = Store::open_read_only(path)?;
    let id = chosen(&store, args.base_experiment.as_deref())?;
    let name = path.file_name().map_or_else(|| "base".into(), |name| name.to_string_lossy().into_owned());
    Ok(ReportData::measured(&store, id, name)?)
}
