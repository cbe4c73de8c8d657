//! Compares the announced and the real time of ten commands.

use crate::slices::program::TestedProgram;
use crate::slices::table::{met, title};
use crate::{Args, pairs};

/// Largest allowed deviation from either end of the announced time, a share.
const OFF: f64 = 0.25;
/// Of ten commands, at least this many must be within it.
const HOLD: usize = 9;

/// Private server and scale for all commands.
const SERVER: [&str; 3] = ["--managed=announced", "-s", "2"];

const COMMANDS: [&[&str]; 10] = [
    &["bench", "-S", "-c", "2", "-T", "2", "--rounds", "6", "--against", "settings: jit=off"],
    &["bench", "-S", "-c", "2", "-T", "2", "--rounds", "6", "--against", "settings: shared_buffers=64MB"],
    &[
        "bench",
        "-N",
        "-c",
        "2",
        "-T",
        "2",
        "--rounds",
        "6",
        "--against",
        "sql: create index on pgbench_accounts (abalance)",
    ],
    &["bench", "-N", "-c", "2", "-T", "2", "--rounds", "6", "--against", "script: tpcb-like"],
    &["bench", "-S", "-c", "2", "-T", "4", "--rounds", "4", "-R", "200", "--against", "settings: jit=off"],
    &["bench", "-N", "-c", "2", "-T", "4", "--rounds", "4", "--against", "settings: wal_compression=on"],
    &["ladder", "-S", "-c", "1,2,4", "-T", "5"],
    &["ladder", "-S", "-c", "2", "--rate", "100,200,400", "-T", "5"],
    &["limit", "-S", "-c", "4", "-T", "2", "--warmup", "0.5", "--promise", "p99 < 50ms"],
    &["limit", "-N", "-T", "2", "--warmup", "0.5", "--promise", "p95 < 100ms"],
];

/// A row for each command, and how many took as long as announced.
///
/// # Errors
/// A command fails, or announces nothing.
pub(crate) fn times(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("Announced and real times"));
    let program = TestedProgram::start_plain(options)?;
    let words = |command: &[&'static str]| [command, &SERVER].concat();
    // Its tables are preparation, which is not announced.
    program.run(&words(COMMANDS[0]), 0..=3)?;
    println!("| command | announced | real | of it |\n| --- | ---: | ---: | ---: |");
    let mut held = 0;
    for command in COMMANDS {
        pairs::wait_until_quiet(options.patience());
        let said = program.run(&[&words(command)[..], &["--dry-run"]].concat(), 0..=3)?.errors;
        let announced = announced(&said);
        let (least, most) = announced.ok_or_else(|| anyhow::anyhow!("no time is announced: {said}"))?;
        let real = program.run(&[&words(command)[..], &["--again"]].concat(), 0..=3)?.wall_s;
        let holds = (least * (1.0 - OFF)..=most * (1.0 + OFF)).contains(&real);
        held += usize::from(holds);
        let range = if least < most { format!("{least:.0} to {most:.0} s") } else { format!("{most:.0} s") };
        println!("| `{}` | {range} | {real:.0} s | {:.2} |", command.join(" "), real / most);
    }
    println!(
        "\n{held} of {} within a quarter of what was announced (aim: {HOLD}): {}.",
        COMMANDS.len(),
        met(held >= HOLD)
    );
    Ok(())
}

/// Shortest and longest announced time in seconds.
fn announced(said: &str) -> Option<(f64, f64)> {
    let before = said.lines().find_map(|line| line.split_once(" in all").map(|(before, _)| before))?;
    let time = before.rsplit(", ").next()?;
    match time.split_once(" to ") {
        Some((least, most)) => Some((seconds(least)?, seconds(most)?)),
        None => seconds(time.strip_prefix("about ")?).map(|time| (time, time)),
    }
}

/// `3 min 20 s` as seconds.
fn seconds(words: &str) -> Option<f64> {
    let parts: Vec<&str> = words.split(' ').collect();
    let part = |pair: &[&str]| {
        let [number, unit] = pair else { return None };
        let unit = [("s", 1.0), ("min", 60.0), ("h", 3600.0)].into_iter().find(|(name, _)| name == unit)?.1;
        Some(number.parse::<f64>().ok()? * unit)
    };
    parts.chunks(2).map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_announces_is_read() {
        let sized = "12 runs of 2.5 s (warm-up 0.5 s), about 1 min 20 s in all, preparation not counted";
        assert_eq!(announced(sized), Some((80.0, 80.0)));
        let search = "10 to 30 runs of 20 s (warm-up 3 s), 3 min 54 s to 11 min 41 s in all, more where trials disagree";
        assert_eq!(announced(search), Some((234.0, 701.0)));
        assert_eq!(announced("nothing"), None);
    }
}
