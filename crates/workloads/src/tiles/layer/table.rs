//! A layer made of a table, by a query as in renderers and tile servers.

use protocol::postgres::sql::{Sql, SqlError, long, quote_identifier, quote_literal};

use super::super::options::{TilesOptions, Variant};
use super::super::via::Via;
use super::Style;
use super::columns::{self, TileColumns};
use super::feature_table::{FeatureTable, WEB_MERCATOR};
use crate::error;
use spec::Error;
use tile::area_m2;

/// Rows examined to know whether they have areas.
const LOOKED_AT: u32 = 1000;
/// Of a table with more rows, this many from all over it are examined for their kinds of geometry.
const MANY: f64 = 200_000.0;
const SAMPLED: f64 = 20_000.0;

/// A table, and how tiles are made of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableLayer {
    feature_table: FeatureTable,
    /// Name of the layer in the tile.
    name: String,
    columns: TileColumns,
    /// How `way_area` filters.
    areas: Areas,
    /// Kinds of geometries found, if there are several: `3 of 1000 are points`.
    mixed: Option<String>,
}

/// Whether small features can be left out by `way_area`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Areas {
    /// It has no such column, or only lines and points.
    None,
    All,
    /// Features other than polygons are kept at any size.
    Some,
}

impl TableLayer {
    pub(super) fn of(
        sql: &mut dyn Sql,
        feature_table: &FeatureTable,
        wanted: Option<&[String]>,
    ) -> Result<Self, Error> {
        let doing = format!("looking at table {}", feature_table.shown);
        let looking = |error: SqlError| error::sql_error(&doing)(error);
        let kinds = kinds(sql, feature_table).map_err(looking)?;
        let of_polygons = kinds.iter().filter(|(kind, _)| kind == "2").map(|(_, count)| count).sum::<u64>();
        let all = kinds.iter().map(|(_, count)| count).sum::<u64>();
        let has_area =
            feature_table.has("way_area") && mostly_areas(sql, &feature_table.table).map_err(looking)?;
        let areas = match (has_area, of_polygons == all) {
            (false, _) => Areas::None,
            (true, true) => Areas::All,
            (true, false) => Areas::Some,
        };
        Ok(Self {
            name: feature_table.name.strip_prefix("planet_osm_").unwrap_or(&feature_table.name).to_owned(),
            columns: columns::of(sql, feature_table, wanted)?,
            areas,
            mixed: (kinds.len() > 1).then(|| mixed(&kinds, all)),
            feature_table: feature_table.clone(),
        })
    }

    pub(super) fn remarks(&self, options: &TilesOptions) -> Vec<String> {
        let FeatureTable { shown, srid, .. } = &self.feature_table;
        let transformed = (*srid != WEB_MERCATOR).then(|| {
            format!("{shown} is in SRID {srid}: each geometry is transformed to {WEB_MERCATOR} for each tile")
        });
        let index = self.feature_table.missing_index("each tile reads the whole table");
        let mixed = self.mixed.as_ref().map(|mixed| {
            let filter = match self.areas {
                Areas::Some => "; features other than polygons are kept at any size",
                Areas::None | Areas::All => "",
            };
            format!("{shown} mixes geometries ({mixed}): one layer of a tile then holds all of them{filter}")
        });
        let makes = options.via.is_sql() || options.via == Via::Redis;
        let filters = makes && options.variant == Variant::Modern && options.min_pixels > 0.0;
        let small = (filters && self.areas != Areas::None).then(|| {
            format!(
                "polygons of {shown} smaller than {} square pixels on the map are left out, as styles do; min_pixels = 0 keeps them",
                options.min_pixels
            )
        });
        [transformed, index, mixed, small].into_iter().flatten().collect()
    }

    /// Its table, and the columns in its tiles.
    pub(super) fn parts(&self) -> (&FeatureTable, &TileColumns) {
        (&self.feature_table, &self.columns)
    }

    pub(super) fn is_of(&self, feature_table: &FeatureTable) -> bool {
        self.feature_table == *feature_table
    }

