//! Shows one probe: its figures, each with an explanation, facts about the host, and reservations.

use std::fmt::Write;

use report::{Conclusion, format, visible};
use results::{CellValue, Table};
use spec::figures::{self, Figure, Unit};
use workloads::probe::{FigureState, Probed, ProbedFigure};

use super::quantity::{range, value};
use crate::commands;
use crate::options::OutputFormat;
use crate::print::{data, warning};

const TITLE: usize = 25;
const FIGURE: usize = 17;

/// Prints what a probe of this server found; `read_only` was asked for.
pub(super) fn print(
    server: &str,
    probed: &Probed,
    read_only: bool,
    format: OutputFormat,
) -> anyhow::Result<()> {
    if let Some(why) = probed.restricted.as_ref().filter(|_| !read_only) {
        warning(&format!(
            "{why}: what needs to write is left out; on a primary, a role that may make a schema (GRANT CREATE ON DATABASE … TO …) \
             gets all figures"
        ));
    }
    match format {
        OutputFormat::Text => Ok(data(&text(server, probed))?),
        OutputFormat::Md => {
            commands::print(for_people(probed), OutputFormat::Md)?;
            let note = |note: &String| format!("- {}\n", format::line(note, report::TableFormat::Md));
            Ok(data(&format!("\n{}", notes(probed).iter().map(note).collect::<String>()))?)
        }
        format => commands::print(for_programs(probed), format),
    }
}

fn text(server: &str, probed: &Probed) -> String {
    let mut out = Conclusion::new(answer(server, probed)).text() + "\n";
    for found in &probed.found {
        let Some(figure) = found.row() else { continue };
        let Some((number, beside)) = in_words(found) else {
            wrapped(&mut out, &format!("{:TITLE$} {}", figure.label, why_not(found)), "");
            continue;
        };
        out += format!("{:TITLE$} {number:FIGURE$} {beside}", figure.label).trim_end();
        out.push('\n');
        let cut = cut(found);
        for below in [figure.meaning, &found.detail, &cut].into_iter().filter(|line| !line.is_empty()) {
            wrapped(&mut out, below, "  ");
        }
    }
    out += "\n";
    for fact in &probed.facts {
        let known = match &fact.value {
            Ok(value) => value.clone(),
            Err(why) => format!("not available: {why}"),
        };
        wrapped(&mut out, &format!("{:TITLE$} {known}", fact.name), "");
    }
    let notes = notes(probed);
    if !notes.is_empty() {
        out += "\nBefore you believe it:\n";
    }
    for note in notes {
        wrapped(&mut out, &format!("- {note}"), "");
    }
    out
}

/// Figures that say most, in one sentence.
const MAIN: [(Figure, &str); 4] = [
    (figures::ROUND_TRIP_US, "a round trip takes"),
    (figures::COMMIT_US, "a commit takes"),
    (figures::CPU_ONE_ROWS_PER_S, "one CPU counts"),
    (figures::CPU_ALL_ROWS_PER_S, "all CPUs count"),
];

/// `postgres://db: a round trip takes 34.0 µs, all CPUs count 45.0 M rows/s.`
fn answer(server: &str, probed: &Probed) -> String {
    let said = MAIN.iter().filter_map(|(figure, words)| {
        let found = probed.found.iter().find(|found| found.name == figure.name)?;
        Some(format!("{words} {}", in_words(found)?.0))
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => format!("{server}: no figure could be measured."),
        false => format!("{server}: {}.", said.join(", ")),
    }
}

/// Appends lines of at most 80 columns; lines after the first are indented.
fn wrapped(out: &mut String, text: &str, indent: &str) {
    let text = visible::line(text);
    let (mut width, first) = (0, out.len());
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 80 {
            out.push('\n');
            width = 0;
        }
        if width == 0 {
            let behind = if out.len() > first { "  " } else { "" };
            let _ = write!(out, "{indent}{behind}{word}");
            width = indent.len() + behind.len() + length;
        } else {
            let _ = write!(out, " {word}");
            width += 1 + length;
        }
    }
    out.push('\n');
}

/// The figure, and the text next to it; `None` if not measured.
fn in_words(found: &ProbedFigure) -> Option<(String, String)> {
    let (figure, spread) = found.row().zip(found.spread())?;
    let number = value(figure.unit, spread.median);
    let shots = spec::count(spread.shots as u64, "shot");
    let least = match figure.unit {
        Unit::Microseconds if spread.shots >= 20 => format!(", least {}", value(figure.unit, spread.least)),
        _ => String::new(),
    };
    let beside = match spread.shots {
        1 => shots,
        2..20 => format!("{shots}, {}", range(figure.unit, &spread)),
        _ => format!("{shots}, most {}{least}", range(figure.unit, &spread)),
    };
    Some((number, beside))
}

fn cut(found: &ProbedFigure) -> String {
    match &found.state {
        FigureState::Cut(why) => format!("cut: {why}"),
        _ => String::new(),
    }
}

fn why_not(found: &ProbedFigure) -> String {
    match &found.state {
        FigureState::NotAvailable(why) => format!("not available: {why}"),
        _ => "not available".to_owned(),
    }
}

