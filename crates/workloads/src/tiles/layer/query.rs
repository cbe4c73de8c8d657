//! A layer made by a user's query: it returns a tile, or rows of which pgdyno makes one.

use protocol::postgres::sql::{Sql, SqlError, long, quote_identifier, quote_literal};

use super::feature_table::feature_table;
use super::rows::{self, RowQuery};
use super::text::{SAME_FOR_ALL, TileStatement};
use super::{TileArgument, TileLayer};
use crate::error;
use spec::Error;
use tile::Tile;

const BYTEA: u32 = 17;
/// The tile for which a query is planned to see its tables; any works.
const ANY: Tile = Tile { z: 14, x: 8851, y: 6439 };

/// The query must return a tile, or rows of which one can be made; tiles may be chosen by the tables it reads.
pub(super) fn layer(sql: &mut dyn Sql, shown: &str, statement: &TileStatement) -> Result<TileLayer, Error> {
    let text = statement.with(ANY.z, &TileArgument::Tile(ANY).values());
    let answer = long(sql).query(&format!("SELECT * FROM ({text}) AS answer LIMIT 0"));
    let answer = answer.map_err(error::sql_error(format!("looking at query {shown}")))?;
    let first = answer.first();
    let columns = first.map_or(&[][..], |answer| &answer.columns[..]);
    let types = first.map_or(&[][..], |answer| &answer.types[..]);
    let feature_tables = match tables(sql, &text) {
        Ok(tables) => tables.iter().filter_map(|table| feature_table(sql, table).ok()).collect(),
        // Tiles can be chosen otherwise; if not, the picker reports it.
        Err(_) => Vec::new(),
    };
    let made = match (types.first(), columns) {
        (_, []) => return Err(no_tile(sql, shown, columns, None)),
        (Some(&BYTEA), _) if !is_binary_geometry(statement) => tile_of(statement, columns, shown)?,
        // If the connection does not report types, the first tile shows.
        (None, _) => tile_of(statement, columns, shown)?,
        (Some(of_type), _) => {
            let looking = error::sql_error(format!("looking at the columns of {shown}"));
            let found = rows::columns(sql, columns, types).map_err(looking)?;
            match RowQuery::of(found, statement) {
                Some(rows) => rows.tile(statement, &name_of(statement, shown), &feature_tables),
                None => return Err(no_tile(sql, shown, columns, Some(*of_type))),
            }
        }
    };
    Ok(TileLayer::of_statement(shown, made, feature_tables))
}

/// Whether the bytea is a geometry, not a tile.
fn is_binary_geometry(statement: &TileStatement) -> bool {
    statement.calls(&["st_asbinary", "st_asewkb"]) && !statement.calls(&["st_asmvt"])
}

/// A statement that returns a tile in its first column.
fn tile_of(statement: &TileStatement, columns: &[String], shown: &str) -> Result<TileStatement, Error> {
    if !statement.is_of_tile() {
        return Err(error::script(format!("{shown} {SAME_FOR_ALL}")));
    }
    Ok(match columns.len() {
        1 => statement.clone(),
        _ => statement.within("SELECT answer.tile FROM (", ") AS answer (tile)"),
    })
}

/// The layer's name: that of the subquery, otherwise of the file.
fn name_of(statement: &TileStatement, shown: &str) -> String {
    let file = || shown.rsplit_once('.').map_or(shown, |(stem, _)| stem).to_owned();
    statement.alias.clone().unwrap_or_else(file)
}

fn no_tile(sql: &mut dyn Sql, shown: &str, columns: &[String], of_type: Option<u32>) -> Error {
    let named =
        of_type.and_then(|oid| sql.scalar(&format!("SELECT format_type({oid}, NULL)")).ok().flatten());
    let what = match (columns.first(), named) {
        (Some(column), Some(of_type)) => format!("the first column of {shown}, {column}, is {of_type}"),
        (Some(column), None) => format!("the first column of {shown}, {column}, is not a bytea"),
        (None, _) => format!("{shown} returns no column"),
    };
    let hint = "select what ST_AsMVT gives, or rows with a column of type geometry";
    error::missing_error(format!("{what}, and a tile is bytea"), hint)
}

/// Tables with geometries in the plan, in its order, in a form that can be named.
fn tables(sql: &mut dyn Sql, text: &str) -> Result<Vec<String>, SqlError> {
    let plan = sql.rows(&format!("EXPLAIN (FORMAT JSON, VERBOSE) {text}"))?;
    let plan: String = plan.into_iter().flatten().flatten().collect();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap_or_default();
    let mut found = Vec::new();
    relations(&plan, &mut found);
    let mut with_geometry = Vec::new();
    for (schema, table) in found {
        let known = sql.scalar(&format!(
            "SELECT count(*) FROM geometry_columns WHERE f_table_schema = {} AND f_table_name = {}",
            quote_literal(&schema),
            quote_literal(&table)
        ))?;
        if known.as_deref() != Some("0") {
            with_geometry.push(format!("{}.{}", quote_identifier(&schema), quote_identifier(&table)));
        }
    }
    Ok(with_geometry)
}

fn relations(plan: &serde_json::Value, found: &mut Vec<(String, String)>) {
    match plan {
        serde_json::Value::Array(list) => list.iter().for_each(|value| relations(value, found)),
        serde_json::Value::Object(node) => {
            let text = |name| node.get(name).and_then(serde_json::Value::as_str);
            if let (Some(schema), Some(table)) = (text("Schema"), text("Relation Name")) {
                let named = (schema.to_owned(), table.to_owned());
                if !found.contains(&named) {
                    found.push(named);
                }
            }
            node.values().for_each(|value| relations(value, found));
        }
        _ => {}
    }
}
