//! `pgdyno gate`: whether a change may go in, for a job of CI. Runs an experiment, adds rounds while a budget
//! lasts, judges, and keeps the history of its commits.

mod args;
mod budget;
mod commits;
mod files;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use ::report::ReportData;
use ::report::gate::GateReport;
use lab::execute::{self, FinishedExperiment};
use lab::experiment::{ExperimentFile, ExperimentOverrides, ReadOptions};
use lab::plan;
use results::comparison::MeasuredExperiment;
use results::gate::{GateHistory, GateJudgement};
use results::{ExperimentId, Store};
use server::Stop;
use spec::plan::WorkMetric;
use spec::{Error, GateOutcome, GateRecord};

pub(crate) use self::args::Args;
use self::budget::Budget;
use self::files::GateFolder;
use super::carry_out::{How, Shown, listen};
use super::{chosen, loaded, sources};
use crate::exit::{self, BAD_INPUT, CommandFailure, ExitResult};
use crate::options::OutputFormat;
use crate::print::{data, talk, warning};

/// Looks at the answer of a gate with a budget: after the rounds of the file, after twice, and after four times as many.
const LOOKS: u32 = 3;

/// What was measured, and what it says.
struct Measured {
    data: ReportData,
    experiment: ExperimentId,
    judgement: GateJudgement,
    /// Looks at the answer that were taken.
    looks: u32,
    /// Whether all its runs were stored before.
    is_stored: bool,
    /// The commits that builds from git have now, by arm.
    commits: BTreeMap<String, String>,
}

