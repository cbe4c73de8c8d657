//! Whether a script writes, as far as its text shows: functions inside the server are unknown.

/// Words of statements that change something, apart from plain `SELECT`.
const WRITING: [&str; 22] = [
    "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "CREATE", "ALTER", "DROP", "VACUUM",
    "CLUSTER", "REINDEX", "REFRESH", "CALL", "DO", "IMPORT", "LOCK", "COMMENT", "GRANT", "REVOKE", "NEXTVAL",
    "SETVAL",
];

/// Whether a statement has a word that writes. A word in a comment or a text counts too: the script is then
/// measured with more care than necessary.
pub(super) fn writes(statement: &str) -> bool {
    let words = statement.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.filter(|word| !word.is_empty()).any(|word| WRITING.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_what_writes() {
        for (sql, wanted) in [
            ("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", false),
            ("update t set x = 1", true),
            ("WITH gone AS (DELETE FROM t RETURNING *) SELECT count(*) FROM gone", true),
            ("SELECT nextval('s')", true),
            ("SELECT updated, do_it FROM t", false),
            ("BEGIN;", false),
        ] {
            assert_eq!(writes(sql), wanted, "{sql}");
        }
    }
}
