//! Runs statements of a script in read-only transactions.
//!
//! Behind a pooler another client gets the session next, so nothing is set for the session. If the script
//! begins no transaction, each statement runs in a separate one.

use protocol::postgres::sql::{ResultSet, Sql, SqlError, long};
use script::{Statement, Variables};

use super::trial::{Asking, pasted};

/// SQLSTATE for a script that cannot be run like this; no server uses it.
pub(super) const NOT_ASKED: &str = "PGDYN";
/// SQLSTATEs of what does not work in a transaction: VACUUM and similar, and procedures that commit.
pub(super) const NOT_IN_A_TRANSACTION: [&str; 2] = ["25001", "2D000"];

/// Makes a transaction read-only, after BEGIN.
const READ_ONLY: &str = "SET TRANSACTION READ ONLY";

/// Runs statements without allowing writes.
#[derive(Debug, Default)]
pub(super) struct ReadOnly {
    /// The script has begun a transaction.
    open: bool,
}

/// The effect of a statement on transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Nothing,
    Begins,
    Ends,
}

impl Asking for ReadOnly {
    fn ask(
        &mut self,
        sql: &mut dyn Sql,
        statement: &Statement,
        variables: &Variables,
        _line: usize,
    ) -> Result<Vec<ResultSet>, SqlError> {
        let text = pasted(statement, variables);
        match does(&text, statement.parts) {
            None => Err(SqlError {
                sqlstate: Some(NOT_ASKED.to_owned()),
                text: "it begins or ends a transaction together with other statements".to_owned(),
            }),
            Some(Does::Begins) => {
                let answer = long(sql).query(&text)?;
                self.open = true;
                sql.execute(READ_ONLY)?;
                Ok(answer)
            }
            Some(Does::Ends) => {
                self.open = false;
                long(sql).query(&text)
            }
            Some(Does::Nothing) if self.open => long(sql).query(&text),
            Some(Does::Nothing) => {
                sql.execute("BEGIN READ ONLY").map_err(without_transactions)?;
                let answer = long(sql).query(&text)?;
                sql.execute("COMMIT")?;
                Ok(answer)
            }
        }
    }
}

/// A statement pooler closes a connection that begins a transaction: the transaction is ours, not the
/// script's.
fn without_transactions(error: SqlError) -> SqlError {
    if !error.text.contains("statement pooling mode") {
        return error;
    }
    let text = "the first execution of a script is in a transaction of its own, which does not go through a statement pooler; \
                connect to the server itself, or set pool_mode to transaction";
    SqlError { sqlstate: Some("08P01".to_owned()), text: text.to_owned() }
}

/// The effect of a statement with this many parts on transactions; `None` if unclear.
fn does(text: &str, parts: usize) -> Option<Does> {
    if parts > 1 {
        // A semicolon in a text may split a part in two, which is then unclear.
        let plain = text.split(';').all(|part| of_one(part) == Some(Does::Nothing));
        return plain.then_some(Does::Nothing);
    }
    of_one(text)
}

fn of_one(text: &str) -> Option<Does> {
    let words: Vec<String> = text
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .take(4)
        .collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match (word(0), word(1)) {
        ("BEGIN" | "START", _) => Some(Does::Begins),
        // To a savepoint: the transaction continues. With CHAIN another one begins, which is equivalent.
        ("ROLLBACK", _) if words.contains(&"TO".to_owned()) => Some(Does::Nothing),
        ("COMMIT" | "END" | "ROLLBACK" | "ABORT", _) if word(1) == "PREPARED" => None,
        ("COMMIT" | "END" | "ROLLBACK" | "ABORT", _) => match words.contains(&"CHAIN".to_owned()) {
            true if !words.contains(&"NO".to_owned()) => Some(Does::Nothing),
            _ => Some(Does::Ends),
        },
        ("PREPARE", "TRANSACTION") => None,
        _ => Some(Does::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_do_to_transactions() {
        use Does::{Begins, Ends, Nothing};
        for (text, parts, wanted) in [
            ("SELECT 1;", 1, Some(Nothing)),
            ("begin isolation level serializable;", 1, Some(Begins)),
            ("start transaction;", 1, Some(Begins)),
            ("\n END;", 1, Some(Ends)),
            ("commit and no chain;", 1, Some(Ends)),
            ("commit and chain;", 1, Some(Nothing)),
            ("rollback;", 1, Some(Ends)),
            ("rollback to savepoint s;", 1, Some(Nothing)),
            ("rollback work to s;", 1, Some(Nothing)),
            ("prepare transaction 'x';", 1, None),
            ("commit prepared 'x';", 1, None),
            ("SELECT 1 ; SELECT 2;", 2, Some(Nothing)),
            ("SELECT 1 ; commit ; insert into t values (1);", 3, None),
            ("SELECT CASE WHEN true THEN 1 END ; SELECT 2;", 2, Some(Nothing)),
        ] {
            assert_eq!(does(text, parts), wanted, "{text}");
        }
    }
}
