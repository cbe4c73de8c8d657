//! `pgdyno import`: imports pgbench's reports and logs, osm2pgsql's logs, JSON printed by pgdyno, tables of
//! numbers, results of other load testers, and results files of earlier versions.

mod arms;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::report::Conclusion;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use results::import::{self, FoundRun, FoundRuns};
use results::{Collection, Earlier, Imported, Store, StoredRun, Table};

use super::{print, print_conclusion};
use crate::exit::{CommandFailure, ExitResult, SAME_OR_BETTER, USAGE};
use crate::options::{FormatOption, Results};
use crate::print::{is_interactive, talk, warning};

const NAME: &str = "import";

/// `pgdyno import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Reports and logs of pgbench, logs of osm2pgsql, JSON of pgdyno bench, output of HammerDB, sysbench or BenchBase,
    /// or a results file of an earlier build. `-` is standard input. Give a log of pgbench -l together with the report
    /// of its run and the files of its threads
    #[arg(required_unless_present = "table", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Table of numbers (CSV): a header, columns of factors, a figure, and optionally the repeat (run, round).
    /// Repeatable
    #[arg(long, value_name = "FILE.csv")]
    table: Vec<PathBuf>,
    /// Column of --table to compare, such as score. load=min gives its unit: s, ms, us, min, h, per_s, per_min or
    /// per_h [default: the first rate, else the first time, by the names of the columns]
    #[arg(long, value_name = "COLUMN[=UNIT]", requires = "table")]
    figure: Option<String>,
    /// Column of --table that numbers the repeats [default: run, round, repeat, iteration and the like]
    #[arg(long, value_name = "COLUMN", requires = "table")]
    round: Option<String>,
    /// Experiment to put the runs into. The same name adds to it
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Question that the experiment answers, for tables and reports
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,
    /// Level of a factor for all files: storage=nvme (repeatable). Workload, clients, scale and protocol come from the
    /// reports
    #[arg(long, short = 'l', value_name = "FACTOR=LEVEL", value_parser = level)]
    level: Vec<(String, String)>,
    /// Factor to compare. Its levels become the arms
    #[arg(long, value_name = "FACTOR")]
    compare: Option<String>,
    /// Level that the others are compared with [default: the first imported]
    #[arg(long, value_name = "LEVEL", requires = "compare")]
    base: Option<String>,
    /// Import files again that the results file has
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    format: FormatOption,
    // Last: what follows a heading is under it.
    #[command(flatten)]
    ran: Ran,
}

/// What pgbench's files may not say.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How pgbench ran, where its files do not say it")]
struct Ran {
    /// pgbench ran with this --sampling-rate: counts are scaled up from the log
    #[arg(long, value_name = "SHARE")]
    sampling_rate: Option<f64>,
    /// pgbench ran with this --rate
    #[arg(short = 'R', long, value_name = "TPS")]
    rate: Option<f64>,
    /// pgbench ran with this --latency-limit: slower transactions count as late
    #[arg(short = 'L', long, value_name = "MS")]
    latency_limit: Option<f64>,
    /// pgbench ran with these --max-tries
    #[arg(long, value_name = "N")]
    max_tries: Option<u32>,
    /// pgbench ran with this --aggregate-interval
    #[arg(long, value_name = "SEC", value_parser = clap::value_parser!(u32).range(1..))]
    aggregate_interval: Option<u32>,
}

