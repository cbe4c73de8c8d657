//! Single tiles as a GeoPackage (OGC 12-128r17, version 1.3), for QGIS and similar programs (docs/decisions/0028).
//! Each tile is a polygon with its figures. Each arm and zoom is a view with a style.

mod geometry;
mod style;
mod views;

use std::collections::BTreeMap;

use ::tile::Tile;
use results::StoredTile;
use rusqlite::{Connection, MAIN_DB, params};

use crate::places::{self, PlaceFigures};
use results::ReportData;

const SCHEMA: &str = include_str!("schema.sql");

/// The file could not be created: out of memory.
#[derive(Debug, thiserror::Error)]
#[error("the GeoPackage could not be put together: {0}")]
pub struct GeoPackageError(#[from] rusqlite::Error);

/// A file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoPackage {
    pub bytes: Vec<u8>,
    /// Number of polygons, at least one.
    pub tiles: usize,
    /// Number of views, at least one.
    pub views: usize,
}

/// All single tiles of an experiment: by cell, arm, layer and whether a cache returned them. `None` without
/// any.
///
/// # Errors
/// When memory does not suffice.
pub fn geopackage(data: &ReportData) -> Result<Option<GeoPackage>, GeoPackageError> {
    if data.tiles.is_empty() {
        return Ok(None);
    }
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    describe(&connection, data)?;
    let transaction = connection.transaction()?;
    let bases = BaseTiles::of(data);
    let mut insert = transaction.prepare(
        "INSERT INTO tiles (geom, workload, factors, arm, layer, zoom, x, y, cached, requests, mean_ms, max_ms, bytes, base_mean_ms, change_pct)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?;
    for tile in &data.tiles {
        let own = &tile.figures;
        let base_us = bases.mean_us(tile);
        insert.execute(params![
            geometry::polygon(places::tile_of(tile).bounds_m()),
            tile.of.workload,
            factors(&tile.of.factors),
            tile.of.arm,
            tile.of.layer,
            own.z,
            own.x,
            own.y,
            tile.of.cached,
            own.requests as i64,
            own.mean_us / 1e3,
            own.max_us / 1e3,
            own.bytes,
            base_us.map(|us| us / 1e3),
            base_us.filter(|us| *us > 0.0).map(|us| (own.mean_us / us - 1.0) * 100.0),
        ])?;
    }
    drop(insert);
    let views = views::add(&transaction, &data.tiles, &bases.by_layer, bases.base)?;
    transaction.commit()?;
    let bytes = connection.serialize(MAIN_DB)?.to_vec();
    Ok(Some(GeoPackage { bytes, tiles: data.tiles.len(), views }))
}

/// West, south, east and north, metres.
struct Bounds([f64; 4]);

impl Bounds {
    fn of<'t>(tiles: impl Iterator<Item = &'t StoredTile>) -> Self {
        let nothing = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        Self(tiles.map(|tile| places::tile_of(tile).bounds_m()).fold(nothing, |around, tile| {
            let [from_x, from_y, to_x, to_y] = around;
            let [west, south, east, north] = tile;
            [from_x.min(west), from_y.min(south), to_x.max(east), to_y.max(north)]
        }))
    }
}

fn describe(connection: &Connection, data: &ReportData) -> rusqlite::Result<()> {
    let Bounds([west, south, east, north]) = Bounds::of(data.tiles.iter());
    let about = format!("Times of single map tiles, measured by pgdyno: {}", data.called());
    connection.execute(
        "INSERT INTO gpkg_contents (table_name, data_type, identifier, description, min_x, min_y, max_x, max_y, srs_id)
         VALUES ('tiles', 'features', 'tiles', ?1, ?2, ?3, ?4, ?5, ?6)",
        params![about, west, south, east, north, geometry::SRS],
    )?;
    connection.execute(
        "INSERT INTO gpkg_geometry_columns VALUES ('tiles', 'geom', 'POLYGON', ?1, 0, 0)",
        [geometry::SRS],
    )?;
    Ok(())
}

/// `clients 4, memory 64MB`.
fn factors(factors: &BTreeMap<String, String>) -> String {
    let levels = factors.iter().map(|(name, level)| format!("{name} {level}"));
    levels.collect::<Vec<_>>().join(", ")
}

/// A tile of the base: workload, levels, layer if layers are distinguished, cache hit, place.
type TileKey<'t> = (&'t str, &'t BTreeMap<String, String>, Option<&'t str>, Option<bool>, Tile);

struct BaseTiles<'t> {
    base: Option<&'t str>,
    by_layer: BTreeMap<&'t str, bool>,
    /// Whether the base has a cache: then hits are compared with hits, misses with misses.
    cached: bool,
    figures: BTreeMap<TileKey<'t>, PlaceFigures>,
}

impl<'t> BaseTiles<'t> {
    fn of(data: &'t ReportData) -> Self {
        let base = data.base().filter(|_| data.compares());
        let mut workloads: BTreeMap<&str, Vec<&StoredTile>> = BTreeMap::new();
        for tile in &data.tiles {
            workloads.entry(&tile.of.workload).or_default().push(tile);
        }
        let by_layer = workloads.iter().map(|(name, tiles)| (*name, places::by_layer(tiles))).collect();
        let is_cached = |tile: &StoredTile| tile.of.arm.as_deref() == base && tile.of.cached.is_some();
        let cached = data.tiles.iter().any(is_cached);
        let mut bases = Self { base, by_layer, cached, figures: BTreeMap::new() };
        let of_base = data.tiles.iter().filter(|tile| base.is_some() && tile.of.arm.as_deref() == base);
        bases.figures = places::added(of_base, |tile| bases.key(tile));
        bases
    }

    fn key(&self, tile: &'t StoredTile) -> TileKey<'t> {
        let layer = self.by_layer[tile.of.workload.as_str()].then_some(tile.of.layer.as_str());
        let cached = tile.of.cached.filter(|_| self.cached);
        (&tile.of.workload, &tile.of.factors, layer, cached, places::tile_of(tile))
    }

    /// Mean of the base for the same tile over the same rounds, µs; `None` for the base itself, and if the
    /// base has no such tile.
    fn mean_us(&self, tile: &'t StoredTile) -> Option<f64> {
        let is_other = tile.of.arm.is_some() && tile.of.arm.as_deref() != self.base;
        self.figures.get(&self.key(tile)).filter(|_| is_other).map(PlaceFigures::mean_us)
    }
}
