//! Arms compared by layer and zoom of a map: at which zoom a difference arises.
//!
//! The mean service time of a tile is compared, or the median where a few requests rule a mean. Means of rounds are paired like throughput. A slow zoom gets
//! few requests, so few requests are compared too: their interval is wide, and their range is kept.

mod outliers;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use spec::plan::ByHand;
use spec::{ExperimentRecord, OrderScheme, Run, same_layers};
use stats::{Better, Estimate, Verdict};

pub use requests::{LayerAtZoom, PlaceRequests, Which, layers, requests};

use super::pairs::{Cell, by_cell_and_arm};
use super::sets;

/// Requests of an arm, all rounds together, below which its times at a zoom are reported as a range.
pub const FEW: u64 = 20;
/// Requests of each arm below which a round is not compared, if enough other rounds have as many.
const FEW_OF_ROUND: u64 = 5;
/// Rounds that are enough.
const ROUNDS: usize = 2;

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
    /// Shortest and longest service time of the base and of the arm, ns; `None` without requests.
    pub ranges_ns: [Option<(u64, u64)>; 2],
    /// ln(new / base) of the mean service times of each pair, by round.
    pub differences: BTreeMap<u32, f64>,
    /// Change of the mean service time, adjusted for all layers and zooms that are judged together; `None`
    /// if no round has requests of both arms.
    pub mean: Option<Estimate>,
    /// Change of the median service time; `None` as above.
    pub median: Option<Estimate>,
    /// Whether a few slow requests rule a mean, so that medians are judged.
    pub by_median: bool,
    pub verdict: Verdict,
}

impl ZoomComparison {
    /// The reason for a missing figure: `no request`; `None` with a figure.
    #[must_use]
    pub fn why_none(&self) -> Option<&'static str> {
        self.mean.is_none().then_some(match self.requests {
            [0, 0] => "no request",
            [0, _] => "no request of the base",
            [_, 0] => "no request of the arm",
            _ => "no round with requests of both",
        })
    }

    /// The change that is judged: of means, or of medians where a few requests rule a mean.
    #[must_use]
    pub fn judged(&self) -> Option<Estimate> {
        if self.by_median { self.median } else { self.mean }
    }

    /// Whether an arm has few requests.
    #[must_use]
    pub fn is_few(&self) -> bool {
        self.requests.iter().any(|requests| *requests < FEW)
    }

    /// Whether all requests of one arm took longer than all of the other.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        let [Some((least, most)), Some((other_least, other_most))] = self.ranges_ns else { return false };
        most < other_least || other_most < least
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
        let least = self.fewest_of_round(&old, &new);
        let values = |side: &BTreeMap<u32, &PlaceRequests>,
                      of: fn(&PlaceRequests) -> Option<f64>|
         -> BTreeMap<u32, f64> {
            let counted = side.iter().filter(|(_, own)| own.requests >= least);
            counted.filter_map(|(round, own)| Some((*round, of(own).filter(|ns| *ns > 0.0)?))).collect()
        };
        let estimate =
            |of: fn(&PlaceRequests) -> Option<f64>| self.estimate(&values(&old, of), &values(&new, of));
        let mean = |own: &PlaceRequests| own.service.mean_ns();
        let estimated = estimate(mean);
        let median = match self.sliced {
            true => None,
            false => estimate(|own| own.service.quantile_ns(0.5).map(|ns| ns as f64)),
        };
        let has_outliers = [&old, &new].into_iter().any(outliers::rule_the_mean);
        Some(ZoomComparison {
            cell: self.cell.clone(),
            arm: self.arm.to_owned(),
            place,
            of_base,
            layer: layer?,
            base_layer: base_layer?,
            requests,
            ranges_ns: [&old, &new].map(range_ns),
            differences: differences(&values(&old, mean), &values(&new, mean)),
            mean: estimated,
            by_median: median.is_some() && has_outliers,
            median,
            verdict: Verdict::Invalid,
        })
    }

    /// Requests that a round needs: a few if enough rounds have them, otherwise one.
    fn fewest_of_round(
        &self,
        old: &BTreeMap<u32, &PlaceRequests>,
        new: &BTreeMap<u32, &PlaceRequests>,
    ) -> u64 {
        let has_few = |own: Option<&&PlaceRequests>| own.is_some_and(|own| own.requests >= FEW_OF_ROUND);
        let rounds =
            |side: &BTreeMap<u32, &PlaceRequests>| side.values().filter(|own| has_few(Some(own))).count();
        let enough = match self.paired {
            true => old.iter().filter(|(round, own)| has_few(Some(own)) && has_few(new.get(round))).count(),
            false => rounds(old).min(rounds(new)),
        };
        if enough >= ROUNDS { FEW_OF_ROUND } else { 1 }
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

fn range_ns(side: &BTreeMap<u32, &PlaceRequests>) -> Option<(u64, u64)> {
    let ranges = side.values().filter_map(|own| own.range_ns());
    ranges.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

fn differences(old: &BTreeMap<u32, f64>, new: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    old.iter().filter_map(|(round, old)| Some((*round, (new.get(round)? / old).ln()))).collect()
}

fn judge(compared: &mut [ZoomComparison], experiment: &ExperimentRecord) {
    let has_interval =
        |own: &&ZoomComparison| own.judged().is_some_and(|judged| judged.standard_error.is_some());
    // Zooms with few requests do not widen the intervals of others.
    let lines = [false, true]
        .map(|few| compared.iter().filter(has_interval).filter(|own| few || !own.is_few()).count());
    for own in compared {
        let lines = lines[usize::from(own.is_few())];
        own.mean = own.mean.map(|mean| mean.among(lines));
        if own.by_median {
            own.median = own.median.map(|median| median.among(lines));
        }
        let Some(judged) = own.judged() else { continue };
        let verdict = stats::verdict(&judged, experiment.margin, Better::Smaller);
        let is_apart = experiment.order_scheme == OrderScheme::Apart;
        own.verdict = if is_apart { verdict.measured_apart() } else { verdict };
    }
}

#[cfg(test)]
mod tests;
