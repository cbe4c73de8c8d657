//! How time and memory of commands grow with the number of runs of an experiment.
//!
//! A short experiment is measured for real. Its results file is copied, and its runs are repeated with the store's own
//! writer until the experiment has 100, 1,000 and 10,000 runs. So each run has what a real one has: samples, series,
//! slices, settings and distributions.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use results::{ExperimentId, Finished, Spool, SpoolWriter, Store};
use spec::{Run, RunKind};

use crate::child::Ran;
use crate::slices::program::{TestedProgram, VERDICTS};
use crate::slices::table::title;
use crate::{Args, child, stop};

const SIZES: [u32; 3] = [100, 1_000, 10_000];

/// Two arms, two cells, on a private server.
const MODEL: [&str; 15] = [
    "bench",
    "--managed=growth",
    "-s",
    "1",
    "-S",
    "-c",
    "1,4",
    "-T",
    "1",
    "--warmup",
    "0.5",
    "--beside",
    "--against",
    "settings: jit=off",
    "--rounds",
];
const MODEL_ROUNDS: u32 = 6;
/// Runs in a round: arms by cells.
const RUNS_PER_ROUND: u32 = 4;
/// Every arm is the first equally often, so the number of rounds is even.
const FURTHER_ROUNDS: u32 = 2;
/// Rounds of one transaction.
const ROUNDS_AT_ONCE: usize = 50;

/// A command that shows the experiment, by the arguments that are put before `--results`.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("compare", &["compare"]),
    ("report", &["report", "-o", "FOLDER/page.html"]),
    ("report --format mail", &["report", "--format", "mail"]),
    ("table cells", &["table", "cells"]),
    ("table runs", &["table", "runs"]),
    ("table figures", &["table", "figures", "--format", "csv"]),
    ("export experiment", &["export", "experiment", "1", "-"]),
];

/// The hidden subcommand that adds runs to a file.
pub(crate) const WORD: &str = "growth-file";

/// Adds runs: `FILE ROUNDS`.
///
/// # Errors
/// The file has no rounds to repeat, or cannot be written.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let [path, rounds] = arguments else { anyhow::bail!("a file and a number of rounds are needed") };
    let rounds = rounds.to_str().and_then(|rounds| rounds.parse().ok()).context("a number of rounds")?;
    grow(Path::new(path), rounds)
}

/// A row for each command: CPU time, time and memory, by the number of runs.
///
/// # Errors
/// A command fails, or the files cannot be written.
pub(crate) fn table(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("Results files of 100, 1,000 and 10,000 runs"));
    let program = TestedProgram::start_plain(options)?;
    let model = program.folder().join("results.sqlite");
    program.run(&[&MODEL[..], &[&MODEL_ROUNDS.to_string()]].concat(), VERDICTS)?;
    let sizes: Vec<String> = SIZES.iter().map(|runs| format!("{runs} runs")).collect();
    println!("| command | {} |\n| --- |{}", sizes.join(" | "), " ---: |".repeat(SIZES.len()));
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for runs in SIZES {
        let rounds = runs / RUNS_PER_ROUND;
        let path = program.folder().join(format!("{runs}.sqlite"));
        std::fs::copy(&model, &path).context("the measured results file cannot be copied")?;
        // The kernel adds the memory of the parent to a started program, so the parent has to stay small.
        let words = [WORD.into(), path.clone().into_os_string(), rounds.to_string().into()];
        child::run(&std::env::current_exe()?, &words, &[])?;
        // The plan in the file is the model's until it goes on.
        further_rounds(&program, &path, rounds + FURTHER_ROUNDS)?;
        for (name, ran) in measured(&program, &path, rounds)? {
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, cells)) => cells.push(cell(&ran)),
                None => rows.push((name, vec![cell(&ran)])),
            }
        }
    }
    let lines = rows.iter().fold(String::new(), |mut lines, (name, cells)| {
        let _ = writeln!(lines, "| {name} | {} |", cells.join(" | "));
        lines
    });
    println!("{lines}\nCPU time, time from start to end, and the most memory of the whole command.");
    Ok(())
}

