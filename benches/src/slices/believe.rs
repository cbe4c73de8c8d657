//! Are the intervals of arms that took turns right? Tested without a difference, and with an index that costs
//! a writer something.

use clap::ValueEnum;

use super::file::{Arms, CLIENTS, SliceComparison, SliceWorkload};
use super::program::{Compared, TestedProgram, Tries};
use super::stored::ComparisonAnswer;
use super::table::{met, percent, spread, spread_pct, title};
use crate::Args;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BelievePart {
    /// A against A: how many intervals exclude 0
    Aa,
    /// What an index costs a writer, three minutes each
    Writer,
}

/// Comparisons of A with A.
const COMPARISONS: u32 = 100;
/// At most one in this many may exclude 0.
const ONE_IN: u32 = 10;
/// Comparisons of a writer with and without an index, and the largest half-width of their interval,
/// percentage points.
const OF_WRITER: u32 = 3;
const WRITER_PCT: f64 = 4.0;

/// # Errors
/// A comparison fails and the others cannot replace it.
pub(crate) fn parts(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("Are intervals what they promise?"));
    let program = TestedProgram::start(options)?;
    let wanted = |part: BelievePart| options.part.is_empty() || options.part.contains(&part);
    if wanted(BelievePart::Aa) {
        same(options, &program)?;
    }
    if wanted(BelievePart::Writer) {
        writer(options, &program)?;
    }
    Ok(())
}

/// The cost of an index on a changed column: 24 rounds of 4 s, about three minutes in total.
fn writer(options: &Args, program: &TestedProgram<'_>) -> anyhow::Result<()> {
    let count = options.pairs.unwrap_or(OF_WRITER);
    println!(
        "\n### An index on the column that simple-update changes, {CLIENTS} clients, {count} comparisons\n"
    );
    let asked =
        SliceComparison { workload: SliceWorkload::Updates, arms: Arms::Index, rounds: 24, each_ms: 2_000 };
    program.prepare(&asked)?;
    println!("| how | change [95 %] | verdict | wall time | stolen |\n| --- | --- | --- | ---: | ---: |");
    let mut tries = Tries::default();
    let mut halves = Vec::new();
    for number in 1..=count {
        let Some(compared) = tries.compare(program, &asked)? else { continue };
        halves.push(print(&format!("slices, {number}"), compared).answer.half_width_pct());
    }
    let within = halves.iter().filter(|half| **half <= WRITER_PCT).count();
    println!(
        "\nHalf-width {}: at most {WRITER_PCT} % in {within} of {count} (aim: all, in a quiet hour): {}.",
        spread_pct(spread(halves.iter().copied())),
        met(within == count as usize)
    );
    Ok(())
}

/// A against A, 6 rounds of 2 s.
fn same(options: &Args, program: &TestedProgram<'_>) -> anyhow::Result<()> {
    let count = options.pairs.unwrap_or(COMPARISONS);
    println!("\n### A against A, {count} comparisons\n");
    let workloads = [SliceWorkload::Select, SliceWorkload::Tpcb];
    let asked =
        workloads.map(|workload| SliceComparison { workload, arms: Arms::Same, rounds: 6, each_ms: 1_000 });
    program.prepare(&asked[0])?;
    let mut found: [Vec<Compared>; 2] = Default::default();
    let mut tries = Tries::default();
    for number in 0..count {
        let which = number as usize % 2;
        let Some(compared) = tries.compare(program, &asked[which])? else { continue };
        eprintln!("{}/{count} {}: {}", number + 1, workloads[which].name(), compared.answer.words());
        found[which].push(compared);
    }
    println!(
        "| workload | comparisons | leave out 0 | half-width | change: least, greatest | same, inconclusive, other | wall time | stolen |\n\
         | --- | ---: | ---: | --- | --- | --- | ---: | ---: |"
    );
    for (workload, found) in workloads.iter().zip(&found) {
        println!("{}", same_row(*workload, found));
    }
    println!("\n{}", same_in_all(&found.concat(), count, tries.failed));
    Ok(())
}

/// How many exclude 0, and whether that many may.
fn same_in_all(found: &[Compared], count: u32, failed: u32) -> String {
    let outside = found.iter().map(|compared| &compared.answer).filter(|answer| answer.leaves_out_0());
    let outside: Vec<String> = outside.map(ComparisonAnswer::words).collect();
    let (which, most) = (outside.join("; "), count / ONE_IN);
    let which = if which.is_empty() { which } else { format!(" ({which})") };
    let failed_words = if failed > 0 { format!(" {failed} came to no interval.") } else { String::new() };
    format!(
        "{} of {} intervals leave out 0{which}, at most {most} may: {}.{failed_words}",
        outside.len(),
        found.len(),
        met(outside.len() <= most as usize && failed == 0)
    )
}

fn same_row(workload: SliceWorkload, found: &[Compared]) -> String {
    let all = || found.iter().map(|compared| &compared.answer);
    let verdicts = |word: &str| all().filter(|answer| answer.verdict.starts_with(word)).count();
    let (same, open) = (verdicts("same"), verdicts("inconclusive"));
    let changes = spread(all().map(|answer| answer.change_pct));
    format!(
        "| {}, {CLIENTS} clients | {} | {} | {} | {} | {same}, {open}, {} | {} | {} |",
        workload.name(),
        found.len(),
        all().filter(|answer| answer.leaves_out_0()).count(),
        spread_pct(spread(all().map(ComparisonAnswer::half_width_pct))),
        changes.map_or("-".to_owned(), |(_, least, greatest)| format!("{least:+.1}, {greatest:+.1} %")),
        found.len() - same - open,
        spread(found.iter().map(|of| of.wall_s))
            .map_or("-".to_owned(), |(median, ..)| format!("{median:.0} s")),
        percent(spread(found.iter().filter_map(|of| of.stolen_pct)).map(|(median, ..)| median))
    )
}

fn print(name: &str, compared: Compared) -> Compared {
    println!(
        "| {name} | {} | {} | {:.0} s | {} |",
        compared.answer.words(),
        compared.answer.verdict,
        compared.wall_s,
        percent(compared.stolen_pct)
    );
    compared
}
