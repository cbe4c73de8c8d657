//! Tiles by layer and zoom: the time of each, its share of all time, and the change against the base.

mod few;
mod names;
mod single;
mod table;
mod words;

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::comparison::zooms::{LayerAtZoom, PlaceRequests, Which, ZoomComparison, requests, zooms};
use spec::{Run, TileProbe, TileSample, Validity};

pub(crate) use self::few::remarks;
pub use self::single::{MOST_OF_ARM, MOST_TILES, slowest_of_arms, slowest_tiles, tile};
pub(crate) use self::table::{in_words, lines_by_place};
pub use self::table::{tiles, tiles_in_words};
pub(crate) use self::words::{answers, are_views, caveats, summary, void_quads};
use crate::numbers;
use results::ReportData;

#[derive(Debug, Clone)]
pub(crate) struct ZoomFigures {
    pub(crate) place: LayerAtZoom,
    pub(crate) layer: String,
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    /// Of the requests of all layers and zooms, 0..=1; `None` without requests.
    pub(crate) tiles_share: Option<f64>,
    /// Of the time of all layers and zooms, 0..=1.
    pub(crate) time_share: Option<f64>,
    /// Service times; `None` without requests, percentiles also with too few.
    pub(crate) mean_ns: Option<f64>,
    pub(crate) range_ns: Option<(u64, u64)>,
    pub(crate) p50_ns: Option<f64>,
    pub(crate) p95_ns: Option<f64>,
    pub(crate) p99_ns: Option<f64>,
    /// Least and most of the means of rounds; `None` for a single round.
    pub(crate) rounds_ns: Option<(f64, f64)>,
    pub(crate) bytes: Option<f64>,
    /// Share of empty tiles, 0..=1.
    pub(crate) empty: Option<f64>,
    pub(crate) sample: Option<TileSample>,
    pub(crate) probe: Option<TileProbe>,
}

impl ZoomFigures {
    /// `z12`, with hits or misses.
    pub(crate) fn zoom(&self) -> String {
        zoom(self.place)
    }

    /// In a tile of the sample on average.
    pub(crate) fn features(&self) -> Option<String> {
        let sample = self.sample.as_ref()?;
        Some(numbers::figure_text(sample.per_tile(sample.features_out?)))
    }
}

