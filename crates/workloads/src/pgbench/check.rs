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
