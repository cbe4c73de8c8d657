//! Throughput over time: over the seconds of a run (mean of all rounds per arm), or, where runs are too short for
//! that, over the experiment, run by run, which shows drift.

use std::collections::BTreeMap;

use record::Run;

use super::Figure;
use super::axis::{Spacing, Tick, round_ticks};
use super::line::{LineChart, Point, Series};
use crate::data::{Curve, ReportData};
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::words;

/// Points drawn per arm at most; longer runs are averaged over equal spans.
const POINTS: usize = 240;

/// The chart of one curve at its most clients; `None` for fewer than three seconds and fewer than two runs an arm.
pub(crate) fn figure(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let curve = curve.at_most_clients();
    over_a_run(data, title, &curve).or_else(|| over_the_experiment(data, title, &curve))
}

fn over_a_run(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let seconds: Vec<(String, Vec<(f64, f64)>)> = data
        .arms()
        .into_iter()
        .map(|arm| (arm.unwrap_or_default().to_owned(), mean_by_second(curve.of_arm(arm))))
        .filter(|(_, seconds)| seconds.len() >= 3)
        .collect();
    let end =
        seconds.iter().flat_map(|(_, seconds)| seconds.last()).map(|(t, _)| t + 1.0).fold(0.0, f64::max);
    if seconds.is_empty() {
        return None;
    }
    let ticks = round_ticks(0.0, end, 6.0);
    let clients = curve.clients().last().copied().unwrap_or(0);
    Some(
        LineChart {
            title: format!(
                "{title}: throughput over time with {}",
                numbers::counted(clients as usize, "client", "clients")
            ),
            caption: caption(&seconds),
            x_name: "seconds since the measured part began",
            y_name: "transactions per second",
            x_ticks: ticks.into_iter().map(|t| Tick { value: t, label: numbers::figure_short(t) }).collect(),
            y_spacing: Spacing::Linear,
            y_label: numbers::figure_short,
            markers: seconds.iter().all(|(_, seconds)| seconds.len() <= 20),
            series: seconds.iter().map(|(name, seconds)| series(name, seconds)).collect(),
            data: sheet(&seconds),
        }
        .figure(),
    )
}

/// Each run at the minute it began, counted from the first of them.
fn over_the_experiment(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let began = |run: &Run| run.started_at.parse::<jiff::Timestamp>().ok();
    let first = curve.runs.iter().filter_map(|run| began(run)).min()?;
    let runs: Vec<(String, Vec<(f64, f64)>)> = data
        .arms()
        .into_iter()
        .map(|arm| {
            let points = curve.of_arm(arm).filter_map(|run| {
                let minutes = began(run)?.duration_since(first).as_secs_f64() / 60.0;
                Some((minutes, run.tps()?))
            });
            (arm.unwrap_or_default().to_owned(), points.collect::<Vec<_>>())
        })
        .filter(|(_, points)| points.len() >= 2)
        .collect();
    let end = runs.iter().flat_map(|(_, points)| points.last()).map(|(t, _)| *t).fold(0.0, f64::max);
    if runs.is_empty() || end <= 0.0 {
        return None;
    }
    let clients = curve.clients().last().copied().unwrap_or(0);
    let mut sheet =
        Sheet::new("Transactions per second of each run").text(["arm"]).numbers(["minute", "tps"]);
    for (arm, points) in &runs {
        for (minute, tps) in points {
            sheet.row(vec![
                Cell::from(arm.clone()),
                format!("{minute:.1}").into(),
                numbers::tps(*tps).into(),
            ]);
        }
    }
    let ticks = round_ticks(0.0, end, 6.0);
    Some(
        LineChart {
            title: format!(
                "{title}: throughput over the experiment with {}",
                numbers::counted(clients as usize, "client", "clients")
            ),
            caption: "Each point is a run at the minute it began; runs are too short for a curve of their own. Where \
                      all arms rise or fall together, it is the machine."
                .to_owned(),
            x_name: "minutes since the first of these runs",
            y_name: "transactions per second",
            x_ticks: ticks.into_iter().map(|t| Tick { value: t, label: numbers::figure_short(t) }).collect(),
            y_spacing: Spacing::Linear,
            y_label: numbers::figure_short,
            markers: true,
            series: runs
                .iter()
                .map(|(name, points)| Series {
                    name: name.clone(),
                    points: points.iter().map(|&(x, y)| Point { x, y, range: None }).collect(),
                })
                .collect(),
            data: sheet,
        }
        .figure(),
    )
}

/// (second, tps) over all scripts, mean over runs; a shorter last second counts by its length.
fn mean_by_second<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<(f64, f64)> {
    let mut rates: BTreeMap<i64, (f64, u32)> = BTreeMap::new();
    for run in runs {
        let mut own: BTreeMap<i64, f64> = BTreeMap::new();
        for point in run.series.iter().filter(|point| point.length_us >= 500_000) {
            let rate = (point.ok + point.late) as f64 * 1e6 / point.length_us as f64;
            *own.entry(point.start_us.div_euclid(1_000_000)).or_default() += rate;
        }
        for (second, rate) in own {
            let (sum, runs) = rates.entry(second).or_default();
            *sum += rate;
            *runs += 1;
        }
    }
    let seconds: Vec<(f64, f64)> =
        rates.into_iter().map(|(second, (sum, runs))| (second as f64, sum / f64::from(runs))).collect();
    averaged(&seconds)
}

fn averaged(seconds: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let span = seconds.len().div_ceil(POINTS).max(1);
    let mean = |of: &[(f64, f64)]| of.iter().map(|(_, rate)| rate).sum::<f64>() / of.len() as f64;
    seconds.chunks(span).map(|chunk| (chunk[0].0, mean(chunk))).collect()
}

/// Points stand in the middle of their second.
fn series(name: &str, seconds: &[(f64, f64)]) -> Series {
    let points = seconds.iter().map(|&(t, rate)| Point { x: t + 0.5, y: rate, range: None }).collect();
    Series { name: name.to_owned(), points }
}

fn caption(arms: &[(String, Vec<(f64, f64)>)]) -> String {
    let each: Vec<String> = arms
        .iter()
        .map(|(name, seconds)| {
            let rates = || seconds.iter().map(|(_, rate)| *rate);
            let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
            let text = format!("between {} and {}", numbers::tps(low), numbers::tps(high));
            if name.is_empty() { words::sentence(&text) } else { format!("{name} {text}") }
        })
        .collect();
    format!("{} transactions per second, second by second; mean over rounds.", each.join(", "))
}

fn sheet(arms: &[(String, Vec<(f64, f64)>)]) -> Sheet {
    let name =
        |(name, _): &(String, Vec<(f64, f64)>)| if name.is_empty() { "tps".into() } else { name.clone() };
    let mut sheet = Sheet::new("Transactions per second, by second of the run")
        .numbers(["from second"])
        .numbers(arms.iter().map(name));
    let longest = arms.iter().max_by_key(|(_, seconds)| seconds.len()).map(|(_, seconds)| seconds.as_slice());
    for (position, (second, _)) in longest.unwrap_or_default().iter().enumerate() {
        let mut row: Vec<Cell> = vec![numbers::count(*second as u64).into()];
        row.extend(arms.iter().map(|(_, seconds)| match seconds.get(position) {
            Some((_, rate)) => Cell::from(numbers::tps(*rate)),
            None => Cell::from(numbers::ABSENT),
        }));
        sheet.row(row);
    }
    sheet
}
