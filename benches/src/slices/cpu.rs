//! How narrow are the intervals of throughput and of server CPU per transaction on a busy host? Tested
//! without a difference, and with 3 % more work.

use anyhow::Context;
use serde::Deserialize;

use super::burners::Burners;
use super::file::{Arms, CLIENTS, SliceComparison, SliceWorkload};
use super::program::{TestedProgram, VERDICTS};
use super::stored::WHOLE;
use super::table::{spread, title};
use crate::{Args, stop};

/// Comparisons of each kind.
const COMPARISONS: u32 = 3;
const ROUNDS: u32 = 12;
/// Measured time per round and arm, ms.
const EACH_MS: u32 = 2_000;
/// Programs that compete for the CPUs.
const BURNERS: usize = 2;
/// One in this many transactions does its lookup twice: 3 % more.
const ONE_IN: u32 = 33;

const LOOKUP: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

/// # Errors
/// A comparison fails.
pub(crate) fn table(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("How narrow are intervals on a busy host?"));
    let program = TestedProgram::start_plain(options)?;
    let count = options.pairs.unwrap_or(COMPARISONS);
    let scripts = Scripts::write(&program)?;
    let same = SliceComparison {
        workload: SliceWorkload::Select,
        arms: Arms::Same,
        rounds: ROUNDS,
        each_ms: EACH_MS,
    };
    program.prepare(&same)?;
    println!(
        "{CLIENTS} clients, {ROUNDS} rounds of {} s per arm in slices, {BURNERS} programs that compete for the CPUs.\n\n\
         | arms | throughput [95 %] | ± | server CPU per transaction [95 %] | ± | more reliable |\n\
         | --- | --- | ---: | --- | ---: | --- |",
        f64::from(EACH_MS) / 1e3
    );
    let kinds = [Kind::SameServers, Kind::SameScript, Kind::More];
    for kind in kinds {
        let mut found = Vec::new();
        for _ in 0..count {
            stop::check()?;
            let both = {
                let _burning = Burners::start(BURNERS);
                kind.compare(&program, &same, &scripts)?
            };
            println!("| {} | {} |", kind.name(), both.row());
            found.push(both);
        }
        println!("| **{}**, medians | {} |", kind.name(), medians(&found));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Two servers that do the same.
    SameServers,
    /// One server, and twice the same script.
    SameScript,
    /// One server, and a script that does 3 % more.
    More,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::SameServers => "the same, two servers",
            Self::SameScript => "the same, one server",
            Self::More => "3 % more lookups, one server",
        }
    }

    fn compare(
        self,
        program: &TestedProgram<'_>,
        same: &SliceComparison,
        scripts: &Scripts,
    ) -> anyhow::Result<BothMetrics> {
        let other = match self {
            Self::SameServers => return BothMetrics::parse(&program.carry_out(same, &[])?.output),
            Self::SameScript => &scripts.base,
            Self::More => &scripts.more,
        };
        let (clients, seconds, rounds) =
            (CLIENTS.to_string(), (2 * EACH_MS / 1000).to_string(), ROUNDS.to_string());
        let against = format!("script: {other}");
        let mut words = vec!["bench", "--managed", "-s", "10", "-M", "prepared", "-f", &scripts.base];
        words.extend(["-c", &clients, "-T", &seconds, "--rounds", &rounds, "--against", &against]);
        words.extend(["--same", "--again", "--format", "json"]);
        BothMetrics::parse(&program.run(&words, VERDICTS)?.output)
    }
}

struct Scripts {
    base: String,
    more: String,
}

impl Scripts {
    fn write(program: &TestedProgram<'_>) -> anyhow::Result<Self> {
        let draw = format!("\\set aid random(1, 100000 * :scale)\n\\set twice random(1, {ONE_IN})\n");
        let more = format!("{draw}{LOOKUP}\\if :twice = 1\n{LOOKUP}\\endif\n");
        let write = |name: &str, text: String| -> anyhow::Result<String> {
            let path = program.folder().join(name);
            std::fs::write(&path, text)?;
            Ok(path.display().to_string())
        };
        Ok(Self { base: write("base.sql", format!("{draw}{LOOKUP}"))?, more: write("more.sql", more)? })
    }
}

/// A comparison by both metrics of work.
#[derive(Debug, Clone, Deserialize)]
struct BothMetrics {
    workload: String,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    other_change_pct: Option<f64>,
    other_low_pct: Option<f64>,
    other_high_pct: Option<f64>,
    more_reliable: Option<String>,
}

impl BothMetrics {
    fn parse(json: &str) -> anyhow::Result<Self> {
        let lines: Vec<Self> = serde_json::from_str(json).with_context(|| format!("no table: {json}"))?;
        lines.into_iter().find(|line| line.workload == WHOLE).context("no figure for the grid")
    }

    /// Change and 95 % interval of throughput and of CPU per transaction, percent.
    fn intervals(&self) -> [Option<[f64; 3]>; 2] {
        let of = |change: Option<f64>, low: Option<f64>, high: Option<f64>| Some([change?, low?, high?]);
        [
            of(self.change_pct, self.low_pct, self.high_pct),
            of(self.other_change_pct, self.other_low_pct, self.other_high_pct),
        ]
    }

    fn half_widths(&self) -> [Option<f64>; 2] {
        self.intervals().map(|of| of.map(|[_, low, high]| (high - low) / 2.0))
    }

    fn row(&self) -> String {
        let words = |of: Option<[f64; 3]>| match of {
            Some([change, low, high]) => {
                format!("{change:+.1} % [{low:+.1}, {high:+.1}] | {:.1} %", (high - low) / 2.0)
            }
            None => "- | -".to_owned(),
        };
        let [tps, cpu] = self.intervals().map(words);
        format!("{tps} | {cpu} | {}", self.more_reliable.as_deref().unwrap_or("-"))
    }
}

/// The medians of half-widths, and their ratio.
fn medians(found: &[BothMetrics]) -> String {
    let median = |at: usize| spread(found.iter().filter_map(|one| one.half_widths()[at])).map(|of| of.0);
    match (median(0), median(1)) {
        (Some(tps), Some(cpu)) => {
            format!("| **{tps:.1} %** | | **{cpu:.1} %** | CPU {:.1} times as precise", tps / cpu)
        }
        _ => "| - | | - | -".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_metrics_are_read_from_the_line_of_the_grid() {
        let line = |workload: &str, cpu: &str| {
            format!(
                "{{\"workload\": \"{workload}\", \"change_pct\": -0.3, \"low_pct\": -4.7, \"high_pct\": 4.1, {cpu} \"n\": 12}}"
            )
        };
        let cpu = "\"other_metric\": \"cpu\", \"other_change_pct\": -1.0, \"other_low_pct\": -3.8, \"other_high_pct\": 1.8, \
                   \"more_reliable\": \"cpu\",";
        let both = BothMetrics::parse(&format!("[{}, {}]", line("reads", ""), line(WHOLE, cpu))).unwrap();
        let row = "-0.3 % [-4.7, +4.1] | 4.4 % | -1.0 % [-3.8, +1.8] | 2.8 % | cpu";
        assert_eq!(both.row(), row);
        assert_eq!(medians(&[both]), "| **4.4 %** | | **2.8 %** | CPU 1.6 times as precise");
        let without = BothMetrics::parse(&format!("[{}]", line(WHOLE, ""))).unwrap();
        assert!(without.row().ends_with("| - | - | -"), "{}", without.row());
    }
}
