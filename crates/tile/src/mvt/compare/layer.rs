//! Matches the features of a layer on both sides: certain pairs first, so that weaker criteria apply only to
//! the rest.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::Difference;
use super::distance::DistanceBudget;
use super::features::{KeyedFeature, known};
use super::identity::{Identity, Key};
use super::matching::{MatchItem, distance, pairs};
use crate::mvt::Layer;

/// Which features may match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Partners {
    Alike,
    Any,
}

impl Partners {
    /// Features with different keys never match.
    fn key(self, known: &KeyedFeature<'_>) -> u64 {
        if self == Self::Alike { known.attributes } else { 0 }
    }
}

struct Side<'a> {
    features: Vec<KeyedFeature<'a>>,
    /// Features without a partner that may have one.
    left: Vec<bool>,
}

/// The own features and those of the base, while pairs are found. Pairs of values are arrays in this order.
struct Search<'a, 'w> {
    sides: [Side<'a>; 2],
    tolerance: f64,
    work: &'w mut DistanceBudget,
    found: Difference,
}

pub(super) fn layer_difference(
    here: &[&Layer],
    there: &[&Layer],
    tolerance: f64,
    work: &mut DistanceBudget,
) -> Difference {
    let sides = [here, there].map(Side::new);
    let [here, there] = [0, 1].map(|side| sides[side].features.len() as u64);
    let found = Difference { here, there, ..Difference::default() };
    Search { sides, tolerance, work, found }.run()
}

impl<'a> Side<'a> {
    fn new(layers: &[&'a Layer]) -> Self {
        let features = known(layers);
        Self { left: vec![true; features.len()], features }
    }

    fn left(&self) -> impl Iterator<Item = (usize, &KeyedFeature<'a>)> {
        self.features.iter().enumerate().filter(move |(number, _)| self.left[*number])
    }

    fn whole(&self, partners: Partners) -> Vec<MatchItem> {
        let item = |(number, known): (usize, &KeyedFeature<'_>)| MatchItem {
            shape: known.shape(),
            key: partners.key(known),
            attributes: known.attributes,
            feature: number,
            is_searched: true,
        };
        self.left().map(item).collect()
    }

    fn parts(&self, partners: Partners) -> Vec<MatchItem> {
        let of_feature = |(number, known): (usize, &KeyedFeature<'_>)| -> Vec<MatchItem> {
            let item = |part: &[Vec<(i32, i32)>]| MatchItem {
                shape: known.shape_of(part),
                key: partners.key(known),
                attributes: known.attributes,
                feature: number,
                // Two features of one part each were compared as a whole.
                is_searched: known.has_several_parts(),
            };
            known.feature.parts.chunks(1).map(item).collect()
        };
        self.left().flat_map(of_feature).collect()
    }

    /// Features all of whose parts are in `parts`; `name` gives the feature of each part.
    fn complete(&self, parts: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut found = vec![0; self.features.len()];
        parts.for_each(|feature| found[feature] += 1);
        let is_complete =
            |(found, known): (usize, &KeyedFeature<'_>)| found > 0 && found == known.feature.parts.len();
        found.into_iter().zip(&self.features).map(is_complete).collect()
    }
}

impl Search<'_, '_> {
    fn run(mut self) -> Difference {
        let sides = [0, 1].map(|side| self.sides[side].features.as_slice());
        if let Some(identity) = Identity::of(sides) {
            self.by_identity(identity);
        }
        self.whole(Partners::Alike);
        let compared_all = !self.work.gave_up;
        self.by_parts(Partners::Alike);
        if compared_all {
            self.moved_with_attributes_of_their_own();
        }
        self.whole(Partners::Any);
        self.by_parts(Partners::Any);
        if !self.work.gave_up {
            self.moved_among_many();
        }
        let found = &mut self.found;
        found.only_here = found.here - found.matched - found.by_parts_here - found.moved;
        found.only_there = found.there - found.matched - found.by_parts_there - found.moved;
        found.gave_up = self.work.gave_up;
        self.found
    }

    fn take(&mut self, pair: [usize; 2]) {
        for (side, feature) in self.sides.iter_mut().zip(pair) {
            side.left[feature] = false;
        }
    }

    fn of_pair(&self, pair: [usize; 2]) -> [&KeyedFeature<'_>; 2] {
        [&self.sides[0].features[pair[0]], &self.sides[1].features[pair[1]]]
    }

    fn has_other_attributes(&self, pair: [usize; 2]) -> bool {
        let [own, base] = self.of_pair(pair);
        own.attributes != base.attributes
    }

    fn matched(&mut self, pair: [usize; 2], distance: f64) {
        self.take(pair);
        self.found.matched += 1;
        self.found.attributes_differ += u64::from(self.has_other_attributes(pair));
        let [own, base] = self.of_pair(pair).map(|known| known.feature.id);
        self.found.ids_differ += u64::from(own != base);
        self.found.farthest_px = self.found.farthest_px.max(distance);
    }

    fn moved(&mut self, pair: [usize; 2]) {
        self.take(pair);
        self.found.moved += 1;
    }

    /// Whole features in the same place.
    fn whole(&mut self, partners: Partners) {
        let [own, base] = [0, 1].map(|side| self.sides[side].whole(partners));
        let found = pairs(&own, &base, self.tolerance, self.work);
        for pair in found {
            self.matched([own[pair.own].feature, base[pair.base].feature], pair.distance);
        }
    }

    /// Features all of whose parts are parts of others. With the same attributes the other features must be
    /// complete too: they were joined or split, otherwise one of them has changed.
    fn by_parts(&mut self, partners: Partners) {
        if !self.sides.iter().any(|side| side.left().any(|(_, known)| known.has_several_parts())) {
            return;
        }
        let [own, base] = [0, 1].map(|side| self.sides[side].parts(partners));
        let found = pairs(&own, &base, self.tolerance, self.work);
        let links: Vec<([usize; 2], f64)> = found
            .into_iter()
            .map(|pair| ([own[pair.own].feature, base[pair.base].feature], pair.distance))
            .collect();
        let mut complete =
            [0, 1].map(|side| self.sides[side].complete(links.iter().map(|(both, _)| both[side])));
        if partners == Partners::Alike {
            drop_joined_to_incomplete(&mut complete, &links);
        }
        let mut differ = vec![false; complete[0].len()];
        for &(both, distance) in &links {
            differ[both[0]] |= self.has_other_attributes(both);
            if complete[0][both[0]] || complete[1][both[1]] {
                self.found.farthest_px = self.found.farthest_px.max(distance);
            }
        }
        let number = |those: &[bool]| those.iter().filter(|&&counts| counts).count() as u64;
        self.found.by_parts_here += number(&complete[0]);
        self.found.by_parts_there += number(&complete[1]);
        differ.iter_mut().zip(&complete[0]).for_each(|(differ, &complete)| *differ &= complete);
        self.found.attributes_differ += number(&differ);
        for (side, complete) in self.sides.iter_mut().zip(&complete) {
            side.left.iter_mut().zip(complete).for_each(|(left, &complete)| *left &= !complete);
        }
    }

    /// Features with the same id, in any place. What the other side lacks has no partner, except one in its
    /// place with the same other attributes, which has another id.
    fn by_identity(&mut self, identity: Identity) {
        for pair in self.only_ones(|known| identity.key(known)) {
            let [own, base] = self.of_pair(pair).map(KeyedFeature::shape);
            match distance(&own, &base, self.tolerance, self.work) {
                Some(distance) => self.matched(pair, distance),
                None if self.work.gave_up => return,
                None => self.moved(pair),
            }
        }
        let [own, base] = [0, 1].map(|side| -> HashSet<Key> {
            self.sides[side].features.iter().filter_map(|known| identity.key(known)).collect()
        });
        let lone = [(0, &base), (1, &own)].map(|(side, others)| -> Vec<usize> {
            let lacks =
                |known: &KeyedFeature<'_>| identity.key(known).is_none_or(|key| !others.contains(&key));
            self.sides[side].left().filter(|(_, known)| lacks(known)).map(|(number, _)| number).collect()
        });
        for pair in self.with_another_id(identity, &lone) {
            self.matched(pair, 0.0);
        }
        for (side, lone) in self.sides.iter_mut().zip(lone) {
            let with_id = lone.into_iter().filter(|number| identity.key(&side.features[*number]).is_some());
            with_id.for_each(|number| side.left[number] = false);
        }
    }

    /// Of these features the pairs that are surely one feature: nothing else on either side has their shape and
    /// their attributes besides the id.
    fn with_another_id(&self, identity: Identity, lone: &[Vec<usize>; 2]) -> Vec<[usize; 2]> {
        if lone.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let mut places: HashMap<_, [Vec<usize>; 2]> = HashMap::new();
        for (side, Side { features, .. }) in self.sides.iter().enumerate() {
            for (number, known) in features.iter().enumerate().filter(|(_, known)| identity.is_telling(known))
            {
                places.entry((known.shape(), identity.rest(known))).or_default()[side].push(number);
            }
        }
        let pairs = places.into_values().filter_map(|numbers| match &numbers.each_ref().map(Vec::as_slice) {
            [[own], [base]] if lone[0].contains(own) && lone[1].contains(base) => Some([*own, *base]),
            _ => None,
        });
        pairs.collect()
    }

    /// Features whose attributes are unique: they have moved, or they would have been found.
    fn moved_with_attributes_of_their_own(&mut self) {
        for pair in self.only_ones(|known| Some(known.description())) {
            self.moved(pair);
        }
    }

    /// Pairs of remaining features, each the only one with its key on its side, including those with a
    /// partner.
    fn only_ones<K: Hash + Eq>(&self, key: impl Fn(&KeyedFeature<'_>) -> Option<K>) -> Vec<[usize; 2]> {
        let mut keys: HashMap<K, [Vec<usize>; 2]> = HashMap::new();
        for (side, Side { features, .. }) in self.sides.iter().enumerate() {
            for (number, known) in features.iter().enumerate() {
                if let Some(key) = key(known) {
                    keys.entry(key).or_default()[side].push(number);
                }
            }
        }
        let mut found: Vec<[usize; 2]> = keys
            .into_values()
            .filter_map(|[own, base]| match (&own[..], &base[..]) {
                (&[own], &[base]) => Some([own, base]),
                _ => None,
            })
            .filter(|&[own, base]| self.sides[0].left[own] && self.sides[1].left[base])
            .collect();
        found.sort_unstable();
        found
    }

    /// Among features with shared attributes, as many as there are on both sides. This comes last and only
    /// counts: it does not decide which is which.
    fn moved_among_many(&mut self) {
        let mut numbers: HashMap<_, [u64; 2]> = HashMap::new();
        for (side, features) in self.sides.iter().enumerate() {
            for (_, known) in features.left() {
                numbers.entry(known.description()).or_default()[side] += 1;
            }
        }
        self.found.moved += numbers.into_values().map(|[own, base]| own.min(base)).sum::<u64>();
    }
}

/// A feature is not complete if it shares a part with an incomplete one; repeated until nothing changes.
fn drop_joined_to_incomplete(complete: &mut [Vec<bool>; 2], links: &[([usize; 2], f64)]) {
    let mut joined: [HashMap<usize, Vec<usize>>; 2] = Default::default();
    for &([own, base], _) in links {
        joined[0].entry(own).or_default().push(base);
        joined[1].entry(base).or_default().push(own);
    }
    let mut incomplete: Vec<(usize, usize)> = Vec::new();
    for (side, features) in joined.iter().enumerate() {
        incomplete
            .extend(features.keys().map(|&feature| (side, feature)).filter(|&(_, at)| !complete[side][at]));
    }
    while let Some((side, feature)) = incomplete.pop() {
        for &other in joined[side].get(&feature).into_iter().flatten() {
            if std::mem::replace(&mut complete[1 - side][other], false) {
                incomplete.push((1 - side, other));
            }
        }
    }
}
