//! Compares stored probes of several servers.

use std::path::Path;

use report::visible;
use results::{CellValue, ExperimentId, Store, Table};
use spec::figures::Better;
use workloads::probe::{FIGURES, ProbeFigure, Probed, ProbedFigure};

use crate::commands::jobs::quantity::value;
use crate::commands::print_as_named;
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult, SAME_OR_BETTER};
use crate::options::{OutputArgs, OutputFormat};
use crate::print::data;

const FACTS: [&str; 10] = [
    "server",
    "CPU",
    "CPUs",
    "memory",
    "steal",
    "shared_buffers",
    "huge_pages",
    "huge_pages_status",
    "fsync",
    "data_checksums",
];

struct Stored {
    label: String,
    probed: Probed,
}

pub(super) fn run(which: &[String], output: &OutputArgs) -> ExitResult {
    let own = output.results.path();
    let mut found = Vec::new();
    match which {
        [] => found.extend(of_file(&own)?),
        which => {
            for one in which {
                found.extend(if is_file(one) { of_file(Path::new(one))? } else { of_number(&own, one)? });
            }
        }
    }
    if found.is_empty() {
        let what = format!("no probe is stored in {}", own.display());
        return Err(CommandFailure::with_code(
            BAD_INPUT,
            what,
            Some("pgdyno probe DBNAME|URI stores one".into()),
        ));
    }
    let format = output.format.format;
    let for_people = format.is_for_people();
    if for_people {
        data(&legend(&found, format))?;
    }
    print_as_named(&table(&found, for_people), format)?;
    if for_people && found.len() > 1 {
        data(
            "\n(x): times as good as the first server; ~ where most shots of both overlap.\n\
             Measured at different times, on servers with their own settings and neighbours.\n",
        )?;
    }
    Ok(SAME_OR_BETTER)
}

/// Numbers and names are always experiments, whatever files exist.
fn is_file(which: &str) -> bool {
    !which.bytes().all(|byte| byte.is_ascii_digit())
        && (Path::new(which).is_file() || which.contains('/') || which.ends_with(".sqlite"))
}

/// The newest probe of each server in a file, oldest server first.
fn of_file(path: &Path) -> anyhow::Result<Vec<Stored>> {
    let store = Store::open_read_only(path)?;
    let mut found: Vec<Stored> = Vec::new();
    for experiment in store.experiments()? {
        // Earlier builds kept no plan of them.
        let plan = store.experiment(experiment.id)?.experiment.plan;
        let probes = plan.plan().is_some_and(|plan| plan.content.probe.is_some());
        if !probes && experiment.name != "probe" {
            continue;
        }
        newest(&store, experiment.id)?.into_iter().for_each(|newer| put(newer, &mut found));
    }
    Ok(found)
}

fn of_number(path: &Path, which: &str) -> anyhow::Result<Vec<Stored>> {
    let store = Store::open_read_only(path)?;
    let id = store.find(Some(which))?;
    let found = newest(&store, id)?;
    if found.is_empty() {
        let what = format!("experiment {which} has no probe");
        let hint = "pgdyno table experiments lists those in a results file".to_owned();
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some(hint)));
    }
    Ok(found)
}

/// The newest probe of each server of an experiment.
fn newest(store: &Store, id: ExperimentId) -> anyhow::Result<Vec<Stored>> {
    let target = store.experiment(id)?.target.dsn_redacted;
    let mut found: Vec<Stored> = Vec::new();
    for run in store.runs(id)? {
        let Some(probed) = Probed::of(&run) else { continue };
        // Several servers have names.
        let label = run.workload.strip_prefix("probe on ").map_or_else(|| target.clone(), str::to_owned);
        put(Stored { label, probed }, &mut found);
    }
    Ok(found)
}

/// In the place of an earlier probe of the same server.
fn put(newer: Stored, found: &mut Vec<Stored>) {
    match found.iter_mut().find(|known| known.label == newer.label) {
        Some(known) => *known = newer,
        None => found.push(newer),
    }
}

/// Explains the columns of the table for people.
fn legend(found: &[Stored], format: OutputFormat) -> String {
    let label = |text: &str| match format {
        OutputFormat::Md => report::format::line(text, report::TableFormat::Md),
        _ => visible::line(text).into_owned(),
    };
    let line = |(at, stored): (usize, &Stored)| format!("{}  {}\n", at + 1, label(&stored.label));
    found.iter().enumerate().map(line).chain(["\n".to_owned()]).collect()
}

/// Column names for programs: equal labels are numbered.
fn told_apart(found: &[Stored]) -> Vec<String> {
    let alike = |label: &str, among: &[Stored]| among.iter().filter(|stored| stored.label == label).count();
    let name = |(at, stored): (usize, &Stored)| match alike(&stored.label, found) {
        1 => stored.label.clone(),
        _ => format!("{} ({})", stored.label, alike(&stored.label, &found[..=at])),
    };
    found.iter().enumerate().map(name).collect()
}

