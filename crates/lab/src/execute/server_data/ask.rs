//! The queries.

use std::collections::{BTreeMap, BTreeSet};

use protocol::postgres::sql::{Sql, SqlError, quote_literal};

use super::{Rows, ServerData, ServerTable};

/// Tables up to this size are counted, bytes: it takes well below a second.
const COUNTED_BYTES: u64 = 64 << 20;
/// The same limit for all tables of a workload together, bytes.
const COUNTED_TOTAL_BYTES: u64 = 512 << 20;
/// Most tables that are checked.
const TABLES: usize = 50;
/// Most different words of the texts that are looked up.
const WORDS: usize = 2000;
/// Depth of the search for tables behind views and functions.
const DEPTH: usize = 3;

/// Relations with these names, and the texts of views.
const RELATIONS: &str = "SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, \
     CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END, pg_catalog.pg_table_is_visible(c.oid)::text \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pgdyno') \
     AND n.nspname !~ '^pg_(toast|temp)' AND lower(c.relname) = ANY ({words}) \
     AND (pg_catalog.pg_table_is_visible(c.oid) OR lower(n.nspname) = ANY ({words})) ORDER BY 2, 3 LIMIT 200";

/// Texts of the functions with these names, except functions of extensions.
const FUNCTIONS: &str = "SELECT pg_catalog.pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc p \
     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
     WHERE l.lanname IN ('sql', 'plpgsql') AND p.prokind IN ('f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
     AND lower(p.proname) = ANY ({words}) AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d \
     WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') LIMIT 100";

/// Sizes, estimates and statistics, with partitions and children.
const SIZES: &str = "WITH RECURSIVE tree (root, relid) AS (SELECT o, o FROM unnest({oids}::oid[]) AS o \
     UNION SELECT tree.root, i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.relid) \
     SELECT root::text, sum(pg_catalog.pg_table_size(tree.relid))::text, sum(pg_catalog.pg_indexes_size(tree.relid))::text, \
     sum(CASE WHEN c.relkind IN ('r', 'm', 'f') THEN greatest(c.reltuples, 0) END)::text, \
     bool_or(c.relkind IN ('r', 'm', 'f') AND (c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0))::text, \
     bool_or(EXISTS (SELECT FROM pg_catalog.pg_stats st WHERE st.schemaname = n.nspname AND st.tablename = c.relname))::text, \
     extract(epoch FROM now() - max(greatest(s.last_analyze, s.last_autoanalyze)))::text \
     FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.relid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = tree.relid GROUP BY root";

/// Definitions of indexes from `USING` on, and whether they are unique.
const INDEXES: &str = "SELECT indrelid::text, CASE WHEN indisunique THEN 'UNIQUE ' ELSE '' END \
     || substring(pg_catalog.pg_get_indexdef(indexrelid) FROM ' (USING .*)$') || CASE WHEN indisvalid THEN '' ELSE ' (invalid)' END \
     FROM pg_catalog.pg_index WHERE indrelid = ANY ({oids}::oid[])";

/// Properties of tables that change the work of the same statement.
const FORMS: &str = "SELECT c.oid::text, made.form FROM pg_catalog.pg_class c CROSS JOIN LATERAL ( \
     SELECT 'unlogged' WHERE c.relpersistence = 'u' \
     UNION ALL SELECT CASE c.relkind WHEN 'p' THEN 'partitioned' WHEN 'm' THEN 'a materialized view' ELSE 'a foreign table' END \
     WHERE c.relkind IN ('p', 'm', 'f') \
     UNION ALL SELECT 'row-level security' WHERE c.relrowsecurity \
     UNION ALL SELECT 'option ' || pg_catalog.unnest(c.reloptions) \
     UNION ALL SELECT 'column ' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod) \
     FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
     UNION ALL SELECT 'trigger ' || t.tgname FROM pg_catalog.pg_trigger t \
     WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' \
     UNION ALL SELECT 'constraint ' || pg_catalog.pg_get_constraintdef(k.oid) FROM pg_catalog.pg_constraint k \
     WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f')) AS made (form) WHERE c.oid = ANY ({oids}::oid[])";

/// Settings for file locations, logins or logging do not affect speed; settings of the session are pgdyno's.
const SETTINGS: &str = "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings \
     WHERE category !~ '^(File Locations|Connections and Authentication|Reporting and Logging|Customized Options|Replication|Error)' \
     AND category !~ 'Locale' AND source NOT IN ('client', 'session') \
     AND name !~ '^(archive_|restore_|recovery_|primary_|ssl_|cluster_name|search_path|data_|in_hot_standby|transaction_|debug_)' \
     UNION ALL SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name = 'max_connections'";

