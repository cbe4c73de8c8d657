//! Matches two sets of items, independent of their order.

use std::collections::HashMap;

use super::distance::{DistanceBudget, within};
use super::shape::Shape;

#[derive(Debug)]
pub(super) struct MatchItem {
    pub(super) shape: Shape,
    pub(super) key: u64,
    /// Hash of the attributes: among equally near items, those with the same attributes match first.
    pub(super) attributes: u64,
    /// Index of the feature on its side.
    pub(super) feature: usize,
    /// Distances are computed only if one of both items has this.
    pub(super) is_searched: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) own: usize,
    pub(super) base: usize,
    pub(super) distance: f64,
}

/// Items with the same key and shape that have no partner yet.
struct MatchGroup<'a> {
    key: u64,
    shape: &'a Shape,
    is_searched: bool,
    members: Vec<usize>,
}

/// Pairs of items within the tolerance: identical ones first, then the nearest.
pub(super) fn pairs(
    own: &[MatchItem],
    base: &[MatchItem],
    tolerance: f64,
    work: &mut DistanceBudget,
) -> Vec<Pair> {
    let mut found = Vec::new();
    let (mut ours, _) = groups(own);
    let (mut theirs, places) = groups(base);
    for group in &mut ours {
        if let Some(&place) = places.get(&(group.key, group.shape)) {
            draw(&mut group.members, &mut theirs[place].members, own, base, 0.0, &mut found);
        }
    }
    ours.retain(|group| !group.members.is_empty());
    theirs.retain(|group| !group.members.is_empty());
    for (distance, our, their) in candidates(&ours, &theirs, tolerance, work) {
        let (ours, theirs) = (&mut ours[our].members, &mut theirs[their].members);
        if !ours.is_empty() && !theirs.is_empty() {
            if work.spend(ours.len() + theirs.len()).is_none() {
                break;
            }
            draw(ours, theirs, own, base, distance, &mut found);
        }
    }
    found
}

/// Index of the group of a key and a shape.
type GroupIndex<'a> = HashMap<(u64, &'a Shape), usize>;

/// Items by key and shape, in order of first occurrence; and the index of each group.
fn groups(items: &[MatchItem]) -> (Vec<MatchGroup<'_>>, GroupIndex<'_>) {
    let (mut groups, mut places) = (Vec::<MatchGroup<'_>>::new(), GroupIndex::new());
    for (number, item) in items.iter().enumerate() {
        let (key, shape) = (item.key, &item.shape);
        let place = *places.entry((key, shape)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(MatchGroup { key, shape, is_searched: false, members: Vec::new() });
        }
        groups[place].is_searched |= item.is_searched;
        groups[place].members.push(number);
    }
    (groups, places)
}

/// Pairs the members of two groups until one is empty, first those with the same attributes.
fn draw(
    ours: &mut Vec<usize>,
    theirs: &mut Vec<usize>,
    own: &[MatchItem],
    base: &[MatchItem],
    distance: f64,
    found: &mut Vec<Pair>,
) {
    let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
    theirs.iter().rev().for_each(|&number| alike.entry(base[number].attributes).or_default().push(number));
    ours.retain(|&our| {
        let their = alike.get_mut(&own[our].attributes).and_then(Vec::pop);
        let paired = their.map(|their| found.push(Pair { own: our, base: their, distance }));
        paired.is_none()
    });
    *theirs = alike.into_values().flatten().collect();
    theirs.sort_unstable();
    let others = ours.len().min(theirs.len());
    let both = ours.drain(..others).zip(theirs.drain(..others));
    found.extend(both.map(|(own, base)| Pair { own, base, distance }));
}

/// Groups that may match, with their distance, the nearest first.
fn candidates(
    ours: &[MatchGroup<'_>],
    theirs: &[MatchGroup<'_>],
    tolerance: f64,
    work: &mut DistanceBudget,
) -> Vec<(f64, usize, usize)> {
    // Shapes within the tolerance have edges within the tolerance, and so north-western corners.
    let size = tolerance.max(1.0 / 16.0);
    let cell = |shape: &Shape| [shape.edges[0], shape.edges[1]].map(|edge| (edge / size).floor() as i64);
    let mut cells: HashMap<(u64, [i64; 2]), Vec<usize>> = HashMap::new();
    for (number, group) in theirs.iter().enumerate() {
        cells.entry((group.key, cell(group.shape))).or_default().push(number);
    }
    let mut found = Vec::new();
    for (our, group) in ours.iter().enumerate() {
        let [x, y] = cell(group.shape);
        for near in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| [x + dx, y + dy])) {
            let Some(those) = cells.get(&(group.key, near)) else { continue };
            if work.spend(those.len()).is_none() {
                return sorted(found);
            }
            let searched = those.iter().filter(|&&their| group.is_searched || theirs[their].is_searched);
            for &their in searched.filter(|&&their| alike(group.shape, theirs[their].shape, tolerance)) {
                if let Some(distance) = within(group.shape, theirs[their].shape, tolerance, work) {
                    found.push((distance, our, their));
                }
            }
        }
    }
    sorted(found)
}

fn sorted(mut found: Vec<(f64, usize, usize)>) -> Vec<(f64, usize, usize)> {
    found.sort_by(|one, other| one.0.total_cmp(&other.0).then((one.1, one.2).cmp(&(other.1, other.2))));
    found
}

/// Distance of two shapes in pixels, if it is within the tolerance and enough work is left.
pub(super) fn distance(one: &Shape, other: &Shape, tolerance: f64, work: &mut DistanceBudget) -> Option<f64> {
    if one == other {
        return Some(0.0);
    }
    if alike(one, other, tolerance) { within(one, other, tolerance, work) } else { None }
}

fn alike(one: &Shape, other: &Shape, tolerance: f64) -> bool {
    let near = |(one, other): (f64, f64)| (one - other).abs() <= tolerance + 1e-9;
    one.kind == other.kind && one.edges.into_iter().zip(other.edges).all(near)
}
