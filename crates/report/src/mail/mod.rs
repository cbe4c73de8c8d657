//! The report as plain text for a mailing list: one screen of 78 columns in ASCII. The rounds are a separate file.

mod ascii;
mod cells;
mod command;
mod labelled;
mod machine;
mod settings;
mod side_by_side;

use std::collections::BTreeSet;

use results::ReportData;
use results::data::when;
use spec::Run;

use self::ascii::ascii;
use self::labelled::labelled;
use crate::builds;
use crate::format::{TableFormat, print};
use crate::lines::{lines, wrapped};
use crate::numbers;
use crate::sections::answer::AnswerBlocks;
use crate::sections::runs::runs;
use crate::work::by_reliability;

/// Columns of a mail (RFC 3676, 4.2, advises at most 78).
const WIDTH: usize = 78;
const INDENT: &str = "  ";
/// The beginning of every attachment.
pub const ATTACHMENT: &str = "run,round,workload,cell,arm";

/// The text; `attached` is the name of the file with the rounds, if one is written.
///
/// Lines are longer only where a single word is. Control characters in foreign text are escaped.
#[must_use]
pub fn text(data: &ReportData, attached: Option<&str>) -> String {
    let answer = AnswerBlocks::of(data);
    // With the figures of the whole grid, too, if it fits.
    let side_by_side =
        if data.limits().is_some() { None } else { side_by_side::table(&by_reliability(data)) };
    let found = ascii(&lines(&answer.in_mail(side_by_side.is_some()), usize::MAX));
    let found: String = found.lines().map(|line| wrapped(unindented(line), WIDTH)).collect();
    let mut out = wrapped(&ascii(&answer.answer.question), WIDTH) + "\n" + &found;
    let table = side_by_side.unwrap_or_else(|| cells::table(data));
    if !table.is_empty() {
        out += &format!("\n{table}");
    }
    out += "\n";
    for (label, facts) in [
        ("Server", builds::in_short(data)),
        ("Settings", settings::lines(data)),
        ("Host", machine::lines(data)),
        ("Measured", vec![measured(data, answer.are_sessions_kept())]),
    ] {
        out += &labelled(label, &facts);
    }
    out += &command::lines(data);
    out + &match attached {
        Some(name) => labelled("Attached", &[format!("{name}, every run with its figures as CSV")]),
        None => {
            let how = "pgdyno report --format mail --output mail.txt";
            labelled("Not attached", &[format!("every run as CSV: {how}")])
        }
    }
}

/// Without the indent of a terminal's paragraphs; lists keep the rest of theirs.
fn unindented(line: &str) -> &str {
    line.strip_prefix(INDENT).unwrap_or(line)
}

/// The attachment: every run in order of execution, as CSV.
#[must_use]
pub fn attachment(data: &ReportData) -> String {
    print(runs(data), TableFormat::Csv)
}

fn measured(data: &ReportData, is_kept: bool) -> String {
    let experiment = &data.experiment;
    let lengths: Vec<f64> = data.grid_runs().map(|run| run.measured_s).collect();
    let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lengths.iter().copied().fold(0.0, f64::max);
    let [least, most] = [least, most].map(numbers::duration);
    let length = match () {
        () if lengths.is_empty() => String::new(),
        () if least == most => format!(" of {most}"),
        () => format!(" of {least} to {most}"),
    };
    let rounds = data.grid_runs().map(|run| run.round).collect::<BTreeSet<_>>().len();
    let slices = if data.grid_runs().any(Run::is_sliced) { ", in slices" } else { "" };
    let kept = if is_kept { "; each server started once" } else { "" };
    let margin = (experiment.compare_factor.is_some())
        .then(|| format!("; margin {}", numbers::percent(experiment.margin)));
    let program = data.target.versions.get("pgdyno").map(|version| format!(", pgdyno {version}"));
    format!(
        "{}{}: {}{length} in {}{slices}{}{kept}",
        when(&experiment.created_at),
        program.unwrap_or_default(),
        numbers::counted(lengths.len(), "run"),
        numbers::counted(rounds, "round"),
        margin.unwrap_or_default()
    )
}
