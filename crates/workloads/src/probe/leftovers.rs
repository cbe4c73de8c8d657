//! Drops what killed probes left: found by name and mark, once their session is over.

use protocol::postgres::sql::{Sql, SqlError, quote_literal};

use super::scratch::{MARK, PREFIX, drop_schema};

/// Schemas with our name and mark, and whether their session still works within its time.
fn find(sql: &mut dyn Sql) -> Result<Vec<(String, bool)>, SqlError> {
    let pattern = quote_literal(&format!("{}%", PREFIX.replace('_', "\\_")));
    let mark = quote_literal(MARK);
    let ask = format!(
        "SELECT n.nspname, EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid::text = m.words[1] \
           AND coalesce(extract(epoch FROM a.backend_start)::numeric(20, 3) = m.words[2]::numeric, true)) \
         AND coalesce(m.words[3]::numeric > extract(epoch FROM clock_timestamp())::numeric, false) \
         FROM pg_catalog.pg_namespace n, \
              LATERAL (SELECT obj_description(n.oid, 'pg_namespace') AS comment) d, \
              LATERAL (SELECT regexp_match(d.comment, 'backend ([0-9]+) since ([0-9.]+), no longer than ([0-9.]+)$') AS words) m \
         WHERE n.nspname LIKE {pattern} AND starts_with(d.comment, {mark}) \
           AND pg_has_role(n.nspowner, 'USAGE') ORDER BY 1"
    );
    let rows = sql.rows(&ask)?;
    let read = |row: Vec<Option<String>>| {
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        Some((row.next()?, row.next()? == "t"))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Drops what killed probes left; returns remarks.
pub(super) fn sweep(sql: &mut dyn Sql) -> Vec<String> {
    let found = match find(sql) {
        Ok(found) => found,
        Err(error) => {
            return vec![format!("what earlier probes may have left was not looked for: {}", error.text)];
        }
    };
    let mut remarks = Vec::new();
    for (name, is_at_work) in found {
        remarks.push(if is_at_work {
            format!(
                "another probe is at work in this database (schema {name}), or was killed just now: the figures of both suffer"
            )
        } else {
            match drop_schema(sql, &name) {
                Ok(()) => format!("schema {name}, which an earlier probe had left, was dropped"),
                Err(error) => {
                    let why = error.text.lines().next().unwrap_or_default();
                    format!("schema {name}, which an earlier probe had left, could not be dropped: {why}")
                }
            }
        });
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn only_what_nobody_works_on_is_dropped() {
        let mut sql = FakeSql::new();
        sql.answer("pg_namespace n", &[&["pgdyno_probe_a", "t"], &["pgdyno_probe_b", "f"]]);
        sql.refuse("\"pgdyno_probe_c\"", "2BP01", "ERROR:  other objects depend on it");
        let remarks = sweep(&mut sql);
        assert!(
            remarks[0].starts_with("another probe is at work in this database (schema pgdyno_probe_a)"),
            "{remarks:?}"
        );
        assert_eq!(remarks[1], "schema pgdyno_probe_b, which an earlier probe had left, was dropped");
        let drops: Vec<_> = sql.asked.iter().filter(|asked| asked.contains("DROP")).collect();
        assert_eq!(drops.len(), 1, "{drops:?}");
        assert!(!drops[0].contains("CASCADE") && drops[0].contains("\"pgdyno_probe_b\""), "{drops:?}");
    }
}
