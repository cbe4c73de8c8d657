//! Checks pgbench's tables: existence, size, and their state before a run.

use std::fmt;

use super::init::PartitionMethod;
use crate::error;
use protocol::postgres::sql::{Sql, SqlError, long};
use spec::{Class, Error};

const NAMES: [&str; 4] = ["pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history"];

const UNDEFINED_TABLE: &str = "42P01";

/// How the first `pgbench_accounts` of the search path is partitioned, and the number of partitions; no row
/// when it does not exist.
const PARTITIONS: &str = "SELECT part.partstrat, (SELECT count(*) FROM pg_catalog.pg_inherits WHERE inhparent = rel.oid) \
     FROM pg_catalog.pg_class rel \
     JOIN pg_catalog.pg_namespace space ON space.oid = rel.relnamespace \
     LEFT JOIN pg_catalog.pg_partitioned_table part ON part.partrelid = rel.oid \
     WHERE rel.relname = 'pgbench_accounts' AND space.nspname = ANY (pg_catalog.current_schemas(true)) \
     ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), space.nspname) LIMIT 1";

/// Facts about pgbench's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableFacts {
    /// Rows of `pgbench_branches`: the scale.
    pub scale: u64,
    /// How `pgbench_accounts` is partitioned; `None` when it is not.
    pub partition_method: Option<PartitionMethod>,
    /// Partitions of `pgbench_accounts`; may be 0 even if it is partitioned.
    pub partitions: u32,
}

/// Why pgbench's tables cannot be used, in pgbench's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablesError {
    /// Without a final newline.
    pub message: String,
    pub hint: Option<String>,
    /// The server's error, if any.
    pub error: Option<SqlError>,
}

impl fmt::Display for TablesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for TablesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.as_ref().map(|error| error as _)
    }
}

/// Counts the branches and finds out how the accounts are partitioned, as pgbench does before it runs a
/// built-in script; `database` is for its hint.
///
/// # Errors
/// When there are no such tables, or the server refuses.
pub fn count_tables(sql: &mut dyn Sql, database: &str) -> Result<TableFacts, TablesError> {
    let hint = || {
        Some(format!("Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."))
    };
    let count = sql.scalar("select count(*) from pgbench_branches").map_err(|error| TablesError {
        message: format!("could not count number of branches: {error}"),
        hint: if error.is(UNDEFINED_TABLE) { hint() } else { None },
        error: Some(error),
    })?;
    let scale = count.and_then(|count| count.parse().ok()).unwrap_or_default();
    // A server too old for the query has no partitioned tables.
    let Ok(rows) = sql.rows(PARTITIONS) else { return Ok(TableFacts { scale, ..TableFacts::default() }) };
    let Some(row) = rows.into_iter().next() else {
        let message = "no pgbench_accounts table found in search_path".to_owned();
        return Err(TablesError { message, hint: hint(), error: None });
    };
    let mut row = row.into_iter();
    let partition_method = match row.next().flatten().as_deref() {
        None => None,
        Some("r") => Some(PartitionMethod::Range),
        Some("h") => Some(PartitionMethod::Hash),
        Some(other) => {
            let message = format!("unexpected partition method: \"{other}\"");
            return Err(TablesError { message, hint: None, error: None });
        }
    };
    let partitions = row.next().flatten().and_then(|count| count.parse().ok()).unwrap_or_default();
    Ok(TableFacts { scale, partition_method, partitions })
}

/// Looks for pgbench's tables, for an experiment.
///
/// # Errors
/// When one is missing or they are empty.
pub fn tables(sql: &mut dyn Sql) -> Result<TableFacts, Error> {
    let doing = "looking for pgbench's tables";
    let columns: Vec<_> = NAMES.iter().map(|name| format!("to_regclass('{name}') IS NOT NULL")).collect();
    let rows = sql.rows(&format!("SELECT {}", columns.join(", "))).map_err(error::sql_error(doing))?;
    let found = rows.into_iter().next().unwrap_or_default();
    let missing = |what: String| {
        Error::new(Class::Missing, what).with_hint(
            "make pgbench's tables with pgdyno bench -i, in an experiment file with prepare.pgbench = { scale = 10 }, or use a \
             private server (--managed), which has them",
        )
    };
    if let Some((name, _)) = NAMES.iter().zip(&found).find(|(_, there)| there.as_deref() != Some("t")) {
        return Err(missing(format!("table {name} does not exist in this database")));
    }
    match count_tables(sql, "") {
        Ok(TableFacts { scale: 0, .. }) => Err(missing("pgbench's tables are empty".to_owned())),
        Ok(tables) => Ok(tables),
        // Existing tables that cannot be read are not made again.
        Err(TablesError { error: Some(error), .. }) if !error.is(UNDEFINED_TABLE) => {
            Err(error::sql_error(doing)(error))
        }
        Err(error) => Err(missing(error.message)),
    }
}