    /// Without `WHERE geom IS NOT NULL` around `ST_AsMVTGeom`: the planner would call it twice for each
    /// feature, and `ST_AsMVT` skips NULLs itself.
    pub(super) fn statement(&self, z: u8, style: Style, envelope: &str) -> String {
        let FeatureTable { named, geometry, .. } = &self.feature_table;
        let columns = self.columns.kept.iter();
        let attributes: String = columns.map(|column| format!(", t.{}", quote_identifier(column))).collect();
        let drawn = self.drawn_name();
        let filter = self.size_filter(z, style);
        let on_the_map = self.feature_table.on_the_map(&format!("t.{geometry}"));
        let there = self.feature_table.envelope(envelope);
        format!(
            "SELECT ST_AsMVT(tile, {}, 4096, {}) FROM (\
             SELECT ST_AsMVTGeom({on_the_map}, {envelope}) AS {drawn}{attributes} \
             FROM {named} AS t WHERE t.{geometry} && {there}{filter}) AS tile",
            quote_literal(&self.name),
            quote_literal(drawn)
        )
    }

    /// Name of the geometry in the tile's rows, which no attribute has.
    fn drawn_name(&self) -> &'static str {
        if self.columns.kept.iter().any(|column| column == "geom") { "pgdyno_geom" } else { "geom" }
    }

    /// As in real styles, polygons that would be a dot are left out. Empty where there is nothing to filter
    /// by.
    pub(super) fn size_filter(&self, z: u8, style: Style) -> String {
        let filters = style.variant == Variant::Modern && style.min_pixels > 0.0;
        let large = format!("t.way_area >= {}", area_m2(z, style.min_pixels));
        match self.areas {
            Areas::All if filters => format!(" AND {large}"),
            Areas::Some if filters => {
                format!(" AND ({large} OR ST_Dimension(t.{}) < 2)", self.feature_table.geometry)
            }
            _ => String::new(),
        }
    }
}

/// Dimensions of geometries (0 points, 1 lines, 2 polygons; 3 for collections), with their number among the
/// first rows.
fn kinds(sql: &mut dyn Sql, feature_table: &FeatureTable) -> Result<Vec<(String, u64)>, SqlError> {
    let FeatureTable { table, geometry, kind, .. } = feature_table;
    // A column with one kind needs no check.
    if !kind.is_empty() && !kind.starts_with("GEOMETRY") {
        let dimension = match kind {
            kind if kind.contains("POINT") => "0",
            kind if kind.contains("LINE") => "1",
            _ => "2",
        };
        return Ok(vec![(dimension.to_owned(), 1)]);
    }
    // Whole pages of the table, the same each time; a view has no estimate of rows.
    let from = if feature_table.rows > MANY {
        format!("{table} TABLESAMPLE SYSTEM ({}) REPEATABLE (1)", 100.0 * SAMPLED / feature_table.rows)
    } else {
        table.clone()
    };
    let rows = long(sql).rows(&format!(
        "SELECT kind, count(*) FROM (SELECT CASE WHEN GeometryType(g) LIKE 'GEOMETRYCOLLECTION%' THEN 3 ELSE ST_Dimension(g) END AS kind \
         FROM (SELECT {geometry} AS g FROM {from} WHERE {geometry} IS NOT NULL LIMIT {MANY}) AS looked_at) AS kinds GROUP BY 1 ORDER BY 1"
    ))?;
    let kind = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.as_ref()?.parse().ok()?));
    Ok(rows.iter().filter_map(kind).collect())
}

fn mixed(kinds: &[(String, u64)], all: u64) -> String {
    let words = kinds.iter().map(|(kind, count)| {
        let name = match kind.as_str() {
            "0" => "points",
            "1" => "lines",
            "2" => "polygons",
            _ => "collections",
        };
        format!("{count} {name}")
    });
    format!("{} of {all} that were looked at", words.collect::<Vec<_>>().join(", "))
}

/// Lines have the column `way_area` too, with NULL: a filter by it would leave nothing.
fn mostly_areas(sql: &mut dyn Sql, table: &str) -> Result<bool, SqlError> {
    let share = long(sql).scalar(&format!(
        "SELECT count(way_area) * 2 > count(*) FROM (SELECT way_area FROM {table} LIMIT {LOOKED_AT}) AS sample"
    ))?;
    Ok(share.as_deref() == Some("t"))
}
