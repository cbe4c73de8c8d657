//! Chooses the tiles that will be asked for: once, as plain data, the same for every arm.

use std::collections::BTreeMap;
use std::path::Path;

use script::Random;
use serde::{Deserialize, Serialize};

use super::check::Layer;
use super::grid::Tile;
use super::options::{Options, Picker};
use super::query::{Style, size_filter};
use crate::error::WorkloadError;
use protocol::postgres::sql::{Sql, long};

/// The tiles chosen for one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picked {
    pub(super) table: String,
    /// For each zoom its tiles, with repetitions; zooms without any are left out.
    pub(super) zooms: Vec<Vec<Tile>>,
}

/// Reads a list of tiles, with its text: one `z/x/y` a line; empty lines and those that begin with `#` are passed over.
pub(super) fn read_trace(path: &Path) -> Result<(Vec<Tile>, String), WorkloadError> {
    let wrong = |problem: String| WorkloadError::File { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut tiles = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            tiles.push(line.parse().map_err(|error| wrong(format!("line {number}: {error}")))?);
        }
    }
    if tiles.is_empty() {
        return Err(wrong("names no tile; write one z/x/y a line".to_owned()));
    }
    Ok((tiles, text))
}

/// Chooses the tiles of a layer.
pub(super) fn pick(
    sql: &mut dyn Sql,
    layer: &Layer,
    options: &Options,
    trace: &[Tile],
    seed: u64,
) -> Result<Picked, WorkloadError> {
    let zooms: Vec<Vec<Tile>> = match options.picker {
        Picker::Data => by_data(sql, layer, options, seed)?,
        Picker::Uniform => by_area(sql, layer, options, seed)?,
        Picker::Trace(_) => by_zoom(trace),
    };
    let zooms: Vec<_> = zooms.into_iter().filter(|tiles| !tiles.is_empty()).collect();
    if zooms.is_empty() {
        return Err(WorkloadError::Missing {
            what: format!("table {} holds no feature to pick tiles by", layer.shown),
            hint: "load data first, or try min_pixels = 0".to_owned(),
        });
    }
    Ok(Picked { table: layer.shown.clone(), zooms })
}

/// All tiles of a trace as they come; a zoom's share is its share of the trace.
fn by_zoom(trace: &[Tile]) -> Vec<Vec<Tile>> {
    vec![trace.to_vec()]
}

/// The tile of a random feature that the tile would show: features in the order of a hash of their identity and the
/// seed, which unlike `random()` gives the same choice each time.
fn by_data(
    sql: &mut dyn Sql,
    layer: &Layer,
    options: &Options,
    seed: u64,
) -> Result<Vec<Vec<Tile>>, WorkloadError> {
    let style = Style { variant: options.variant, min_pixels: options.min_pixels };
    let [low, high] = options.zooms;
    let mut chosen_by_filter: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut zooms = Vec::new();
    for z in low..=high {
        let filter = size_filter(layer, z, style);
        if !chosen_by_filter.contains_key(&filter) {
            let points = feature_points(sql, layer, &filter, options.tiles_per_zoom, seed)?;
            chosen_by_filter.insert(filter.clone(), points);
        }
        let points = &chosen_by_filter[&filter];
        zooms.push(points.iter().map(|(x, y)| Tile::at(z, *x, *y)).collect());
    }
    Ok(zooms)
}

/// A point on each of the first `limit` features.
fn feature_points(
    sql: &mut dyn Sql,
    layer: &Layer,
    filter: &str,
    limit: u32,
    seed: u64,
) -> Result<Vec<(f64, f64)>, WorkloadError> {
    let Layer { table, geometry, identity, .. } = layer;
    // The seed is an unsigned number, SQL's bigint is signed: the same 64 bits.
    let seed = seed as i64;
    let rows = long(sql).rows(&format!(
        "SELECT ST_X(p), ST_Y(p) FROM (\
         SELECT ST_PointOnSurface(f.g) AS p FROM (\
         SELECT t.{geometry} AS g, hashint8extended({identity}, {seed}) AS h FROM {table} AS t \
         WHERE t.{geometry} IS NOT NULL AND NOT ST_IsEmpty(t.{geometry}){filter} \
         ORDER BY h, ST_XMin(t.{geometry}), ST_YMin(t.{geometry}) LIMIT {limit}) AS f) AS points"
    ));
    let rows = rows.map_err(WorkloadError::sql(format!("picking tiles of {}", layer.shown)))?;
    let number = |value: &Option<String>| value.as_ref().and_then(|text| text.parse::<f64>().ok());
    let point = |row: &Vec<Option<String>>| Some((number(row.first()?)?, number(row.get(1)?)?));
    Ok(rows.iter().filter_map(point).collect())
}

/// Any tile that touches the data's bounds.
fn by_area(
    sql: &mut dyn Sql,
    layer: &Layer,
    options: &Options,
    seed: u64,
) -> Result<Vec<Vec<Tile>>, WorkloadError> {
    let Layer { table, geometry, .. } = layer;
    let rows = long(sql).rows(&format!(
        "SELECT ST_XMin(e), ST_YMin(e), ST_XMax(e), ST_YMax(e) FROM (\
         SELECT ST_Extent(t.{geometry}) AS e FROM {table} AS t) AS extent"
    ));
    let rows = rows.map_err(WorkloadError::sql(format!("reading the bounds of {}", layer.shown)))?;
    let bounds: Vec<f64> = rows.iter().flatten().flatten().filter_map(|text| text.parse().ok()).collect();
    let [left, bottom, right, top] = bounds[..] else { return Ok(Vec::new()) };
    let [low, high] = options.zooms;
    let mut random = Random::new(seed);
    let zooms = (low..=high).map(|z| {
        let (first, last) = (Tile::at(z, left, top), Tile::at(z, right, bottom));
        (0..options.tiles_per_zoom)
            .map(|_| Tile {
                z,
                x: first.x + random.up_to(u64::from(last.x - first.x)) as u32,
                y: first.y + random.up_to(u64::from(last.y - first.y)) as u32,
            })
            .collect()
    });
    Ok(zooms.collect())
}

/// A few tiles spread over all zooms, the same each time.
pub(super) fn spread(picked: &Picked, per_zoom: usize) -> Vec<Tile> {
    let mut tiles = Vec::new();
    for zoom in &picked.zooms {
        let step = (zoom.len() / per_zoom.max(1)).max(1);
        tiles.extend(zoom.iter().step_by(step).take(per_zoom));
    }
    tiles
}
