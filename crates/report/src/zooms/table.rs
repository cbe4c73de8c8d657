//! Each layer and zoom of each arm, for programs and people.

use results::comparison::zooms::{Which, ZoomComparison};
use results::{CellValue, Table};
use spec::figures;
use stats::{Estimate, Verdict};

use super::{ZoomFigures, ZoomsOfArm, ZoomsOfCell};
use crate::compared::{self, Tone};
use crate::numbers::{self, real_cell};
use results::ReportData;
use results::data::{cell_text, levels};

const COLUMNS: [&str; 39] = [
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
    "p_adjusted",
    "p50_change_pct",
    "p50_low_pct",
    "p50_high_pct",
    "pairs",
    figures::FAILED.row().name,
    "sample_tiles",
    "sample_empty_pct",
    "sample_features_in",
    "sample_features_out",
    "sample_vertices",
    "sample_bytes",
    "few",
    "sliced",
    "min_us",
    "max_us",
    "probe_requests",
    "probe_us",
    "probe_max_us",
];
/// Columns that people see only if they have values.
const OPTIONAL: [&str; 8] =
    ["arm", "cached", "base_layer", "verdict", figures::FAILED.row().name, "few", "sliced", "zoom"];
/// One line per workload, cell, arm, layer, zoom and, behind a cache, hits or misses: service times of all
/// rounds together, shares of tiles and of time, contents of the tiles, and the change of mean and median
/// against the base, and what a probe before the run took. With a cache, lines without `cached` are hits and
/// misses together. With few requests `few` is set, and percentiles are missing.
#[must_use]
pub fn tiles(data: &ReportData) -> Table {
    let cells = ZoomsOfCell::all(data);
    let mut table = Table::new(COLUMNS);
    table.optional(OPTIONAL);
    cells.iter().flat_map(lines).for_each(|line| table.push(line.for_programs()));
    table
}

const IN_WORDS: [&str; 22] = [
    "cell",
    "arm",
    "layer",
    "zoom",
    "requests",
    "tiles_share_pct",
    "time_share_pct",
    "mean_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "max_us",
    "tile_bytes",
    "empty_pct",
    "features",
    "change of mean",
    "verdict",
    "few",
    "sliced",
    "sample",
    "sample_empty_pct",
    "vertices",
];
/// The same as [`OPTIONAL`], of these columns.
const OPTIONAL_IN_WORDS: [&str; 7] =
    ["arm", "p95_us", "p99_us", "change of mean", "verdict", "few", "sliced"];

/// The same for people: the most important columns, the change with its interval.
#[must_use]
pub fn tiles_in_words(data: &ReportData) -> Table {
    in_words(ZoomsOfCell::all(data).iter().flat_map(lines))
}

/// Terminals have no room for the means of the sample.
pub(crate) fn in_words<'a>(lines: impl IntoIterator<Item = ZoomLine<'a>>) -> Table {
    let mut table = Table::new(IN_WORDS);
    table.optional(OPTIONAL_IN_WORDS);
    table.hide(&IN_WORDS[19..]);
    lines.into_iter().for_each(|line| table.push(line.in_words()));
    table
}

pub(crate) struct ZoomLine<'a> {
    of: &'a ZoomsOfCell,
    own: &'a ZoomsOfArm,
    pub(crate) zoom: &'a ZoomFigures,
    change: Option<&'a ZoomComparison>,
}

fn lines(of: &ZoomsOfCell) -> impl Iterator<Item = ZoomLine<'_>> {
    let line = |own, zoom| ZoomLine { of, own, zoom, change: of.change(own.arm.as_deref(), zoom.place) };
    of.arms.iter().flat_map(move |own| own.zooms.iter().map(move |zoom| line(own, zoom)))
}

/// The arms of a layer and zoom next to each other.
pub(crate) fn lines_by_place(of: &ZoomsOfCell) -> Vec<ZoomLine<'_>> {
    let mut lines: Vec<ZoomLine<'_>> = lines(of).collect();
    lines.sort_by_key(|line| {
        let place = line.zoom.place;
        (of.layer_of_base(line.own, place), place.which, place.zoom)
    });
    lines
}

