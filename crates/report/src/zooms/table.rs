//! Each layer and zoom of each arm, for programs and people.

use results::comparison::zooms::{Which, ZoomComparison};
use results::{Table, Value};
use stats::Estimate;

use super::{ZoomFigures, ZoomsOfArm, ZoomsOfCell};
use crate::compared;
use crate::data::{ReportData, cell_text, levels};
use crate::numbers::{self, real};

const COLUMNS: [&str; 34] = [
    "workload",
    "cell",
    "arm",
    "layer",
    "zoom",
    "cached",
    "requests",
    "tiles_share_pct",
    "time_share_pct",
    "mean_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "tile_bytes",
    "empty_pct",
    "base_layer",
    "mean_change_pct",
    "mean_low_pct",
    "mean_high_pct",
    "verdict",
    "holm_p",
    "p50_change_pct",
    "p50_low_pct",
    "p50_high_pct",
    "pairs",
    "failed",
    "sample_tiles",
    "sample_empty_pct",
    "sample_features_in",
    "sample_features_out",
    "sample_vertices",
    "sample_bytes",
    "few",
    "sliced",
];
/// Columns that stand for people only where something is in them.
const OPTIONAL: [&str; 8] = ["arm", "cached", "base_layer", "verdict", "failed", "few", "sliced", "zoom"];
/// One line per workload, cell, arm, layer, zoom and, behind a cache, hits or misses: service times of all rounds together,
/// shares of tiles and of time, what the tiles hold, and the change of mean and median against the base. Where a cache was in
/// front, lines without `cached` are hits and misses together. Times of too few requests are missing, and `few` says so.
#[must_use]
pub fn tiles(data: &ReportData) -> Table {
    let mut table = Table::new(&COLUMNS);
    table.optional.extend(OPTIONAL.map(str::to_owned));
    for of in &ZoomsOfCell::all(data) {
        for own in &of.arms {
            for zoom in &own.zooms {
                table.push(row(of, own, zoom));
            }
        }
    }
    table
}

/// The same for people: what matters most, the change with its interval.
#[must_use]
pub fn tiles_in_words(data: &ReportData) -> Table {
    let mut table = Table::new(&[
        "cell",
        "arm",
        "layer",
        "zoom",
        "requests",
        "tiles_pct",
        "time_pct",
        "mean_us",
        "p50_us",
        "p95_us",
        "p99_us",
        "tile_bytes",
        "empty_pct",
        "features",
        "change of mean",
        "verdict",
        "few",
        "sliced",
    ]);
    table
        .optional
        .extend(["arm", "p95_us", "p99_us", "change of mean", "verdict", "few", "sliced"].map(str::to_owned));
    for of in &ZoomsOfCell::all(data) {
        for own in &of.arms {
            for zoom in &own.zooms {
                table.push(row_in_words(of, own, zoom));
            }
        }
    }
    table
}

fn row_in_words(of: &ZoomsOfCell, own: &ZoomsOfArm, zoom: &ZoomFigures) -> Vec<Value> {
    let change = of.change(own.arm.as_deref(), zoom.place);
    let micros = |ns: Option<f64>| real(ns.map(|ns| ns / 1e3));
    let pct = |share: Option<f64>| real(share.map(|share| share * 100.0));
    let judged = change.and_then(|own| Some((own.mean?, own.verdict)));
    let said = match (change, judged) {
        (None, _) => String::new(),
        (Some(_), Some((mean, _))) => compared::change(&mean),
        (Some(_), None) => "too few".to_owned(),
    };
    vec![
        cell_text(&of.cell).into(),
        own.arm.clone().into(),
        zoom.layer.as_str().into(),
        zoom.zoom().into(),
        zoom.requests.into(),
        pct(zoom.tiles_share),
        pct(zoom.time_share),
        micros(zoom.mean_ns),
        micros(zoom.p50_ns),
        micros(zoom.p95_ns),
        micros(zoom.p99_ns),
        real(zoom.bytes),
        pct(zoom.empty),
        zoom.features().into(),
        said.into(),
        judged.map(|(_, verdict)| compared::verdict(verdict, of.margin)).into(),
        zoom.mean_ns.is_none().then_some("yes").into(),
        numbers::sliced(own.sliced),
    ]
}

fn row(of: &ZoomsOfCell, own: &ZoomsOfArm, zoom: &ZoomFigures) -> Vec<Value> {
    let change = of.change(own.arm.as_deref(), zoom.place);
    let micros = |ns: Option<f64>| real(ns.map(|ns| ns / 1e3));
    let pct = |share: Option<f64>| real(share.map(|share| share * 100.0));
    let cached = match zoom.place.which {
        Which::All => None,
        Which::Hits => Some("yes"),
        Which::Misses => Some("no"),
    };
    let sample = zoom.sample.as_ref();
    let per_tile = |sum: Option<u64>| real(sample.zip(sum).map(|(sample, sum)| sample.per_tile(sum)));
    let few = zoom.mean_ns.is_none() || change.is_some_and(ZoomComparison::is_of_few);
    let [mean, median] = [|own: &ZoomComparison| own.mean, |own: &ZoomComparison| own.median]
        .map(|of: fn(&ZoomComparison) -> Option<Estimate>| change_of(change.and_then(of)));
    let verdict =
        change.filter(|own| own.mean.is_some()).map(|own| compared::verdict(own.verdict, of.margin));
    let head: [Value; 15] = [
        of.cell.workload.as_str().into(),
        levels(&of.cell).into(),
        own.arm.clone().into(),
        zoom.layer.as_str().into(),
        zoom.place.zoom.map(u64::from).into(),
        cached.into(),
        zoom.requests.into(),
        pct(zoom.tiles_share),
        pct(zoom.time_share),
        micros(zoom.mean_ns),
        micros(zoom.p50_ns),
        micros(zoom.p95_ns),
        micros(zoom.p99_ns),
        real(zoom.bytes),
        pct(zoom.empty),
    ];
    let base_layer = change.filter(|own| own.layer != own.base_layer).map(|own| own.base_layer.clone());
    let judged: [Value; 2] = [verdict.into(), real(change.and_then(|own| own.holm_p))];
    let tail: [Value; 10] = [
        change.map(|own| own.differences.len() as u64).into(),
        zoom.failed.into(),
        sample.map(|sample| sample.tiles).into(),
        pct(sample.map(record::TileSample::empty_share)),
        per_tile(sample.and_then(|sample| sample.features_in)),
        per_tile(sample.and_then(|sample| sample.features_out)),
        per_tile(sample.and_then(|sample| sample.vertices)),
        per_tile(sample.map(|sample| sample.bytes)),
        few.then_some("yes").into(),
        numbers::sliced(own.sliced),
    ];
    head.into_iter().chain([base_layer.into()]).chain(mean).chain(judged).chain(median).chain(tail).collect()
}

/// Change and its 95 % interval, percent.
fn change_of(of: Option<Estimate>) -> [Value; 3] {
    let interval = of.and_then(|of| of.interval_pct());
    [of.map(|of| of.change_pct()), interval.map(|of| of.0), interval.map(|of| of.1)].map(real)
}
