//! Requests of runs for a map: by layer and zoom, from their scripts.

use std::collections::BTreeMap;

use spec::{MapPart, Run, TileProbe, TileSample, figures};
use stats::Histogram;

/// Answers by whether a cache returned them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    All,
    Hits,
    Misses,
}

/// A layer at a zoom. The layer is its place among the run's, not its name, which may differ between arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerAtZoom {
    /// From 0, in the order of the workload.
    pub layer: usize,
    /// `None` if its tiles have none.
    pub zoom: Option<u8>,
    pub which: Which,
}

/// Requests for one of them, over one run or several of an arm.
#[derive(Debug, Clone, Default)]
pub struct PlaceRequests {
    pub layer: String,
    /// Completed transactions, in time or late: a tile each, or a view.
    pub requests: u64,
    pub tiles: u64,
    pub failed: u64,
    /// Of `requests`, the non-empty ones; `None` if not counted.
    pub filled: Option<u64>,
    /// Their total length as received; `None` if not counted.
    pub bytes: Option<u64>,
    /// From each request to its answer.
    pub service: Histogram,
    /// Contents of the tiles of a sample; the same sample in each round, which counts once.
    pub sample: Option<TileSample>,
    /// Times of a few tiles before the measured part, in the first of the runs that has some.
    pub probe: Option<TileProbe>,
}

impl PlaceRequests {
    /// Share of empty answers, 0..=1; `None` without answers.
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        let filled = self.filled.filter(|_| self.tiles > 0)?;
        Some(self.tiles.saturating_sub(filled) as f64 / self.tiles as f64)
    }

    /// Mean length of a tile as received, bytes; `None` without answers.
    #[must_use]
    pub fn bytes_per_tile(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|_| self.tiles > 0)?;
        Some(bytes as f64 / self.tiles as f64)
    }

    /// Adds another run of the arm.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tiles += other.tiles;
        self.failed += other.failed;
        self.filled = sum(self.filled, other.filled);
        self.bytes = sum(self.bytes, other.bytes);
        self.service.add(&other.service);
        if self.sample.is_none() {
            self.sample.clone_from(&other.sample);
        }
        if self.probe.is_none() {
            self.probe.clone_from(&other.probe);
        }
    }

    /// Adds another script of the same run, which has other tiles.
    fn add_script(&mut self, run: &Run, position: usize) {
        let script = &run.scripts[position];
        let counts = &script.counts;
        let came = counts.count(figures::OK) + counts.count(figures::LATE);
        self.requests += came;
        // A view has a query for each tile; behind a cache a missing tile has two, and is one.
        let is_cached = script.part.as_ref().is_some_and(|part| part.cached.is_some());
        self.tiles += match counts.get(figures::QUERIES) {
            Some(queries) if !is_cached => queries.max(came),
            _ => came,
        };
        self.failed += counts.count(figures::FAILED);
        self.filled = sum(self.filled, counts.get(figures::ROWS));
        self.bytes = sum(self.bytes, counts.get(figures::BYTES));
        self.service.add(&script.service);
        // Hits and misses are of the same tiles: their sample counts once.
        let counts_again = is_cached && self.sample.is_some();
        let samples = run.tile_samples.iter().filter(|sample| sample.script as usize == position);
        for sample in samples.filter(|_| !counts_again) {
            self.sample.get_or_insert_with(TileSample::default).add(sample);
        }
        for probe in run.tile_probes.iter().filter(|probe| probe.script as usize == position) {
            match &mut self.probe {
                Some(sum) => sum.add(probe),
                None => self.probe = Some(probe.clone()),
            }
        }
    }

    /// Shortest and longest service time, ns; `None` without requests.
    #[must_use]
    pub fn range_ns(&self) -> Option<(u64, u64)> {
        self.service.min_ns().zip(self.service.max_ns())
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// Layers of a run in the order of its scripts; empty if it requested no map.
#[must_use]
pub fn layers(run: &Run) -> Vec<&str> {
    let mut layers: Vec<&str> = Vec::new();
    for part in run.scripts.iter().filter_map(|script| script.part.as_ref()) {
        if !layers.contains(&part.layer.as_str()) {
            layers.push(&part.layer);
        }
    }
    layers
}

/// Requests of a run for each layer and zoom; with a cache, hits and misses separately, too.
#[must_use]
pub fn requests(run: &Run) -> BTreeMap<LayerAtZoom, PlaceRequests> {
    let layers = layers(run);
    let mut found: BTreeMap<LayerAtZoom, PlaceRequests> = BTreeMap::new();
    let parts = run.scripts.iter().enumerate().filter_map(|(at, script)| Some((at, script.part.as_ref()?)));
    for (position, part) in parts {
        let Some(layer) = layers.iter().position(|layer| *layer == part.layer) else { continue };
        for which in which(part) {
            let own = found.entry(LayerAtZoom { layer, zoom: part.zoom, which }).or_default();
            own.layer.clone_from(&part.layer);
            own.add_script(run, position);
        }
    }
    found
}

fn which(part: &MapPart) -> impl Iterator<Item = Which> {
    let apart = part.cached.map(|cached| if cached { Which::Hits } else { Which::Misses });
    [Some(Which::All), apart].into_iter().flatten()
}
