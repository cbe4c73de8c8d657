//! Arms compared by layer and zoom of a map: at which zoom a difference arises.
//!
//! The mean service time of a tile is compared. Means of rounds are paired like throughput; a zoom with too
//! few requested tiles has no figure.

mod requests;

use std::collections::{BTreeMap, BTreeSet};

use spec::plan::ByHand;
use spec::{ExperimentRecord, OrderScheme, Run, same_layers};
use stats::{Better, Estimate, Verdict};

pub use requests::{LayerAtZoom, PlaceRequests, Which, layers, requests};

use super::pairs::{Cell, by_cell_and_arm};
use super::sets;

/// Requests of an arm, all rounds together, below which its times at a zoom are not reported.
pub const FEWEST: u64 = 20;
/// Requests of each arm below which a round is not compared.
const FEWEST_OF_ROUND: u64 = 5;

/// A layer and zoom of a cell, in an arm against the base.
#[derive(Debug, Clone)]
pub struct ZoomComparison {
    pub cell: Cell,
    pub arm: String,
    pub place: LayerAtZoom,
    pub of_base: LayerAtZoom,
    pub layer: String,
    pub base_layer: String,
    /// Requests of the base and of the arm, all rounds together.
    pub requests: [u64; 2],
    /// ln(new / base) of the mean service times of each pair, by round.
    pub differences: BTreeMap<u32, f64>,
    /// Change of the mean service time, adjusted for all layers and zooms that are judged together; `None`
    /// with too few tiles.
    pub mean: Option<Estimate>,
    /// Change of the median service time; `None` as above.
    pub median: Option<Estimate>,
    pub verdict: Verdict,
}

impl ZoomComparison {
    /// The reason for a missing figure: `fewer than 20 requests`; `None` with a figure.
    #[must_use]
    pub fn why_none(&self) -> Option<String> {
        let few = self.requests.iter().any(|requests| *requests < FEWEST);
        self.mean.is_none().then(|| match few {
            true => format!("fewer than {FEWEST} requests"),
            false => format!("no round with {FEWEST_OF_ROUND} requests of both arms"),
        })
    }

    /// `old.sql → new.sql`, or the layer's name if both arms use the same.
    #[must_use]
    pub fn layers(&self) -> String {
        if self.layer == self.base_layer {
            self.layer.clone()
        } else {
            format!("{} → {}", self.base_layer, self.layer)
        }
    }
}

type Rounds = BTreeMap<u32, BTreeMap<LayerAtZoom, PlaceRequests>>;

/// Every other arm against the base, by cell, arm in file order, layer and zoom; empty if nothing is
/// compared or no map was requested. Invalid runs are left out, with their whole pair.
#[must_use]
pub fn zooms(experiment: &ExperimentRecord, runs: &[Run]) -> Vec<ZoomComparison> {
    let Some(base) = &experiment.base else { return Vec::new() };
    let runs = by_cell_and_arm(runs);
    let mut found = Vec::new();
    for ((cell, _), of_base) in runs.iter().filter(|((_, arm), _)| arm.as_ref() == Some(base)) {
        for arm in experiment.arms.iter().filter(|arm| arm.name != *base) {
            let Some(of_arm) = runs.get(&(cell.clone(), Some(arm.name.clone()))) else { continue };
            let sliced = of_base.iter().chain(of_arm).any(|run| run.is_sliced());
            let sides = Sides {
                cell,
                arm: &arm.name,
                paired: experiment.is_interleaved(),
                by_hand: sets::by_hand(experiment),
                sliced,
            };
            found.extend(sides.compare(of_base, of_arm));
        }
    }
    judge(&mut found, experiment);
    found
}

struct Sides<'a> {
    cell: &'a Cell,
    arm: &'a str,
    paired: bool,
    by_hand: Option<ByHand>,
    /// Whether times are from slices, whose quantiles are not compared.
    sliced: bool,
}