/// Rows of `pgbench_branches`; `None` where the table is missing, or cannot be read.
pub(super) fn branches(sql: &mut dyn Sql) -> Result<Option<u64>, Error> {
    let doing = "looking for pgbench's tables";
    let there = "SELECT to_regclass('pgbench_branches') IS NOT NULL \
         AND has_table_privilege(to_regclass('pgbench_branches'), 'SELECT')";
    if sql.scalar(there).map_err(error::sql_error(doing))?.as_deref() != Some("t") {
        return Ok(None);
    }
    let count = sql.scalar("SELECT count(*) FROM pgbench_branches").map_err(error::sql_error(doing))?;
    Ok(count.and_then(|count| count.parse().ok()))
}

/// Events of [`vacuum`], in this order: for each group of statements a beginning, perhaps errors, an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuuming<'a> {
    /// What begins: `starting vacuum...`; without a line end.
    Begins(&'static str),
    /// A statement failed; the rest is still done.
    Failed(&'a SqlError),
    /// `end.`, and a line end.
    Ends,
}

impl Vacuuming<'_> {
    /// pgbench's text below the server's error.
    pub const DETAIL: &'static str = "(ignoring this error and continuing anyway)";
}

/// Brings pgbench's tables into the state for a run; with `accounts` it vacuums and analyzes those too
/// (pgbench's `-v`). Failures are reported and ignored, as in pgbench.
pub fn vacuum(sql: &mut dyn Sql, accounts: bool, report: &mut dyn FnMut(Vacuuming<'_>)) {
    let mut run = |begins: &'static str, statements: &[&str]| {
        report(Vacuuming::Begins(begins));
        for statement in statements {
            if let Err(error) = long(sql).execute(statement) {
                report(Vacuuming::Failed(&error));
            }
        }
        report(Vacuuming::Ends);
    };
    let small = ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"];
    run("starting vacuum...", &small);
    if accounts {
        run("starting vacuum pgbench_accounts...", &["vacuum analyze pgbench_accounts"]);
    }
}