enum Found {
    Measured(Box<Measured>),
    /// Base and arm, which are the same.
    Same([String; 2]),
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let how = How {
        name: args.file.display().to_string(),
        dry_run: args.dry_run,
        again: args.again,
        report: None,
        pg_bin: args.programs.pg_bin.as_deref(),
        output: &args.out,
        shown: Shown::Answer,
        is_brief: false,
        consents: args.allow_commands,
    };
    let read = ReadOptions { full: false, data: args.data.as_ref().map(|path| path.display().to_string()) };
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
    let found = measured(args, how, &mut file, (planned, base.as_ref()), &stop)?;
    concluded(args, &file, found, planned, &folder)
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

/// Measures until it is decided, or the budget is spent.
fn measured(
    args: &Args,
    mut how: How<'_>,
    file: &mut ExperimentFile,
    (planned, base): (u32, Option<&MeasuredExperiment>),
    stop: &Stop,
) -> anyhow::Result<Found> {
    let mut budget = Budget::of(args.budget);
    let (mut has_added, mut is_stored) = (false, true);
    loop {
        let began = Instant::now();
        let Looked { experiment, is_new, commits } = match once(&how, file, base, stop)? {
            Once::Looked(looked) => looked,
            Once::Same(arms) => return Ok(Found::Same(arms)),
        };
        is_stored &= !is_new;
        let mut store = Store::create_or_open(&args.out.results.path())?;
        store.look(experiment)?;
        let data = loaded(&store, experiment)?;
        let (looks, rounds) = (data.course.looks, data.experiment.rounds);
        let judgement = judged(&store, experiment, &data, base, planned)?;
        budget.spent(&data, rounds, has_added.then(|| began.elapsed()));
        let may_look =
            looks < planned && judgement.outcome == GateOutcome::Undecided && judgement.hindrance.is_none();
        let Some(more) = budget.rounds(rounds).filter(|_| may_look) else {
            return Ok(Found::Measured(Box::new(Measured {
                data,
                experiment,
                judgement,
                looks,
                is_stored,
                commits,
            })));
        };
        talk(&format!("undecided after {rounds} rounds: measuring {} more", more - rounds));
        file.ask(ExperimentOverrides { rounds: Some(more), looks: Some(planned), ..Default::default() })?;
        (how.again, has_added) = (false, true);
    }
}

struct Looked {
    experiment: ExperimentId,
    /// Whether runs were measured now.
    is_new: bool,
    commits: BTreeMap<String, String>,
}

enum Once {
    Looked(Looked),
    /// Base and arm, which are the same.
    Same([String; 2]),
}

/// Carries out the experiment. If it is finished, nothing that it measures changed since, and its stored runs count.
fn once(
    how: &How<'_>,
    file: &ExperimentFile,
    base: Option<&MeasuredExperiment>,
    stop: &Stop,
) -> anyhow::Result<Once> {
    let mut screen = how.screen();
    let options = how.options(None);
    let allowed = sources::Allowed { dry_run: false, consents: how.consents };
    let built = match sources::built(allowed, (file, &options), &mut screen, stop) {
        Ok(built) => built,
        Err(error) => {
            let experiment = finished(error)?;
            return Ok(Once::Looked(Looked { experiment, is_new: false, commits: BTreeMap::new() }));
        }
    };
    let file = built.as_ref().map_or(file, |built| &built.file);
    let ready = how.announced(file, &options, &mut screen, stop)?;
    match base {
        None => {
            if let Some(arms) = plan::equal_arms(&ready.plan).filter(|_| !file.allows_same()) {
                return Ok(Once::Same(arms));
            }
        }
        Some(base) => {
            let own = ready.plan.content.arm_names();
            let is_own = |name: &String| own.iter().flatten().any(|arm| arm == name);
            if !base.experiment.arms.iter().any(|arm| is_own(&arm.name)) {
                return Err(without_control());
            }
        }
    }
    let builds = &ready.plan.content.named.builds;
    let source = |build: &spec::plan::Build| build.source.as_ref().map(|source| source.commit.clone());
    let commits = builds.iter().filter_map(|(arm, build)| Some((arm.clone(), source(build)?))).collect();
    let _measuring = how.output.measuring(&mut screen);
    match execute::run(file, ready.facts, &options, &mut screen, stop) {
        Ok(outcome) => Ok(Once::Looked(Looked { experiment: outcome.experiment, is_new: true, commits })),
        Err(error) => {
            let experiment = finished(error.into())?;
            Ok(Once::Looked(Looked { experiment, is_new: false, commits }))
        }
    }
}

/// The experiment of an error that says it is finished; any other error is returned.
fn finished(error: anyhow::Error) -> anyhow::Result<ExperimentId> {
    let found = error.downcast_ref::<Error>().and_then(Error::attached);
    match found {
        Some(FinishedExperiment { experiment }) => Ok(*experiment),
        None => Err(error),
    }
}

fn judged(
    store: &Store,
    experiment: ExperimentId,
    data: &ReportData,
    base: Option<&MeasuredExperiment>,
    planned: u32,
) -> anyhow::Result<GateJudgement> {
    let judged = match base {
        None => GateJudgement::of(data),
        Some(base) => {
            let new = ReportData::measured(store, experiment, "now".to_owned())?;
            let apart = ReportData::apart(base, &new).map_err(|error| {
                let hint = "measure the base with the same file, in which only the judged arm differs";
                CommandFailure::with_code(BAD_INPUT, error.to_string(), Some(hint.to_owned()))
            })?;
            GateJudgement::against_stored(base, &new, &apart, planned)
        }
    };
    judged.ok_or_else(without_control)
}

fn without_control() -> anyhow::Error {
    let what =
        "the stored base and this experiment have no arm in common, so drift cannot be told from change";
    let hint = "both need one arm of the same name, build and settings: the control, besides the judged one";
    CommandFailure::with_code(BAD_INPUT, what, Some(hint.to_owned()))
}

/// Stores, writes and prints what was found.
fn concluded(
    args: &Args,
    file: &ExperimentFile,
    found: Found,
    planned: u32,
    folder: &GateFolder,
) -> ExitResult {
    let name = args.name.clone().unwrap_or_else(|| file.name().to_owned());
    let mut notes = Vec::new();
    let (measured, judgement) = match &found {
        Found::Measured(measured) => (Some(measured), measured.judgement.clone()),
        Found::Same(arms) => (None, same(file, arms)),
    };
    let data = measured.map(|measured| &measured.data);
    if measured.is_none() {
        notes.push("both arms are the same, byte for byte, so nothing was measured".to_owned());
    }
    if let Some(measured) = measured.filter(|measured| measured.is_stored) {
        notes.push(format!(
            "nothing that it measures changed since experiment {} was measured, so its stored runs were judged",
            measured.experiment.0
        ));
    }
    let named = measured.map(|measured| &measured.commits);
    let commit = commits::judged(args, (named, data), &judgement);
    if commit.is_none() {
        notes.push("no commit is known (--commit), so this gate is in no history".to_owned());
    }
    let change = judgement.change;
    let record = GateRecord {
        name,
        arm: judgement.arm.clone(),
        base: judgement.base.clone(),
        commit: commit.as_ref().map_or(String::new(), |commit| commit.id.clone()),
        subject: commit.map(|commit| commit.subject).filter(|subject| !subject.is_empty()),
        base_commit: commits::base(args, (named, data), &judgement),
        judged_at: jiff::Timestamp::now().to_string(),
        metric: judgement.metric,
        outcome: judgement.outcome,
        log_ratio: change.map(|change| change.log_ratio),
        interval: change.and_then(|change| change.interval(0.95)),
    };
    let mut history = GateHistory::default();
    if let Some(found) = measured {
        let mut store = Store::create_or_open(&args.out.results.path())?;
        if !record.commit.is_empty() {
            store.keep_gate(found.experiment, &record)?;
        }
        history = GateHistory::of(store.gates(Some(&record.name))?);
    }
    let exit_code = exit::of_gate(judgement.outcome);
    let report = GateReport {
        record: &record,
        judgement: &judgement,
        data,
        looks: (measured.map_or(0, |found| found.looks), planned),
        history: &history,
        notes: &notes,
        files: &folder.names(data, &record, &history),
        exit_code,
    };
    folder.write(&report)?;
    match args.out.format.format {
        OutputFormat::Text => data_of(&report.text())?,
        OutputFormat::Md => data_of(&report.markdown())?,
        OutputFormat::Json => data_of(&report.json())?,
        OutputFormat::Csv | OutputFormat::CsvFormulas => {
            super::print(&::report::gate::history_table(&history), args.out.format.format)?;
        }
    }
    talk(&format!("summary: {}", folder.summary().display()));
    if judgement.outcome == GateOutcome::Undecided && !args.budget.is_zero() {
        warning("the budget was spent, and it is not decided");
    }
    Ok(exit_code)
}

fn data_of(text: &str) -> anyhow::Result<()> {
    Ok(data(text)?)
}

/// The judgement of two arms that are the same.
fn same(file: &ExperimentFile, [base, arm]: &[String; 2]) -> GateJudgement {
    GateJudgement {
        outcome: GateOutcome::Same,
        base: base.clone(),
        arm: arm.clone(),
        metric: file.metric(),
        change: None,
        crash: None,
        hindrance: None,
        control: None,
        notes: Vec::new(),
    }
}