impl ZoomLine<'_> {
    fn requests(&self) -> [CellValue; 3] {
        let ZoomFigures { requests, tiles_share, time_share, .. } = self.zoom;
        [(*requests).into(), percent(*tiles_share), percent(*time_share)]
    }

    fn figures(&self) -> [CellValue; 6] {
        let zoom = self.zoom;
        let [mean, p50, p95, p99] =
            [zoom.mean_ns, zoom.p50_ns, zoom.p95_ns, zoom.p99_ns].map(|ns| real_cell(ns.map(|ns| ns / 1e3)));
        [mean, p50, p95, p99, real_cell(zoom.bytes), percent(zoom.empty)]
    }

    /// Shortest and longest time, and the probe's tiles, mean and longest time.
    fn extremes(&self) -> [CellValue; 5] {
        let ends = self.zoom.range_ns;
        let [least, most] = [ends.map(|ends| ends.0), ends.map(|ends| ends.1)]
            .map(|ns| real_cell(ns.map(|ns| ns as f64 / 1e3)));
        let probe = self.zoom.probe.as_ref();
        let [mean, longest] =
            [probe.map(|probe| probe.mean_us), probe.map(|probe| probe.max_us)].map(real_cell);
        [least, most, probe.map(|probe| probe.tiles).into(), mean, longest]
    }

    fn verdict(&self) -> CellValue {
        let judged = self.change.filter(|own| own.mean.is_some());
        judged.map(|own| compared::verdict(own.verdict, self.of.margin)).into()
    }

    fn class(&self, verdict: Verdict, mean: &Estimate) -> &'static str {
        Tone::of(verdict).cell_class(mean.change_pct(), self.of.margin * 300.0)
    }

    /// Of a tile of the sample on average.
    fn per_tile(&self, sum: Option<u64>) -> CellValue {
        real_cell(self.zoom.sample.as_ref().zip(sum).map(|(sample, sum)| sample.per_tile(sum)))
    }

    fn in_words(&self) -> Vec<CellValue> {
        let Self { of, own, zoom, change } = self;
        let said = |own: &ZoomComparison| match &own.judged() {
            Some(median) if own.by_median => {
                let text = format!("{} (median)", compared::change(median));
                CellValue::marked(text, self.class(own.verdict, median))
            }
            Some(mean) => CellValue::marked(compared::change(mean), self.class(own.verdict, mean)),
            None => own.why_none().unwrap_or_default().into(),
        };
        let head: [CellValue; 4] = [
            cell_text(&of.cell).into(),
            own.arm.clone().into(),
            zoom.layer.as_str().into(),
            zoom.zoom().into(),
        ];
        let sample = zoom.sample.as_ref();
        let tail: [CellValue; 8] = [
            zoom.features().into(),
            change.map_or_else(|| "".into(), said),
            self.verdict(),
            zoom.few_in_short().into(),
            numbers::sliced(own.sliced),
            sample.map(|sample| sample.tiles).into(),
            percent(sample.map(spec::TileSample::empty_share)),
            self.per_tile(sample.and_then(|sample| sample.vertices)),
        ];
        let [times @ .., bytes, empty] = self.figures();
        let figures = times.into_iter().chain([self.extremes()[1].clone(), bytes, empty]);
        head.into_iter().chain(self.requests()).chain(figures).chain(tail).collect()
    }

    fn for_programs(&self) -> Vec<CellValue> {
        let Self { of, own, zoom, change } = self;
        let cached = match zoom.place.which {
            Which::All => None,
            Which::Hits => Some("yes"),
            Which::Misses => Some("no"),
        };
        let sample = zoom.sample.as_ref();
        let few = zoom.few().is_some() || change.is_some_and(ZoomComparison::is_few);
        let [mean, median] = [|change: &ZoomComparison| change.mean, |change: &ZoomComparison| change.median]
            .map(|of: fn(&ZoomComparison) -> Option<Estimate>| change_of(change.and_then(of)));
        let head: [CellValue; 6] = [
            of.cell.workload.as_str().into(),
            levels(&of.cell).into(),
            own.arm.clone().into(),
            zoom.layer.as_str().into(),
            zoom.place.zoom.map(u64::from).into(),
            cached.into(),
        ];
        let base_layer = change.filter(|own| own.layer != own.base_layer).map(|own| own.base_layer.clone());
        let judged: [CellValue; 2] =
            [self.verdict(), real_cell(change.and_then(|own| own.judged()?.p_adjusted()))];
        let tail: [CellValue; 10] = [
            change.map(|own| own.differences.len() as u64).into(),
            zoom.failed.into(),
            sample.map(|sample| sample.tiles).into(),
            percent(sample.map(spec::TileSample::empty_share)),
            self.per_tile(sample.and_then(|sample| sample.features_in)),
            self.per_tile(sample.and_then(|sample| sample.features_out)),
            self.per_tile(sample.and_then(|sample| sample.vertices)),
            self.per_tile(sample.map(|sample| sample.bytes)),
            few.then_some("yes").into(),
            numbers::sliced(own.sliced),
        ];
        let figures = head.into_iter().chain(self.requests()).chain(self.figures());
        let figures = figures.chain([base_layer.into()]).chain(mean).chain(judged).chain(median);
        figures.chain(tail).chain(self.extremes()).collect()
    }
}

fn percent(share: Option<f64>) -> CellValue {
    real_cell(share.map(|share| share * 100.0))
}

/// Change and its 95 % interval, percent.
fn change_of(of: Option<Estimate>) -> [CellValue; 3] {
    let interval = of.and_then(|of| of.interval_pct());
    [of.map(|of| of.change_pct()), interval.map(|of| of.0), interval.map(|of| of.1)].map(real_cell)
}