/// As [`vacuum`], for an experiment: failures are remarks. Does nothing if the tables do not exist.
pub(super) fn vacuum_quietly(sql: &mut dyn Sql) -> Result<Vec<String>, Error> {
    let there = "SELECT to_regclass('pgbench_branches') IS NOT NULL";
    let there = sql.scalar(there).map_err(error::sql_error("looking for pgbench's tables"))?;
    if there.as_deref() != Some("t") {
        return Ok(Vec::new());
    }
    let (mut remarks, mut lost) = (Vec::new(), None);
    vacuum(sql, false, &mut |event| match event {
        Vacuuming::Failed(error) if error.sqlstate.is_some() => {
            remarks.push(format!("{error} {}", Vacuuming::DETAIL));
        }
        Vacuuming::Failed(error) => lost = Some(error.clone()),
        Vacuuming::Begins(_) | Vacuuming::Ends => {}
    });
    match lost {
        Some(error) => Err(error::sql_error("vacuuming pgbench's tables")(error)),
        None => Ok(remarks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn tables_are_looked_for_by_name() {
        let found = |regclasses: &[&str], count: &str| {
            let mut sql = FakeSql::new();
            sql.answer("to_regclass", &[regclasses]);
            sql.answer("count(*) from pgbench_branches", &[&[count]]);
            sql.answer("partstrat", &[&["NULL", "0"]]);
            let told = |error: Error| format!("{error}; {}", error.hint().unwrap_or_default());
            tables(&mut sql).map(|tables| tables.scale).map_err(told)
        };
        assert_eq!(found(&["t", "t", "t", "t"], "7"), Ok(7));
        let missing = found(&["t", "f", "t", "t"], "7").unwrap_err();
        assert!(missing.starts_with("table pgbench_branches does not exist"), "{missing}");
        let mut closed = FakeSql::new();
        closed.answer("to_regclass", &[&["t", "t", "t", "t"]]);
        closed.refuse("count(*)", "42501", "ERROR:  permission denied for table pgbench_branches");
        let closed = tables(&mut closed).unwrap_err();
        assert!(closed.cause::<SqlError>().is_some_and(|error| error.is("42501")), "{closed}");
        let empty = found(&["t", "t", "t", "t"], "0").unwrap_err();
        assert!(empty.starts_with("pgbench's tables are empty; make"), "{empty}");
    }

    #[test]
    fn the_catalog_says_how_accounts_are_partitioned() {
        let found = |rows: &[&[&str]]| {
            let mut sql = FakeSql::new();
            sql.answer("count(*) from pgbench_branches", &[&["3"]]);
            sql.answer("partstrat", rows);
            count_tables(&mut sql, "db").map_err(|error| error.to_string())
        };
        let tables = |partition_method, partitions| TableFacts { scale: 3, partition_method, partitions };
        assert_eq!(found(&[&["NULL", "0"]]), Ok(tables(None, 0)));
        assert_eq!(found(&[&["r", "5"]]), Ok(tables(Some(PartitionMethod::Range), 5)));
        assert_eq!(found(&[&["h", "0"]]), Ok(tables(Some(PartitionMethod::Hash), 0)));
        assert_eq!(found(&[&["l", "1"]]), Err("unexpected partition method: \"l\"".to_owned()));
        assert_eq!(found(&[]), Err("no pgbench_accounts table found in search_path".to_owned()));
        let mut old = FakeSql::new();
        old.answer("count(*) from pgbench_branches", &[&["3"]]);
        old.refuse("partstrat", "42P01", "ERROR:  relation \"pg_partitioned_table\" does not exist");
        assert_eq!(count_tables(&mut old, "db"), Ok(tables(None, 0)));
    }

    #[test]
    fn missing_tables_are_reported_in_pgbench_s_words() {
        let text = "ERROR:  relation \"pgbench_branches\" does not exist";
        let found = |sqlstate: &str| {
            let mut sql = FakeSql::new();
            sql.refuse("count(*)", sqlstate, text);
            count_tables(&mut sql, "my db").unwrap_err()
        };
        let missing = found("42P01");
        assert_eq!(missing.message, format!("could not count number of branches: {text}"));
        let hint = "Perhaps you need to do initialization (\"pgbench -i\") in database \"my db\".";
        assert_eq!(missing.hint.as_deref(), Some(hint));
        assert_eq!(found("42501").hint, None);
    }

    #[test]
    fn vacuuming_goes_on_after_an_error() {
        let mut sql = FakeSql::new();
        sql.refuse("vacuum pgbench_tellers", "42501", "ERROR:  permission denied");
        let mut events = Vec::new();
        vacuum(&mut sql, true, &mut |event| {
            events.push(format!("{event:?}").chars().take(30).collect::<String>())
        });
        insta::assert_snapshot!(events.join("\n"), @r#"
        Begins("starting vacuum...")
        Failed(SqlError { sqlstate: So
        Ends
        Begins("starting vacuum pgbenc
        Ends
        "#);
        assert_eq!(
            sql.asked,
            [
                "vacuum pgbench_branches",
                "vacuum pgbench_tellers",
                "truncate pgbench_history",
                "vacuum analyze pgbench_accounts"
            ]
        );
    }

    #[test]
    fn what_cannot_be_vacuumed_is_a_remark() {
        let mut sql = FakeSql::new();
        sql.answer("to_regclass", &[&["t"]]);
        sql.refuse("vacuum pgbench_tellers", "42501", "ERROR:  permission denied");
        let remarks = vacuum_quietly(&mut sql).unwrap();
        assert_eq!(remarks, ["ERROR:  permission denied (ignoring this error and continuing anyway)"]);
        assert_eq!(sql.asked.last().map(String::as_str), Some("truncate pgbench_history"));
        let mut without = FakeSql::new();
        without.answer("to_regclass", &[&["f"]]);
        assert_eq!(vacuum_quietly(&mut without).unwrap(), [""; 0]);
        assert_eq!(without.asked.len(), 1);
    }
}
