//! `pgdyno import`: other people's results of pgbench, into the results file.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use results::import::{self, Found, FoundRun, Told};
use results::{Collection, Imported, Store, StoredRun, Table};

use super::{print, results_path};
use crate::cli;
use crate::exit::{Failure, Outcome, SAME_OR_BETTER, USAGE};
use crate::print::{is_interactive, talk, warning};

pub(crate) fn run(args: &cli::Import) -> Outcome {
    let told = told(args)?;
    let path = results_path(&args.results);
    // First: a file that cannot be used is better known before an hour of logs is read.
    Store::try_out(&path)?;
    let (found, took) = read(args, &told)?;
    let mut store = Store::create_or_open(&path)?;
    let imported = store.import(&collection(args), &found.runs, args.again)?;
    say_known(&found, &imported, args)?;
    let runs = || imported.stored.iter().map(|stored| (stored, &found.runs[stored.place]));
    print(&table(runs()), args.format.format)?;
    say_notes(runs().map(|(_, run)| run));
    if found.rows > 0 {
        talk(&speed(found.rows, took));
    }
    if let Some(id) = imported.experiment {
        let next = if args.compare.is_some() { "compare" } else { "table runs" };
        talk(&format!("results: {} (try: pgdyno {next} -e {})", path.display(), id.0));
    }
    Ok(SAME_OR_BETTER)
}

fn told(args: &cli::Import) -> anyhow::Result<Told> {
    let positive = |name: &str, value: Option<f64>, most: f64| match value {
        Some(value) if !(value > 0.0 && value <= most) => Err(Failure::with_code(
            USAGE,
            format!("{name} must be above 0, up to {most}"),
            Some("pgdyno import --help".into()),
        )),
        value => Ok(value),
    };
    Ok(Told {
        sampling_rate: positive("--sampling-rate", args.sampling_rate, 1.0)?,
        rate: positive("--rate", args.rate, 10_000_000.0)?,
        latency_limit_ms: positive("--latency-limit", args.latency_limit, 86_400_000.0)?,
        max_tries: args.max_tries,
        aggregate_interval_s: args.aggregate_interval,
    })
}

fn collection(args: &cli::Import) -> Collection {
    Collection {
        name: args.name.clone(),
        question: args.question.clone(),
        compare: args.compare.clone(),
        base: args.base.clone(),
        levels: args.level.iter().cloned().collect(),
    }
}

/// Reads all files, with a line that says how far it is on a terminal.
fn read(args: &cli::Import, told: &Told) -> anyhow::Result<(Found, Duration)> {
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
    let found = import::read(&args.files, told, &mut |rows, bytes| {
        bar.set_position(bytes);
        bar.set_message(speed(rows, start.elapsed()));
    });
    bar.finish_and_clear();
    Ok((found?, start.elapsed()))
}

fn speed(rows: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    if seconds < 0.5 {
        return format!("{rows} log lines");
    }
    format!("{rows} log lines in {seconds:.1} s, {:.2} million a second", rows as f64 / seconds / 1e6)
}

/// Runs that are in the file already are left out; when that is all of them, nothing was done.
fn say_known(found: &Found, imported: &Imported, args: &cli::Import) -> anyhow::Result<()> {
    for known in &imported.known {
        warning(&format!(
            "{}: imported before (run {} of experiment {}), left out",
            found.runs[known.place].source, known.run_id, known.experiment
        ));
    }
    if imported.stored.is_empty() {
        let what = match args.files.as_slice() {
            [file] => format!("{} was imported before", file.display()),
            _ => "all of these were imported before".to_owned(),
        };
        let hint = "--again takes them in once more, as further rounds".to_owned();
        return Err(Failure::with_code(USAGE, what, Some(hint)));
    }
    Ok(())
}

fn table<'a>(runs: impl Iterator<Item = (&'a StoredRun, &'a FoundRun)>) -> Table {
    let mut table = Table::new(&[
        "run", "source", "workload", "cell", "arm", "round", "tps", "p50_us", "p99_us", "validity",
    ]);
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
            run.tps().into(),
            run.response_us(0.5).into(),
            run.response_us(0.99).into(),
            match run.validity {
                record::Validity::Valid => "valid",
                record::Validity::Suspect => "suspect",
                record::Validity::Invalid => "invalid",
            }
            .into(),
        ]);
    }
    table
}

/// What must be said with the runs, once for all that it holds for.
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
