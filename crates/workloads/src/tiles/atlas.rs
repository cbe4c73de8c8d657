//! The statements and tiles of a run, in the groups that clients draw from.

use std::collections::{BTreeMap, BTreeSet};

use script::Random;
use spec::MapPart;
use tile::Tile;

use super::layer::{Style, TileLayer};
use super::pick::Picked;
use crate::drawn::Drawn;
use crate::views::{Views, Visit, are_equal};
use crate::workload::TileItem;

/// Weights are fractions of this.
const WHOLE: u64 = 1 << 32;

/// A tile of the list, and its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) tile: Tile,
    pub(super) layer: u16,
    /// Index of its statement in [`Atlas::statements`].
    pub(super) statement: u16,
    /// As in `Workload::scripts`.
    pub(super) script: u16,
    /// As in `ClientWorkload::items`; `None` without tile.
    pub(super) item: Option<u32>,
}

impl Pick {
    /// The value before the first request.
    pub(super) const NOWHERE: Self =
        Self { tile: Tile { z: 0, x: 0, y: 0 }, layer: 0, statement: 0, script: 0, item: None };
}

/// A layer at a zoom, or at all zooms of a trace.
#[derive(Debug, PartialEq, Eq)]
struct TileGroup {
    /// Upper bound of its draws, of [`WHOLE`].
    below: u64,
    picks: Drawn<Pick>,
}

/// Statements and tiles; shared by all clients.
#[derive(Debug, Default)]
pub(super) struct Atlas {
    pub(super) statements: Vec<String>,
    /// Layers come equally often, and of each its zooms by their weights.
    groups: Vec<TileGroup>,
    is_weighted: bool,
    /// Sessions, instead of layers.
    pub(super) views: Views<Pick>,
    pub(super) items: Vec<TileItem>,
}

impl Atlas {
    /// The tiles of the next transaction.
    #[inline]
    pub(super) fn next(&self, random: &mut Random, visit: &mut Visit) -> &[Pick] {
        if !self.views.is_empty() {
            return self.views.next(random, visit);
        }
        let group = if self.groups.len() == 1 {
            &self.groups[0]
        } else if !self.is_weighted {
            &self.groups[visit.next_of(random, self.groups.len() as u64) as usize]
        } else {
            let number = visit.spread(random, WHOLE);
            &self.groups
                [self.groups.partition_point(|group| group.below <= number).min(self.groups.len() - 1)]
        };
        group.picks.draw(random)
    }

    /// All groups: weight, and contents.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, &Drawn<Pick>)> {
        let mut before = 0;
        self.groups.iter().map(move |group| {
            let weight = group.below - before;
            before = group.below;
            (weight, &group.picks)
        })
    }

    /// From these layers and their picked tiles.
    ///
    /// `scripts` are all separately counted parts, in order.
    pub(super) fn of(
        layers: &[(TileLayer, Picked)],
        scripts: &[MapPart],
        weights: &BTreeMap<u8, f64>,
        style: Style,
    ) -> Self {
        let mut maker = Maker { scripts, style, atlas: Self::default(), items: BTreeMap::new() };
        if layers.iter().any(|(_, picked)| !picked.sessions.is_empty()) {
            maker.sessions(layers);
        } else {
            for (number, (layer, picked)) in (0..).zip(layers) {
                let share = WHOLE as f64 / layers.len() as f64;
                let groups = maker.groups((number, layer), picked, weights, share);
                maker.atlas.groups.extend(groups);
            }
        }
        maker.atlas.is_weighted = !are_equal(maker.atlas.groups().map(|(weight, _)| weight));
        maker.atlas
    }
}

struct Maker<'a> {
    scripts: &'a [MapPart],
    style: Style,
    atlas: Atlas,
    items: BTreeMap<(u16, Tile), u32>,
}

impl Maker<'_> {
    fn groups(
        &mut self,
        (number, layer): (u16, &TileLayer),
        picked: &Picked,
        weights: &BTreeMap<u8, f64>,
        share: f64,
    ) -> Vec<TileGroup> {
        let before = f64::from(number) * share;
        if layer.is_historic() {
            // The tile does not matter: the query draws its own box.
            let tile = Tile { z: 0, x: 0, y: 0 };
            let statement = self.statement(layer, 0);
            let script = self.script(&layer.shown, None);
            let pick = Pick { tile, layer: number, statement, script, item: None };
            let mut picks = Drawn::default();
            picks.push(pick, 1);
            return vec![TileGroup { below: (before + share) as u64, picks }];
        }
        let weight = |tiles: &Vec<Tile>| match tiles.first() {
            // A trace is one list of all zooms.
            Some(first) if tiles.iter().all(|tile| tile.z == first.z) => {
                weights.get(&first.z).copied().unwrap_or(1.0)
            }
            _ => 1.0,
        };
        let sum: f64 = picked.zooms.iter().map(weight).sum();
        let mut below = 0.0;
        let mut groups = Vec::new();
        for tiles in &picked.zooms {
            below += weight(tiles) / sum;
            let mut picks = Drawn::default();
            for (tile, requests) in picked.weighted(tiles) {
                picks.push(self.pick((number, layer), &layer.shown, tile), requests);
            }
            groups.push(TileGroup { below: (before + below * share) as u64, picks });
        }
        groups
    }

    /// A view asks for its tiles of all layers.
    fn sessions(&mut self, layers: &[(TileLayer, Picked)]) {
        let all: Vec<&str> = layers.iter().map(|(layer, _)| layer.shown.as_str()).collect();
        let all = all.join(", ");
        let Some((_, first)) = layers.first() else { return };
        for session in &first.sessions {
            let mut views = Vec::new();
            for view in session {
                let numbered = || (0..).zip(layers.iter().map(|(layer, _)| layer));
                let tiles = view.iter().flat_map(|tile| numbered().map(move |layer| (layer, *tile)));
                views.push(tiles.map(|(layer, tile)| self.pick(layer, &all, tile)).collect());
            }
            self.atlas.views.add(views);
        }
    }

    fn pick(&mut self, (number, layer): (u16, &TileLayer), counted_as: &str, tile: Tile) -> Pick {
        let script = self.script(counted_as, Some(tile.z));
        let next = self.atlas.items.len() as u32;
        let item = *self.items.entry((script, tile)).or_insert(next);
        if item == next {
            self.atlas.items.push(TileItem { script, tile });
            // Cached tiles come before others, as script and as item.
            if self.scripts[usize::from(script)].cached.is_some() {
                self.atlas.items.push(TileItem { script: script + 1, tile });
            }
        }
        Pick { tile, layer: number, statement: self.statement(layer, tile.z), script, item: Some(item) }
    }

    fn script(&self, layer: &str, zoom: Option<u8>) -> u16 {
        let place = self.scripts.iter().position(|part| part.layer == layer && part.zoom == zoom);
        place.unwrap_or_default() as u16
    }

    /// One per text: the size filter differs between zooms, a user's query does not.
    fn statement(&mut self, layer: &TileLayer, z: u8) -> u16 {
        let text = layer.prepared(z, self.style);
        let known = self.atlas.statements.iter().position(|known| *known == text);
        let place = known.unwrap_or_else(|| {
            self.atlas.statements.push(text);
            self.atlas.statements.len() - 1
        });
        place as u16
    }
}

/// Zooms in a list, ascending.
pub(super) fn zooms_in<'t>(tiles: impl IntoIterator<Item = &'t Tile>) -> BTreeSet<u8> {
    tiles.into_iter().map(|tile| tile.z).collect()
}
