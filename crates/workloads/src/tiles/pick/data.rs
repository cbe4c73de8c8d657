//! Tiles of random features.

use std::collections::BTreeMap;

use protocol::postgres::sql::{Sql, long};

use super::super::layer::{Ground, Layer, Style};
use super::super::options::Options;
use super::no_ground;
use crate::error::WorkloadError;
use tile::Tile;

/// Features by a hash below a threshold: how many times as many are looked at as are wanted, so that there are enough.
const SPARE: f64 = 4.0;
/// Tables of fewer rows are sorted as a whole.
const LARGE: f64 = 100_000.0;

/// The tile of a random feature that the tile would show.
pub(super) fn by_data(
    sql: &mut dyn Sql,
    layer: &Layer,
    options: &Options,
    style: Style,
    seed: u64,
) -> Result<Vec<Vec<Tile>>, WorkloadError> {
    if layer.grounds.is_empty() {
        return Err(no_ground(layer));
    }
    let zooms = options.zooms.weighted();
    let mut lists: Vec<Vec<Tile>> = vec![Vec::new(); zooms.len()];
    let wanted = options.tiles_per_zoom as usize;
    for (number, ground) in layer.grounds.iter().enumerate() {
        // Several tables share what is wanted; the first ones take what is left over.
        let share = wanted / layer.grounds.len() + usize::from(number < wanted % layer.grounds.len());
        let mut by_filter: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for (list, (z, _)) in lists.iter_mut().zip(&zooms) {
            let filter = layer.size_filter(ground, *z, style) + &within(ground, options.bounds);
            if !by_filter.contains_key(&filter) {
                let points = feature_points(sql, ground, &filter, share, seed)?;
                by_filter.insert(filter.clone(), points);
            }
            list.extend(by_filter[&filter].iter().map(|(x, y)| Tile::at(*z, *x, *y)));
        }
    }
    Ok(lists)
}

/// Features within bounds, where these are given.
pub(super) fn within(ground: &Ground, bounds: Option<[f64; 4]>) -> String {
    bounds.map_or_else(String::new, |[west, south, east, north]| {
        let Ground { geometry, srid, .. } = ground;
        format!(" AND t.{geometry} && ST_Transform(ST_MakeEnvelope({west}, {south}, {east}, {north}, 4326), {srid})")
    })
}

/// A point on each of the first features, in metres of the map: features in the order of a hash of their identity and the
/// seed, which unlike `random()` gives the same choice each time.
pub(super) fn feature_points(
    sql: &mut dyn Sql,
    ground: &Ground,
    filter: &str,
    limit: usize,
    seed: u64,
) -> Result<Vec<(f64, f64)>, WorkloadError> {
    // Of a large table only features with a small hash are sorted: of the others not even the geometry is read.
    if ground.rows > LARGE {
        let share = SPARE * limit as f64 / ground.rows;
        let below = (share < 1.0).then_some((i64::MIN as f64 + share * (u64::MAX as f64)) as i64);
        if let Some(below) = below {
            let points = points(sql, ground, filter, Some(below), limit, seed)?;
            if points.len() == limit {
                return Ok(points);
            }
        }
    }
    points(sql, ground, filter, None, limit, seed)
}

fn points(
    sql: &mut dyn Sql,
    ground: &Ground,
    filter: &str,
    below: Option<i64>,
    limit: usize,
    seed: u64,
) -> Result<Vec<(f64, f64)>, WorkloadError> {
    let Ground { table, geometry, identity, .. } = ground;
    // The seed is an unsigned number, SQL's bigint is signed: the same 64 bits.
    let seed = seed as i64;
    let hash = format!("hashint8extended({identity}, {seed})");
    let few = below.map_or_else(String::new, |below| format!(" AND {hash} < {below}"));
    let point = ground.on_the_map("ST_PointOnSurface(f.g)");
    let rows = long(sql).rows(&format!(
        "SELECT ST_X(p), ST_Y(p) FROM (\
         SELECT {point} AS p FROM (\
         SELECT t.{geometry} AS g, {hash} AS h FROM {table} AS t \
         WHERE t.{geometry} IS NOT NULL AND NOT ST_IsEmpty(t.{geometry}){filter}{few} \
         ORDER BY h, ST_XMin(t.{geometry}), ST_YMin(t.{geometry}) LIMIT {limit}) AS f) AS points"
    ));
    let rows = rows.map_err(WorkloadError::sql(format!("picking tiles of {}", ground.shown)))?;
    let number = |value: &Option<String>| value.as_ref().and_then(|text| text.parse::<f64>().ok());
    let point = |row: &Vec<Option<String>>| Some((number(row.first()?)?, number(row.get(1)?)?));
    Ok(rows.iter().filter_map(point).collect())
}
