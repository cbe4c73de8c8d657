//! Whether layers show data of OpenStreetMap, whose source must be named.

use protocol::postgres::sql::{Sql, long};
use spec::Error;

use super::{FeatureTable, TileLayer};
use crate::error;

/// Columns by which loaders of OpenStreetMap (osm2pgsql, imposm, PgOSM Flex) keep the origin of a row.
const COLUMNS: [&str; 3] = ["osm_id", "osm_type", "osm_way_id"];

/// By the columns and names of their tables; where these are not known, by the tables of the database.
pub(in crate::tiles) fn is_of_osm(sql: &mut dyn Sql, layers: &[TileLayer]) -> Result<bool, Error> {
    if layers.iter().flat_map(|layer| &layer.feature_tables).any(is_named_so) {
        return Ok(true);
    }
    if !layers.iter().any(|layer| layer.has_function() || layer.feature_tables.is_empty()) {
        return Ok(false);
    }
    let names = COLUMNS.map(|name| format!("'{name}'")).join(", ");
    let found = long(sql).scalar(&format!(
        "SELECT EXISTS (SELECT FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE a.attname IN ({names}) AND a.attnum > 0 AND c.relkind IN ('r', 'p', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema'))"
    ));
    Ok(found.map_err(error::sql_error("looking for data of OpenStreetMap"))?.as_deref() == Some("t"))
}

fn is_named_so(table: &FeatureTable) -> bool {
    let has_osm = |name: &str| name.split('_').any(|word| word.eq_ignore_ascii_case("osm"));
    COLUMNS.iter().any(|column| table.has(column)) || has_osm(&table.name) || has_osm(&table.schema)
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;
    use crate::testing::sql::FakeSql;

    fn layer(tables: &[(&str, &[&str])], is_function: bool) -> TileLayer {
        let table = |(name, columns): &(&str, &[&str])| FeatureTable {
            name: (*name).to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            ..FeatureTable::default()
        };
        let statement = text::read("select f(:z, :x, :y)").unwrap();
        TileLayer {
            function: is_function.then(|| "f(integer, integer, integer)".to_owned()),
            ..TileLayer::of_statement("a", statement, tables.iter().map(table).collect())
        }
    }

    #[test]
    fn the_origin_is_known_by_tables() {
        for (layer, of_database, wanted, asks) in [
            (layer(&[("roads", &["osm_id", "geom"])], false), "f", true, false),
            (layer(&[("planet_osm_line", &["geom"])], false), "f", true, false),
            (layer(&[("cosmos", &["id", "geom"])], false), "t", false, false),
            // A function's tables are not known.
            (layer(&[("parcels", &["id"])], true), "t", true, true),
            (layer(&[], false), "f", false, true),
        ] {
            let mut sql = FakeSql::new();
            sql.answer("SELECT EXISTS", &[&[of_database]]);
            assert_eq!(is_of_osm(&mut sql, std::slice::from_ref(&layer)).unwrap(), wanted, "{layer:?}");
            assert_eq!(sql.asked.len(), usize::from(asks));
        }
    }
}
