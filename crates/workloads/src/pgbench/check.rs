//! Are pgbench's tables there, and how large are they?

use crate::error::WorkloadError;
use crate::sql::Sql;

const NAMES: [&str; 4] = ["pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history"];

/// What is known of pgbench's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// Rows of `pgbench_branches`: the scale.
    pub scale: u64,
}

/// Looks for pgbench's tables.
///
/// # Errors
/// [`WorkloadError::Missing`] when one is not there or they are empty.
pub fn tables(sql: &mut dyn Sql) -> Result<Tables, WorkloadError> {
    let doing = "looking for pgbench's tables";
    let columns: Vec<_> = NAMES.iter().map(|name| format!("to_regclass('{name}') IS NOT NULL")).collect();
    let rows = sql.rows(&format!("SELECT {}", columns.join(", "))).map_err(WorkloadError::sql(doing))?;
    let found = rows.into_iter().next().unwrap_or_default();
    let missing = |what: String| WorkloadError::Missing {
        what,
        hint: "make pgbench's tables with prepare.pgbench = { scale = 10 } in the experiment file, or with \
               pgdyno bench -i"
            .to_owned(),
    };
    if let Some((name, _)) = NAMES.iter().zip(&found).find(|(_, there)| there.as_deref() != Some("t")) {
        return Err(missing(format!("table {name} does not exist in this database")));
    }
    let count = sql.scalar("SELECT count(*) FROM pgbench_branches").map_err(WorkloadError::sql(doing))?;
    match count.and_then(|count| count.parse().ok()) {
        Some(0) | None => Err(missing("pgbench's tables are empty".to_owned())),
        Some(scale) => Ok(Tables { scale }),
    }
}

/// Puts pgbench's tables into the state its own runs start from; errors are remarks, as in pgbench. Does nothing
/// where the tables are not there.
pub(super) fn vacuum(sql: &mut dyn Sql) -> Result<Vec<String>, WorkloadError> {
    let there = "SELECT to_regclass('pgbench_branches') IS NOT NULL";
    let there = sql.scalar(there).map_err(WorkloadError::sql("looking for pgbench's tables"))?;
    if there.as_deref() != Some("t") {
        return Ok(Vec::new());
    }
    let mut remarks = Vec::new();
    for statement in ["VACUUM pgbench_branches", "VACUUM pgbench_tellers", "TRUNCATE pgbench_history"] {
        match sql.execute(statement) {
            Ok(()) => {}
            Err(error) if error.sqlstate.is_some() => remarks.push(format!("{error} (ignoring this error)")),
            Err(error) => return Err(WorkloadError::Sql { doing: statement.to_owned(), error }),
        }
    }
    Ok(remarks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::fake::FakeSql;

    #[test]
    fn tables_are_looked_for_by_name() {
        let found = |regclasses: &[&str], count: &str| {
            let mut sql = FakeSql::new();
            sql.answer("to_regclass", &[regclasses]);
            sql.answer("count(*)", &[&[count]]);
            tables(&mut sql).map(|tables| tables.scale).map_err(|error| error.to_string())
        };
        assert_eq!(found(&["t", "t", "t", "t"], "7"), Ok(7));
        let missing = found(&["t", "f", "t", "t"], "7").unwrap_err();
        assert!(missing.starts_with("table pgbench_branches does not exist"), "{missing}");
        let empty = found(&["t", "t", "t", "t"], "0").unwrap_err();
        assert!(empty.starts_with("pgbench's tables are empty; make"), "{empty}");
    }

    #[test]
    fn what_cannot_be_vacuumed_is_a_remark() {
        let mut sql = FakeSql::new();
        sql.answer("to_regclass", &[&["t"]]);
        sql.refuse("VACUUM pgbench_tellers", "42501", "ERROR:  permission denied");
        let remarks = vacuum(&mut sql).unwrap();
        assert_eq!(remarks, ["ERROR:  permission denied (ignoring this error)"]);
        assert_eq!(sql.asked.last().map(String::as_str), Some("TRUNCATE pgbench_history"));
        let mut without = FakeSql::new();
        without.answer("to_regclass", &[&["f"]]);
        assert_eq!(vacuum(&mut without).unwrap(), [""; 0]);
        assert_eq!(without.asked.len(), 1);
    }
}
