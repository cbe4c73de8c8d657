//! The control connection a workload is lent: blocking, simple protocol, text values.

use std::fmt;

/// Rows and tag of one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Column names; empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// OIDs of their types, where the connection tells them; else empty.
    pub types: Vec<u32>,
    /// Values as text, NULL as `None`.
    pub rows: Vec<Vec<Option<String>>>,
    /// Command tag, e.g. `SELECT 3`; empty for an empty statement.
    pub tag: String,
}

/// What the server, or the connection, said against a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SqlError {
    /// SQLSTATE; `None` when the connection itself failed.
    pub sqlstate: Option<String>,
    /// As libpq prints it, several lines without a final newline: `ERROR:  relation "x" does not exist` …
    pub text: String,
}

impl SqlError {
    /// Whether the server answered with this SQLSTATE.
    #[must_use]
    pub fn is(&self, sqlstate: &str) -> bool {
        self.sqlstate.as_deref() == Some(sqlstate)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for SqlError {}

/// What a source of COPY data says after each piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    /// More will come.
    More,
    End,
    /// The copy is to be given up; nothing of it shall stay.
    GiveUp,
}

/// A blocking control connection.
///
/// Called by workloads outside the timed part of a run; an error leaves the connection usable unless it has no
/// SQLSTATE.
///
/// What a server answers at once (catalogs, settings, counters) is asked as it is, and waited for only so long; what
/// may rightly take its time (the user's SQL, VACUUM, indexes) is asked through [`long`].
pub trait Sql {
    /// Runs one or more statements that should be answered at once, and gives the results in order.
    ///
    /// # Errors
    /// The first error; the statements after it were not run. Also when the answer does not come in time.
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError>;

    /// As [`Sql::query`], for statements that may take as long as they need, while the server lives. Call it through
    /// [`long`].
    ///
    /// # Errors
    /// As [`Sql::query`]; in place of a bound, when the server or its process is found dead.
    fn query_long(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.query(sql)
    }

    /// Runs a `COPY … FROM STDIN`, which may take as long as it needs. `fill` appends data to the (empty) buffer and
    /// says whether more will come. Gives the number of rows copied.
    ///
    /// # Errors
    /// When the server refuses the command or the data, or `fill` gave up.
    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError>;

    /// What the server remarked (NOTICE, WARNING) since the last call, as libpq prints it.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Rows of the last statement that returned any.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let results = self.query(sql)?;
        let last = results.into_iter().rev().find(|set| !set.columns.is_empty());
        Ok(last.map(|set| set.rows).unwrap_or_default())
    }

    /// First value of the first row; `None` without rows or for NULL.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn scalar(&mut self, sql: &str) -> Result<Option<String>, SqlError> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Runs statements whose results do not matter.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn execute(&mut self, sql: &str) -> Result<(), SqlError> {
        self.query(sql).map(|_| ())
    }
}

/// The same connection, for statements that may take as long as they need: `long(sql).execute("VACUUM")`.
pub fn long(sql: &mut dyn Sql) -> Long<'_> {
    Long(sql)
}

/// A connection whose statements may take as long as they need; see [`long`].
pub struct Long<'a>(&'a mut dyn Sql);

impl Sql for Long<'_> {
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.0.query_long(sql)
    }

    fn query_long(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.0.query_long(sql)
    }

    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
        self.0.copy_in(sql, fill)
    }

    fn take_notices(&mut self) -> Vec<String> {
        self.0.take_notices()
    }
}

/// An identifier, quoted.
#[must_use]
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal, quoted so that it means the same whatever `standard_conforming_strings` says.
#[must_use]
pub fn quote_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if quoted.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'b"), " E'a\\\\''b'");
    }
}