fn notes(probed: &Probed) -> Vec<String> {
    let restricted = probed.restricted.iter().map(|why| format!("not all parts were done: {why}"));
    restricted.chain(probed.remarks.iter().cloned()).collect()
}

fn for_people(probed: &Probed) -> Table {
    let mut table = Table::new(["figure", "median", "shots", "what it says"]);
    for found in &probed.found {
        let Some(figure) = found.row() else { continue };
        let (number, beside) = in_words(found).unwrap_or_else(|| (String::new(), why_not(found)));
        let beside_meaning: Vec<String> =
            [found.detail.clone(), cut(found)].into_iter().filter(|text| !text.is_empty()).collect();
        let says = match beside_meaning.is_empty() {
            true => figure.meaning.to_owned(),
            false => format!("{} ({})", figure.meaning, beside_meaning.join("; ")),
        };
        table.push(vec![figure.label.into(), number.into(), beside.into(), says.into()]);
    }
    for fact in &probed.facts {
        let [value, why] = match &fact.value {
            Ok(value) => [value.clone(), String::new()],
            Err(why) => [String::new(), format!("not available: {why}")],
        };
        table.push(vec![fact.name.clone().into(), value.into(), why.into(), CellValue::Null]);
    }
    table
}

/// A row for each figure, fact and remark; values in the unit of their column.
fn for_programs(probed: &Probed) -> Table {
    let mut table = Table::new([
        "kind", "name", "value", "unit", "low", "high", "least", "greatest", "shots", "better", "state",
        "text",
    ]);
    for found in &probed.found {
        let (figure, spread) = (found.row(), found.spread());
        let number = |of: fn(&workloads::probe::Spread) -> f64| CellValue::from(spread.as_ref().map(of));
        let (state, why) = match &found.state {
            FigureState::Measured => ("measured", None),
            FigureState::Cut(why) => ("cut", Some(why)),
            FigureState::NotAvailable(why) => ("not available", Some(why)),
        };
        let words: Vec<&str> =
            [Some(found.detail.as_str()).filter(|text| !text.is_empty()), why.map(String::as_str)]
                .into_iter()
                .flatten()
                .collect();
        let better = figure.map(|figure| figure.better.name());
        table.push(vec![
            "figure".into(),
            found.name.clone().into(),
            number(|spread| spread.median),
            figure.map(|figure| figure.unit.suffix()).into(),
            number(|spread| spread.low),
            number(|spread| spread.high),
            number(|spread| spread.least),
            number(|spread| spread.greatest),
            spread.map(|spread| spread.shots as u64).into(),
            better.into(),
            state.into(),
            Some(words.join("; ")).filter(|words| !words.is_empty()).into(),
        ]);
    }
    let mut plain = |kind: &str, name: &str, state: &str, text: &str| {
        let mut row = vec![CellValue::Null; table.columns.len()];
        for (column, value) in [(0, kind), (1, name), (10, state), (11, text)] {
            row[column] = value.into();
        }
        table.push(row);
    };
    for fact in &probed.facts {
        match &fact.value {
            Ok(value) => plain("fact", &fact.name, "known", value),
            Err(why) => plain("fact", &fact.name, "not available", why),
        }
    }
    notes(probed).iter().for_each(|note| plain("remark", "", "", note));
    table
}

#[cfg(test)]
mod tests {
    use workloads::probe::ProbeFact;

    use super::*;

    fn probed() -> Probed {
        let found = |name: &str, detail: &str, state, shots: &[f64]| ProbedFigure {
            name: name.to_owned(),
            detail: detail.to_owned(),
            state,
            shots: shots.iter().map(|value| (0, *value)).collect(),
        };
        Probed {
            restricted: Some("the server is a standby".into()),
            found: vec![
                found("round_trip_us", "", FigureState::Measured, &[30.0, 34.0, 51.0, 34.0, 33.0]),
                found(
                    "cpu_all_rows_per_s",
                    "2 backends, one for each CPU: 1.90 times one",
                    FigureState::Cut("time for 1 shot only".into()),
                    &[45e6],
                ),
                found(
                    "commit_us",
                    "",
                    FigureState::NotAvailable("it writes, and the server is a standby".into()),
                    &[],
                ),
            ],
            facts: vec![
                ProbeFact { name: "CPUs".into(), value: Ok("2".into()) },
                ProbeFact { name: "memory".into(), value: Err("no right".into()) },
            ],
            remarks: vec![
                "the host had a load of 7 on 2 CPUs when the probe began: an idle one may be worth more"
                    .into(),
            ],
        }
    }

    #[test]
    fn a_person_reads_figures_and_what_they_say() {
        insta::assert_snapshot!(text("postgres://db", &probed()));
    }

    #[test]
    fn programs_get_every_digit_and_unit() {
        let table = for_programs(&probed());
        let text = ::report::format::print(&table, ::report::TableFormat::Csv);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "figure,round_trip_us,34,us,30,51,30,51,5,lower,measured,");
        let commit =
            "figure,commit_us,,us,,,,,,lower,not available,\"it writes, and the server is a standby\"";
        assert_eq!(lines[3], commit);
        assert_eq!(lines[5], "fact,memory,,,,,,,,,not available,no right");
        assert_eq!(table.rows.len(), 7);
    }
}