pub(in crate::execute) fn ask(sql: &mut dyn Sql, texts: &[String]) -> Result<ServerData, SqlError> {
    let version = sql.scalar("SELECT pg_catalog.version()")?.unwrap_or_default();
    let pairs = sql.rows(SETTINGS)?.into_iter().filter_map(|row| {
        let mut row = row.into_iter();
        Some((row.next()??, row.next()??))
    });
    let settings: BTreeMap<String, String> = pairs.collect();
    let names = named(sql, texts)?;
    let tables = if names.is_empty() { BTreeMap::new() } else { tables(sql, &names)? };
    Ok(ServerData { tables, version, settings, redis_keys: None })
}

struct Named {
    oid: String,
    quoted: String,
    called: String,
}

fn named(sql: &mut dyn Sql, texts: &[String]) -> Result<Vec<Named>, SqlError> {
    let mut words: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).collect();
    let mut found: BTreeMap<String, Named> = BTreeMap::new();
    for _ in 0..DEPTH {
        let list = array(words.iter().take(WORDS));
        let mut behind = Vec::new();
        for row in sql.rows(&RELATIONS.replace("{words}", &list))? {
            let [oid, schema, name, kind, view, visible] = columns(row);
            behind.extend(view);
            let (Some(oid), Some(schema), Some(name)) = (oid, schema, name) else { continue };
            if matches!(kind.as_deref(), Some("v")) || found.len() >= TABLES {
                continue;
            }
            let quoted = format!("{}.{}", quote_name(&schema), quote_name(&name));
            let is_visible = visible.as_deref() == Some("true");
            let called = if is_visible { name } else { format!("{schema}.{name}") };
            found.insert(oid.clone(), Named { oid, quoted, called });
        }
        for row in sql.rows(&FUNCTIONS.replace("{words}", &list))? {
            behind.extend(row.into_iter().flatten());
        }
        let before = words.len();
        words.extend(behind.iter().flat_map(|text| self::words(text)));
        if words.len() == before {
            break;
        }
    }
    Ok(found.into_values().collect())
}

fn tables(sql: &mut dyn Sql, names: &[Named]) -> Result<BTreeMap<String, ServerTable>, SqlError> {
    let oids = array(names.iter().map(|named| &named.oid));
    let mut found: BTreeMap<String, ServerTable> = BTreeMap::new();
    for row in sql.rows(&SIZES.replace("{oids}", &oids))? {
        let [oid, bytes, index_bytes, rows, unknown, has_statistics, age] = columns(row);
        let (Some(oid), is_true) = (oid, |value: Option<String>| value.as_deref() == Some("true")) else {
            continue;
        };
        let number = |value: Option<String>| value.and_then(|value| value.parse::<f64>().ok());
        let rows = number(rows).filter(|_| !is_true(unknown));
        let table = ServerTable {
            rows: rows.map(|count| Rows { count, is_exact: false }),
            bytes: number(bytes).unwrap_or(0.0) as u64,
            index_bytes: number(index_bytes).unwrap_or(0.0) as u64,
            has_statistics: is_true(has_statistics),
            statistics_age_s: number(age),
            ..ServerTable::default()
        };
        found.insert(oid, table);
    }
    for row in sql.rows(&INDEXES.replace("{oids}", &oids))? {
        if let [Some(oid), Some(definition)] = columns(row)
            && let Some(table) = found.get_mut(&oid)
        {
            table.indexes.insert(definition);
        }
    }
    for row in sql.rows(&FORMS.replace("{oids}", &oids))? {
        if let [Some(oid), Some(form)] = columns(row)
            && let Some(table) = found.get_mut(&oid)
        {
            table.forms.insert(form);
        }
    }
    let (mut named, mut left) = (BTreeMap::new(), COUNTED_TOTAL_BYTES);
    for Named { oid, quoted, called } in names {
        let Some(mut table) = found.remove(oid) else { continue };
        if table.bytes <= COUNTED_BYTES.min(left) {
            left -= table.bytes;
            // Without the right to read it, use the estimate.
            let count = sql.scalar(&format!("SELECT count(*) FROM {quoted}")).ok().flatten();
            let count = count.and_then(|count| count.parse().ok());
            table.rows = count.map(|count| Rows { count, is_exact: true }).or(table.rows);
        }
        named.insert(called.clone(), table);
    }
    Ok(named)
}

/// Possible names in a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| {
            word.len() <= 63 && word.starts_with(|first: char| first.is_alphabetic() || first == '_')
        })
        .map(str::to_lowercase)
}

fn array<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    let quoted: Vec<String> = texts.map(|text| quote_literal(text)).collect();
    format!("ARRAY[{}]::text[]", quoted.join(", "))
}

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn columns<const N: usize>(row: Vec<Option<String>>) -> [Option<String>; N] {
    let mut row = row.into_iter();
    std::array::from_fn(|_| row.next().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_the_text() {
        let found: BTreeSet<String> =
            words("SELECT o.\"Total\" FROM shop.orders o WHERE id = :id AND x > 12e3").collect();
        for wanted in ["orders", "shop", "total", "id"] {
            assert!(found.contains(wanted), "{found:?}");
        }
        assert!(!found.contains("12e3"));
        assert_eq!(quote_name("a\"b"), "\"a\"\"b\"");
    }
}
