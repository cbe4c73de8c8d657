//! Checks that tiles have contents: an empty query has a high rate, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use protocol::postgres::sql::Sql;
use spec::figures::{self, Figures};
use spec::{Error, TileSample};
use tile::Tile;

use super::content::LayerBytes;
use super::fetch::Fetch;
use super::fetched::{FetchedTile, looked_at};
use super::layer::{Style, TileLayer};
use super::{grids, reference};
use crate::answers::SAMPLE;
use crate::check_time::CheckTime;
use crate::error;
use crate::workload::Guarded;

/// Tiles to try when the first ones are all empty, before the layer is called empty.
const MOST_PROBES: usize = 500;

/// One layer at one zoom, as it is counted.
pub(super) struct CountedLayer<'a> {
    pub(super) script: u32,
    pub(super) layer: &'a TileLayer,
    /// Different tiles, spread over its list.
    pub(super) tiles: Vec<Tile>,
}

/// What a probe found.
#[derive(Default)]
pub(super) struct Probed<'p, 'l> {
    pub(super) guarded: Guarded,
    /// Layers without contents at their highest zoom, and a cause that their tiles show.
    pub(super) bare: Vec<(&'p CountedLayer<'l>, Option<&'static str>)>,
}

/// Parts in the order in which they are looked at: the highest zooms first, since tiles of low zooms may take all the
/// time.
pub(super) fn cheapest_first<T>(parts: &mut [T], zoom: impl Fn(&T) -> Option<u8>) {
    parts.sort_by_key(|part| std::cmp::Reverse(zoom(part)));
}

/// Fetches a sample of the picked tiles, one at a time, until the time is used up; where all of a layer is empty,
/// continues until one has contents.
pub(super) fn probe<'p, 'l>(
    from: &mut dyn Fetch,
    parts: &'p [CountedLayer<'l>],
    all: &BTreeMap<&str, Vec<Tile>>,
    time: CheckTime<'_>,
) -> Result<Probed<'p, 'l>, Error> {
    let mut probed = Probed::default();
    let mut held: BTreeMap<&str, TileSample> = BTreeMap::new();
    let mut bytes: BTreeMap<&str, (&TileLayer, LayerBytes)> = BTreeMap::new();
    // The highest zoom of each layer: where grids differ, low zooms may still have contents.
    let mut highest: BTreeMap<&str, (&CountedLayer<'_>, bool)> = BTreeMap::new();
    let mut in_order: Vec<&CountedLayer<'_>> = parts.iter().collect();
    cheapest_first(&mut in_order, |part| part.zoom());
    let mut left_out = Vec::new();
    for (at, part) in in_order.iter().enumerate() {
        let (_, of_layer) = bytes.entry(&part.layer.shown).or_insert((part.layer, LayerBytes::default()));
        let share = time.share(in_order.len() - at);
        let sample = probe_part(from, part, (&mut probed.guarded, of_layer), (share, time))?;
        if sample.tiles == 0 {
            left_out.push(*part);
            continue;
        }
        time.looked(part.looked_words(&sample, &probed.guarded));
        held.entry(&part.layer.shown).or_default().add(&sample);
        highest.entry(&part.layer.shown).or_insert((part, sample.empty == sample.tiles));
    }
    not_looked(&left_out, time);
    probed.guarded.samples.sort_by_key(|sample| sample.script);
    probed.guarded.probes.sort_by_key(|probe| probe.script);
    for part in parts {
        let shown = part.layer.shown.as_str();
        let Some(sample) = held.get_mut(shown).filter(|sample| sample.empty == sample.tiles) else {
            continue;
        };
        let tiles = all.get(shown).map_or(&[][..], |tiles| &tiles[..tiles.len().min(MOST_PROBES)]);
        for tile in tiles {
            let Some(fetched_tile) = FetchedTile::within_time(from, part.layer, *tile)? else { break };
            fetched_tile.check(from, part.layer)?;
            sample.add(&fetched_tile.held(part.script));
            if sample.empty < sample.tiles {
                break;
            }
        }
        if sample.empty == sample.tiles {
            let what = format!("all {} probed tiles of {shown} are empty", sample.tiles);
            probed.guarded.empty.get_or_insert(what);
        }
    }
    for (part, _) in highest.into_values().filter(|(part, is_empty)| *is_empty && !part.layer.is_historic()) {
        probed.bare.push((part, grids::cause(from, part.layer, &part.tiles)));
    }
    probed.guarded.notes.extend(bytes.into_values().filter_map(|(layer, bytes)| bytes.words(layer)));
    summarize(&mut probed.guarded, held);
    probed.guarded.warnings = from.warnings()?;
    Ok(probed)
}

/// Names the parts that were not looked at, a text for each layer: `poi, z0 to z4, z7`.
pub(super) fn not_looked(parts: &[&CountedLayer<'_>], time: CheckTime<'_>) {
    let mut layers: Vec<(&str, BTreeSet<u8>)> = Vec::new();
    for part in parts {
        let shown = part.layer.shown.as_str();
        match layers.iter_mut().find(|(layer, _)| *layer == shown) {
            Some((_, zooms)) => zooms.extend(part.zoom()),
            None => layers.push((shown, part.zoom().into_iter().collect())),
        }
    }
    for (layer, zooms) in layers {
        time.not_looked([layer.to_owned()].into_iter().chain(ranges(&zooms)).collect::<Vec<_>>().join(", "));
    }
}

/// `z0 to z4`, `z7`.
fn ranges(zooms: &BTreeSet<u8>) -> Vec<String> {
    let begins =
        zooms.iter().filter(|zoom| !zoom.checked_sub(1).is_some_and(|before| zooms.contains(&before)));
    begins
        .map(|first| match (*first..).take_while(|zoom| zooms.contains(zoom)).last() {
            Some(last) if last > *first => format!("z{first} to z{last}"),
            _ => format!("z{first}"),
        })
        .collect()
}

/// A sample of one layer at one zoom, added to what the guard found. Only its first tile may take more than its
/// `share` of the time.
fn probe_part(
    from: &mut dyn Fetch,
    part: &CountedLayer<'_>,
    (guarded, bytes): (&mut Guarded, &mut LayerBytes),
    (share, time): (CheckTime<'_>, CheckTime<'_>),
) -> Result<TileSample, Error> {
    let tiles = &part.tiles[..part.tiles.len().min(SAMPLE as usize)];
    let mut sample = TileSample { script: part.script, ..TileSample::default() };
    let mut last = Duration::ZERO;
    for tile in tiles {
        if sample.tiles > 0 && !share.allows(last) {
            break;
        }
        let begun = Instant::now();
        let Some(fetched_tile) = FetchedTile::within_time(from, part.layer, *tile)? else { break };
        fetched_tile.check(from, part.layer)?;
        // It makes the tile once more.
        let rows = if time.allows(fetched_tile.took) { features(from, part.layer, *tile)? } else { None };
        bytes.add(&fetched_tile.bytes);
        let held = fetched_tile.held(part.script);
        sample.add(&TileSample { features_in: features_in(rows, held.features_out), ..held });
        let probe = fetched_tile.probe(part.script);
        match guarded.probes.iter_mut().find(|known| known.script == part.script) {
            Some(known) => known.add(&probe),
            None => guarded.probes.push(probe),
        }
        last = begun.elapsed();
    }
    if sample.tiles == 0 {
        return Ok(sample);
    }
    // Views count all layers together.
    match guarded.samples.iter_mut().find(|known| known.script == part.script) {
        Some(known) => known.add(&sample),
        None => guarded.samples.push(sample.clone()),
    }
    Ok(sample)
}

/// Rows that are made into features; `None` if unknown, or if the time was used up.
fn features(from: &mut dyn Fetch, layer: &TileLayer, tile: Tile) -> Result<Option<u64>, Error> {
    let Some(()) = looked_at(from.begin())? else { return Ok(None) };
    let rows = from.features_in(layer, tile);
    let ended = from.end(rows.is_err());
    let rows = looked_at(rows)?.flatten();
    ended.map(|()| rows)
}

impl CountedLayer<'_> {
    pub(super) fn zoom(&self) -> Option<u8> {
        self.tiles.first().map(|tile| tile.z).filter(|_| !self.layer.is_historic())
    }

    /// `poi, z12`.
    pub(super) fn words(&self) -> String {
        let zoom = self.zoom().map(|zoom| format!(", z{zoom}")).unwrap_or_default();
        format!("{}{zoom}", self.layer.shown)
    }

    fn looked_words(&self, sample: &TileSample, guarded: &Guarded) -> String {
        let probe = guarded.probes.iter().find(|probe| probe.script == self.script);
        let took =
            probe.map(|probe| format!(", {:.1} ms on average", probe.mean_us / 1e3)).unwrap_or_default();
        format!("{}: {}{took}", self.words(), spec::count(sample.tiles, "tile"))
    }
}

fn summarize(guarded: &mut Guarded, held: BTreeMap<&str, TileSample>) {
    let mut sum = TileSample::default();
    held.values().for_each(|sample| sum.add(sample));
    if sum.empty > 0 && guarded.empty.is_none() {
        guarded.notes.push(format!("{} of {} probed tiles are empty", sum.empty, sum.tiles));
    }
    guarded.rows = sum.tiles - sum.empty;
    guarded.bytes = sum.bytes;
    guarded.figures = figures(&sum);
}

impl Probed<'_, '_> {
    /// What was found, with the cause of empty layers, as far as their tiles or the tables of their database
    /// show it.
    /// With a `style` the database makes them; a web server makes them by its own statements.
    pub(super) fn explained(mut self, sql: &mut dyn Sql, style: Option<Style>) -> Result<Guarded, Error> {
        for (part, grid) in self.bare {
            let shown = &part.layer.shown;
            let (cause, is_sure) = match grid {
                Some(cause) => (Some(format!("they are full if {cause}")), true),
                None => {
                    let look = |style| reference::why_empty(sql, part.layer, style, &part.tiles);
                    let cause = style.map(look).transpose();
                    let cause =
                        cause.map_err(error::sql_error(format!("looking at the tables of {shown}")))?;
                    (cause.flatten(), false)
                }
            };
            let Some(cause) = cause else { continue };
            match &mut self.guarded.empty {
                Some(empty) if empty.contains(shown.as_str()) => *empty = format!("{empty}: {cause}"),
                Some(_) => self.guarded.notes.push(format!("{shown}: {cause}")),
                none if is_sure => {
                    *none =
                        Some(format!("all probed tiles of {shown} at its highest zoom are empty: {cause}"));
                }
                // Low zooms have contents: some features are left out at others.
                _ => {}
            }
        }
        Ok(self.guarded)
    }
}

/// Rows that were made into features. Each feature was a row, but a plan gives rows by process and loop, in
/// whole numbers: their sum may be a little less. If it is far less, other rows were made into features too.
fn features_in(rows: Option<u64>, out: Option<u64>) -> Option<u64> {
    let rows = rows?;
    let Some(out) = out else { return Some(rows) };
    if out > rows + rows / 10 + ROUNDED { None } else { Some(rows.max(out)) }
}

/// Rows that may be lost by rounding: half of one by process and loop.
const ROUNDED: u64 = 16;

fn figures(sample: &TileSample) -> Figures {
    let full = TileSample { tiles: sample.tiles - sample.empty, ..*sample };
    let mut figures = Figures::from([
        (figures::PROBE_TILES, sample.tiles as f64),
        (figures::EMPTY_TILES_PCT, 100.0 * sample.empty_share()),
        (figures::TILE_BYTES_MEAN, full.per_tile(sample.bytes)),
    ]);
    let features = sample.features_out.map(|features| full.per_tile(features));
    figures.extend(features.map(|features| (figures::TILE_FEATURES_MEAN, features)));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooms_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 4, 7, 8].into()), ["z0 to z2", "z4", "z7 to z8"]);
        assert!(ranges(&BTreeSet::new()).is_empty());
    }

    /// Three processes read 499 rows: 166 each, by the plan.
    #[test]
    fn no_more_features_come_out_than_went_in() {
        for (rows, out, wanted) in [
            (Some(498), Some(499), Some(499)),
            (Some(900), Some(40), Some(900)),
            (Some(0), Some(0), Some(0)),
            // Another part of the statement made features, too.
            (Some(10), Some(300), None),
            (None, Some(3), None),
            (Some(3), None, Some(3)),
        ] {
            assert_eq!(features_in(rows, out), wanted, "{rows:?} {out:?}");
        }
    }
}
