//! A control connection for tests: answers by parts of the statement, and a list of the statements.

use protocol::postgres::sql::{ResultSet, Sql, SqlError, Supply};

/// Answers from a list; other statements succeed without rows.
#[derive(Debug, Default)]
pub(crate) struct FakeSql {
    answers: Vec<(String, Result<Vec<ResultSet>, SqlError>)>,
    /// All statements, without COPY data.
    pub(crate) asked: Vec<String>,
}

impl FakeSql {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Statements that contain `part` return these rows; `NULL` means NULL. Earlier answers take precedence.
    pub(crate) fn answer(&mut self, part: &str, rows: &[&[&str]]) {
        self.answer_several(part, &[rows]);
    }

    /// The same for several statements in one message.
    pub(crate) fn answer_several(&mut self, part: &str, sets: &[&[&[&str]]]) {
        let sets = sets.iter().map(|rows| result_set(rows)).collect();
        self.answers.push((part.to_owned(), Ok(sets)));
    }

    /// Adds another's answers after its own.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.answers.append(&mut other.answers);
    }

    /// Statements that contain `part` fail.
    pub(crate) fn refuse(&mut self, part: &str, sqlstate: &str, text: &str) {
        let error = SqlError { sqlstate: Some(sqlstate.to_owned()), text: text.to_owned() };
        self.answers.push((part.to_owned(), Err(error)));
    }
}

fn result_set(rows: &[&[&str]]) -> ResultSet {
    let value = |text: &&str| (*text != "NULL").then(|| (*text).to_owned());
    let columns = (0..rows.first().map_or(1, |row| row.len())).map(|column| format!("column{column}"));
    ResultSet {
        columns: columns.collect(),
        rows: rows.iter().map(|row| row.iter().map(value).collect()).collect(),
        types: Vec::new(),
        tag: format!("SELECT {}", rows.len()),
    }
}

impl Sql for FakeSql {
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.asked.push(sql.to_owned());
        let found = self.answers.iter().find(|(part, _)| sql.contains(part.as_str()));
        found.map_or_else(|| Ok(vec![ResultSet::default()]), |(_, answer)| answer.clone())
    }

    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
        self.asked.push(sql.to_owned());
        let (mut rows, mut piece) = (0, Vec::new());
        loop {
            piece.clear();
            let supply = fill(&mut piece);
            rows += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            match supply {
                Supply::More => {}
                Supply::End => return Ok(rows),
                Supply::GiveUp => {
                    let text = "ERROR:  COPY from stdin failed: given up".to_owned();
                    return Err(SqlError { sqlstate: Some("57014".to_owned()), text });
                }
            }
        }
    }
}
