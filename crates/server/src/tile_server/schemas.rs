//! Where a tile server looks for tables and functions.

use protocol::postgres::sql::{Sql, SqlError};

/// All that the user may look into, except for PostgreSQL's own and ours. Names that would have to be quoted are left out: TiPg
/// puts them into a `search_path` as they are.
const SCHEMAS: &str = "SELECT nspname FROM pg_catalog.pg_namespace WHERE pg_catalog.has_schema_privilege(oid, 'USAGE') \
                       AND nspname ~ '^[[:alnum:]_]+$' AND nspname !~ '^(pg_|pgdyno|information_schema$)' ORDER BY nspname";

/// The schemas of a database that tile servers publish.
///
/// # Errors
/// When the server refuses, or is gone.
pub fn schemas(sql: &mut dyn Sql) -> Result<Vec<String>, SqlError> {
    let results = sql.query(SCHEMAS)?;
    let rows = results.into_iter().flat_map(|result| result.rows);
    Ok(rows.filter_map(|row| row.into_iter().next().flatten()).collect())
}
