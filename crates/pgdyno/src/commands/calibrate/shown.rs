//! What a calibration found, as a table and sentences.

use std::collections::BTreeMap;

use ::report::numbers::{latency_us, tps};
use ::report::{Conclusion, ReportData, Step};
use lab::calibrate::{Calibrated, HOST_FACTOR, Lateness, Limit, Row, calibrated};
use lab::execute::UnstoredRuns;
use results::{CellValue, Table};
use spec::figures::{self, Figure};
use spec::{Run, Validity};

use super::placement;
use crate::commands::{print, print_conclusion};
use crate::options::OutputFormat;
use crate::print::{data, warning};

/// What a stored calibration found; `None` if the experiment is another one.
pub(in crate::commands) fn of_stored(found: &ReportData) -> Option<Calibrated> {
    calibrated(found.experiment.plan.plan()?, &found.runs, found.host.cores)
}

/// The same of runs that could not be stored.
pub(in crate::commands) fn of_unstored(UnstoredRuns { plan, runs }: &UnstoredRuns) -> Option<Calibrated> {
    calibrated(plan, runs, server::host::cores())
}

/// Prints what was found.
pub(in crate::commands) fn show(done: &Calibrated, format: OutputFormat) -> anyhow::Result<()> {
    if let Some(why) = &done.no_server {
        warning(&format!("no server was measured: {why}"));
    }
    if format != OutputFormat::Text {
        return print(table(done), format);
    }
    print_conclusion(&conclusion(done), format)?;
    data("\n")?;
    print(narrow(table(done)), OutputFormat::Text)?;
    data("\n")?;
    if !done.placements.is_empty() {
        print(placement::table(&done.placements), OutputFormat::Text)?;
    }
    Ok(())
}

/// A row for each kind of operation and number of clients, then for the start lag, the highest rates,
/// placements and the advice.
fn table(done: &Calibrated) -> Table {
    let mut table = Table::new([
        "what",
        "clients",
        "driver",
        "cpu_us",
        "per_s",
        "busy_pct",
        "at_rate",
        "wakeup_p50_us",
        "wakeup_p99_us",
        "lag_p50_us",
        "lag_p99_us",
        "verdict",
    ])
    .named(placement::COLUMNS);
    let mut push = |mut line: Vec<CellValue>| {
        line.resize(table.columns.len(), CellValue::Null);
        table.push(line);
    };
    for row in done.rows.iter().chain([&done.idle, &done.start_lag]) {
        push(line(row));
    }
    push(highest("highest clean rate", done.limit.clean.as_ref()));
    push(highest("highest kept rate", done.limit.kept.as_ref()));
    placement::rows(done, &table.names()).into_iter().for_each(|row| table.push(row));
    table
}

fn line(row: &Row) -> Vec<CellValue> {
    let p50 = |lateness: Option<Lateness>| CellValue::from(lateness.map(|lateness| lateness.p50_us));
    let p99 = |lateness: Option<Lateness>| CellValue::from(lateness.map(|lateness| lateness.p99_us));
    vec![
        row.what.clone().into(),
        row.clients.into(),
        row.driver.clone().into(),
        row.cpu_us.into(),
        row.per_second.into(),
        row.busy_pct.into(),
        row.rate.into(),
        p50(row.wakeup),
        p99(row.wakeup),
        p50(row.start_lag),
        p99(row.start_lag),
        verdict(row.validity, row.doubts.iter().map(|doubt| doubt.reason.text())).into(),
    ]
}

/// Columns that fit a terminal: verdicts without their reasons, which follow below.
fn narrow(table: Table) -> Table {
    let left_out = ["driver", "busy_pct", "at_rate", "lag_p50_us"];
    let at = table.at(placement::COLUMNS[0]);
    let is_left_out = |name: &str| left_out.contains(&name) || placement::COLUMNS.contains(&name);
    let mut narrow = table;
    narrow.rows.retain(|row| at.is_none_or(|at| row[at] == CellValue::Null));
    for value in narrow.rows.iter_mut().flatten() {
        if let CellValue::Text(text) = value {
            text.truncate(text.find(':').unwrap_or(text.len()));
        }
    }
    narrow.only(|table, at| !is_left_out(&table.columns[at].name))
}

/// `suspect: schedule late, client saturated`.
fn verdict(validity: Validity, reasons: impl Iterator<Item = &'static str>) -> String {
    let word = match validity {
        Validity::Valid => return "valid".to_owned(),
        Validity::Suspect => "suspect",
        Validity::Invalid => "invalid",
    };
    let mut reasons: Vec<_> = reasons.collect();
    reasons.dedup();
    format!("{word}: {}", reasons.join(", "))
}

