//! A query that returns rows with a geometry, as in configurations of renderers and tile servers: they make
//! the tile of it themselves, and pgdyno does so with `ST_AsMVT`.

use protocol::postgres::sql::{Sql, SqlError, quote_identifier, quote_literal};

use super::feature_table::{FeatureTable, WEB_MERCATOR};
use super::text::TileStatement;

/// A column of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowColumn {
    pub(super) name: String,
    /// Name of its type in the catalog; empty if unknown.
    pub(super) of_type: String,
}

/// How a column holds a geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeometryForm {
    Geometry,
    Geography,
    /// `ST_AsBinary`, which drops the SRID.
    Binary,
    /// `ST_AsEWKB`, which keeps it.
    ExtendedBinary,
}

/// A query whose rows become features of a tile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowQuery {
    columns: Vec<RowColumn>,
    /// Index of the column with the geometry.
    geometry: usize,
    form: GeometryForm,
}

/// The columns of an answer, by the names of their types.
pub(super) fn columns(
    sql: &mut dyn Sql,
    names: &[String],
    types: &[u32],
) -> Result<Vec<RowColumn>, SqlError> {
    let oids: Vec<String> = types.iter().map(u32::to_string).collect();
    let known = match oids.is_empty() {
        true => Vec::new(),
        false => sql.rows(&format!("SELECT oid, typname FROM pg_type WHERE oid IN ({})", oids.join(", ")))?,
    };
    let name_of = |oid: &String| {
        let row = known.iter().find(|row| row.first() == Some(&Some(oid.clone())))?;
        row.get(1)?.clone()
    };
    let column = |(at, name): (usize, &String)| RowColumn {
        name: name.clone(),
        of_type: oids.get(at).and_then(name_of).unwrap_or_default(),
    };
    Ok(names.iter().enumerate().map(column).collect())
}

impl RowQuery {
    /// `None` if no column holds a geometry.
    pub(super) fn of(columns: Vec<RowColumn>, statement: &TileStatement) -> Option<Self> {
        let first = |of_type: &str| columns.iter().position(|column| column.of_type == of_type);
        let binary = if statement.calls(&["st_asbinary"]) {
            Some(GeometryForm::Binary)
        } else if statement.calls(&["st_asewkb"]) {
            Some(GeometryForm::ExtendedBinary)
        } else {
            None
        };
        let found = first("geometry").map(|at| (at, GeometryForm::Geometry));
        let found = found.or_else(|| Some((first("geography")?, GeometryForm::Geography)));
        let (geometry, form) = found.or_else(|| Some((first("bytea")?, binary?)))?;
        Some(Self { columns, geometry, form })
    }

    /// The statement for a tile: the query's rows through `ST_AsMVT`, with the layer's name.
    pub(super) fn tile(
        &self,
        statement: &TileStatement,
        name: &str,
        feature_tables: &[FeatureTable],
    ) -> TileStatement {
        let srid = srid(feature_tables);
        let geometry = &self.columns[self.geometry].name;
        let own = format!("answer.c{}", self.geometry);
        // What is in the tile's coordinates already must not be moved again.
        let is_in_tile = statement.calls(&["st_asmvtgeom"]);
        let on_the_map = self.on_the_map(&own, srid, statement);
        let drawn = match is_in_tile {
            true => own.clone(),
            false => format!("ST_AsMVTGeom({on_the_map}, {ENVELOPE})"),
        };
        let attributes =
            self.attributes().map(|(at, column)| format!(", answer.c{at} AS {}", quoted(&column.name)));
        let attributes: String = attributes.collect();
        let filter = match statement.is_of_place() {
            true => String::new(),
            false => format!(" WHERE {own} && {}", in_srid(ENVELOPE, srid)),
        };
        let columns: Vec<String> = (0..self.columns.len()).map(|at| format!("c{at}")).collect();
        let before = format!(
            "SELECT ST_AsMVT(tile, {}, 4096, {}) FROM (SELECT {drawn} AS {}{attributes} FROM (",
            literal(name),
            literal(geometry),
            quoted(geometry)
        );
        let after = format!(") AS answer ({}){filter}) AS tile", columns.join(", "));
        statement.clone().with_box_in(srid).within(&before, &after)
    }

    fn on_the_map(&self, own: &str, srid: i64, statement: &TileStatement) -> String {
        // Renderers transform in the query, or leave it to the table.
        let is_transformed = statement.calls(&["st_transform"]);
        match self.form {
            GeometryForm::Geometry if srid == WEB_MERCATOR => own.to_owned(),
            GeometryForm::Geometry => format!("ST_Transform({own}, {WEB_MERCATOR})"),
            GeometryForm::Geography => format!("ST_Transform({own}::geometry, {WEB_MERCATOR})"),
            GeometryForm::ExtendedBinary => format!("ST_Transform(ST_GeomFromEWKB({own}), {WEB_MERCATOR})"),
            GeometryForm::Binary if is_transformed || srid == WEB_MERCATOR => {
                format!("ST_GeomFromWKB({own}, {WEB_MERCATOR})")
            }
            GeometryForm::Binary => {
                format!("ST_Transform(ST_GeomFromWKB({own}, {srid}), {WEB_MERCATOR})")
            }
        }
    }

