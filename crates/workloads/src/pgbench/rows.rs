//! Rows of variables, from a CSV file or a query.
//!
//! All values are in one text, with 4 bytes for each to find it: 1,000,000 rows of a number and a name take about
//! 26 MB. They are shared by all clients and never change.

use std::path::Path;

use protocol::postgres::sql::{Sql, SqlError, long, quote_literal};
use script::{Slot, Symbols, Variables, is_valid_name};
use sha2::{Digest, Sha256};
use spec::{Class, Error, given};

use super::csv;
use super::row_options::{RowOptions, RowPer, RowUse};
use crate::each::Each;
use crate::error;

/// Rows that are fetched at once: the answer of the server is larger than what is kept.
const FETCH: usize = 10_000;

/// Rows with a value for each variable; there is at least one.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    /// `users.csv` or `the query`.
    source: String,
    names: Vec<String>,
    /// All values, row by row; NULL is the empty text, as after `\gset`.
    text: String,
    /// By value: its end in `text`.
    ends: Vec<u32>,
}

impl Rows {
    /// Reads a CSV file; its first line has the names.
    ///
    /// # Errors
    /// When it cannot be read, or what is wrong with it and where.
    pub(super) fn read(path: &Path, shown: &str) -> Result<Self, Error> {
        let wrong = |problem: String| error::option(KEY, format!("{}: {problem}", path.display()));
        let bytes = given::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let text =
            String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8 text; convert it first".to_owned()))?;
        if text.contains('\0') {
            return Err(wrong("has a zero byte, which no value of PostgreSQL can hold".to_owned()));
        }
        Self::of_csv(text.strip_prefix('\u{feff}').unwrap_or(&text), shown).map_err(wrong)
    }

