//! Throughput and response time over clients, a line per arm.

use record::Run;
use results::comparison::Metric;

use super::Figure;
use super::axis::{Spacing, Tick};
use super::line::{LineChart, Point, Series};
use crate::arrivals;
use crate::data::{Curve, ReportData};
use crate::numbers;
use crate::sheet::{Cell, Sheet};

/// How a metric is drawn over clients.
struct Drawn {
    metric: Metric,
    title: &'static str,
    y_name: &'static str,
    tick: fn(f64) -> String,
    value: fn(f64) -> String,
    /// After values in the caption.
    unit: &'static str,
    /// What a point is.
    points: &'static str,
}

/// Throughput of one curve; `None` with fewer than two numbers of clients.
pub(crate) fn throughput(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let drawn = Drawn {
        metric: Metric::Tps,
        title: "throughput over clients",
        y_name: "transactions per second",
        tick: numbers::figure_short,
        value: numbers::tps,
        unit: " transactions per second",
        points: "mean over rounds",
    };
    figure(data, title, curve, &drawn)
}

/// 99th percentile of response times of one curve; `None` with fewer than two numbers of clients.
pub(crate) fn response(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let drawn = Drawn {
        metric: Metric::P99,
        title: "slowest 1 % over clients",
        y_name: "response time, 99th percentile",
        tick: |us| if us == 0.0 { "0".to_owned() } else { numbers::latency_tick(us * 1e3) },
        value: numbers::latency_us,
        unit: " at the 99th percentile",
        points: "99th percentile of all rounds together",
    };
    figure(data, title, curve, &drawn)
}

fn figure(data: &ReportData, title: &str, curve: &Curve<'_>, drawn: &Drawn) -> Option<Figure> {
    let clients = curve.clients();
    if clients.len() < 2 {
        return None;
    }
    let series: Vec<Series> = data
        .arms()
        .into_iter()
        .map(|arm| Series {
            name: arm.unwrap_or_default().to_owned(),
            points: clients.iter().filter_map(|&n| point(curve, arm, n, drawn.metric)).collect(),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.is_empty() {
        return None;
    }
    let tick = |&n: &u32| Tick { value: place(n), label: numbers::count(n.into()) };
    Some(
        LineChart {
            title: format!("{title}: {}", drawn.title),
            caption: caption(&series, clients[clients.len() - 1], drawn) + of_started(curve, drawn.metric),
            x_name: "clients",
            y_name: drawn.y_name,
            x_ticks: clients.iter().map(tick).collect(),
            y_spacing: Spacing::Linear,
            y_label: drawn.tick,
            markers: true,
            data: sheet(&clients, &series, drawn),
            series,
        }
        .figure(),
    )
}

/// Whether response times leave out arrivals.
fn of_started(curve: &Curve<'_>, metric: Metric) -> &'static str {
    if metric == Metric::Tps { "" } else { arrivals::caption(&curve.runs) }
}

/// Doublings of clients are equal steps.
fn place(clients: u32) -> f64 {
    f64::from(clients.max(1)).log2()
}

fn point(curve: &Curve<'_>, arm: Option<&str>, clients: u32, metric: Metric) -> Option<Point> {
    let runs: Vec<&Run> = curve.of_arm(arm).filter(|run| run.clients == clients).collect();
    let values: Vec<f64> = runs.iter().filter_map(|run| metric.of(run)).collect();
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    Some(Point {
        x: place(clients),
        y: metric.of_runs(&runs)?,
        range: (values.len() > 1).then_some((low, high)),
    })
}

fn caption(series: &[Series], most: u32, drawn: &Drawn) -> String {
    let reached: Vec<String> = series
        .iter()
        .filter_map(|series| {
            let last = series.points.iter().rfind(|point| point.x == place(most))?;
            let who = if series.name.is_empty() { String::new() } else { format!("{} ", series.name) };
            Some(format!("{who}{}", (drawn.value)(last.y)))
        })
        .collect();
    format!(
        "With {}: {}{}. A point is the {}, whiskers reach from the lowest to the highest run.",
        numbers::counted(most as usize, "client", "clients"),
        reached.join(", "),
        drawn.unit,
        drawn.points
    )
}

fn sheet(clients: &[u32], series: &[Series], drawn: &Drawn) -> Sheet {
    let name =
        |series: &Series| if series.name.is_empty() { "all rounds".to_owned() } else { series.name.clone() };
    let mut sheet = Sheet::new(format_args!("{}: {} (lowest to highest run)", drawn.y_name, drawn.points))
        .numbers(["clients"])
        .numbers(series.iter().map(name));
    for &n in clients {
        let mut row: Vec<Cell> = vec![numbers::count(n.into()).into()];
        row.extend(series.iter().map(
            |series| {
                match series.points.iter().find(|point| point.x == place(n)) {
                    Some(Point { y, range: Some((low, high)), .. }) => {
                        format!("{} ({} to {})", (drawn.value)(*y), (drawn.value)(*low), (drawn.value)(*high))
                            .into()
                    }
                    Some(Point { y, .. }) => (drawn.value)(*y).into(),
                    None => numbers::ABSENT.into(),
                }
            },
        ));
        sheet.row(row);
    }
    sheet
}
