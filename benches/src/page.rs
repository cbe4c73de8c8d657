//! What is printed: a Markdown page.

use std::fmt::Write;
use std::process::Command;

use crate::Options;
use crate::pairs::Compared;

/// Heads of the columns of [`cost_row`].
pub(crate) const COST_HEAD: &str = "\
| mode | clients | CPU per tx: pgdyno | pgbench | **ratio** (range) | tps: pgdyno | pgbench | **ratio** (range) | CPU pressure |
| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: |";

/// One row of a table of costs.
pub(crate) fn cost_row(mode: &str, clients: u32, compared: &Compared) -> String {
    let Compared { ours, theirs, cost, speed, pressure } = compared;
    let pressure = pressure.map_or("-".to_owned(), |pressure| format!("{pressure:.0} %"));
    format!(
        "| {mode} | {clients} | {:.2} µs | {:.2} µs | {} | {:.0} | {:.0} | {} | {pressure} |",
        ours.cost,
        theirs.cost,
        ratio(*cost),
        ours.speed,
        theirs.speed,
        ratio(*speed),
    )
}

/// Median and range.
pub(crate) fn ratio((median, least, greatest): (f64, f64, f64)) -> String {
    format!("**{median:.2}** ({least:.2}-{greatest:.2})")
}

/// What the figures are of.
pub(crate) fn head(options: &Options) -> anyhow::Result<String> {
    let mut text = String::from("# Cost\n");
    let version = Command::new(&options.pgdyno).arg("--version").output()?;
    let _ = write!(text, "\n{}", String::from_utf8_lossy(&version.stdout));
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = writeln!(text, "{cpus} CPUs, {}, {} pairs of {} s", kernel(), options.pairs, options.seconds);
    Ok(text)
}

fn kernel() -> String {
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("kernel {}", version.trim())
}

/// Heads of the columns of [`init_row`].
pub(crate) const INIT_HEAD: &str = "\
| way | time: pgdyno | pgbench | **ratio** (range) | client CPU: pgdyno | pgbench | CPU pressure |
| --- | ---: | ---: | --- | ---: | ---: | ---: |";

/// One row: time and client CPU.
pub(crate) fn init_row(name: &str, compared: &Compared) -> String {
    let Compared { ours, theirs, cost, pressure, .. } = compared;
    let pressure = pressure.map_or("-".to_owned(), |pressure| format!("{pressure:.0} %"));
    format!(
        "| {name} | {:.2} s | {:.2} s | {} | {:.2} s | {:.2} s | {pressure} |",
        ours.cost,
        theirs.cost,
        ratio(*cost),
        ours.speed,
        theirs.speed,
    )
}

/// Heads of the columns of [`many_row`].
pub(crate) const MANY_HEAD: &str = "\
| CPU per tx: 5,000 clients | 50 clients | **ratio** (range) | CPU pressure |
| ---: | ---: | --- | ---: |";

/// One row: many clients beside few.
pub(crate) fn many_row(compared: &Compared) -> String {
    let Compared { ours, theirs, cost, pressure, .. } = compared;
    let pressure = pressure.map_or("-".to_owned(), |pressure| format!("{pressure:.0} %"));
    format!("| {:.2} µs | {:.2} µs | {} | {pressure} |", ours.cost, theirs.cost, ratio(*cost))
}
