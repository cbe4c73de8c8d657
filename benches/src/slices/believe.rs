//! Can the intervals of arms that took turns be believed? Where nothing differs, where something known does, and where an
//! idle server may work in the other arm's time.

use super::file::{Arms, CLIENTS, Comparison, Slices, Workload};
use super::program::{Compared, Program, Tries};
use super::stored::Answer;
use super::table::{met, percent, spread, spread_pct, title};
use super::{Options, Part};
use crate::Args;

/// Of 100 comparisons of A with A.
const COMPARISONS: u32 = 100;
/// Of these, one in so many may leave out 0.
const ONE_IN: u32 = 10;
/// Comparisons of an arm with 5 % more work, and how far their mean may be off, percentage points.
const OF_WORK: u32 = 10;
const OFF_PCT: f64 = 1.5;
/// Runs of the long comparison, ms.
const LONG_RUN_MS: u32 = 10_000;
/// Comparisons of each effect, in slices and as half-rounds.
const OF_EFFECT: u32 = 3;
/// Comparisons of a writer with and without an index, and how wide half of their interval may be, percentage points.
const OF_WRITER: u32 = 3;
const WRITER_PCT: f64 = 4.0;

/// # Errors
/// A comparison fails that others cannot stand for.
pub(crate) fn parts(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("Are intervals what they promise?"));
    let program = Program::start(options)?;
    let wanted = |part: Part| options.slices.part.is_empty() || options.slices.part.contains(&part);
    if wanted(Part::Aa) {
        same(options, &program)?;
    }
    if wanted(Part::Work) {
        work(options, &program)?;
    }
    if wanted(Part::Effects) {
        effects(options, &program)?;
    }
    if wanted(Part::Writer) {
        writer(options, &program)?;
    }
    Ok(())
}

/// What an index on a changed column costs who changes it: 24 rounds of 4 s, about three minutes with all around them.
fn writer(options: &Args, program: &Program<'_>) -> anyhow::Result<()> {
    let count = options.pairs.unwrap_or(OF_WRITER);
    println!(
        "\n### An index on the column that simple-update changes, {CLIENTS} clients, {count} comparisons\n"
    );
    let asked = comparison(&options.slices, Workload::Updates, Arms::Index, (24, 4_000));
    program.prepare(&asked)?;
    println!("| how | change [95 %] | verdict | wall time | stolen |\n| --- | --- | --- | ---: | ---: |");
    let mut tries = Tries::default();
    let mut halves = Vec::new();
    for number in 1..=count {
        let Ok(compared) = tries.compare(program, &asked)? else { continue };
        halves.push(told(&format!("slices, {number}"), compared).answer.half_width_pct());
    }
    let within = halves.iter().filter(|half| **half <= WRITER_PCT).count();
    println!(
        "\nHalf-width {}: at most {WRITER_PCT} % in {within} of {count} (aim: all, in a quiet hour): {}.",
        spread_pct(spread(halves.iter().copied())),
        met(within == count as usize)
    );
    Ok(())
}

/// In slices, as long as is asked for.
fn comparison(options: &Options, workload: Workload, arms: Arms, usual: (u32, u32)) -> Comparison {
    let (rounds, measured_ms) = usual;
    Comparison {
        workload,
        arms,
        slices: Slices::Usual,
        placement: None,
        rounds: options.rounds.unwrap_or(rounds).next_multiple_of(2),
        each_ms: options.measured.unwrap_or(measured_ms) / 2,
        margin_pct: 3,
    }
}