    fn of_csv(text: &str, shown: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(
                "is empty; write the variables' names into its first line, separated by commas".to_owned()
            );
        }
        let mut rows: Option<Self> = None;
        csv::records(text, |line, fields| match &mut rows {
            None => {
                let names = fields.iter().map(ToString::to_string).collect();
                rows = Some(Self::named(shown, names).map_err(|problem| format!("line {line}: {problem}"))?);
                Ok(())
            }
            Some(rows) if rows.names.len() != fields.len() => Err(format!(
                "line {line}: {} where the first line names {}",
                counted(fields.len(), "value"),
                counted(rows.names.len(), "variable")
            )),
            Some(rows) => fields.iter().try_for_each(|field| rows.add(field)),
        })?;
        let rows = rows.and_then(Self::complete);
        rows.ok_or_else(|| "has no rows below the names of its first line".to_owned())
    }

    /// Asks a query for its rows, in a transaction that cannot write.
    ///
    /// # Errors
    /// When the query fails, returns no rows, or has columns that are not named as variables.
    pub(super) fn ask(sql: &mut dyn Sql, query: &str) -> Result<Self, Error> {
        let rows = Self::fetch(&mut long(sql), query);
        // Ends the transaction, or what is left of it.
        let ended = sql.execute("ROLLBACK");
        let rows = rows?;
        ended.map_err(error::sql_error(DOING))?;
        Ok(rows)
    }

    fn fetch(sql: &mut dyn Sql, query: &str) -> Result<Self, Error> {
        let wrong = |problem: String| error::option(KEY, format!("query: {problem}"));
        sql.execute("BEGIN READ ONLY").map_err(error::sql_error(DOING))?;
        match sql.execute(&opened(query)) {
            Err(error) if error.is(INVALID_CURSOR) => {
                return Err(wrong("must be a single SELECT".to_owned()));
            }
            opened => opened.map_err(refused)?,
        }
        let fetch = format!("FETCH {FETCH} FROM pgdyno_variables");
        let mut rows: Option<Self> = None;
        loop {
            let Some(part) = sql.query(&fetch).map_err(refused)?.pop() else { break };
            let all = match &mut rows {
                Some(all) => all,
                None => rows.insert(Self::named("the query", part.columns).map_err(wrong)?),
            };
            let values = part.rows.iter().flatten();
            values
                .map(|value| value.as_deref().unwrap_or_default())
                .try_for_each(|value| all.add(value))
                .map_err(wrong)?;
            if part.rows.len() < FETCH {
                break;
            }
        }
        let rows = rows.and_then(Self::complete);
        rows.ok_or_else(|| wrong("returns no rows, so there are no variables".to_owned()))
    }

    /// The variables' names.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    fn named(source: &str, names: Vec<String>) -> Result<Self, String> {
        for (index, name) in names.iter().enumerate() {
            if !is_valid_name(name.as_bytes()) {
                return Err(format!("invalid variable name: \"{name}\"; use letters, digits and _"));
            }
            if names[..index].contains(name) {
                return Err(format!("names the variable {name} twice"));
            }
        }
        match names.is_empty() {
            true => Err("has no columns, so there are no variables".to_owned()),
            false => Ok(Self { source: source.to_owned(), names, text: String::new(), ends: Vec::new() }),
        }
    }

    fn add(&mut self, value: &str) -> Result<(), String> {
        self.text.push_str(value);
        let end = u32::try_from(self.text.len()).map_err(|_| "more than 4 GiB of values".to_owned())?;
        self.ends.push(end);
        Ok(())
    }

    /// Without spare memory; `None` without rows.
    fn complete(mut self) -> Option<Self> {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        (self.count() > 0).then_some(self)
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len() / self.names.len()
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// SHA-256 of names and values, hex.
    pub(super) fn hash(&self) -> String {
        let mut hash = Sha256::new_with_prefix(self.names.join(","));
        hash.update(&self.text);
        self.ends.iter().for_each(|end| hash.update(end.to_le_bytes()));
        spec::hex(&hash.finalize())
    }

    /// `2 variables from 40 rows of users.csv`.
    pub(super) fn summary(&self) -> String {
        let (names, rows) = (counted(self.names.len(), "variable"), counted(self.count(), "row"));
        format!("{names} from {rows} of {}", self.source)
    }

    /// The columns that a script reads.
    pub(super) fn columns(&self, symbols: &Symbols) -> Vec<Column> {
        let slots = self.names.iter().map(|name| symbols.find(name)).enumerate();
        slots.filter_map(|(index, slot)| Some(Column { index, slot: slot? })).collect()
    }

    /// Sets the variables of a row, below [`Self::count`].
    #[inline]
    pub(super) fn store(&self, row: usize, columns: &[Column], variables: &mut Variables) {
        for column in columns {
            variables.set_text(column.slot, self.value(row * self.names.len() + column.index));
        }
    }

    #[inline]
    fn value(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text.as_bytes()[start as usize..self.ends[number] as usize]
    }

    /// Checks that the rows suffice for these clients, each of which does this if that is fixed.
    ///
    /// # Errors
    /// How many rows there are, and how many are needed.
    pub(super) fn suffice(
        &self,
        options: &RowOptions,
        clients: u64,
        each: Option<Each>,
    ) -> Result<(), Error> {
        let all = |each: u64, what: &str| {
            let needed = clients.saturating_mul(each);
            let why = format!("{clients} clients with {each} {what} each use {needed}, none of them twice");
            (needed, why)
        };
        let (needed, why) = match (options.per, options.usage, each) {
            (RowPer::Client, ..) => (clients, format!("{clients} clients take one each")),
            (RowPer::Session, RowUse::Once, Some(Each { sessions: Some(sessions), .. })) => {
                all(sessions, "sessions")
            }
            (RowPer::Transaction | RowPer::Session, RowUse::Once, Some(Each { transactions, .. })) => {
                all(transactions, "transactions")
            }
            (RowPer::Transaction | RowPer::Session, ..) => return Ok(()),
        };
        if self.count() as u64 >= needed {
            return Ok(());
        }
        let problem = format!("{} has {}, but {why}", self.source, counted(self.count(), "row"));
        let hint = match options.per {
            RowPer::Client => "add rows, or use fewer clients",
            RowPer::Session => "add rows, let them repeat, or use fewer sessions",
            RowPer::Transaction => "add rows, let them repeat, or use fewer transactions",
        };
        Err(Error::new(Class::BadInput, problem).with_hint(hint))
    }
}

const KEY: &str = "pgbench.variables";
const DOING: &str = "asking for variables";

/// SQLSTATE of a text that is no single query, as a cursor.
const INVALID_CURSOR: &str = "42P11";

/// Opens the cursor. The text is a value for the server, which takes it as one query: pasted into a statement, a second
/// statement in it could end the transaction, and write.
fn opened(query: &str) -> String {
    let body = format!(
        "DECLARE c refcursor := 'pgdyno_variables'; BEGIN OPEN c NO SCROLL FOR EXECUTE {}; END",
        quote_literal(query.trim().trim_end_matches(';'))
    );
    format!("DO {}", quote_literal(&body))
}