/// `FACTOR=LEVEL`, both not empty.
fn level(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((factor, level)) if !factor.trim().is_empty() && !level.trim().is_empty() => {
            Ok((factor.trim().to_owned(), level.trim().to_owned()))
        }
        _ => Err("write FACTOR=LEVEL, as in storage=nvme".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let ran = how_it_ran(args)?;
    let path = args.results.path();
    // First: report an unusable results file before reading logs for an hour.
    Store::try_out(&path)?;
    if args.files.iter().any(|file| import::is_database(file)) {
        return earlier(args, &ran, &path);
    }
    let (found, took) = read(args, &ran)?;
    found.refused.iter().for_each(|why| warning(&format!("{why}; left out")));
    let mut store = Store::create_or_open(&path)?;
    let imported = store.import(&collection(args), &found.runs, args.again)?;
    say_known(&found, &imported, args)?;
    let runs = || imported.stored.iter().map(|stored| (stored, &found.runs[stored.place]));
    let number = spec::count(imported.stored.len() as u64, "run");
    print_conclusion(
        &Conclusion::new(format!("Imported {number} into {}.", path.display())),
        args.format.format,
    )?;
    print(table(runs()), args.format.format)?;
    say_reasons(runs().map(|(_, run)| run));
    say_notes(runs().map(|(_, run)| run));
    if args.level.is_empty() {
        say_shared_cells(runs());
    }
    arms::say_apart(&imported.stored);
    if found.rows > 0 {
        talk(&speed(found.rows, took));
    }
    if let Some(id) = imported.experiment {
        let next = if args.compare.is_some() { "compare" } else { "table runs" };
        talk(&format!("results: {} (try: pgdyno {next} -e {})", path.display(), id.0));
    }
    Ok(SAME_OR_BETTER)
}

fn earlier(args: &Args, ran: &import::ImportOptions, path: &Path) -> ExitResult {
    let plain = Collection { name: NAME.to_owned(), ..Collection::default() };
    let has_options = args.again
        || !args.table.is_empty()
        || *ran != import::ImportOptions::default()
        || collection(args) != plain;
    let file = match args.files.as_slice() {
        [file] if !has_options => file,
        _ => {
            let what = "import a results file alone, without other files, --name, --level and other options";
            return Err(CommandFailure::with_code(USAGE, what, None));
        }
    };
    let from = Earlier::open(file)?;
    let mut store = Store::create_or_open(path)?;
    let copied = store.import_earlier(&from)?;
    if copied.is_empty() {
        let what = format!("{}: no experiments that {} lacks", file.display(), path.display());
        return Err(CommandFailure::with_code(USAGE, what, None));
    }
    let mut table = Table::new(["experiment", "name", "runs"]);
    for experiment in store.experiments()?.into_iter().filter(|experiment| copied.contains(&experiment.id)) {
        table.push(vec![experiment.id.0.into(), experiment.name.into(), experiment.runs.into()]);
    }
    print(&table, args.format.format)?;
    talk(&format!("results: {}", path.display()));
    Ok(SAME_OR_BETTER)
}

fn how_it_ran(args: &Args) -> anyhow::Result<import::ImportOptions> {
    let positive = |name: &str, value: Option<f64>, most: f64| match value {
        Some(value) if !(value > 0.0 && value <= most) => Err(CommandFailure::with_code(
            USAGE,
            format!("{name} must be above 0, up to {most}"),
            Some("pgdyno import --help".into()),
        )),
        value => Ok(value),
    };
    Ok(import::ImportOptions {
        sampling_rate: positive("--sampling-rate", args.ran.sampling_rate, 1.0)?,
        rate: positive("--rate", args.ran.rate, 10_000_000.0)?,
        latency_limit_ms: positive("--latency-limit", args.ran.latency_limit, 86_400_000.0)?,
        max_tries: args.ran.max_tries,
        aggregate_interval_s: args.ran.aggregate_interval,
    })
}

fn collection(args: &Args) -> Collection {
    Collection {
        name: args.name.clone(),
        question: args.question.clone(),
        compare: args.compare.clone(),
        base: args.base.clone(),
        levels: args.level.iter().cloned().collect(),
    }
}

fn read(args: &Args, ran: &import::ImportOptions) -> anyhow::Result<(FoundRuns, Duration)> {
    let bytes: u64 = args
        .files
        .iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|metadata| metadata.len())
        .sum();
    let target = if is_interactive() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(bytes), target);
    let style = "{bar:20.cyan} {bytes}/{total_bytes}  {msg}  {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    let start = Instant::now();
    let found = import::read(&args.files, ran, &mut |rows, bytes| {
        bar.set_position(bytes);
        bar.set_message(speed(rows, start.elapsed()));
    });
    bar.finish_and_clear();
    let mut found = found?;
    let columns = import::TableColumns { figure: args.figure.as_deref(), round: args.round.as_deref() };
    for file in &args.table {
        found.runs.extend(import::read_table(file, columns)?);
    }
    Ok((found, start.elapsed()))
}

fn speed(rows: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    if seconds < 0.5 {
        return format!("{rows} log lines");
    }
    format!("{rows} log lines in {seconds:.1} s, {:.2} million a second", rows as f64 / seconds / 1e6)
}

