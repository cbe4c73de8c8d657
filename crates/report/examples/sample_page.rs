//! Writes pages of seeded data, for a visual check: `cargo run -p pgdyno-report --example sample_page
//! FOLDER`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::process::ExitCode;

use fixture::{Shape, data, doubt, offer, speed_up};
use report::{ReportData, html};
use spec::{Reason, Validity};

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else { return ExitCode::from(64) };
    let mut whole = data(&Shape::default());
    doubt(&mut whole.runs[7], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    doubt(&mut whole.runs[30], Validity::Suspect, Reason::Steal, "4.1 % of CPU time taken by the hypervisor");
    let three = Shape { arms: vec![("stock", 0.0), ("gis", 0.06), ("huge pages", -0.2)], ..Shape::small() };
    let mut one = data(&Shape { arms: vec![], clients: vec![4], rounds: 1, ..Shape::small() });
    one.runs.truncate(1);
    let pages = [
        ("whole", whole),
        ("three", data(&three)),
        ("one", one),
        ("extreme", extreme()),
        ("noisy", noisy()),
        ("open", open()),
    ];
    for (name, data) in pages {
        let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
        if std::fs::write(format!("{folder}/{name}.html"), html::page(&data)).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Changes and spreads that hardly occur, and long names.
fn extreme() -> ReportData {
    let mut data = data(&Shape {
        arms: vec![("stock", 0.0), ("everything in memory, huge pages and no checkpoints", 0.0)],
        workloads: vec![
            ("select-only", 6900.0),
            ("the reporting query with every join that we could think of", 50.0),
            ("planet_osm_polygon_without_any_blank_in_its_very_long_name", 900.0),
        ],
        clients: vec![1, 16],
        rounds: 6,
        extras: false,
        ..Shape::default()
    });
    for run in data.runs.iter_mut().filter(|run| run.arm.as_deref() != Some("stock")) {
        let factor = match (run.workload.as_str(), run.clients) {
            ("select-only", 1) => [0.97, 1.01, 1.02, 0.99, 1.0, 4.7][run.round as usize % 6],
            ("select-only", _) => 1.16,
            (long, 1) if long.starts_with("the") => 52.0,
            (long, _) if long.starts_with("the") => 0.01,
            (_, 1) => [0.2, 1.0, 9.0, 0.6, 3.0, 1.5][run.round as usize % 6],
            _ => 1.0,
        };
        speed_up(run, factor);
    }
    data
}

fn noisy() -> ReportData {
    let mut data =
        data(&Shape { workloads: vec![("polygons", 173.0)], rounds: 3, extras: false, ..Shape::default() });
    for run in data.runs.iter_mut().filter(|run| run.clients == 4 && run.arm.as_deref() == Some("gis")) {
        speed_up(run, [0.7, 1.1, 1.9][run.round as usize % 3]);
    }
    data
}

fn open() -> ReportData {
    let mut data = data(&Shape {
        workloads: vec![("tpcb", 620.0), ("points", 74.3)],
        extras: false,
        ..Shape::default()
    });
    for run in data.runs.iter_mut().filter(|run| run.workload == "tpcb") {
        offer(run, f64::from(run.clients) * 1000.0);
        run.factors.insert("clients".into(), "16".into());
        run.clients = 16;
    }
    data
}
