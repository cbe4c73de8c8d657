//! Statements that read or write by key: a script at the wrong scale asks for keys that are not there, and finds nothing fast.

use script::{Action, Scripts};

/// Whether a transaction's statements by key found rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Keyed {
    /// One of them ended.
    asked: bool,
    /// One of them returned or changed a row.
    found: bool,
}

impl Keyed {
    /// A statement by key ended, which returned or changed this many rows.
    #[inline]
    pub(super) fn add(&mut self, rows: u64) {
        self.asked = true;
        self.found |= rows > 0;
    }

    /// 1 if the transaction asked by key, and 1 if it found nothing by that.
    #[inline]
    pub(super) fn counts(self) -> (u32, u32) {
        (u32::from(self.asked), u32::from(self.asked && !self.found))
    }
}

/// By [`script::Statement::number`]: whether it reads or writes by key.
pub(super) fn statements(scripts: &Scripts) -> Vec<bool> {
    let commands = scripts.scripts().iter().flat_map(|script| &script.commands);
    let statements = commands.filter_map(|command| match &command.action {
        Action::Sql(statement) => Some(is_by_key(&String::from_utf8_lossy(statement.extended_text()))),
        _ => None,
    });
    statements.collect()
}

/// Whether a condition of a statement (with `$1` for variables) compares something with a variable by `=`,
/// `IN` or `BETWEEN`. Open ranges and boxes are not keys: they may legitimately find nothing.
fn is_by_key(statement: &str) -> bool {
    let words = tokens(statement);
    let condition = words.iter().position(|word| word.eq_ignore_ascii_case("where"));
    let Some(condition) = condition.map(|at| &words[at + 1..]) else { return false };
    let is_variable = |at: usize| condition.get(at).is_some_and(|word| word.starts_with('$'));
    // Tokens allowed between the comparison and the variable.
    let opens = |at: usize| {
        let word = condition.get(at).copied().unwrap_or_default();
        ["(", "[", "'", "any", "array"].iter().any(|it| word.eq_ignore_ascii_case(it))
    };
    (0..condition.len()).any(|at| {
        let word = condition[at];
        let compares = word == "=" || ["in", "between"].iter().any(|it| word.eq_ignore_ascii_case(it));
        let mut next = at + 1;
        while opens(next) {
            next += 1;
        }
        compares && (is_variable(next) || word == "=" && at > 0 && is_variable(at - 1))
    })
}

/// Words, `$1`, operators, and other characters one by one; skips comments.
fn tokens(text: &str) -> Vec<&str> {
    const OPERATORS: &str = "=<>!~*/+-%&|^#@:";
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || "_$.".contains(letter);
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else if OPERATORS.contains(first) {
            rest.find(|letter| !OPERATORS.contains(letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, left) = rest.split_at(length);
        rest = left;
        if !(token.starts_with("--") || token.starts_with("/*") || token.trim().is_empty()) {
            found.push(token);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_with_a_variable_are_by_key() {
        for (statement, wanted) in [
            ("SELECT abalance FROM pgbench_accounts WHERE aid = $1;", true),
            ("UPDATE t SET x = x + $1 WHERE id=$2", true),
            ("delete from t where $1 = id", true),
            ("SELECT 1 FROM t WHERE id = ANY(ARRAY[$1, $2])", true),
            ("SELECT 1 FROM t WHERE id IN ($1, $2)", true),
            ("SELECT 1 FROM t WHERE id BETWEEN $1 AND $1 + 99", true),
            ("INSERT INTO t SELECT * FROM s WHERE k = ($1)", true),
            ("SELECT 1 FROM t WHERE name = 'user $1'", false),
            ("SELECT 1 FROM t WHERE code = '$1'", true),
            // These may legitimately find nothing.
            ("SELECT 1 FROM t WHERE at > $1", false),
            ("SELECT 1 FROM t WHERE at >= $1 AND id <> $2", false),
            ("SELECT 1 FROM roads WHERE way && ST_MakeEnvelope($1, $2, $3, $4, 3857)", false),
            ("SELECT id FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED", false),
            ("DELETE FROM sessions WHERE expires < now()", false),
            // No condition, or no variable in it.
            ("INSERT INTO t VALUES ($1, $2)", false),
            ("UPDATE t SET x = $1", false),
            ("SELECT $1 FROM t -- WHERE id = $1", false),
            ("BEGIN", false),
        ] {
            assert_eq!(is_by_key(statement), wanted, "{statement}");
        }
    }

    #[test]
    fn a_transaction_is_empty_where_all_its_keys_find_nothing() {
        let of = |rows: &[u64]| {
            let mut keyed = Keyed::default();
            rows.iter().for_each(|rows| keyed.add(*rows));
            keyed.counts()
        };
        assert_eq!([of(&[]), of(&[0, 0]), of(&[0, 2]), of(&[1])], [(0, 0), (1, 1), (1, 0), (1, 0)]);
    }
}