/// Reports runs that are in the file already; an error if there are no others.
fn say_known(found: &FoundRuns, imported: &Imported, args: &Args) -> anyhow::Result<()> {
    for known in &imported.known {
        warning(&format!(
            "{}: imported before (run {} of experiment {}), left out",
            found.runs[known.place].source, known.run_id, known.experiment
        ));
    }
    if imported.stored.is_empty() {
        let files: Vec<&PathBuf> = args.files.iter().chain(&args.table).collect();
        let what = match files.as_slice() {
            [file] => format!("{} was imported before", file.display()),
            _ => "all of these were imported before".to_owned(),
        };
        let hint = "--again takes them in once more, as further rounds".to_owned();
        return Err(CommandFailure::with_code(USAGE, what, Some(hint)));
    }
    Ok(())
}

fn table<'a>(runs: impl Iterator<Item = (&'a StoredRun, &'a FoundRun)>) -> Table {
    let mut table = Table::new([
        "run",
        "source",
        "workload",
        "cell",
        "arm",
        "round",
        "measured_s",
        "tps",
        "p50_us",
        "p99_us",
        "validity",
    ]);
    table.optional(["arm"]);
    for (stored, found) in runs {
        let run = found.run();
        let others: Vec<String> = stored
            .factors
            .iter()
            .filter(|(name, _)| *name != "workload")
            .map(|(name, level)| format!("{name} {level}"))
            .collect();
        table.push(vec![
            stored.run_id.into(),
            found.source.clone().into(),
            run.workload.clone().into(),
            others.join(", ").into(),
            stored.arm.clone().into(),
            stored.round.into(),
            Some(run.measured_s).filter(|seconds| *seconds > 0.0).into(),
            run.tps().into(),
            run.response_us(0.5).into(),
            run.response_us(0.99).into(),
            match run.validity {
                spec::Validity::Valid => "valid",
                spec::Validity::Suspect => "suspect",
                spec::Validity::Invalid => "invalid",
            }
            .into(),
        ]);
    }
    table
}

/// Why runs are invalid: of a load that failed it is the news.
fn say_reasons<'a>(runs: impl Iterator<Item = &'a FoundRun>) {
    let invalid: Vec<&FoundRun> =
        runs.filter(|found| found.run().validity == spec::Validity::Invalid).collect();
    for found in invalid.iter().take(MOST_REASONS) {
        let of_verdict = |doubt: &&spec::Doubt| doubt.reason != spec::Reason::Imported;
        let reasons: Vec<&str> =
            found.run().doubts.iter().filter(of_verdict).map(|doubt| doubt.detail.as_str()).collect();
        warning(&format!("{}: invalid: {}", found.source, reasons.join("; ")));
    }
    let more = invalid.len().saturating_sub(MOST_REASONS);
    if more > 0 {
        warning(&format!(
            "{} invalid: pgdyno table runs has the reasons",
            spec::count(more as u64, "further run")
        ));
    }
}

/// Invalid runs whose reasons are printed.
const MOST_REASONS: usize = 20;

/// Files of one cell are taken for repeats, which only the user knows.
fn say_shared_cells<'a>(runs: impl Iterator<Item = (&'a StoredRun, &'a FoundRun)>) {
    let mut cells: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for (stored, found) in runs {
        let file = found.source.split([',', ' ']).next().unwrap_or_default();
        cells.entry((&stored.factors, &stored.arm)).or_default().insert(file);
    }
    if let Some(files) = cells.values().map(BTreeSet::len).max().filter(|files| *files > 1) {
        talk(&format!(
            "note: {files} files are repeats of one cell, as of one machine: --level FACTOR=LEVEL tells others apart"
        ));
    }
}

fn say_notes<'a>(runs: impl Iterator<Item = &'a FoundRun>) {
    let mut said: Vec<(String, usize)> = Vec::new();
    let mut count = 0;
    for run in runs {
        count += 1;
        let missing = run.no_percentiles.map(|why| format!("percentiles not available: {why}"));
        for note in missing.into_iter().chain(run.notes.iter().cloned()) {
            match said.iter_mut().find(|(text, _)| *text == note) {
                Some((_, runs)) => *runs += 1,
                None => said.push((note, 1)),
            }
        }
    }
    for (note, runs) in said {
        let of = if count > 1 { format!(" ({runs} of {count} runs)") } else { String::new() };
        talk(&format!("note: {note}{of}"));
    }
}
