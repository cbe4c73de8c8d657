//! `pgdyno run`: an experiment file, from plan to report.

use std::path::PathBuf;

use ::report::ReportData;
use lab::execute::{self, Looked};
use lab::experiment::{AskedSlices, ExperimentFile, ReadOptions};
use lab::plan::Plan;
use lab::{Class, LabError};
use results::comparison::{Comparison, Metric};
use results::{ExperimentId, Store};
use target::Stop;
use target::settings::Machine;

use super::{print, report as page, signals};
use crate::exit::{self, INVALID, Outcome, SAME_OR_BETTER};
use crate::options::{Format, Output, Programs};
use crate::print::{data, talk, warning};
use crate::progress::Screen;

/// `pgdyno run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Experiment file (TOML; every key is explained in docs/experiment.md)
    file: PathBuf,
    /// Show the plan, run by run, and do nothing; settings are checked where a server is at hand
    #[arg(long)]
    dry_run: bool,
    /// Use the file's table "full": more levels, more rounds, longer runs
    #[arg(long)]
    full: bool,
    /// OpenStreetMap extract that $PGDYNO_DATA in the file stands for
    #[arg(long, value_name = "FILE", env = "PGDYNO_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Run a finished experiment again, as a new one
    #[arg(long)]
    again: bool,
    /// Two arms may be the same: A is compared with A, to see what a difference of nothing looks like
    #[arg(long)]
    same: bool,
    /// Whether arms take turns in slices: auto, true, false or a length such as 100ms; it stands for the file's own `slices`,
    /// and another than that is another experiment
    #[arg(long, value_name = "WHICH", value_parser = lab::experiment::asked_slices)]
    slices: Option<AskedSlices>,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(path) = &args.report {
        page::check_writable(path)?;
    }
    let read =
        ReadOptions { full: args.full, data: args.data.as_ref().map(|path| path.display().to_string()) };
    let mut file = ExperimentFile::read(&args.file, &read).map_err(LabError::from)?;
    if let Some(asked) = args.slices {
        file.ask_for_slices(asked);
    }
    for note in &file.notes {
        warning(note);
    }
    let stop = signals::listen()?;
    let plan = planned(args, &file, &stop)?;
    if args.dry_run {
        return dry_run(args, &file, &plan);
    }
    let options = execute::Options {
        results: args.output.results.path(),
        again: args.again,
        pg_bin: args.programs.pg_bin.clone(),
    };
    let mut screen = Screen::new(args.output.verbose);
    let outcome = execute::run(&file, plan, &options, &mut screen, &stop);
    drop(screen);
    match outcome {
        Ok(outcome) => conclude(args, &options, outcome.experiment),
        Err(error) => {
            // What was measured is worth its summary, also where some of it is to be measured again.
            if let LabError::SetAside { experiment, .. } = &error
                && let Err(untold) = conclude(args, &options, *experiment)
            {
                warning(&format!("what was measured could not be told: {untold:#}"));
            }
            Err(error.into())
        }
    }
}

/// What of the file can be run here, told before anything is done.
fn planned(args: &Args, file: &ExperimentFile, stop: &Stop) -> Result<Plan, LabError> {
    let mut plan = Plan::expand(file, Machine::here())?;
    if let Some([one, other]) = plan.equal_arms().filter(|_| !args.same) {
        let what = format!("{}: arms {one} and {other} are the same", args.file.display());
        return Err(LabError::failed(Class::BadInput, what, "give --same if A against A is meant"));
    }
    execute::leave_out(&mut plan, file, args.programs.pg_bin.as_deref(), stop)?;
    match execute::choose_placement(&mut plan, &args.output.results.path(), args.again) {
        // Who only looks needs no results.
        Err(error) if args.dry_run => warning(&format!("whether it has begun already is not known: {error}")),
        chosen => chosen?,
    }
    let plan = execute::look_for_room(plan, file)?;
    for line in plan.words() {
        talk(&line);
    }
    if let Some(over) = plan.over_budget(file) {
        warning(&over);
    }
    Ok(plan)
}

/// Prints the plan, run by run; the server is looked at, and nothing else is done.
fn dry_run(args: &Args, file: &ExperimentFile, plan: &Plan) -> Outcome {
    match execute::look(file, plan)? {
        Looked::Nothing => {}
        Looked::Checked => talk("settings: the server at hand can be brought to all of them"),
        Looked::NotChecked(why) => warning(&format!(
            "the settings could not be checked, no server is at hand ({why}); a run checks them before it prepares anything"
        )),
    }
    let table = match args.output.format.format {
        Format::Text | Format::Md => plan.short_table(),
        Format::Json | Format::Csv => plan.table(),
    };
    print(&table, args.output.format.format)?;
    Ok(SAME_OR_BETTER)
}

/// Compares, prints the summary, writes the report.
fn conclude(args: &Args, options: &execute::Options, experiment: ExperimentId) -> Outcome {
    let store = Store::open_read_only(&options.results)?;
    let found = ReportData::load(&store, experiment)?;
    let throughput = Comparison::of(&found.experiment, &found.runs, Metric::Tps);
    // That by response times, where schedules set the throughput.
    let comparison = found.answer().or(throughput.as_ref());
    match (args.output.format.format, comparison) {
        (Format::Text, _) => data(&report::summary::text(&found))?,
        (Format::Md, Some(comparison)) => {
            print(&report::tables::compared_in_words(&found, comparison), Format::Md)?;
        }
        (format, Some(comparison)) => print(&report::tables::compared(&found, comparison), format)?,
        (format, None) => print(&report::tables::cells(&found), format)?,
    }
    talk(&format!("results: {} (try: pgdyno table, pgdyno compare, pgdyno sql)", options.results.display()));
    if let Some(path) = &args.report {
        page::write(path, &found)?;
        talk(&format!("report:  {}", path.display()));
    }
    Ok(match comparison {
        Some(comparison) => exit::of_comparison(comparison),
        None if found.runs.iter().all(|run| run.validity == record::Validity::Invalid) => INVALID,
        None => SAME_OR_BETTER,
    })
}
