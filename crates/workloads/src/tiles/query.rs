//! The query that makes a tile.

use super::check::Layer;
use super::grid::{Tile, area_m2};
use super::options::Variant;
use protocol::postgres::sql::quote_literal;

/// How tiles of a workload are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) variant: Variant,
    /// Square pixels.
    pub(super) min_pixels: f64,
}

/// The query of a layer at a zoom, with `$1`, `$2`, `$3` for z, x and y.
///
/// There is no `WHERE geom IS NOT NULL` around `ST_AsMVTGeom`: the planner would call it twice for each feature, and
/// `ST_AsMVT` passes NULLs over by itself.
pub(super) fn prepared(layer: &Layer, z: u8, style: Style) -> String {
    tile_query(layer, z, style, "ST_TileEnvelope($1, $2, $3)")
}

/// The same for one tile.
pub(super) fn literal(layer: &Layer, tile: Tile, style: Style) -> String {
    let envelope = format!("ST_TileEnvelope({}, {}, {})", tile.z, tile.x, tile.y);
    tile_query(layer, tile.z, style, &envelope)
}

fn tile_query(layer: &Layer, z: u8, style: Style, envelope: &str) -> String {
    let Layer { table, geometry, .. } = layer;
    let attributes: String = layer.attributes.iter().map(|column| format!(", t.{column}")).collect();
    let filter = size_filter(layer, z, style);
    format!(
        "SELECT ST_AsMVT(tile, {}, 4096, 'geom') FROM (\
         SELECT ST_AsMVTGeom(t.{geometry}, {envelope}) AS geom{attributes} \
         FROM {table} AS t WHERE t.{geometry} && {envelope}{filter}) AS tile",
        quote_literal(&layer.name)
    )
}

/// What real styles do: polygons that would be a dot are left out. Empty where there is nothing to filter by.
pub(super) fn size_filter(layer: &Layer, z: u8, style: Style) -> String {
    if layer.has_area && style.variant == Variant::Modern && style.min_pixels > 0.0 {
        format!(" AND t.way_area >= {}", area_m2(z, style.min_pixels))
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer() -> Layer {
        Layer {
            shown: "planet_osm_polygon".into(),
            table: "\"public\".\"planet_osm_polygon\"".into(),
            name: "polygon".into(),
            geometry: "\"way\"".into(),
            attributes: vec!["\"osm_id\"".into(), "\"name\"".into()],
            has_area: true,
            identity: "t.osm_id::bigint".into(),
        }
    }

    #[test]
    fn the_modern_query() {
        let style = Style { variant: Variant::Modern, min_pixels: 4.0 };
        insta::assert_snapshot!(prepared(&layer(), 12, style), @r#"SELECT ST_AsMVT(tile, 'polygon', 4096, 'geom') FROM (SELECT ST_AsMVTGeom(t."way", ST_TileEnvelope($1, $2, $3)) AS geom, t."osm_id", t."name" FROM "public"."planet_osm_polygon" AS t WHERE t."way" && ST_TileEnvelope($1, $2, $3) AND t.way_area >= 5842.619293068835) AS tile"#);
    }

    #[test]
    fn the_filter_is_left_out_where_it_means_nothing() {
        let style = Style { variant: Variant::Modern, min_pixels: 4.0 };
        let points = Layer { has_area: false, ..layer() };
        assert_eq!(size_filter(&points, 12, style), "");
        assert_eq!(size_filter(&layer(), 12, Style { variant: Variant::Unfiltered, ..style }), "");
        assert_eq!(size_filter(&layer(), 12, Style { min_pixels: 0.0, ..style }), "");
        let tile = Tile { z: 14, x: 8851, y: 6439 };
        assert!(literal(&points, tile, style).contains("ST_TileEnvelope(14, 8851, 6439)"));
    }
}
