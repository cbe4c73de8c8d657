//! Throughput and response time over clients, a line per arm.

use results::comparison::Summary;
use results::{CellValue, Table};

use super::Curve;
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;
use crate::scaling::Law;
use results::cells::CellFigures;

struct Drawn {
    y: fn(&CellFigures) -> Option<f64>,
    runs: fn(&CellFigures) -> &Summary,
    unit: AxisUnit,
    title: &'static str,
    y_name: &'static str,
    after: &'static str,
    points: &'static str,
}

/// With at most this many arms the fitted law is drawn with the measured values.
const FEW_ARMS: usize = 2;
const STEPS: u32 = 64;

/// `None` with fewer than two numbers of clients.
pub(super) fn throughput(curve: &Curve<'_>, laws: &[Law]) -> Option<LineChart> {
    let drawn = Drawn {
        y: |cell| cell.tps.mean,
        runs: |cell| &cell.tps,
        unit: AxisUnit::PerSecond,
        title: "throughput over clients",
        y_name: "transactions per second",
        after: " transactions per second",
        points: "mean over rounds",
    };
    let mut chart = chart(curve, &drawn)?;
    if laws.len() <= FEW_ARMS {
        let clients = curve.clients();
        chart.series.extend(laws.iter().filter_map(|law| fitted(law, *clients.first()?, *clients.last()?)));
        let peaks = laws.iter().map(|law| {
            let whose = law.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
            format!(" {whose}{}", law.words().join(" "))
        });
        chart.caption.extend(peaks);
    }
    Some(chart)
}

/// The law between the fewest and the most measured clients.
fn fitted(law: &Law, fewest: u32, most: u32) -> Option<Series> {
    let [low, high] = [place(fewest), place(most)];
    let at = |step: u32| {
        let x = low + (high - low) * f64::from(step) / f64::from(STEPS);
        ChartPoint { x, y: law.scaling.rate(x.exp2()), range: None }
    };
    let name = law.arm.as_ref().map_or("fitted".to_owned(), |arm| format!("fitted, {arm}"));
    let points: Vec<ChartPoint> = (0..=STEPS).map(at).collect();
    points.iter().all(|point| point.y.is_finite()).then(|| Series::computed(name, points))
}

/// 99th percentile of response times; `None` with fewer than two numbers of clients.
pub(super) fn response(curve: &Curve<'_>) -> Option<LineChart> {
    let drawn = Drawn {
        y: |cell| cell.response.ns(0.99),
        runs: |cell| &cell.p99_ns,
        unit: AxisUnit::Nanoseconds,
        title: "slowest 1 % over clients",
        y_name: "response time, 99th percentile",
        after: " at the 99th percentile",
        points: "99th percentile of all rounds together",
    };
    let mut chart = chart(curve, &drawn)?;
    chart.caption += curve.of_started_only();
    Some(chart)
}

fn chart(curve: &Curve<'_>, drawn: &Drawn) -> Option<LineChart> {
    let clients = curve.clients();
    if clients.len() < 2 {
        return None;
    }
    let point = |cell: &&CellFigures| {
        Some(ChartPoint { x: place(cell.clients), y: (drawn.y)(cell)?, range: (drawn.runs)(cell).range() })
    };
    let points = |cells: &[&CellFigures]| {
        let points: Vec<ChartPoint> = cells.iter().filter_map(point).collect();
        (!points.is_empty()).then_some(points)
    };
    let series: Vec<Series> = curve
        .by_arm(points)
        .into_iter()
        .map(|(arm, points)| Series::measured(arm.to_owned(), points))
        .collect();
    if series.is_empty() {
        return None;
    }
    Some(LineChart {
        title: format!("{}: {}", curve.title, drawn.title),
        caption: caption(&series, curve, drawn),
        x_name: "clients",
        y_name: drawn.y_name,
        x_ticks: clients.iter().map(|&n| Tick { value: place(n), label: numbers::count(n.into()) }).collect(),
        y_spacing: Spacing::Linear,
        unit: drawn.unit,
        markers: true,
        data: sheet(&clients, &series, drawn),
        series,
    })
}

/// Doublings of clients are equal steps.
fn place(clients: u32) -> f64 {
    f64::from(clients.max(1)).log2()
}

fn caption(series: &[Series], curve: &Curve<'_>, drawn: &Drawn) -> String {
    let most = curve.clients().last().map(|&most| place(most));
    let reached = series.iter().filter_map(|series| {
        let last = series.points.iter().rfind(|point| Some(point.x) == most)?;
        let who = if series.name.is_empty() { String::new() } else { format!("{} ", series.name) };
        Some(format!("{who}{}", drawn.unit.text(last.y)))
    });
    format!(
        "With {}: {}{}. A point is the {}, whiskers reach from the lowest to the highest run.",
        curve.most_clients(),
        reached.collect::<Vec<_>>().join(", "),
        drawn.after,
        drawn.points
    )
}

fn sheet(clients: &[u32], series: &[Series], drawn: &Drawn) -> Table {
    let name =
        |series: &Series| if series.name.is_empty() { "all rounds".to_owned() } else { series.name.clone() };
    let mut sheet =
        Table::captioned(format_args!("{}: {} (lowest to highest run)", drawn.y_name, drawn.points))
            .numbers(["clients"])
            .numbers(series.iter().map(name));
    let text = |value: f64| drawn.unit.text(value);
    for &n in clients {
        let cell = |series: &Series| -> CellValue {
            match series.points.iter().find(|point| point.x == place(n)) {
                Some(ChartPoint { y, range: Some((low, high)), .. }) => {
                    format!("{} ({} to {})", text(*y), text(*low), text(*high)).into()
                }
                Some(ChartPoint { y, .. }) => text(*y).into(),
                None => numbers::ABSENT.into(),
            }
        };
        sheet.push([numbers::count(n.into()).into()].into_iter().chain(series.iter().map(cell)));
    }
    sheet
}
