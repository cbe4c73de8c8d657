//! The tables with geometries that a layer reads, also inside its functions.

use protocol::postgres::sql::{Sql, SqlError, quote_literal};

use super::feature_table::{FeatureTable, feature_table};

/// Tables whose names are words of this statement, or of the functions in SQL or PL/pgSQL that it calls,
/// directly or not. Names in comments and texts count too: it is for remarks only.
pub(super) fn tables_named_in(sql: &mut dyn Sql, statement: &str) -> Result<Vec<FeatureTable>, SqlError> {
    let word = |name: &str| format!(r"'\m' || regexp_replace({name}, '\W', '\\\&', 'g') || '\M'");
    let found = sql.rows(&format!(
        "WITH RECURSIVE named (source) AS (SELECT {}::text UNION \
         SELECT pg_get_functiondef(p.oid) FROM named, pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         JOIN pg_language l ON l.oid = p.prolang \
         WHERE l.lanname IN ('sql', 'plpgsql') AND p.prokind = 'f' AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
         AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') \
         AND source ~* ({})) \
         SELECT DISTINCT quote_ident(g.f_table_schema) || '.' || quote_ident(g.f_table_name) \
         FROM named, geometry_columns g WHERE source ~* ({}) ORDER BY 1",
        quote_literal(statement),
        word("p.proname"),
        word("g.f_table_name")
    ))?;
    let names = found.into_iter().filter_map(|mut row| row.pop()?);
    // Tables that cannot be used for tiles get no remark.
    Ok(names.filter_map(|name| feature_table(sql, &name).ok()).collect())
}
