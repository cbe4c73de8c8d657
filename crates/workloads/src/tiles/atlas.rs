//! The statements and tiles of a run, in the groups that clients draw from.

use std::collections::{BTreeMap, BTreeSet};

use script::Random;
use spec::MapPart;
use tile::Tile;

use super::layer::{Style, TileLayer};
use super::pick::Picked;
use crate::views::{Views, Visit};
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

/// Transactions that are drawn equally: a layer at a zoom.
#[derive(Debug, PartialEq, Eq)]
struct TileGroup {
    /// Upper bound of its draws, of [`WHOLE`].
    below: u64,
    picks: Vec<Pick>,
}

/// Statements and tiles; shared by all clients.
#[derive(Debug, Default)]
pub(super) struct Atlas {
    pub(super) statements: Vec<String>,
    /// The groups of each layer; layers are drawn equally often.
    layers: Vec<Vec<TileGroup>>,
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
        let groups = &self.layers[random.up_to(self.layers.len() as u64 - 1) as usize];
        let group = if groups.len() == 1 {
            &groups[0]
        } else {
            let number = random.up_to(WHOLE - 1);
            &groups[groups.partition_point(|group| group.below <= number).min(groups.len() - 1)]
        };
        let at = random.up_to(group.picks.len() as u64 - 1) as usize;
        &group.picks[at..=at]
    }

    /// The groups of all layers: weight, and contents.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, &[Pick])> {
        self.layers.iter().flat_map(|groups| {
            let mut before = 0;
            groups.iter().map(move |group| {
                let weight = group.below - before;
                before = group.below;
                (weight, group.picks.as_slice())
            })
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
                let groups = maker.groups((number, layer), picked, weights);
                maker.atlas.layers.push(groups);
            }
        }
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
    ) -> Vec<TileGroup> {
        if layer.is_historic() {
            // The tile does not matter: the query draws its own box.
            let tile = Tile { z: 0, x: 0, y: 0 };
            let statement = self.statement(layer, 0);
            let script = self.script(&layer.shown, None);
            let pick = Pick { tile, layer: number, statement, script, item: None };
            return vec![TileGroup { below: WHOLE, picks: vec![pick] }];
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
            let picks = tiles.iter().map(|tile| self.pick((number, layer), &layer.shown, *tile)).collect();
            groups.push(TileGroup { below: (below * WHOLE as f64) as u64, picks });
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
