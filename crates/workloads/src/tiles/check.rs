//! Is there PostGIS, is there the table, and are its geometries where tiles look for them?

use crate::error::WorkloadError;
use protocol::nearest;
use protocol::postgres::sql::{Sql, long, quote_identifier, quote_literal};

/// SRID of the web map.
const WEB_MERCATOR: i64 = 3857;

/// A table that tiles can be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    /// As the user gave it.
    pub(super) shown: String,
    /// Quoted, with its schema.
    pub(super) table: String,
    /// Name of the layer in the tile.
    pub(super) name: String,
    /// Geometry column, quoted.
    pub(super) geometry: String,
    /// Attribute columns, quoted.
    pub(super) attributes: Vec<String>,
    /// Whether small features can be left out by `way_area`.
    pub(super) has_area: bool,
    /// What identifies a feature; an SQL expression of type bigint.
    pub(super) identity: String,
}

/// Columns worth a place in a tile, where the table has them.
const ATTRIBUTES: [&str; 9] =
    ["osm_id", "name", "highway", "building", "landuse", "natural", "amenity", "place", "shop"];

/// Checks PostGIS and every table.
pub(super) fn layers(sql: &mut dyn Sql, tables: &[&str]) -> Result<Vec<Layer>, WorkloadError> {
    postgis(sql)?;
    tables.iter().map(|table| layer(sql, table)).collect()
}

fn postgis(sql: &mut dyn Sql) -> Result<(), WorkloadError> {
    let version = sql
        .scalar("SELECT extversion FROM pg_extension WHERE extname = 'postgis'")
        .map_err(WorkloadError::sql("looking for PostGIS"))?;
    match version {
        Some(version) if major(&version) >= 3 => Ok(()),
        Some(version) => Err(WorkloadError::Missing {
            what: format!("PostGIS {version} has no ST_TileEnvelope"),
            hint: "tiles need PostGIS 3.0 or later".to_owned(),
        }),
        None => Err(WorkloadError::Missing {
            what: "PostGIS is not installed in this database".to_owned(),
            hint: "run CREATE EXTENSION postgis there, or name it in target.managed = { extensions = [\"postgis\"] }"
                .to_owned(),
        }),
    }
}

fn major(version: &str) -> u32 {
    version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn layer(sql: &mut dyn Sql, shown: &str) -> Result<Layer, WorkloadError> {
    let doing = format!("looking at table {shown}");
    let found = sql.rows(&format!(
        "SELECT n.nspname, c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = to_regclass({})",
        quote_literal(shown)
    ));
    let found = found.map_err(WorkloadError::sql(&doing))?;
    let Some([schema, name, oid]) = three(found.first()) else {
        return Err(WorkloadError::Missing {
            what: format!("table {shown} does not exist in this database"),
            hint: hint_for(sql, shown).map_err(WorkloadError::sql(&doing))?,
        });
    };
    let geometry = geometry_column(sql, shown, &schema, &name).map_err(|error| error.or_sql(&doing))?;
    let columns = sql.rows(&format!(
        "SELECT attname FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped"
    ));
    let columns: Vec<String> =
        columns.map_err(WorkloadError::sql(&doing))?.into_iter().filter_map(|mut row| row.pop()?).collect();
    let has = |column: &str| columns.iter().any(|known| known == column);
    let table = format!("{}.{}", quote_identifier(&schema), quote_identifier(&name));
    let quoted = quote_identifier(&geometry);
    let identity = if has("osm_id") {
        "t.osm_id::bigint".to_owned()
    } else {
        format!("hashtextextended(ST_AsEWKT(t.{quoted}), 0)")
    };
    let attributes = ATTRIBUTES.iter().filter(|column| has(column) && **column != geometry);
    let layer = Layer {
        shown: shown.to_owned(),
        name: name.strip_prefix("planet_osm_").unwrap_or(&name).to_owned(),
        attributes: attributes.map(|column| quote_identifier(column)).collect(),
        has_area: has("way_area") && mostly_areas(sql, &table).map_err(WorkloadError::sql(&doing))?,
        table,
        geometry: quoted,
        identity,
    };
    Ok(layer)
}

/// What to try when there is no such table.
fn hint_for(sql: &mut dyn Sql, shown: &str) -> Result<String, protocol::postgres::sql::SqlError> {
    let tables = sql.rows("SELECT DISTINCT f_table_name FROM geometry_columns")?;
    let tables: Vec<String> = tables.into_iter().filter_map(|mut row| row.pop()?).collect();
    Ok(match nearest(shown, tables.iter().map(String::as_str)) {
        Some(right) => format!("did you mean {right}?"),
        None => "load an extract with prepare.osm or pgdyno osm load, or correct tiles.table".to_owned(),
    })
}

/// Lines have the column `way_area` too, and NULL in it: a filter by it would leave nothing.
fn mostly_areas(sql: &mut dyn Sql, table: &str) -> Result<bool, protocol::postgres::sql::SqlError> {
    let share = long(sql).scalar(&format!(
        "SELECT count(way_area) * 2 > count(*) FROM (SELECT way_area FROM {table} LIMIT 1000) AS sample"
    ))?;
    Ok(share.as_deref() == Some("t"))
}

/// An error of a step that may also fail in SQL.
enum Trouble {
    Sql(protocol::postgres::sql::SqlError),
    Other(WorkloadError),
}

impl Trouble {
    fn or_sql(self, doing: &str) -> WorkloadError {
        match self {
            Self::Sql(error) => WorkloadError::Sql { doing: doing.to_owned(), error },
            Self::Other(error) => error,
        }
    }
}

/// The first geometry column, if it is in the web map's projection.
fn geometry_column(sql: &mut dyn Sql, shown: &str, schema: &str, name: &str) -> Result<String, Trouble> {
    let rows = sql
        .rows(&format!(
            "SELECT f_geometry_column, srid, '' FROM geometry_columns \
             WHERE f_table_schema = {} AND f_table_name = {} ORDER BY srid <> {WEB_MERCATOR}, 1",
            quote_literal(schema),
            quote_literal(name)
        ))
        .map_err(Trouble::Sql)?;
    let [column, srid, _] = three(rows.first()).ok_or_else(|| {
        Trouble::Other(WorkloadError::Missing {
            what: format!("table {shown} has no geometry column"),
            hint: "tiles are made of a column of type geometry in SRID 3857".to_owned(),
        })
    })?;
    let srid = match srid.parse().unwrap_or(0) {
        0 => srid_of_first_row(sql, schema, name, &column).map_err(Trouble::Sql)?,
        known => known,
    };
    if srid == WEB_MERCATOR {
        Ok(column)
    } else {
        Err(Trouble::Other(WorkloadError::WrongSrid { table: shown.to_owned(), column, srid }))
    }
}

/// A column may not say its SRID; its values do.
fn srid_of_first_row(
    sql: &mut dyn Sql,
    schema: &str,
    name: &str,
    column: &str,
) -> Result<i64, protocol::postgres::sql::SqlError> {
    let column = quote_identifier(column);
    let srid = long(sql).scalar(&format!(
        "SELECT ST_SRID({column}) FROM {}.{} WHERE {column} IS NOT NULL LIMIT 1",
        quote_identifier(schema),
        quote_identifier(name)
    ))?;
    Ok(srid.and_then(|srid| srid.parse().ok()).unwrap_or(0))
}

fn three(row: Option<&Vec<Option<String>>>) -> Option<[String; 3]> {
    match row?.as_slice() {
        [a, b, c] => Some([a.clone()?, b.clone()?, c.clone()?]),
        _ => None,
    }
}
