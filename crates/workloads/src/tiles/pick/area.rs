//! Picks tiles within bounds.

use protocol::postgres::sql::{Sql, long};
use script::Random;
use spec::Error;
use tile::Tile;

use super::super::layer::{FeatureTable, TileLayer};
use super::super::options::TilesOptions;
use super::no_feature_table;
use crate::error;

/// Any tile that touches the bounds.
pub(super) fn by_area(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    options: &TilesOptions,
    seed: u64,
) -> Result<Vec<Vec<Tile>>, Error> {
    let Some([left, bottom, right, top]) = bounds(sql, layer, options)? else { return Ok(Vec::new()) };
    let mut random = Random::new(seed);
    let zooms = options.zooms.weighted().into_iter().map(|(z, _)| {
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

/// Left, bottom, right and top in metres of the map: as requested, otherwise of all tables; `None` if these
/// are empty.
pub(in crate::tiles) fn bounds(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    options: &TilesOptions,
) -> Result<Option<[f64; 4]>, Error> {
    if let Some([west, south, east, north]) = options.bounds {
        let corners = [(west, south), (east, north)].map(|(x, y)| mercator(x, y));
        return Ok(Some([corners[0].0, corners[0].1, corners[1].0, corners[1].1]));
    }
    if layer.feature_tables.is_empty() {
        return Err(no_feature_table(layer));
    }
    let mut all: Option<[f64; 4]> = None;
    for feature_table in &layer.feature_tables {
        let FeatureTable { table, geometry, srid, .. } = feature_table;
        let extent = feature_table.on_the_map(&format!("ST_SetSRID(ST_Extent(t.{geometry}), {srid})"));
        let rows = long(sql).rows(&format!(
            "SELECT ST_XMin(e), ST_YMin(e), ST_XMax(e), ST_YMax(e) FROM (\
             SELECT {extent} AS e FROM {table} AS t) AS extent"
        ));
        let rows =
            rows.map_err(error::sql_error(format!("reading the bounds of {}", feature_table.shown)))?;
        let found: Vec<f64> = rows.iter().flatten().flatten().filter_map(|text| text.parse().ok()).collect();
        if let Ok([left, bottom, right, top]) = <[f64; 4]>::try_from(found) {
            let [l, b, r, t] = all.unwrap_or([left, bottom, right, top]);
            all = Some([l.min(left), b.min(bottom), r.max(right), t.max(top)]);
        }
    }
    Ok(all)
}

/// Metres of EPSG:3857 from degrees; limited to the map.
fn mercator(east: f64, north: f64) -> (f64, f64) {
    let radius = tile::HALF_WORLD_M / std::f64::consts::PI;
    let y = radius * (std::f64::consts::FRAC_PI_4 + north.to_radians() / 2.0).tan().ln();
    (radius * east.to_radians(), y.clamp(-tile::HALF_WORLD_M, tile::HALF_WORLD_M))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_become_metres_of_the_map() {
        let tile = Tile { z: 14, x: 8852, y: 6438 };
        let [west, south, east, north] = tile.bounds_degrees();
        let (x, y) = mercator(f64::midpoint(west, east), f64::midpoint(south, north));
        assert_eq!(Tile::at(14, x, y), tile);
        let corner = mercator(180.0, 90.0);
        assert!((corner.0 - tile::HALF_WORLD_M).abs() < 1e-6, "{corner:?}");
        assert_eq!(corner.1, tile::HALF_WORLD_M);
    }
}