/// Every command once, and last further rounds of a file that has already gone on, which add to it.
fn measured(program: &TestedProgram<'_>, path: &Path, rounds: u32) -> anyhow::Result<Vec<(String, Ran)>> {
    let mut all = Vec::new();
    let folder = program.folder().display().to_string();
    for (name, words) in COMMANDS {
        let words: Vec<String> = words.iter().map(|word| word.replace("FOLDER", &folder)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        all.push((name.to_owned(), program.run_on(path, &words, VERDICTS)?));
    }
    let merged = program.folder().join("merged.sqlite");
    let merge = ["merge".into(), path.into(), "-o".into(), merged.into(), "--replace".into()];
    all.push(("merge".to_owned(), program.run_as_is(merge.to_vec(), VERDICTS)?));
    let ran = further_rounds(program, path, rounds + 2 * FURTHER_ROUNDS)?;
    all.push(("two further rounds (8 runs of 1 s)".to_owned(), ran));
    Ok(all)
}

/// The model with so many rounds.
fn further_rounds(program: &TestedProgram<'_>, path: &Path, rounds: u32) -> anyhow::Result<Ran> {
    program.run_on(path, &[&MODEL[..], &[&rounds.to_string()]].concat(), VERDICTS)
}

fn cell(ran: &Ran) -> String {
    format!("{:.2} s, {:.2} s, {:.0} MB", ran.cpu_s, ran.wall_s, ran.peak_bytes as f64 / 1e6)
}

/// Repeats the measured rounds of the only experiment of a file until there are this many.
///
/// # Errors
/// The file has no such rounds, or cannot be written.
fn grow(path: &Path, rounds: u32) -> anyhow::Result<()> {
    let mut store = Store::create_or_open(path)?;
    let id = ExperimentId(1);
    let mut stored = store.experiment(id)?;
    let runs = store.runs(id)?;
    let next = runs.iter().map(|run| run.sequence + 1).max().unwrap_or(0);
    // The first round has plans and answers, which no later one has.
    let model: Vec<(Run, Spool)> = runs
        .into_iter()
        .filter(|run| run.kind == RunKind::Client && run.round > 1 && run.set_aside.is_none())
        .map(|run| seconds(path, &run).map(|seconds| (run, seconds)))
        .collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(!model.is_empty(), "the measured experiment has one round; a second one is needed");
    stored.experiment.rounds = rounds;
    store.begin_experiment(&stored.experiment, &stored.host, &stored.target, false)?;
    let mut sequence = next..;
    let wanted: Vec<u32> = (MODEL_ROUNDS + 1..=rounds).collect();
    for some in wanted.chunks(ROUNDS_AT_ONCE) {
        stop::check()?;
        let of_round = |round: u32| {
            let like = 2 + round % (MODEL_ROUNDS - 1);
            model.iter().filter(move |(run, _)| run.round == like).map(move |of| (round, of))
        };
        let block: Vec<Finished> = some
            .iter()
            .copied()
            .flat_map(of_round)
            .zip(&mut sequence)
            .map(|((round, (run, seconds)), sequence)| Finished {
                run: Run { round, sequence, ..renamed(run) },
                seconds: seconds.clone(),
            })
            .collect();
        store.store(id, &block)?;
    }
    Ok(())
}

/// The same run with a new identity.
fn renamed(run: &Run) -> Run {
    let Run { uuid, .. } = Run::new(run.kind, run.key());
    Run { uuid, ..run.clone() }
}

/// A distribution for each step of its series: that of the whole run, as those of seconds are not read back.
fn seconds(path: &Path, run: &Run) -> anyhow::Result<Spool> {
    let mut spool = SpoolWriter::near(Some(path))?;
    for step in &run.series {
        if let Some(script) = run.scripts.get(step.script as usize) {
            spool.push(step.script, step.start_us, step.length_us, &script.response);
        }
    }
    Ok(spool.finish())
}
