//! Reference systems that do not fit: why a layer's tiles are empty, or all in one place.

use protocol::postgres::sql::{Sql, SqlError, long};
use spec::Error;
use tile::Tile;

use super::layer::{FeatureTable, Style, TileLayer, WEB_MERCATOR};
use super::pick::Picked;
use crate::error;

/// Why these tiles of a layer are empty, as far as the tables that it reads show it.
pub(super) fn why_empty(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    style: Style,
    tiles: &[Tile],
) -> Result<Option<String>, SqlError> {
    let Some(tile) = tiles.first() else { return Ok(None) };
    let envelopes = envelopes(sql, &layer.literal(*tile, style));
    for table in layer.reads(sql)? {
        let FeatureTable { shown, geometry, srid, .. } = &table;
        if !has_features(sql, &table, tiles)? {
            continue;
        }
        // No plan shows the envelopes of a function: assume the SRID of the map.
        let used = if envelopes.is_empty() { &[WEB_MERCATOR][..] } else { &envelopes };
        return Ok(Some(match used.contains(srid) {
            false => format!(
                "{shown}.{geometry} is in SRID {srid}, and the envelope in {}: && of two SRIDs finds nothing; transform the envelope: \
                 {geometry} && ST_Transform(envelope, {srid})",
                numbers(used)
            ),
            true => format!("{shown} has features there, which the statement leaves out"),
        }));
    }
    Ok(None)
}

/// Whether the table has features in one of the tiles, each system transformed to the other.
fn has_features(sql: &mut dyn Sql, table: &FeatureTable, tiles: &[Tile]) -> Result<bool, SqlError> {
    let FeatureTable { table: name, geometry, .. } = table;
    let envelope = |Tile { z, x, y }: &Tile| table.envelope(&format!("ST_TileEnvelope({z}, {x}, {y})"));
    let any: Vec<String> = tiles.iter().map(|tile| format!("t.{geometry} && {}", envelope(tile))).collect();
    let found =
        long(sql).scalar(&format!("SELECT EXISTS (SELECT FROM {name} AS t WHERE {})", any.join(" OR ")))?;
    Ok(found.as_deref() == Some("t"))
}

/// SRIDs of the constant geometries in a statement's plan; none if it cannot be planned.
fn envelopes(sql: &mut dyn Sql, statement: &str) -> Vec<i64> {
    let lines = sql.rows(&format!("EXPLAIN (VERBOSE, COSTS OFF) {statement}")).unwrap_or_default();
    let lines = lines.iter().flatten().flatten().filter(|line| line.contains("&&"));
    let mut srids: Vec<i64> = lines.flat_map(|line| line.split('\'')).filter_map(srid_of_hex).collect();
    srids.sort_unstable();
    srids.dedup();
    srids
}

/// SRID of a geometry in hexadecimal EWKB: byte order, type with the flag of an SRID, SRID.
fn srid_of_hex(text: &str) -> Option<i64> {
    const HAS_SRID: u32 = 0x2000_0000;
    let word = |at: usize| {
        let digits = text.get(at..at + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::swap_bytes)
    };
    let is_geometry = text.starts_with("01") && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let of_type = word(2).filter(|_| is_geometry)?;
    (of_type & HAS_SRID != 0).then(|| word(10).map(i64::from))?
}

fn numbers(srids: &[i64]) -> String {
    srids.iter().map(i64::to_string).collect::<Vec<_>>().join(" and ")
}

/// What shows that the features of a layer are not where they are meant to be.
pub(super) fn in_degrees(sql: &mut dyn Sql, layers: &[(TileLayer, Picked)]) -> Result<Option<String>, Error> {
    for (layer, picked) in layers {
        let found = degrees(sql, layer, picked.tiles());
        let doing = format!("reading the bounds of {}", layer.shown);
        if let Some(said) = found.map_err(error::sql_error(doing))? {
            return Ok(Some(said));
        }
    }
    Ok(None)
}

/// Degrees that are labelled as metres of the map: the whole world is then a dot off the coast of Africa.
fn degrees(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    tiles: impl Iterator<Item = Tile>,
) -> Result<Option<String>, SqlError> {
    if !are_in_the_middle(tiles) {
        return Ok(None);
    }
    for table in layer.reads(sql)?.iter().filter(|table| table.srid == WEB_MERCATOR) {
        let FeatureTable { shown, table: name, geometry, .. } = table;
        let rows = long(sql).rows(&format!(
            "SELECT greatest(abs(ST_XMin(e)), abs(ST_XMax(e))), greatest(abs(ST_YMin(e)), abs(ST_YMax(e))) \
             FROM (SELECT ST_Extent(t.{geometry}) AS e FROM {name} AS t) AS extent"
        ))?;
        let found: Vec<f64> = rows.iter().flatten().flatten().filter_map(|text| text.parse().ok()).collect();
        if let [x, y] = found[..]
            && x <= 180.0
            && y <= 90.0
        {
            return Ok(Some(format!(
                "all features of {shown} lie within {:.0} m of 0° N 0° E: its coordinates look like degrees, labelled SRID {WEB_MERCATOR}; \
                 ST_Transform(ST_SetSRID({geometry}, 4326), {WEB_MERCATOR}) makes metres of them",
                x.hypot(y).ceil()
            )));
        }
    }
    Ok(None)
}