/// A row for each figure and fact, a column for each server; for programs numbers, and their ratio to the
/// first server.
fn table(found: &[Stored], for_people: bool) -> Table {
    let mut columns = vec!["what".to_owned()];
    for (at, name) in told_apart(found).into_iter().enumerate() {
        let (times, overlaps) = (format!("{name} times"), format!("{name} overlaps"));
        columns.push(if for_people { (at + 1).to_string() } else { name });
        if at > 0 && !for_people {
            columns.extend([times, overlaps]);
        }
    }
    let mut table = Table::new(columns);
    for figure in FIGURES.iter() {
        let base = found[0].probed.get(figure.row.name);
        let mut row = vec![CellValue::from(if for_people { figure.row.label } else { figure.row.name })];
        for (at, stored) in found.iter().enumerate() {
            let own = stored.probed.get(figure.row.name);
            let times = (at > 0).then(|| Times::of(figure, base, own)).flatten();
            if for_people {
                row.push(cell(figure, own, times).into());
            } else {
                row.push(own.and_then(ProbedFigure::spread).map(|spread| spread.median).into());
                if at > 0 {
                    row.push(times.map(|times| times.better).into());
                    row.push(times.map(|times| u32::from(times.overlap)).into());
                }
            }
        }
        table.push(row);
    }
    for name in FACTS {
        let known = |stored: &Stored| {
            let fact = stored.probed.facts.iter().find(|fact| fact.name == name)?;
            fact.value.clone().ok()
        };
        if found.iter().all(|stored| known(stored).is_none()) {
            continue;
        }
        let mut row = vec![CellValue::from(name)];
        for (at, stored) in found.iter().enumerate() {
            // Build details of a version are left out.
            let value = known(stored).map(|value| match value.split_once(" on ") {
                Some((version, _)) if for_people => version.to_owned(),
                _ => value,
            });
            row.push(value.into());
            if at > 0 && !for_people {
                row.extend([CellValue::Null, CellValue::Null]);
            }
        }
        table.push(row);
    }
    table
}

#[derive(Clone, Copy)]
struct Times {
    better: f64,
    overlap: bool,
}

impl Times {
    fn of(figure: &ProbeFigure, base: Option<&ProbedFigure>, own: Option<&ProbedFigure>) -> Option<Self> {
        let (base, own) = (base?.spread()?, own?.spread()?);
        let ratio = match figure.row.better {
            Better::Lower => base.median / own.median,
            _ => own.median / base.median,
        };
        ratio.is_finite().then(|| Self { better: ratio, overlap: !own.is_apart_from(&base) })
    }
}

fn cell(figure: &ProbeFigure, found: Option<&ProbedFigure>, times: Option<Times>) -> String {
    let Some(spread) = found.and_then(ProbedFigure::spread) else { return "not available".to_owned() };
    let times =
        times.map(|times| format!(" ({:.2}x{})", times.better, if times.overlap { " ~" } else { "" }));
    format!("{}{}", value(figure.row.unit, spread.median), times.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use workloads::probe::{FigureState, ProbeFact};

    use super::*;

    fn stored(label: &str, cpu: &[f64], commit: &[f64]) -> Stored {
        let found = |name: &str, shots: &[f64]| ProbedFigure {
            name: name.to_owned(),
            detail: String::new(),
            state: FigureState::Measured,
            shots: shots.iter().map(|value| (0, *value)).collect(),
        };
        let facts = vec![ProbeFact { name: "CPUs".into(), value: Ok("2".into()) }];
        let found = vec![found("cpu_one_rows_per_s", cpu), found("commit_us", commit)];
        Stored { label: label.into(), probed: Probed { found, facts, ..Probed::default() } }
    }

    #[test]
    fn twice_as_good_is_two_whichever_way_better_is() {
        let both =
            [stored("a", &[10e6, 11e6], &[2000.0, 2100.0]), stored("a", &[20e6, 22e6], &[1000.0, 2050.0])];
        let text = table(&both, true);
        assert_eq!(text.names(), ["what", "1", "2"]);
        assert_eq!(legend(&both, OutputFormat::Text), "1  a\n2  a\n\n");
        let row = |table: &Table, name: &str| {
            let row = table.rows.iter().find(|row| row[0] == CellValue::from(name)).unwrap();
            row[1..].to_vec()
        };
        assert_eq!(row(&text, "CPU, one backend"), ["10.5 M rows/s".into(), "21.0 M rows/s (2.00x)".into()]);
        let CellValue::Text(commit) = &row(&text, "commit")[1] else { panic!("no text") };
        assert!(commit.ends_with("(1.34x ~)"), "{commit}");
        assert_eq!(row(&text, "index build"), ["not available".into(), "not available".into()]);
        assert_eq!(row(&text, "CPUs"), ["2".into(), "2".into()]);
        let json = table(&both, false);
        assert_eq!(json.names(), ["what", "a (1)", "a (2)", "a (2) times", "a (2) overlaps"]);
        assert_eq!(row(&json, "cpu_one_rows_per_s"), [10.5e6.into(), 21e6.into(), 2.0.into(), 0_u32.into()]);
    }
}
