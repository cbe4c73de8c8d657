//! Picks the tiles to request: once, as plain data, the same for every arm.

mod area;
mod data;
mod sessions;

use serde::{Deserialize, Serialize};

pub(super) use self::area::bounds;
use super::layer::{Style, TileLayer};
use super::options::TilesOptions;
use super::picker::Picker;
use crate::error;
use crate::trace::Trace;
use protocol::postgres::sql::Sql;
use spec::Error;
use tile::Tile;

/// The tiles picked for one layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picked {
    pub(super) table: String,
    /// For each zoom its tiles, with repetitions; zooms without any are left out. A trace is one list of all
    /// zooms.
    pub(super) zooms: Vec<Vec<Tile>>,
    /// Requests for each tile of a trace, in the order of its list; empty where each counts once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) requests: Vec<u64>,
    /// For each session its views, each with its tiles that were in no earlier view; instead of `zooms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sessions: Vec<Vec<Vec<Tile>>>,
}

impl Picked {
    /// All its tiles, with repetitions.
    pub(super) fn tiles(&self) -> impl Iterator<Item = Tile> + '_ {
        self.zooms.iter().flatten().chain(self.sessions.iter().flatten().flatten()).copied()
    }

    /// All its requests: tiles with repetitions, and by the numbers of a trace.
    pub(super) fn count(&self) -> u64 {
        if self.requests.is_empty() { self.tiles().count() as u64 } else { self.requests.iter().sum() }
    }

    /// Each tile of a zoom's list with its number of requests.
    pub(super) fn weighted<'p>(&'p self, tiles: &'p [Tile]) -> impl Iterator<Item = (Tile, u64)> + 'p {
        tiles.iter().enumerate().map(|(at, tile)| (*tile, self.requests.get(at).copied().unwrap_or(1)))
    }

    /// How often a tile is requested, compared with others.
    pub(super) fn requests_of(&self, tile: Tile) -> u64 {
        let listed = self.zooms.iter().flat_map(|tiles| self.weighted(tiles));
        let of_views = self.sessions.iter().flatten().flatten().map(|tile| (*tile, 1));
        listed.chain(of_views).filter(|(other, _)| *other == tile).map(|(_, requests)| requests).sum()
    }

    /// Different tiles of each zoom, spread over its list, the same each time.
    pub(super) fn spread(&self, per_zoom: usize) -> Vec<Tile> {
        let mut by_zoom: std::collections::BTreeMap<u8, Vec<Tile>> = std::collections::BTreeMap::new();
        for tile in self.tiles() {
            by_zoom.entry(tile.z).or_default().push(tile);
        }
        let mut chosen = Vec::new();
        for mut tiles in by_zoom.into_values() {
            let mut seen = std::collections::HashSet::new();
            tiles.retain(|tile| seen.insert(*tile));
            let step = (tiles.len() / per_zoom.max(1)).max(1);
            chosen.extend(tiles.into_iter().step_by(step).take(per_zoom));
        }
        chosen
    }
}

pub(super) fn pick(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    options: &TilesOptions,
    trace: &Trace,
    seed: u64,
) -> Result<Picked, Error> {
    let style = Style { variant: options.variant, min_pixels: options.min_pixels };
    let mut picked = Picked { table: layer.shown.clone(), ..Picked::default() };
    if layer.is_historic() {
        return Ok(picked);
    }
    match &options.picker {
        Picker::Data => picked.zooms = data::by_data(sql, layer, options, style, seed)?,
        Picker::Uniform => picked.zooms = area::by_area(sql, layer, options, seed)?,
        Picker::Trace(_) | Picker::Tiles(_) => {
            picked.zooms = vec![trace.tiles.iter().map(|(tile, _)| *tile).collect()];
            if !trace.is_even() {
                picked.requests = trace.tiles.iter().map(|(_, requests)| *requests).collect();
            }
        }
        Picker::Sessions(sessions) => {
            picked.sessions = sessions::made_up(sql, layer, options, *sessions, style, seed)?;
        }
    }
    picked.zooms.retain(|tiles| !tiles.is_empty());
    if picked.tiles().next().is_none() {
        return Err(error::missing_error(
            format!("{} holds no feature to pick tiles by", places(layer)),
            "load data first, or try min_pixels = 0, or other bounds",
        ));
    }
    Ok(picked)
}

/// Where its tiles are picked from, in words.
fn places(layer: &TileLayer) -> String {
    let names: Vec<&str> =
        layer.feature_tables.iter().map(|feature_table| feature_table.shown.as_str()).collect();
    match names[..] {
        [] => layer.shown.clone(),
        [one] => format!("table {one}"),
        _ => format!("none of the tables {}", names.join(", ")),
    }
}

/// The positions of its features are unknown.
fn no_feature_table(layer: &TileLayer) -> Error {
    error::missing_error(
        format!("{} does not say where its features are", layer.shown),
        "name a table with pick_from = \"table\", or give a trace, or picker = \"uniform\" with bounds",
    )
}