/// Whether all tiles of the highest zoom touch the point where equator and meridian cross.
fn are_in_the_middle(tiles: impl Iterator<Item = Tile>) -> bool {
    let (mut highest, mut all) = (0, true);
    for Tile { z, x, y } in tiles {
        let middle = (1_u64 << z) / 2;
        let touches = [x, y].into_iter().all(|at| (middle..=middle + 1).contains(&(u64::from(at) + 1)));
        if z > highest {
            (highest, all) = (z, touches);
        } else if z == highest {
            all &= touches;
        }
    }
    highest > 0 && all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;
    use crate::tiles::options::Variant;

    const STYLE: Style = Style { variant: Variant::Modern, min_pixels: 0.0 };
    const TILES: [Tile; 2] = [Tile { z: 12, x: 2212, y: 1610 }, Tile { z: 12, x: 2213, y: 1610 }];

    fn layer(srid: i64) -> TileLayer {
        let table = FeatureTable {
            shown: "paths".into(),
            table: "\"public\".\"paths\"".into(),
            geometry: "\"line\"".into(),
            srid,
            ..FeatureTable::default()
        };
        TileLayer::of_tables("paths.sql", vec![table])
    }

    #[test]
    fn srids_are_read_from_constants() {
        assert_eq!(srid_of_hex("0103000020110F00000100000005000000"), Some(3857));
        assert_eq!(srid_of_hex("0101000020E6100000"), Some(4326));
        for other in ["0103000000010000", "0103", "", "public", "00200000030000"] {
            assert_eq!(srid_of_hex(other), None, "{other}");
        }
    }

    fn why(srid: i64, envelope: &str, has_features: &str) -> Option<String> {
        let mut sql = FakeSql::new();
        let line = format!("  Index Cond: (t.line && '{envelope}'::geometry)");
        sql.answer("EXPLAIN", &[&["  Output: 'x'"], &[&line]]);
        sql.answer("SELECT EXISTS (SELECT FROM \"public\".\"paths\"", &[&[has_features]]);
        why_empty(&mut sql, &layer(srid), STYLE, &TILES).unwrap()
    }

    /// Regression: "all empty" was all that was reported of it.
    #[test]
    fn an_envelope_of_another_srid_is_named() {
        let of_map = "0103000020110F000001";
        let said = why(4326, of_map, "t").unwrap();
        assert!(said.starts_with("paths.\"line\" is in SRID 4326, and the envelope in 3857: &&"), "{said}");
        assert!(said.ends_with("\"line\" && ST_Transform(envelope, 4326)"), "{said}");
        // The other way round, and a plan that shows no envelope.
        let said = why(3857, "0103000020E610000001", "t").unwrap();
        assert!(said.contains("is in SRID 3857, and the envelope in 4326"), "{said}");
        assert!(why(2056, "", "t").unwrap().contains("is in SRID 2056, and the envelope in 3857"));
        assert_eq!(
            why(3857, of_map, "t").as_deref(),
            Some("paths has features there, which the statement leaves out")
        );
        assert_eq!(why(4326, of_map, "f"), None);
    }

    #[test]
    fn degrees_in_metres_are_found_by_their_place() {
        let middle = [Tile { z: 13, x: 4096, y: 4095 }, Tile { z: 6, x: 9, y: 9 }];
        let found = |tiles: &[Tile], srid, extent: [&str; 2]| {
            let mut sql = FakeSql::new();
            sql.answer("ST_Extent", &[&extent]);
            let found = degrees(&mut sql, &layer(srid), tiles.iter().copied()).unwrap();
            (found, sql.asked.len())
        };
        let (said, _) = found(&middle, 3857, ["12", "9"]);
        assert!(said.unwrap().starts_with("all features of paths lie within 15 m of 0° N 0° E"));
        // Off the coast of Africa there are real features.
        assert_eq!(found(&middle, 3857, ["9000", "70000"]).0, None);
        assert_eq!(found(&middle, 4326, ["12", "9"]), (None, 0));
        assert_eq!(found(&[Tile { z: 13, x: 4098, y: 4095 }, middle[0]], 3857, ["12", "9"]), (None, 0));
        assert!(!are_in_the_middle([Tile { z: 0, x: 0, y: 0 }].into_iter()));
    }
}