fn highest(what: &'static str, run: Option<&Run>) -> Vec<CellValue> {
    let figure = |of: Figure| CellValue::from(run.and_then(|run| run.figures.get(of)));
    let verdict = |run: &Run| verdict(run.validity, run.doubts.iter().map(|doubt| doubt.reason.text()));
    vec![
        what.into(),
        run.map(|run| run.clients).into(),
        run.map_or(CellValue::Null, |run| run.driver.clone().into()),
        figure(figures::CLIENT_CPU_US_PER_TX),
        run.and_then(Run::tps).into(),
        figure(figures::CLIENT_BUSIEST_THREAD_PCT),
        run.and_then(|run| run.offered_rate).into(),
        figure(figures::TIMER_LATENESS_P50_US),
        figure(figures::TIMER_LATENESS_P99_US),
        figure(figures::START_LAG_P50_US),
        figure(figures::START_LAG_P99_US),
        run.map_or_else(|| "none found".to_owned(), verdict).into(),
    ]
}

fn conclusion(done: &Calibrated) -> Conclusion {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for doubt in done.rows.iter().chain([&done.idle, &done.start_lag]).flat_map(|row| &row.doubts) {
        *counts.entry(doubt.reason.text()).or_default() += 1;
    }
    let listed: Vec<_> = counts.iter().map(|(reason, count)| format!("{reason} ({count})")).collect();
    let suspect = format!("some runs are suspect: {}", listed.join(", "));
    let mut told = of_limit(&done.limit);
    if !listed.is_empty() {
        told.but.push(suspect);
        told.next.push(Step::Advice("calibrate again when nothing else runs here".to_owned()));
    }
    told.notes.extend(placement::words(done));
    told
}

fn of_limit(limit: &Limit) -> Conclusion {
    let rate = |run: &Option<Run>| run.as_ref().and_then(|run| run.offered_rate);
    let late = format!(
        "1 % of them up to {} late, {HOST_FACTOR} times what they are with nothing to do",
        latency_us(limit.allowed_us)
    );
    let starts = |rate: f64| format!("One thread of this host starts up to {} transactions/s", tps(rate));
    let none_on_time = format!("no rate is on time: {}", limit.no_clean);
    let mut told = match (rate(&limit.clean), rate(&limit.kept)) {
        (Some(clean), kept) => Conclusion {
            figures: kept
                .filter(|kept| *kept > clean)
                .map_or_else(Vec::new, |kept| vec![vec![format!("{}/s", tps(kept)), late]]),
            ..Conclusion::new(format!("{} on time.", starts(clean)))
        },
        (None, Some(kept)) => {
            Conclusion { but: vec![none_on_time], ..Conclusion::new(format!("{}, {late}.", starts(kept))) }
        }
        (None, None) => Conclusion {
            but: vec![none_on_time],
            ..Conclusion::new("No rate was found that one thread of this host starts steadily.")
        },
    };
    let at = limit.next.map(|next| format!("; at {}/s: {}", tps(next), limit.why)).unwrap_or_default();
    told.why = Some(format!("it is limited by {}{at}", limit.limited_by));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> Limit {
        Limit {
            clean: None,
            no_clean: "it wakes up too late".into(),
            kept: None,
            allowed_us: 280.0,
            next: Some(84_000.0),
            why: "schedule late: 1 % of …".into(),
            limited_by: "the 2 CPUs".into(),
        }
    }

    #[test]
    fn what_is_not_found_is_told_with_its_reason() {
        let wanted = "No rate was found that one thread of this host starts steadily.\n  \
                      but: no rate is on time: it wakes up too late.\n  \
                      why: it is limited by the 2 CPUs; at 84,000/s: schedule late: 1 % of ….\n";
        assert_eq!(of_limit(&limit()).text(), wanted);
        let open = Limit { next: None, ..limit() };
        assert!(!of_limit(&open).text().contains("; at "));
    }

    #[test]
    fn verdicts_name_each_reason_once() {
        let reasons = ["schedule late", "schedule late", "CPU steal"];
        assert_eq!(verdict(Validity::Suspect, reasons.into_iter()), "suspect: schedule late, CPU steal");
        assert_eq!(verdict(Validity::Valid, [].into_iter()), "valid");
    }
}
