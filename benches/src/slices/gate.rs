//! How often `pgdyno gate` finds a known slowdown, and how often it fails equal arms, on a busy host.

use anyhow::Context;
use serde::Deserialize;

use super::burners::Burners;
use super::file::CLIENTS;
use super::program::{TestedProgram, VERDICTS};
use super::table::title;
use crate::{Args, stop};

/// Gates of each slowdown; four times as many of equal arms.
const GATES: u32 = 10;
const ROUNDS: u32 = 8;
/// Measured time of both arms in a round, seconds.
const SECONDS: u32 = 2;
const BUDGET: &str = "2min";
/// Programs that compete for the CPUs.
const BURNERS: usize = 2;

/// What the new arm does more: one in so many transactions does its lookup twice.
const KINDS: [(&str, Option<u32>, u32); 3] =
    [("the same", None, 4), ("10 % more lookups", Some(10), 1), ("5 % more lookups", Some(20), 1)];

#[derive(Debug, Deserialize)]
struct Judged {
    outcome: String,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    looks: u32,
}

/// # Errors
/// A gate fails for another reason than its judgement.
pub(crate) fn table(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("How often does a gate find a slower arm, and fail an equal one?"));
    let program = TestedProgram::start_plain(options)?;
    let count = options.pairs.unwrap_or(GATES);
    println!(
        "{CLIENTS} clients, {ROUNDS} rounds of {SECONDS} s for both arms, at most {BUDGET} more; {BURNERS} programs compete for the CPUs.\n\n\
         | new arm | gates | worse | undecided | same or better | looks, mean | seconds, mean |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, one_in, times) in KINDS {
        let file = file(&program, one_in)?;
        let (mut found, mut seconds) = (Vec::new(), 0.0);
        for _ in 0..count * times {
            stop::check()?;
            let _burning = Burners::start(BURNERS);
            let (judged, took_s) = judge(&program, &file)?;
            let interval = judged.low_pct.zip(judged.high_pct);
            eprintln!("{name}: {}, {:?} % {interval:?}, {took_s:.0} s", judged.outcome, judged.change_pct);
            seconds += took_s;
            found.push(judged);
        }
        println!("{}", row(name, &found, seconds));
    }
    Ok(())
}

fn row(name: &str, found: &[Judged], seconds: f64) -> String {
    let of = |words: &[&str]| found.iter().filter(|one| words.contains(&one.outcome.as_str())).count();
    let gates = found.len();
    let looks = f64::from(found.iter().map(|one| one.looks).sum::<u32>());
    format!(
        "| {name} | {gates} | {} | {} | {} | {:.1} | {:.0} |",
        of(&["worse"]),
        of(&["undecided", "invalid"]),
        of(&["same", "better"]),
        looks / gates as f64,
        seconds / gates as f64
    )
}

/// The experiment file of two scripts; the second does more, if it does.
fn file(program: &TestedProgram<'_>, one_in: Option<u32>) -> anyhow::Result<String> {
    let lookup = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    let draw =
        format!("\\set aid random(1, 100000 * :scale)\n\\set twice random(1, {})\n", one_in.unwrap_or(1));
    let base = format!("{draw}{lookup}");
    let more = match one_in {
        Some(_) => format!("{base}\\if :twice = 1\n{lookup}\\endif\n"),
        None => base.clone(),
    };
    for (name, text) in [("base.sql", base), ("new.sql", more)] {
        std::fs::write(program.folder().join(name), text)?;
    }
    let scripts = ["base", "new"].map(|name| {
        format!("[workload.{name}]\npgbench = {{ files = [\"{name}.sql\"], mode = \"prepared\" }}\n")
    });
    let text = format!(
        "question = \"Is the new script slower?\"\n[target]\nmanaged = {{ name = \"gate\" }}\n[prepare]\npgbench = {{ scale = 10 }}\n{}\
         [factors]\nclients = {CLIENTS}\nworkload = [\"base\", \"new\"]\n[compare]\nfactor = \"workload\"\nbase = \"base\"\nsame = true\n\
         [measure]\nwarmup = \"0.5s\"\nduration = \"{}s\"\nrounds = {ROUNDS}\n",
        scripts.concat(),
        f64::from(SECONDS) / 2.0
    );
    let path = program.folder().join("gate.toml");
    std::fs::write(&path, text)?;
    Ok(path.display().to_string())
}

/// The judgement, and how long the gate took, seconds.
fn judge(program: &TestedProgram<'_>, file: &str) -> anyhow::Result<(Judged, f64)> {
    let output = program.folder().join("out").display().to_string();
    let words =
        ["gate", file, "--again", "--beside", "--budget", BUDGET, "--output", &output, "--format", "json"];
    let ran = program.run(&words, VERDICTS)?;
    let judged =
        serde_json::from_str(&ran.output).with_context(|| format!("no judgement: {}", ran.output))?;
    Ok((judged, ran.wall_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgements_are_counted() {
        let judged = |outcome: &str, looks| Judged {
            outcome: outcome.into(),
            change_pct: Some(-5.0),
            low_pct: None,
            high_pct: None,
            looks,
        };
        let found = [judged("worse", 1), judged("worse", 3), judged("undecided", 3), judged("better", 1)];
        assert_eq!(row("5 %", &found, 80.0), "| 5 % | 4 | 2 | 1 | 1 | 2.0 | 20 |");
    }
}