pub(crate) fn zoom(place: LayerAtZoom) -> String {
    let zoom = place.zoom.map_or_else(|| "no zoom".to_owned(), |zoom| format!("z{zoom}"));
    match place.which {
        Which::All => zoom,
        Which::Hits => format!("{zoom}, hits"),
        Which::Misses => format!("{zoom}, misses"),
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ZoomsOfArm {
    pub(crate) arm: Option<String>,
    pub(crate) zooms: Vec<ZoomFigures>,
    pub(crate) sliced: bool,
}

/// A cell: the figures of its arms, the base first, and the changes.
#[derive(Debug, Clone)]
pub(crate) struct ZoomsOfCell {
    pub(crate) cell: Cell,
    pub(crate) base: Option<String>,
    pub(crate) margin: f64,
    pub(crate) arms: Vec<ZoomsOfArm>,
    pub(crate) changes: Vec<ZoomComparison>,
}

impl ZoomsOfCell {
    /// All runs that requested a map, in the order of cells.
    pub(crate) fn all(data: &ReportData) -> Vec<Self> {
        let mut arms = data.arms();
        arms.sort_by_key(|arm| *arm != data.base());
        let mut runs: BTreeMap<Cell, BTreeMap<usize, Vec<&Run>>> = BTreeMap::new();
        for run in data.grid_runs().chain(data.runs_beside()).filter(|run| is_of_map(run)) {
            if run.validity == Validity::Invalid {
                continue;
            }
            let arm = arms.iter().position(|arm| run.arm.as_deref() == *arm).unwrap_or(0);
            runs.entry(Cell::of(run)).or_default().entry(arm).or_default().push(run);
        }
        // Trials at single rates are not compared as cells.
        let compares = !runs.is_empty() && data.limits().is_none();
        let mut changes = if compares { zooms(&data.experiment, &data.runs) } else { Vec::new() };
        let one = |(cell, arms): (Cell, BTreeMap<usize, Vec<&Run>>)| {
            let (of_cell, others) =
                std::mem::take(&mut changes).into_iter().partition(|own| own.cell == cell);
            changes = others;
            Self {
                base: data.base().filter(|_| data.compares()).map(str::to_owned),
                margin: data.experiment.margin,
                arms: arms.into_values().map(|runs| ZoomsOfArm::of(&runs)).collect(),
                changes: of_cell,
                cell,
            }
        };
        runs.into_iter().map(one).collect()
    }

    /// The change at a layer and zoom of an arm; `None` for the base.
    pub(crate) fn change(&self, arm: Option<&str>, place: LayerAtZoom) -> Option<&ZoomComparison> {
        self.changes.iter().find(|change| Some(change.arm.as_str()) == arm && change.place == place)
    }

    /// Its layers by their place: `old.sql → new.sql` if arms have several names for one.
    pub(crate) fn layers(&self) -> Vec<String> {
        let mut layers: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for arm in &self.arms {
            for zoom in &arm.zooms {
                let names = layers.entry(self.layer_of_base(arm, zoom.place)).or_default();
                if !names.contains(&zoom.layer.as_str()) {
                    names.push(&zoom.layer);
                }
            }
        }
        layers.into_values().map(|names| names.join(" → ")).collect()
    }

    /// Place of that layer in the base; the layer's place in the arm if the base lacks it.
    pub(crate) fn layer_of_base(&self, arm: &ZoomsOfArm, place: LayerAtZoom) -> usize {
        let known = self
            .changes
            .iter()
            .find(|change| Some(&change.arm) == arm.arm.as_ref() && change.place.layer == place.layer);
        known.map_or(place.layer, |change| change.of_base.layer)
    }
}

impl ZoomsOfArm {
    fn of(runs: &[&Run]) -> Self {
        let rounds: Vec<BTreeMap<LayerAtZoom, PlaceRequests>> =
            runs.iter().map(|run| requests(run)).collect();
        let mut sums: BTreeMap<LayerAtZoom, PlaceRequests> = BTreeMap::new();
        for (place, own) in rounds.iter().flatten() {
            let sum = sums.entry(*place).or_default();
            sum.layer.clone_from(&own.layer);
            sum.add(own);
        }
        let whole = || sums.iter().filter(|(place, _)| place.which == Which::All).map(|(_, own)| own);
        let requests: u64 = whole().map(|own| own.requests).sum();
        let time: f64 = whole().map(time_ns).sum();
        let figures = |(place, own): (&LayerAtZoom, &PlaceRequests)| {
            let percentile = |q: f64| own.service.percentile_ns(q).map(|ns| ns as f64);
            ZoomFigures {
                place: *place,
                layer: own.layer.clone(),
                requests: own.requests,
                failed: own.failed,
                tiles_share: (own.requests > 0).then(|| own.requests as f64 / requests as f64),
                time_share: (own.requests > 0 && time > 0.0).then(|| time_ns(own) / time),
                mean_ns: own.service.mean_ns(),
                range_ns: own.range_ns(),
                p50_ns: percentile(0.5),
                p95_ns: percentile(0.95),
                p99_ns: percentile(0.99),
                rounds_ns: of_rounds(rounds.iter().filter_map(|round| round.get(place))),
                bytes: own.bytes_per_tile(),
                empty: own.empty_share(),
                sample: own.sample.clone(),
                probe: own.probe.clone(),
            }
        };
        Self {
            arm: runs.first().and_then(|run| run.arm.clone()),
            zooms: sums.iter().map(figures).collect(),
            sliced: runs.iter().any(|run| run.is_sliced()),
        }
    }
}

fn is_of_map(run: &Run) -> bool {
    run.scripts.iter().any(|script| script.part.is_some())
}

fn time_ns(own: &PlaceRequests) -> f64 {
    own.service.sum_ns() as f64
}

/// Least and most of the means of rounds, if there are several.
fn of_rounds<'a>(rounds: impl Iterator<Item = &'a PlaceRequests>) -> Option<(f64, f64)> {
    let means: Vec<f64> = rounds.filter_map(|own| own.service.mean_ns()).collect();
    let (least, most) =
        means.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), ns| (least.min(*ns), most.max(*ns)));
    (means.len() > 1).then_some((least, most))
}

#[cfg(test)]
pub(crate) mod tests;
