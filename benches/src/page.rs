//! Prints the results as a Markdown page.

use std::fmt::Write;
use std::process::Command;

use clap::ValueEnum;

use crate::pairs::{Compared, Noise, Spread};
use crate::{Args, What};

/// What was measured, and where.
pub(crate) fn head(options: &Args, wanted: &[What]) -> anyhow::Result<String> {
    let all_compare = wanted.iter().all(|what| what.compares());
    let mut text = String::from(if all_compare { "# Comparisons\n" } else { "# Cost\n" });
    let version = Command::new(&options.pgdyno).arg("--version").output()?;
    let _ = write!(text, "\n{}", String::from_utf8_lossy(&version.stdout));
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = write!(text, "{cpus} CPUs, {}", kernel());
    if !all_compare {
        let _ = write!(text, ", runs of {} s", options.seconds);
    }
    Ok(text)
}

fn kernel() -> String {
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("kernel {}", version.trim())
}

/// Heading of a table, and the command that makes it; `more` are this table's own options.
pub(crate) fn title(options: &Args, what: What, title: &str, more: &str) -> String {
    let name = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let (pairs, seconds) = (options.pairs(), options.seconds);
    format!("\n## {title}\n\n`make bench BENCH='{name} --pairs {pairs} --seconds {seconds}{more}'`\n")
}

/// The option that names numbers of clients.
pub(crate) fn clients_option(clients: &[u32]) -> String {
    let numbers: Vec<String> = clients.iter().map(u32::to_string).collect();
    format!(" --clients {}", numbers.join(","))
}

/// Column heads of [`cost_row`].
pub(crate) const COST_HEAD: &str = "\
| mode | clients | CPU per tx: pgdyno | pgbench | **ratio** (range) | tps: pgdyno | pgbench | **ratio** (range) | CPU pressure, steal |
| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: |";

/// One row of a table of costs.
pub(crate) fn cost_row(mode: &str, clients: u32, compared: &Compared) -> String {
    let Compared { ours, theirs, cost, speed, .. } = compared;
    format!(
        "| {mode} | {clients} | {:.2} µs | {:.2} µs | {} | {:.0} | {:.0} | {} | {} |",
        ours.cost,
        theirs.cost,
        ratio(*cost),
        ours.speed,
        theirs.speed,
        ratio(*speed),
        noise(compared.noise)
    )
}

/// Column heads of [`init_row`].
pub(crate) const INIT_HEAD: &str = "\
| way | time: pgdyno | pgbench | **ratio** (range) | client CPU: pgdyno | pgbench | CPU pressure, steal |
| --- | ---: | ---: | --- | ---: | ---: | ---: |";

/// One row: time and client CPU.
pub(crate) fn init_row(name: &str, compared: &Compared) -> String {
    let Compared { ours, theirs, cost, .. } = compared;
    format!(
        "| {name} | {:.2} s | {:.2} s | {} | {:.2} s | {:.2} s | {} |",
        ours.cost,
        theirs.cost,
        ratio(*cost),
        ours.speed,
        theirs.speed,
        noise(compared.noise)
    )
}

/// Column heads of [`load_row`].
pub(crate) const LOAD_HEAD: &str = "\
| time of osm2pgsql: measured by pgdyno | by hand | ratio (range) | osm2pgsql's CPU, ratio (range) | **pgdyno's own CPU meanwhile** (range) | the whole command of pgdyno | CPU pressure, steal |
| ---: | ---: | --- | --- | --- | ---: | ---: |";

/// One row: the load's time, the CPU of the measurement, as a share of that time, and the time of the whole
/// command.
pub(crate) fn load_row(compared: &Compared, own: Spread, cpu: Spread) -> String {
    let Compared { ours, theirs, cost: (median, least, greatest), .. } = compared;
    format!(
        "| {:.3} s | {:.3} s | {median:.3} ({least:.3}-{greatest:.3}) | {} | **{:.2} %** ({:.2}-{:.2}) | {:.3} s | {} |",
        ours.cost,
        theirs.cost,
        ratio(cpu),
        100.0 * own.0,
        100.0 * own.1,
        100.0 * own.2,
        ours.speed,
        noise(compared.noise)
    )
}

/// Median and range.
fn ratio((median, least, greatest): Spread) -> String {
    format!("**{median:.2}** ({least:.2}-{greatest:.2})")
}

/// The highest pressure, the number of pairs that began under a high one, and the highest steal.
fn noise(noise: Noise) -> String {
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.0} %"));
    let loud = match noise.loud {
        0 => String::new(),
        loud => format!(" ({loud} of {} not quiet)", noise.pairs),
    };
    format!("{}{loud}, {}", percent(noise.pressure), percent(noise.steal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loud_pairs_are_reported() {
        let seen = Noise { pressure: Some(3.2), loud: 0, pairs: 5, steal: Some(0.4) };
        assert_eq!(noise(Noise::default()), "-, -");
        assert_eq!(noise(seen), "3 %, 0 %");
        assert_eq!(noise(Noise { pressure: Some(54.0), loud: 2, ..seen }), "54 % (2 of 5 not quiet), 0 %");
    }
}