/// A against A, 6 rounds of 2 s.
fn same(options: &Args, program: &Program<'_>) -> anyhow::Result<()> {
    let count = options.pairs.unwrap_or(COMPARISONS);
    println!("\n### A against A, {count} comparisons\n");
    let workloads = [Workload::Select, Workload::Tpcb];
    let asked = workloads.map(|workload| comparison(&options.slices, workload, Arms::Same, (6, 2_000)));
    program.prepare(&asked[0])?;
    let mut found: [Vec<Compared>; 2] = Default::default();
    let mut tries = Tries::default();
    for number in 0..count {
        let which = number as usize % 2;
        let Ok(compared) = tries.compare(program, &asked[which])? else { continue };
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

/// How many leave out 0, and whether so many may.
fn same_in_all(found: &[Compared], count: u32, failed: u32) -> String {
    let outside = found.iter().map(|compared| &compared.answer).filter(|answer| answer.leaves_out_0());
    let outside: Vec<String> = outside.map(Answer::words).collect();
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

fn same_row(workload: Workload, found: &[Compared]) -> String {
    let all = || found.iter().map(|compared| &compared.answer);
    let verdicts = |word: &str| all().filter(|answer| answer.verdict.starts_with(word)).count();
    let (same, open) = (verdicts("same"), verdicts("inconclusive"));
    let changes = spread(all().map(|answer| answer.change_pct));
    format!(
        "| {}, {CLIENTS} clients | {} | {} | {} | {} | {same}, {open}, {} | {} | {} |",
        workload.name(),
        found.len(),
        all().filter(|answer| answer.leaves_out_0()).count(),
        spread_pct(spread(all().map(Answer::half_width_pct))),
        changes.map_or("-".to_owned(), |(_, least, greatest)| format!("{least:+.1}, {greatest:+.1} %")),
        found.len() - same - open,
        spread(found.iter().map(|of| of.wall_s))
            .map_or("-".to_owned(), |(median, ..)| format!("{median:.0} s")),
        percent(spread(found.iter().filter_map(|of| of.stolen_pct)).map(|(median, ..)| median))
    )
}

/// 5 % more work, a minute each, beside a long comparison run by run, half of it before and half after.
fn work(options: &Args, program: &Program<'_>) -> anyhow::Result<()> {
    let (count, minutes) = (options.pairs.unwrap_or(OF_WORK), options.slices.long_minutes);
    println!("\n### Every twentieth transaction does its lookups twice, {count} comparisons\n");
    let minute = comparison(&options.slices, Workload::Lookups, Arms::Scripts, (12, 5_000));
    let minute = Comparison { margin_pct: 1, ..minute };
    let pairs = (minutes * 60_000 / 2).div_ceil(2 * LONG_RUN_MS).next_multiple_of(2);
    let long = Comparison { slices: Slices::Never, rounds: pairs, each_ms: LONG_RUN_MS, ..minute.clone() };
    program.prepare(&minute)?;
    println!("| how | change [95 %] | verdict | wall time | stolen |\n| --- | --- | --- | ---: | ---: |");
    let name = format!("run by run, {} s", pairs * 2 * LONG_RUN_MS / 1000);
    let before = told(&name, program.compare(&long)?);
    let mut found = Vec::new();
    let mut tries = Tries::default();
    for number in 1..=count {
        let Ok(compared) = tries.compare(program, &minute)? else { continue };
        found.push(told(&format!("slices, {number}"), compared));
    }
    let after = told(&name, program.compare(&long)?);
    let (truth, error) = mean_log(&[before, after]);
    let (mean, _) = mean_log(&found);
    let off = pct(mean) - pct(truth);
    let slower = found.iter().filter(|of| of.answer.verdict.starts_with("slower")).count();
    println!(
        "\nMean of the minutes {:+.2} %, long comparison {:+.2} ± {:.2} %: off by {off:+.2} points (at most {OFF_PCT}): {}. \
         Called slower (margin 1 %): {slower} of {count} (at least {}): {}.",
        pct(mean),
        pct(truth),
        100.0 * error,
        met(off.abs() <= OFF_PCT),
        count * 4 / 5,
        met(slower >= (count * 4 / 5) as usize)
    );
    Ok(())
}

fn told(name: &str, compared: Compared) -> Compared {
    println!(
        "| {name} | {} | {} | {:.0} s | {} |",
        compared.answer.words(),
        compared.answer.verdict,
        compared.wall_s,
        percent(compared.stolen_pct)
    );
    compared
}

/// Mean of ln(new / base) and half the width of its interval, from those of each.
fn mean_log(found: &[Compared]) -> (f64, f64) {
    let n = found.len() as f64;
    let log = |pct: f64| (pct / 100.0).ln_1p();
    let mean = found.iter().map(|of| log(of.answer.change_pct)).sum::<f64>() / n;
    let halves = found.iter().map(|of| (log(of.answer.interval_pct.1) - log(of.answer.interval_pct.0)) / 2.0);
    (mean, halves.map(|half| half * half).sum::<f64>().sqrt() / n)
}

fn pct(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

/// Effects for which pgdyno by itself would take half-rounds.
const EFFECTS: [Arms; 2] = [
    Arms::Setting { name: "full_page_writes", values: ["on", "off"] },
    Arms::Setting { name: "wal_compression", values: ["off", "on"] },
];

/// In slices because they were asked for, beside half-rounds of the same length after each checkpoint.
fn effects(options: &Args, program: &Program<'_>) -> anyhow::Result<()> {
    let count = options.pairs.unwrap_or(OF_EFFECT);
    for arms in EFFECTS {
        let Arms::Setting { name, values } = arms else { continue };
        println!("\n### {name} {} against {}, tpcb-like, {CLIENTS} clients\n", values[1], values[0]);
        let plain = comparison(&options.slices, Workload::Tpcb, arms, (12, 5_000));
        let how = [("slices", Slices::Always), ("half-rounds", Slices::Never)];
        let asked = how.each_ref().map(|(_, slices)| Comparison { slices: slices.clone(), ..plain.clone() });
        program.prepare(&plain)?;
        println!("| how | change [95 %] | verdict | wall time | stolen |\n| --- | --- | --- | ---: | ---: |");
        let mut found: [Vec<Compared>; 2] = Default::default();
        let mut tries = Tries::default();
        for repetition in 0..count as usize {
            for turn in 0..2 {
                let own = (repetition + turn) % 2;
                let Ok(compared) = tries.compare(program, &asked[own])? else { continue };
                found[own].push(told(how[own].0, compared));
            }
        }
        if found.iter().any(Vec::is_empty) {
            println!("\nNot compared: one of the two came to no interval.");
            continue;
        }
        let [sliced, halves] = found.each_ref().map(|found| mean_log(found));
        println!("\n{}", agreement(sliced, halves));
    }
    Ok(())
}

/// Whether two estimates, each with half the width of its interval, in logs, agree within their intervals.
fn agreement((sliced, own): (f64, f64), (halves, other): (f64, f64)) -> String {
    let (apart, error) = (sliced - halves, own.hypot(other));
    let figures = format!(
        "Slices {:+.1} ± {:.1} %, half-rounds {:+.1} ± {:.1} %: {:+.1} ± {:.1} points apart",
        pct(sliced),
        100.0 * own,
        pct(halves),
        100.0 * other,
        100.0 * apart,
        100.0 * error
    );
    if apart.abs() <= error {
        return format!("{figures}: they agree.");
    }
    let word = if sliced.abs() < halves.abs() { "understate" } else { "overstate" };
    format!("{figures}: **slices {word}** it by {:.1} points.", (pct(sliced) - pct(halves)).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_agree_within_both_intervals() {
        for (sliced, halves, wanted) in [
            ((0.10, 0.03), (0.13, 0.02), "they agree"),
            ((0.10, 0.01), (0.20, 0.02), "slices understate** it by 11.6 points"),
            ((-0.20, 0.01), (-0.10, 0.02), "slices overstate"),
        ] {
            let said = agreement(sliced, halves);
            assert!(said.contains(wanted), "{said}");
        }
    }
}