    /// Columns other than geometries; of several with one name the first.
    fn attributes(&self) -> impl Iterator<Item = (usize, &RowColumn)> {
        let is_first =
            |at: usize| !self.columns[..at].iter().any(|other| other.name == self.columns[at].name);
        let is_spatial =
            |column: &RowColumn| ["geometry", "geography", "raster"].contains(&column.of_type.as_str());
        self.columns.iter().enumerate().filter(move |(at, column)| {
            *at != self.geometry
                && is_first(*at)
                && !is_spatial(column)
                && column.name != self.columns[self.geometry].name
        })
    }
}

const ENVELOPE: &str = "ST_TileEnvelope($1, $2, $3)";

fn in_srid(envelope: &str, srid: i64) -> String {
    if srid == WEB_MERCATOR { envelope.to_owned() } else { format!("ST_Transform({envelope}, {srid})") }
}

/// SRID of the tables that the query reads; the map's if they have several or are not known.
fn srid(feature_tables: &[FeatureTable]) -> i64 {
    match feature_tables {
        [first, others @ ..] if others.iter().all(|other| other.srid == first.srid) => first.srid,
        _ => WEB_MERCATOR,
    }
}

/// A dollar would begin a placeholder.
fn quoted(name: &str) -> String {
    quote_identifier(&name.replace('$', "_"))
}

fn literal(name: &str) -> String {
    quote_literal(&name.replace('$', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, of_type: &str) -> RowColumn {
        RowColumn { name: name.to_owned(), of_type: of_type.to_owned() }
    }

    fn tile(text: &str, columns: &[(&str, &str)], srid: i64) -> Option<String> {
        let statement = super::super::text::read(text).unwrap();
        let columns = columns.iter().map(|(name, of_type)| column(name, of_type)).collect();
        let table = FeatureTable { srid, ..FeatureTable::default() };
        let made = RowQuery::of(columns, &statement)?.tile(&statement, "water", &[table]);
        Some(made.with(3, &["3", "1", "2"].map(str::to_owned)))
    }

    #[test]
    fn rows_become_a_tile() {
        let columns = [("name", "text"), ("way", "geometry"), ("centre", "geometry"), ("name", "text")];
        assert_eq!(
            tile("(select * from t where way && !bbox!) as w", &columns, 3857).unwrap(),
            "SELECT ST_AsMVT(tile, 'water', 4096, 'way') FROM (SELECT ST_AsMVTGeom(answer.c1, ST_TileEnvelope(3, 1, 2)) AS \"way\", \
             answer.c0 AS \"name\" FROM (SELECT * FROM (select * from t where way && ST_TileEnvelope(3, 1, 2)) AS w) \
             AS answer (c0, c1, c2, c3)) AS tile"
        );
    }

    #[test]
    fn geometries_come_in_several_forms() {
        let of = |text: &str, of_type: &str, srid| {
            let all = tile(text, &[("geom", of_type)], srid).unwrap();
            let (_, from) = all.split_once("(SELECT ").unwrap();
            from.split_once(" AS \"geom\"").unwrap().0.replace("ST_TileEnvelope(3, 1, 2)", "E")
        };
        let wkb = "select ST_AsBinary(geom) from t where geom && !BBOX!";
        assert_eq!(of(wkb, "bytea", 3857), "ST_AsMVTGeom(ST_GeomFromWKB(answer.c0, 3857), E)");
        assert_eq!(
            of(wkb, "bytea", 4326),
            "ST_AsMVTGeom(ST_Transform(ST_GeomFromWKB(answer.c0, 4326), 3857), E)"
        );
        let moved = "select st_asbinary(st_transform(geom, 3857)) from t where geom && !BBOX!";
        assert_eq!(of(moved, "bytea", 4326), "ST_AsMVTGeom(ST_GeomFromWKB(answer.c0, 3857), E)");
        assert_eq!(
            of("select g from t where g && !bbox!", "geometry", 4326),
            "ST_AsMVTGeom(ST_Transform(answer.c0, 3857), E)"
        );
        // It is in the tile's coordinates already.
        let drawn = "select ST_AsMVTGeom(geom, !BBOX!) from t";
        assert_eq!(of(drawn, "geometry", 4326), "answer.c0");
        assert_eq!(tile("select x from t", &[("x", "bytea")], 3857), None);
    }

    #[test]
    fn without_a_box_the_rows_of_the_tile_are_selected() {
        let made = |srid| tile("select way from t where z < !zoom!", &[("way", "geometry")], srid).unwrap();
        assert!(
            made(3857).ends_with(
                "t where z < 3) AS answer (c0) WHERE answer.c0 && ST_TileEnvelope(3, 1, 2)) AS tile"
            )
        );
        assert!(
            made(4326).contains("WHERE answer.c0 && ST_Transform(ST_TileEnvelope(3, 1, 2), 4326)) AS tile")
        );
    }
}