impl Sides<'_> {
    fn compare(&self, base: &[&Run], arm: &[&Run]) -> Vec<ZoomComparison> {
        let [Some(first), Some(other)] = [base, arm].map(|runs| runs.last()) else { return Vec::new() };
        let layers = same_layers(&layers(first), &layers(other));
        let [base, arm] =
            [base, arm].map(|runs| -> Rounds { runs.iter().map(|run| (run.round, requests(run))).collect() });
        let places: BTreeSet<LayerAtZoom> = arm.values().flat_map(|round| round.keys().copied()).collect();
        let of_base = |place: LayerAtZoom| Some(LayerAtZoom { layer: *layers.get(&place.layer)?, ..place });
        let pairs = places.into_iter().filter_map(|place| Some((of_base(place)?, place)));
        pairs.filter_map(|pair| self.compare_one(pair, (&base, &arm))).collect()
    }

    fn compare_one(
        &self,
        (of_base, place): (LayerAtZoom, LayerAtZoom),
        (base, arm): (&Rounds, &Rounds),
    ) -> Option<ZoomComparison> {
        let [old, new] =
            [(base, of_base), (arm, place)].map(|(rounds, place)| -> BTreeMap<u32, &PlaceRequests> {
                rounds.iter().filter_map(|(round, places)| Some((*round, places.get(&place)?))).collect()
            });
        let [base_layer, layer] = [&old, &new].map(|side| side.values().next().map(|own| own.layer.clone()));
        let requests = [&old, &new].map(|side| side.values().map(|own| own.requests).sum::<u64>());
        let enough = requests.iter().all(|requests| *requests >= FEWEST);
        let values = |side: &BTreeMap<u32, &PlaceRequests>,
                      of: fn(&PlaceRequests) -> Option<f64>|
         -> BTreeMap<u32, f64> {
            let counted = side.iter().filter(|(_, own)| enough && own.requests >= FEWEST_OF_ROUND);
            counted.filter_map(|(round, own)| Some((*round, of(own).filter(|ns| *ns > 0.0)?))).collect()
        };
        let estimate =
            |of: fn(&PlaceRequests) -> Option<f64>| self.estimate(&values(&old, of), &values(&new, of));
        let mean = |own: &PlaceRequests| own.service.mean_ns();
        let estimated = estimate(mean);
        Some(ZoomComparison {
            cell: self.cell.clone(),
            arm: self.arm.to_owned(),
            place,
            of_base,
            layer: layer?,
            base_layer: base_layer?,
            requests,
            differences: differences(&values(&old, mean), &values(&new, mean)),
            mean: estimated,
            median: match self.sliced {
                true => None,
                false => estimate(|own| own.service.quantile_ns(0.5).map(|ns| ns as f64)),
            },
            verdict: Verdict::Invalid,
        })
    }

    fn estimate(&self, old: &BTreeMap<u32, f64>, new: &BTreeMap<u32, f64>) -> Option<Estimate> {
        if self.paired {
            return stats::paired(&differences(old, new).into_values().collect::<Vec<f64>>());
        }
        if let Some(by_hand) = self.by_hand {
            return sets::change(&[&[old, new].map(|side| sets::logs(side, by_hand))]);
        }
        let all = |side: &BTreeMap<u32, f64>| side.values().copied().collect::<Vec<f64>>();
        if old.is_empty() || new.is_empty() { None } else { stats::welch(&all(old), &all(new)) }
    }
}

fn differences(old: &BTreeMap<u32, f64>, new: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    old.iter().filter_map(|(round, old)| Some((*round, (new.get(round)? / old).ln()))).collect()
}

fn judge(compared: &mut [ZoomComparison], experiment: &ExperimentRecord) {
    let has_interval = |own: &&ZoomComparison| own.mean.is_some_and(|mean| mean.standard_error.is_some());
    let lines = compared.iter().filter(has_interval).count();
    for own in compared {
        let Some(mean) = &mut own.mean else { continue };
        *mean = mean.among(lines);
        let verdict = stats::verdict(mean, experiment.margin, Better::Smaller);
        let is_apart = experiment.order_scheme == OrderScheme::Apart;
        own.verdict = if is_apart { verdict.measured_apart() } else { verdict };
    }
}

#[cfg(test)]
mod tests;
