//! Which columns of a table are attributes in its tiles.

use protocol::nearest;
use protocol::postgres::sql::{Sql, quote_identifier, quote_literal};
use spec::Error;

use super::feature_table::FeatureTable;
use crate::error;

/// Columns of tables of osm2pgsql that styles of OpenStreetMap use; the others are tags of all kinds.
const OF_STYLES: [&str; 9] =
    ["osm_id", "name", "highway", "building", "landuse", "natural", "amenity", "place", "shop"];

/// Names that osm2pgsql gives its tables, after a prefix.
const OF_OSM2PGSQL: [&str; 4] = ["_point", "_line", "_roads", "_polygon"];

/// Types that are no attribute of a feature.
const SPATIAL: [&str; 3] = ["geometry", "geography", "raster"];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::tiles) struct TileColumns {
    /// In the order of the table, or as the user listed them.
    pub(in crate::tiles) kept: Vec<String>,
    /// Their keys become attributes.
    pub(in crate::tiles) expanded: Vec<String>,
    /// Each with the reason.
    pub(in crate::tiles) left_out: Vec<(String, &'static str)>,
}

struct Column {
    name: String,
    of_type: String,
    is_readable: bool,
}

/// The columns of a table; `wanted` are those that the user listed, for all tables.
pub(super) fn of(
    sql: &mut dyn Sql,
    table: &FeatureTable,
    wanted: Option<&[String]>,
) -> Result<TileColumns, Error> {
    let rows = sql.rows(&format!(
        "SELECT a.attname, t.typname, has_column_privilege(a.attrelid, a.attnum, 'SELECT') \
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
         WHERE a.attrelid = to_regclass({}) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        quote_literal(&table.table)
    ));
    let rows = rows.map_err(error::sql_error(format!("looking at the columns of {}", table.shown)))?;
    let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let columns = rows.iter().map(|row| Column {
        name: text(row, 0),
        of_type: text(row, 1),
        is_readable: text(row, 2) != "f",
    });
    Ok(chosen(columns.collect(), table, wanted))
}

fn chosen(all: Vec<Column>, table: &FeatureTable, wanted: Option<&[String]>) -> TileColumns {
    let of_style = is_of_osm2pgsql(table);
    let mut columns = TileColumns::default();
    for Column { name, of_type, is_readable } in all {
        if quote_identifier(&name) == table.geometry {
            continue;
        }
        let why = match wanted {
            _ if SPATIAL.contains(&of_type.as_str()) => Some("a further geometry"),
            _ if !is_readable => Some("not readable for this role"),
            Some(wanted) if !wanted.contains(&name) => Some(NOT_LISTED),
            None if of_style && !OF_STYLES.contains(&name.as_str()) => Some("not used by styles"),
            _ => None,
        };
        match why {
            Some(why) => columns.left_out.push((name, why)),
            None => {
                columns.expanded.extend((of_type == "jsonb").then(|| name.clone()));
                columns.kept.push(name);
            }
        }
    }
    columns
}

const NOT_LISTED: &str = "not listed";

/// A table as osm2pgsql makes it without a style of the user's own.
fn is_of_osm2pgsql(table: &FeatureTable) -> bool {
    let is_named_so = OF_OSM2PGSQL.iter().any(|end| table.name.ends_with(end));
    is_named_so && table.has("osm_id") && table.has("way")
}

/// A listed column that no table has, or that is a geometry.
pub(super) fn problem(wanted: &[String], tables: &[(&FeatureTable, &TileColumns)]) -> Option<String> {
    let has = |columns: &TileColumns, name: &String| columns.kept.contains(name);
    let missing = wanted.iter().find(|name| !tables.iter().any(|(_, columns)| has(columns, name)))?;
    let reason = |(_, columns): &(&FeatureTable, &TileColumns)| {
        columns.left_out.iter().find(|(name, _)| name == missing).map(|(_, why)| *why)
    };
    if let Some(why) = tables.iter().find_map(reason) {
        return Some(format!("column \"{missing}\" cannot be an attribute: {why}"));
    }
    if tables.iter().any(|(table, _)| quote_identifier(missing) == table.geometry) {
        return Some(format!("column \"{missing}\" is the geometry, which is in each tile"));
    }
    let known: Vec<&str> =
        tables.iter().flat_map(|(table, _)| table.columns.iter().map(String::as_str)).collect();
    let hint = match nearest(missing, known.iter().copied()) {
        Some(right) => format!("did you mean \"{right}\"?"),
        None => format!("there are {}", known.join(", ")),
    };
    Some(format!("no layer has a column \"{missing}\"; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &[&str]) -> FeatureTable {
        let geometry = if columns.contains(&"way") { "\"way\"" } else { "\"geom\"" };
        FeatureTable {
            name: name.to_owned(),
            geometry: geometry.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            ..FeatureTable::default()
        }
    }

    fn of_table(table: &FeatureTable, wanted: Option<&[&str]>) -> TileColumns {
        let column = |name: &String| Column {
            name: name.clone(),
            of_type: if name.starts_with("centre") { "geometry" } else { "text" }.to_owned(),
            is_readable: name != "secret",
        };
        let wanted: Option<Vec<String>> =
            wanted.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        chosen(table.columns.iter().map(column).collect(), table, wanted.as_deref())
    }

    #[test]
    fn a_users_table_has_all_columns_in_its_tiles() {
        let parcels = table("parcels", &["id", "geom", "owner", "centre", "secret", "osm_id"]);
        let columns = of_table(&parcels, None);
        assert_eq!(columns.kept, ["id", "owner", "osm_id"]);
        let left_out = [("centre", "a further geometry"), ("secret", "not readable for this role")];
        assert_eq!(columns.left_out, left_out.map(|(name, why)| (name.to_owned(), why)));
        let listed = of_table(&parcels, Some(&["owner"]));
        assert_eq!((listed.kept, listed.left_out.len()), (vec!["owner".to_owned()], 4));
        assert!(of_table(&parcels, Some(&[])).kept.is_empty());
    }

    #[test]
    fn of_osm2pgsql_those_of_styles_are_kept() {
        let polygons = table("planet_osm_polygon", &["osm_id", "access", "name", "way", "way_area"]);
        let columns = of_table(&polygons, None);
        assert_eq!(columns.kept, ["osm_id", "name"]);
        assert_eq!(columns.left_out[0], ("access".to_owned(), "not used by styles"));
        assert_eq!(of_table(&polygons, Some(&["access"])).kept, ["access"]);
        // Another name: somebody made it with these columns.
        assert_eq!(
            of_table(&table("my_areas", &["osm_id", "access", "way"]), None).kept,
            ["osm_id", "access"]
        );
    }

    #[test]
    fn listed_columns_must_exist() {
        let parcels = table("parcels", &["id", "geom", "owner", "centre"]);
        let problem_of = |wanted: &[&str]| {
            let columns = of_table(&parcels, Some(wanted));
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            problem(&wanted, &[(&parcels, &columns)])
        };
        assert_eq!(problem_of(&["id", "owner"]), None);
        for (wanted, said) in [
            ("ownr", "no layer has a column \"ownr\"; did you mean \"owner\"?"),
            ("centre", "column \"centre\" cannot be an attribute: a further geometry"),
            ("geom", "column \"geom\" is the geometry, which is in each tile"),
        ] {
            assert_eq!(problem_of(&[wanted]).as_deref(), Some(said));
        }
    }
}
