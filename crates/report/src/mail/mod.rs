//! The report as plain text for a mailing list: one screen of 72 columns in ASCII. The rounds are a separate file.

mod ascii;
mod cells;
mod command;
mod machine;
mod settings;

use results::ReportData;
use results::data::when;

use self::ascii::ascii;
use crate::builds::{self, Detail};
use crate::format::{TableFormat, print};
use crate::lines::{lines, wrapped};
use crate::numbers;
use crate::sections::answer::{AnswerBlocks, AnswerPlace};
use crate::sections::runs::runs;

/// Columns of a mail (RFC 3676, 4.2, advises at most 78; quoting adds some).
const WIDTH: usize = 72;
const INDENT: &str = "  ";
/// The beginning of every attachment.
pub const ATTACHMENT: &str = "run,round,workload,cell,arm";

/// The text; `attached` is the name of the file with the rounds, if one is written.
///
/// Lines are longer only where a single word is. Control characters in foreign text are escaped.
#[must_use]
pub fn text(data: &ReportData, attached: Option<&str>) -> String {
    let answer = AnswerBlocks::of(data);
    let found = ascii(&lines(&answer.found(AnswerPlace::Summary), usize::MAX));
    let found: String = found.lines().map(|line| wrapped(line, WIDTH)).collect();
    let mut out = wrapped(&ascii(&answer.answer.question), WIDTH) + "\n" + &found;
    for table in cells::tables(data) {
        out += &format!("\n{table}");
    }
    let sections = [
        (
            "PostgreSQL (without the build's folders, tools and warnings)",
            builds::lines(data, Detail::OfSpeed),
        ),
        ("Settings", settings::lines(data)),
        ("Machine", machine::lines(data)),
        ("Measured", measured(data)),
    ];
    for (head, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        let lines: String =
            lines.iter().map(|line| wrapped(&ascii(&format!("{INDENT}{line}")), WIDTH)).collect();
        out += &format!("\n{head}\n{lines}");
    }
    out += &format!("\nCommand\n{}", command::lines(data));
    let attached = match attached {
        Some(name) => format!("Attached: {name}, every run with its figures as CSV."),
        None => "Not attached: every run with its figures as CSV. \"pgdyno report --format mail --output mail.txt\" writes it as mail.csv."
            .to_owned(),
    };
    out + "\n" + &wrapped(&ascii(&attached), WIDTH)
}

/// The attachment: every run in order of execution, as CSV.
#[must_use]
pub fn attachment(data: &ReportData) -> String {
    print(&runs(data), TableFormat::Csv)
}

fn measured(data: &ReportData) -> Vec<String> {
    let experiment = &data.experiment;
    let lengths: Vec<f64> = data.grid_runs().map(|run| run.measured_s).collect();
    let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lengths.iter().copied().fold(0.0, f64::max);
    let [least, most] = [least, most].map(numbers::duration);
    let length = match () {
        () if lengths.is_empty() => String::new(),
        () if least == most => format!(", of {most} each"),
        () => format!(", of {least} to {most}"),
    };
    let rounds = data.grid_runs().map(|run| run.round).collect::<std::collections::BTreeSet<_>>().len();
    let runs = numbers::counted(lengths.len(), "run");
    let margin = (experiment.compare_factor.is_some())
        .then(|| format!("; \"same\" means: surely within {}", numbers::percent(experiment.margin)));
    let program = data.target.versions.get("pgdyno").map(|version| format!("by pgdyno {version}"));
    let said = format!(
        "{}: {runs} in {}{length}{}",
        when(&experiment.created_at),
        numbers::counted(rounds, "round"),
        margin.unwrap_or_default()
    );
    [said].into_iter().chain(program).collect()
}
