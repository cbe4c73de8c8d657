//! Checks PostGIS, tables, and their geometry columns.

use crate::error;
use protocol::nearest;
use protocol::postgres::sql::{Sql, SqlError, long, quote_identifier, quote_literal};
use spec::Error;

/// SRID of the web map.
pub(in crate::tiles) const WEB_MERCATOR: i64 = 3857;

const INVALID_NAME: &str = "42602";

#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::tiles) struct FeatureTable {
    /// As the user gave it.
    pub(in crate::tiles) shown: String,
    /// Quoted, with its schema.
    pub(in crate::tiles) table: String,
    /// Quoted, for statements: with a schema only if the user wrote one, so that each connection uses its own
    /// `search_path`.
    pub(in crate::tiles) named: String,
    pub(in crate::tiles) schema: String,
    pub(in crate::tiles) name: String,
    /// Geometry column, quoted.
    pub(in crate::tiles) geometry: String,
    pub(in crate::tiles) srid: i64,
    /// Kind of its geometries according to the column: `POLYGON`, `GEOMETRY`.
    pub(in crate::tiles) kind: String,
    pub(in crate::tiles) columns: Vec<String>,
    /// What identifies a feature; an SQL expression of type bigint on table `t`.
    pub(in crate::tiles) identity: String,
    /// The planner's estimate.
    pub(in crate::tiles) rows: f64,
    /// Whether an index finds features by place; assumed for views, whose tables may have one.
    pub(in crate::tiles) is_indexed: bool,
}

impl FeatureTable {
    /// The geometry of table `t` in the map's projection.
    pub(in crate::tiles) fn on_the_map(&self, geometry: &str) -> String {
        if self.srid == WEB_MERCATOR {
            geometry.to_owned()
        } else {
            format!("ST_Transform({geometry}, {WEB_MERCATOR})")
        }
    }

    /// An envelope of the map in the table's projection.
    pub(in crate::tiles) fn envelope(&self, envelope: &str) -> String {
        if self.srid == WEB_MERCATOR {
            envelope.to_owned()
        } else {
            format!("ST_Transform({envelope}, {})", self.srid)
        }
    }

    /// A remark if it has no spatial index, with what that means here.
    pub(super) fn missing_index(&self, effect: &str) -> Option<String> {
        let Self { shown, geometry, is_indexed, .. } = self;
        (!is_indexed).then(|| {
            format!("{shown} has no spatial index on {geometry}: {effect}; try CREATE INDEX ON {shown} USING gist ({geometry})")
        })
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known == column)
    }
}

/// Checks that the database has a PostGIS with tile functions.
pub(super) fn postgis(sql: &mut dyn Sql) -> Result<(), Error> {
    let version = sql
        .scalar("SELECT extversion FROM pg_extension WHERE extname = 'postgis'")
        .map_err(error::sql_error("looking for PostGIS"))?;
    match version {
        Some(version) if major(&version) >= 3 => Ok(()),
        Some(version) => Err(error::missing_error(
            format!("PostGIS {version} has no ST_TileEnvelope"),
            "tiles need PostGIS 3.0 or later",
        )),
        None => Err(error::missing_error(
            "PostGIS is not installed in this database",
            "run CREATE EXTENSION postgis there, or name it in target.managed = { extensions = [\"postgis\"] }",
        )),
    }
}

