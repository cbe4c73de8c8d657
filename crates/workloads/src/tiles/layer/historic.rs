//! The query of the study "Database Benchmarking - PostGIS Tileserver" (Dustin Wilson, 25 September 2021,
//! figure 1.1.2), unchanged except for the table, its geometry column and the box. It repeats the study, and
//! is not a way to make tiles: its boxes are not on a tile grid, its tile space is in degrees, most small
//! polygons vanish, and it has no attributes.

use protocol::postgres::sql::{Sql, long};
use spec::Error;

use super::feature_table::{FeatureTable, texts};
use crate::error;

const QUERY: &str = include_str!("historic.sql");

/// The remark for the user.
pub(super) const SOURCE: &str = "historic: random boxes by the query of \"Database Benchmarking - PostGIS Tileserver\" \
     (Dustin Wilson, 2021), which are no tiles of a map's grid";

/// The query for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Historic {
    pub(super) statement: String,
}

impl Historic {
    /// Boxes within `bounds` (west, south, east, north, degrees), otherwise within the bounds of the table.
    pub(super) fn of(
        sql: &mut dyn Sql,
        feature_table: &FeatureTable,
        bounds: Option<[f64; 4]>,
    ) -> Result<Self, Error> {
        let FeatureTable { table, named, geometry, shown, .. } = feature_table;
        let bounds = match bounds {
            Some(bounds) => bounds.map(degrees),
            None => {
                let rows = long(sql)
                    .rows(&format!(
                        "SELECT ST_XMin(e), ST_YMin(e), ST_XMax(e), ST_YMax(e) FROM (\
                         SELECT ST_Transform(ST_SetSRID(ST_Extent({geometry}), {}), 4326) AS e FROM {table}) AS extent",
                        feature_table.srid
                    ))
                    .map_err(error::sql_error(format!("reading the bounds of {shown}")))?;
                let found: [String; 4] = texts(rows.first()).ok_or_else(|| {
                    error::missing_error(format!("table {shown} holds no feature"), "load data first")
                })?;
                found.map(|text| text.parse().map_or(text, degrees))
            }
        };
        let names = ["west", "south", "east", "north"];
        let boxed = names
            .iter()
            .zip(&bounds)
            .fold(QUERY.to_owned(), |text, (name, degrees)| text.replace(&format!("{{{name}}}"), degrees));
        let statement = boxed.replace("{table}", &unquoted(named)).replace("{geometry}", &unquoted(geometry));
        Ok(Self { statement: statement.trim_end().trim_end_matches(';').to_owned() })
    }
}

/// A quoted name without unnecessary quotes.
fn unquoted(quoted: &str) -> String {
    let needs_none = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let parts: Option<Vec<&str>> = quoted
        .split('.')
        .map(|part| part.strip_prefix('"')?.strip_suffix('"').filter(|name| needs_none(name)))
        .collect();
    parts.map_or_else(|| quoted.to_owned(), |parts| parts.join("."))
}

/// Eight decimals, as in the study.
fn degrees(value: f64) -> String {
    format!("{value:.8}")
}