/// A server's error about the query.
fn refused(error: SqlError) -> Error {
    error::sql_error(DOING)(error)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A column whose variable a script reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    index: usize,
    slot: Slot,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::sql::FakeSql;

    fn of(text: &str) -> Result<Rows, String> {
        Rows::of_csv(text, "users.csv")
    }

    fn asked(answer: &[&[&str]], refuse: bool) -> Result<Rows, String> {
        let mut sql = FakeSql::new();
        sql.answer("FETCH", answer);
        if refuse {
            sql.refuse("DO", "42P01", "ERROR:  relation \"users\" does not exist");
        }
        let rows = Rows::ask(&mut sql, "SELECT id FROM users;\n").map_err(|error| error.to_string());
        assert_eq!(sql.asked.last().map(String::as_str), Some("ROLLBACK"));
        rows
    }

    #[test]
    fn variables_that_a_script_reads_are_set_by_a_row() {
        let rows = of("\"user_id\",name,unused\n1,Ann,x\n2,,y\n").unwrap();
        assert_eq!(rows.summary(), "3 variables from 2 rows of users.csv");
        let mut symbols = Symbols::new();
        let [user, name] = ["user_id", "name"].map(|name| symbols.intern(name));
        let mut variables = Variables::new(Arc::new(symbols));
        let columns = rows.columns(variables.symbols());
        assert_eq!(columns.len(), 2);
        for (row, wanted) in [(1, "2|"), (0, "1|Ann")] {
            rows.store(row, &columns, &mut variables);
            let mut text = Vec::new();
            variables.append_text(user, &mut text);
            text.push(b'|');
            assert!(variables.append_text(name, &mut text));
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_the_place() {
        for (text, wanted) in [
            ("", "is empty; write the variables' names into its first line"),
            (" \n\n", "is empty; "),
            ("user_id,name\n", "has no rows below the names of its first line"),
            ("1,Ann\n2,Bob\n", "line 1: invalid variable name: \"1\"; use letters, digits and _"),
            ("id;name\n1;Ann\n", "line 1: invalid variable name: \"id;name\""),
            ("id,,name\n", "line 1: invalid variable name: \"\""),
            ("id,name,id\n", "line 1: names the variable id twice"),
            ("id,name\n1,Ann\n\n2\n", "line 4: 1 value where the first line names 2 variables"),
            ("id\n1,2\n", "line 2: 2 values where the first line names 1 variable"),
            ("id\n1\n\"2\n3\n", "line 3: a quote is opened and never closed"),
        ] {
            let told = of(text).unwrap_err();
            assert!(told.starts_with(wanted), "{text:?}: {told}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.csv");
        let told = || Rows::read(&path, "users.csv").unwrap_err().to_string();
        assert!(told().contains("users.csv: cannot be read: "), "{}", told());
        std::fs::write(&path, b"name\nM\xfcller\n").unwrap();
        assert!(told().ends_with("users.csv: is not UTF-8 text; convert it first"), "{}", told());
        std::fs::write(&path, "\u{feff}name\nMüller\n").unwrap();
        assert_eq!(Rows::read(&path, "users.csv").unwrap().names, ["name"]);
    }

    #[test]
    fn a_query_gives_the_same_rows_as_a_file() {
        let rows = asked(&[&["1"], &["2"]], false).unwrap();
        assert_eq!(rows.summary(), "1 variable from 2 rows of the query");
        let file = of("column0\n1\n2\n").unwrap();
        assert_eq!(rows.names, file.names);
        assert_eq!(rows.hash(), file.hash());
        assert_ne!(rows.hash(), of("column0\n12\n\"\"\n").unwrap().hash());
        let told = asked(&[], false).unwrap_err();
        assert!(told.contains("query: "), "{told}");
        let told = asked(&[&["1"]], true).unwrap_err();
        assert_eq!(told, "while asking for variables: ERROR:  relation \"users\" does not exist");
    }

    #[test]
    fn rows_must_suffice() {
        let rows = of("id\n1\n2\n3\n").unwrap();
        let needs = |per, usage, clients, each: Option<u64>| {
            let options = RowOptions { per, usage, ..RowOptions::default() };
            rows.suffice(&options, clients, each.map(|transactions| Each { transactions, sessions: None }))
                .map_err(|error| error.to_string())
        };
        assert_eq!(needs(RowPer::Client, RowUse::Repeat, 3, Some(9)), Ok(()));
        assert_eq!(needs(RowPer::Transaction, RowUse::Once, 1, Some(3)), Ok(()));
        assert_eq!(needs(RowPer::Transaction, RowUse::Repeat, 9, Some(3)), Ok(()));
        // How many are used is not known.
        assert_eq!(needs(RowPer::Transaction, RowUse::Once, 9, None), Ok(()));
        assert_eq!(
            needs(RowPer::Client, RowUse::Once, 4, None).unwrap_err(),
            "users.csv has 3 rows, but 4 clients take one each"
        );
        assert_eq!(
            needs(RowPer::Transaction, RowUse::Once, 2, Some(2)).unwrap_err(),
            "users.csv has 3 rows, but 2 clients with 2 transactions each use 4, none of them twice"
        );
    }

    #[test]
    fn rows_come_from_one_place() {
        let both =
            RowOptions { csv: Some("a.csv".into()), query: Some("SELECT 1".into()), ..RowOptions::default() };
        let empty = RowOptions { csv: Some(" ".into()), ..RowOptions::default() };
        for options in [both, empty, RowOptions::default()] {
            let told = options.validate().unwrap_err().to_string();
            assert!(told.starts_with("pgbench.variables: needs one of csv"), "{told}");
        }
    }
}
