//! Throughput over time: over the seconds of a run (mean of all rounds per arm) or, if runs are too short
//! for that, over the experiment, run by run, which shows drift.

use super::Curve;
use crate::chart::axis::{Spacing, Tick, round_ticks};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;
use crate::sections::verdicts::sentence;
use results::cells::CellFigures;
use results::{CellValue, Table};

/// Points per arm, at most; longer runs are averaged over equal spans.
const POINTS: usize = 240;

type ArmSeries<'a> = (&'a str, Vec<(f64, f64)>);

/// `None` for fewer than three seconds and fewer than two runs per arm.
pub(super) fn chart(curve: &Curve<'_>) -> Option<LineChart> {
    over_a_run(curve).or_else(|| over_the_experiment(curve))
}

fn over_a_run<'a>(curve: &Curve<'a>) -> Option<LineChart> {
    let arms = curve.by_arm(|cells| {
        let seconds = averaged(&cells.first()?.by_second);
        (seconds.len() >= 3).then_some(seconds)
    });
    let end = arms.iter().flat_map(|(_, seconds)| seconds.last()).map(|(t, _)| t + 1.0).reduce(f64::max)?;
    let offered = offered(curve, &arms);
    // Next to another line, one without an arm needs a name.
    let named = |(name, seconds): &ArmSeries<'a>| match name.is_empty() && offered.is_some() {
        true => ("done", seconds.clone()),
        false => (*name, seconds.clone()),
    };
    let drawn: Vec<ArmSeries<'_>> = arms.iter().map(named).collect();
    let drawn: Vec<ArmSeries<'_>> = offered.iter().cloned().chain(drawn).collect();
    // Points are in the middle of their second.
    let series = |(name, seconds): &ArmSeries<'_>| series(name, seconds, 0.5);
    Some(LineChart {
        title: format!("{}: throughput over time with {}", curve.title, curve.most_clients()),
        caption: caption(&arms),
        x_name: "seconds since the measured part began",
        markers: arms.iter().all(|(_, seconds)| seconds.len() <= 20),
        ..over_time(end, drawn.iter().map(series).collect(), by_second(&drawn))
    })
}

/// The offered rate in the same seconds, if it changed and was the same for all arms.
fn offered<'a>(curve: &Curve<'a>, arms: &[ArmSeries<'a>]) -> Option<ArmSeries<'a>> {
    let rates = curve.by_arm(|cells| cells.first()?.changing_rate.clone());
    let ((_, profile), others) = rates.split_first()?;
    if rates.len() != arms.len() || others.iter().any(|(_, other)| other != profile) {
        return None;
    }
    let (_, seconds) = arms.iter().max_by_key(|(_, seconds)| seconds.len())?;
    // Averaged over the seconds of a point; the last one is as long as the one before.
    let span = |at: usize| match (seconds.get(at), seconds.get(at + 1)) {
        (Some((from, _)), Some((to, _))) => to - from,
        _ => seconds.windows(2).last().map_or(1.0, |two| two[1].0 - two[0].0),
    };
    let mean = |(at, (from, _)): (usize, &(f64, f64))| {
        let length = span(at);
        (*from, (profile.arrivals(from + length) - profile.arrivals(*from)) / length)
    };
    Some(("offered", seconds.iter().enumerate().map(mean).collect()))
}

/// Each run at the minute it began, counted from the first.
fn over_the_experiment(curve: &Curve<'_>) -> Option<LineChart> {
    let began = |(time, _): &(String, f64)| time.parse::<jiff::Timestamp>().ok();
    let first = curve.cells.iter().flat_map(|cell| &cell.each).filter_map(began).min()?;
    let minutes = |run: &(String, f64)| Some((began(run)?.duration_since(first).as_secs_f64() / 60.0, run.1));
    let arms = curve.by_arm(|cells: &[&CellFigures]| {
        let runs: Vec<(f64, f64)> = cells.first()?.each.iter().filter_map(minutes).collect();
        (runs.len() >= 2).then_some(runs)
    });
    let end = arms.iter().flat_map(|(_, runs)| runs.last()).map(|(t, _)| *t).reduce(f64::max)?;
    let series = |(name, runs): &ArmSeries<'_>| series(name, runs, 0.0);
    (end > 0.0).then(|| LineChart {
        title: format!("{}: throughput over the experiment with {}", curve.title, curve.most_clients()),
        caption:
            "Each point is a run at the minute it began; runs are too short for a curve of their own. Where \
                  all arms rise or fall together, it is the machine."
                .to_owned(),
        x_name: "minutes since the first of these runs",
        ..over_time(end, arms.iter().map(series).collect(), by_run(&arms))
    })
}

fn over_time(end: f64, series: Vec<Series>, data: Table) -> LineChart {
    let tick = |value| Tick { value, label: numbers::figure_short(value) };
    LineChart {
        title: String::new(),
        caption: String::new(),
        x_name: "",
        y_name: "transactions per second",
        x_ticks: round_ticks(0.0, end, 6.0).into_iter().map(tick).collect(),
        y_spacing: Spacing::Linear,
        unit: AxisUnit::PerSecond,
        markers: true,
        series,
        data,
    }
}

fn series(name: &str, points: &[(f64, f64)], shift: f64) -> Series {
    let points = points.iter().map(|&(t, y)| ChartPoint { x: t + shift, y, range: None }).collect();
    Series::measured(name.to_owned(), points)
}

fn averaged(seconds: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let span = seconds.len().div_ceil(POINTS).max(1);
    let mean = |of: &[(f64, f64)]| of.iter().map(|(_, rate)| rate).sum::<f64>() / of.len() as f64;
    seconds.chunks(span).map(|chunk| (chunk[0].0, mean(chunk))).collect()
}

fn caption(arms: &[ArmSeries<'_>]) -> String {
    let one = |(name, seconds): &ArmSeries<'_>| {
        let rates = || seconds.iter().map(|(_, rate)| *rate);
        let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let text = format!("between {} and {}", numbers::tps(low), numbers::tps(high));
        if name.is_empty() { sentence(&text) } else { format!("{name} {text}") }
    };
    let each: Vec<String> = arms.iter().map(one).collect();
    format!("{} transactions per second, second by second; mean over rounds.", each.join(", "))
}

fn by_second(arms: &[ArmSeries<'_>]) -> Table {
    let mut sheet = Table::captioned("Transactions per second, by second of the run")
        .numbers(["from second"])
        .numbers(arms.iter().map(|(name, _)| if name.is_empty() { "tps" } else { name }));
    let longest = arms.iter().max_by_key(|(_, seconds)| seconds.len()).map(|(_, seconds)| seconds.as_slice());
    for (position, (second, _)) in longest.unwrap_or_default().iter().enumerate() {
        let rate = |(_, seconds): &ArmSeries<'_>| match seconds.get(position) {
            Some((_, rate)) => CellValue::from(numbers::tps(*rate)),
            None => numbers::ABSENT.into(),
        };
        sheet.push([numbers::count(*second as u64).into()].into_iter().chain(arms.iter().map(rate)));
    }
    sheet
}

fn by_run(arms: &[ArmSeries<'_>]) -> Table {
    let mut sheet =
        Table::captioned("Transactions per second of each run").text(["arm"]).numbers(["minute", "tps"]);
    for (arm, runs) in arms {
        for (minute, tps) in runs {
            sheet.push([(*arm).into(), format!("{minute:.1}").into(), numbers::tps(*tps).into()]);
        }
    }
    sheet
}
