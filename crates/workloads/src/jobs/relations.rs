//! Sizes of tables and indexes.

use spec::{Error, Relation, RelationKind};

use crate::error;
use protocol::postgres::sql::Sql;

/// Ordinary tables and their indexes outside the system's schemas and extensions, largest table first.
const SIZES: &str = "\
WITH relation AS (
  SELECT c.oid, c.relkind, c.reltuples, coalesce(i.indrelid, c.oid) AS table_oid,
         CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS name,
         CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END AS bytes
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  WHERE c.relkind IN ('r', 'm', 'i') AND c.relpersistence <> 't'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = coalesce(i.indrelid, c.oid) AND d.deptype = 'e')
)
SELECT r.name, CASE WHEN r.relkind = 'i' THEN 'index' ELSE 'table' END, t.name, r.bytes,
       greatest(r.reltuples, 0)::bigint
FROM relation r JOIN relation t ON t.oid = r.table_oid
ORDER BY t.bytes DESC, t.name, r.relkind DESC, r.bytes DESC, r.name";

/// Sizes of all users' tables and their indexes.
pub fn relation_sizes(sql: &mut dyn Sql) -> Result<Vec<Relation>, Error> {
    let rows = sql.rows(SIZES).map_err(error::sql_error("reading the sizes of tables and indexes"))?;
    let text = |value: Option<&Option<String>>| value.cloned().flatten().unwrap_or_default();
    let size = |row: Vec<Option<String>>| Relation {
        name: text(row.first()),
        kind: if text(row.get(1)) == "index" { RelationKind::Index } else { RelationKind::Table },
        table: text(row.get(2)),
        bytes: text(row.get(3)).parse().unwrap_or(0),
        rows: text(row.get(4)).parse().unwrap_or(0),
    };
    Ok(rows.into_iter().map(size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn rows_become_sizes() {
        let mut sql = FakeSql::new();
        sql.answer(
            "pg_relation_size",
            &[&["t_pkey", "index", "t", "8192", "3"], &["u", "table", "u", "0", "0"]],
        );
        let sizes = relation_sizes(&mut sql).unwrap();
        let first = Relation {
            name: "t_pkey".into(),
            kind: RelationKind::Index,
            table: "t".into(),
            bytes: 8192,
            rows: 3,
        };
        assert_eq!((sizes.len(), &sizes[0]), (2, &first));
    }
}