fn major(version: &str) -> u32 {
    version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The table of this name.
pub(super) fn feature_table(sql: &mut dyn Sql, shown: &str) -> Result<FeatureTable, Error> {
    let doing = format!("looking at table {shown}");
    let asked = |error: SqlError| error::sql_error(&doing)(error);
    let found = sql
        .rows(&format!(
            "SELECT n.nspname, c.relname, c.oid, c.reltuples FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.oid = to_regclass({})",
            quote_literal(shown)
        ))
        .map_err(|error| match error.is(INVALID_NAME) {
            true => error::missing_error(format!("{shown} is not a valid table name in SQL"), format!("a name with blanks or capitals needs quotes: {}", quote_identifier(shown))),
            false => asked(error),
        })?;
    let Some([schema, name, oid, rows]) = texts(found.first()) else {
        return Err(error::missing_error(
            format!("table {shown} does not exist in this database"),
            hint_for(sql, shown).map_err(asked)?,
        ));
    };
    let table = format!("{}.{}", quote_identifier(&schema), quote_identifier(&name));
    let named = as_written(shown, &schema, &name);
    let (geometry, srid, kind) = geometry_column(sql, shown, [&schema, &name, &table], &doing)?;
    let columns = sql
        .rows(&format!(
            "SELECT attname FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped"
        ))
        .map_err(asked)?;
    let columns: Vec<String> = columns.into_iter().filter_map(|mut row| row.pop()?).collect();
    let quoted = quote_identifier(&geometry);
    let identity = if columns.iter().any(|column| column == "osm_id") {
        "t.osm_id::bigint".to_owned()
    } else {
        format!("hashtextextended(ST_AsEWKT(t.{quoted}), 0)")
    };
    let indexed = sql
        .scalar(&format!(
            "SELECT count(*) + (SELECT count(*) FROM pg_class WHERE oid = {oid} AND relkind NOT IN ('r', 'p', 'm')) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
             WHERE i.indrelid = {oid} AND i.indisvalid AND m.amname IN ('gist', 'spgist', 'brin') AND a.attname = {}",
            quote_literal(&geometry)
        ))
        .map_err(asked)?;
    Ok(FeatureTable {
        shown: shown.to_owned(),
        table,
        named,
        schema,
        name,
        geometry: quoted,
        srid,
        kind,
        columns,
        identity,
        rows: rows.parse().unwrap_or(0.0),
        is_indexed: indexed.as_deref() != Some("0"),
    })
}

/// A name of the catalog, quoted, with its schema if it was written.
pub(super) fn as_written(shown: &str, schema: &str, name: &str) -> String {
    let name = quote_identifier(name);
    let has_schema = shown.split('"').step_by(2).any(|unquoted| unquoted.contains('.'));
    if has_schema { format!("{}.{name}", quote_identifier(schema)) } else { name }
}

/// Whether a possible tile function has this name, with or without its schema. Names are compared as texts:
/// the server may refuse to parse one.
fn is_function(sql: &mut dyn Sql, shown: &str) -> Result<bool, SqlError> {
    let folded = if shown.contains('"') { shown.to_owned() } else { shown.to_lowercase() };
    let name = quote_literal(folded.trim());
    let found = sql.scalar(&format!(
        "SELECT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.pronargs >= 3 \
         AND (pg_function_is_visible(p.oid) AND {name} IN (quote_ident(p.proname), p.proname) \
              OR {name} IN (quote_ident(n.nspname) || '.' || quote_ident(p.proname), n.nspname || '.' || p.proname)))"
    ))?;
    Ok(found.as_deref() == Some("t"))
}

/// What to try when there is no such table.
fn hint_for(sql: &mut dyn Sql, shown: &str) -> Result<String, SqlError> {
    if is_function(sql, shown)? {
        return Ok(format!("there is a function of that name: write {}() in tiles.layers", shown.trim()));
    }
    let tables = sql.rows("SELECT DISTINCT f_table_schema, f_table_name FROM geometry_columns")?;
    let tables: Vec<[String; 2]> = tables.iter().filter_map(|row| texts(Some(row))).collect();
    let own = shown.rsplit('.').next().unwrap_or(shown);
    let right = nearest(own, tables.iter().map(|[_, table]| table.as_str()));
    let Some([schema, right]) = tables.iter().find(|[_, table]| Some(table.as_str()) == right) else {
        return Ok("load an extract with prepare.osm or pgdyno osm load, or correct tiles.table".to_owned());
    };
    let is_plain = |name: &str| {
        name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
    };
    let written = |name: &str| if is_plain(name) { name.to_owned() } else { quote_identifier(name) };
    let quotes = if is_plain(right) { "" } else { " (with the quotes)" };
    let right = match own == shown {
        true => written(right),
        false => format!("{}.{}", written(schema), written(right)),
    };
    Ok(format!("did you mean {right}?{quotes}"))
}

/// The first geometry column, its SRID and kind: preferably in the map's projection.
fn geometry_column(
    sql: &mut dyn Sql,
    shown: &str,
    [schema, name, table]: [&str; 3],
    doing: &str,
) -> Result<(String, i64, String), Error> {
    let asked = |error: SqlError| error::sql_error(doing)(error);
    let rows = sql
        .rows(&format!(
            "SELECT f_geometry_column, srid, type FROM geometry_columns \
             WHERE f_table_schema = {} AND f_table_name = {} ORDER BY srid <> {WEB_MERCATOR}, 1",
            quote_literal(schema),
            quote_literal(name)
        ))
        .map_err(asked)?;
    let Some([column, srid, kind]) = texts(rows.first()) else {
        // The view leaves out tables that may not be read.
        let query = format!("SELECT has_table_privilege({}, 'SELECT')", quote_literal(table));
        return Err(match sql.scalar(&query).map_err(asked)?.as_deref() {
            Some("f") => error::missing_error(
                format!("this role may not read table {shown}"),
                format!("GRANT SELECT ON {table} TO it, or connect as another role"),
            ),
            _ => error::missing_error(
                format!("table {shown} has no geometry column"),
                "tiles are made of a column of type geometry; cast one of type geography in a view",
            ),
        });
    };
    let srid = match srid.parse().unwrap_or(0) {
        0 => match &srids_of_rows(sql, table, &column).map_err(asked)?[..] {
            [] => 0,
            [(srid, _)] => *srid,
            several => return Err(several_srids(shown, &column, several)),
        },
        known => known,
    };
    if srid == 0 {
        return Err(error::wrong_srid(shown, &column, srid));
    }
    Ok((column, srid, kind))
}

/// A tile would contain one of them, and silently leave all other features out.
fn several_srids(shown: &str, column: &str, found: &[(i64, String)]) -> Error {
    let each: Vec<String> = found.iter().map(|(srid, count)| format!("{count} in {srid}")).collect();
    error::missing_error(
        format!("{shown}.{column} holds geometries of several SRIDs: {}", each.join(", ")),
        format!(
            "bring them into one: ALTER TABLE {shown} ALTER {column} TYPE geometry(Geometry, {WEB_MERCATOR}) USING ST_Transform({column}, {WEB_MERCATOR}); or name \
             a view or a query of those that are meant"
        ),
    )
}

/// If a column has no SRID, its values have: SRIDs with their number of rows, the most frequent first.
fn srids_of_rows(sql: &mut dyn Sql, table: &str, column: &str) -> Result<Vec<(i64, String)>, SqlError> {
    let column = quote_identifier(column);
    let rows = long(sql).rows(&format!(
        "SELECT ST_SRID({column}), count(*) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    ))?;
    let srid = |[srid, count]: [String; 2]| Some((srid.parse().ok()?, count));
    Ok(rows.iter().filter_map(|row| srid(texts(Some(row))?)).collect())
}

/// The values of a row with this many columns, none of them NULL.
pub(super) fn texts<const N: usize>(row: Option<&Vec<Option<String>>>) -> Option<[String; N]> {
    let values: Option<Vec<String>> = row?.iter().cloned().collect();
    values?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It suggested loading an extract for it.
    #[test]
    fn a_function_without_its_parentheses_is_found() {
        use crate::testing::sql::FakeSql;

        for (there, wanted) in [
            ("t", "there is a function of that name: write My_tiles() in tiles.layers"),
            ("f", "load an extract"),
        ] {
            let mut sql = FakeSql::new();
            sql.answer("FROM pg_proc", &[&[there]]);
            let message = feature_table(&mut sql, "My_tiles").unwrap_err().to_string();
            assert!(
                message.contains("table My_tiles does not exist") && message.contains(wanted),
                "{message}"
            );
            assert!(sql.asked.iter().any(|asked| asked.contains("'my_tiles' IN (quote_ident(p.proname)")));
        }
    }

    #[test]
    fn names_without_a_schema_are_left_to_the_search_path() {
        for (shown, schema, name, wanted) in [
            ("Roads", "public", "roads", "\"roads\""),
            ("osm.roads", "osm", "roads", "\"osm\".\"roads\""),
            ("\"a.b\"", "public", "a.b", "\"a.b\""),
            ("\"a.b\".\"c\"", "a.b", "c", "\"a.b\".\"c\""),
            ("\"say \"\".\"\"\"", "public", "say \".\"", "\"say \"\".\"\"\""),
        ] {
            assert_eq!(as_written(shown, schema, name), wanted, "{shown}");
        }
    }
}
