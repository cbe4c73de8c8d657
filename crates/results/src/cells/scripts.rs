//! Figures of each of several scripts of a workload in a cell and arm: all rounds together.

use std::collections::BTreeMap;

use spec::{Run, figures};
use stats::Histogram;

use crate::comparison::Summary;

/// One script (or layer of tiles) among several.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptFigures {
    pub name: String,
    pub weight: u32,
    /// Whether it requests a part of a map, which is reported by layer and zoom elsewhere.
    pub of_map: bool,
    /// Succeeded, in time or late.
    pub transactions: u64,
    /// Of all scripts' transactions, 0..=1.
    pub share: Option<f64>,
    pub tps: Option<f64>,
    pub failed: u64,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<u64>,
    pub p95_ns: Option<u64>,
    pub p99_ns: Option<u64>,
}

#[derive(Default)]
struct Gathered {
    name: String,
    weight: u32,
    of_map: bool,
    done: u64,
    failed: u64,
    tps: Vec<f64>,
    response: Histogram,
}

impl ScriptFigures {
    /// In the order of the workload; empty if it has only one script.
    #[must_use]
    pub fn of(runs: &[&Run]) -> Vec<Self> {
        if runs.iter().all(|run| run.scripts.len() < 2) {
            return Vec::new();
        }
        let mut all: BTreeMap<usize, Gathered> = BTreeMap::new();
        for run in runs {
            // By its share, so that the scripts add up to the run, in slices too.
            let per_transaction = run.tps().zip(Some(run.completed()));
            let per_transaction =
                per_transaction.filter(|(_, all)| *all > 0).map(|(tps, all)| tps / all as f64);
            for (position, script) in run.scripts.iter().enumerate() {
                let own = all.entry(position).or_default();
                let counts = &script.counts;
                let done = counts.count(figures::OK) + counts.count(figures::LATE);
                own.name.clone_from(&script.name);
                own.weight = script.weight;
                own.of_map = script.part.is_some();
                own.done += done;
                own.failed += counts.count(figures::FAILED);
                own.tps.extend(per_transaction.map(|each| each * script.completed() as f64));
                own.response.add(&script.response);
            }
        }
        let together: u64 = all.values().map(|own| own.done).sum();
        let figures = |own: Gathered| Self {
            share: (together > 0).then(|| own.done as f64 / together as f64),
            transactions: own.done,
            tps: own.tps.into_iter().collect::<Summary>().mean,
            failed: own.failed,
            mean_ns: own.response.mean_ns(),
            p50_ns: own.response.percentile_ns(0.5),
            p95_ns: own.response.percentile_ns(0.95),
            p99_ns: own.response.percentile_ns(0.99),
            name: own.name,
            of_map: own.of_map,
            weight: own.weight,
        };
        all.into_values().map(figures).collect()
    }
}
