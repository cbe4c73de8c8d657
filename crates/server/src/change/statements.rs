//! The statements in an SQL text: how many, and whether all of them fail together.

use std::iter::Peekable;
use std::str::CharIndices;

/// Number of statements separated by semicolons, without empty ones and comments.
pub(super) fn count(sql: &str) -> usize {
    statements(sql).len()
}

/// Whether an error of the server undoes all of it: sent in one message, statements are one transaction,
/// unless one of them ends it or works in several.
pub(super) fn fail_together(sql: &str) -> bool {
    const SEVERAL: [&str; 3] = ["call", "do", "vacuum"];
    const ENDS: [&str; 8] = ["begin", "start", "commit", "end", "rollback", "abort", "prepare", "savepoint"];
    statements(sql).iter().all(|words| {
        let first = words.first().map_or("", String::as_str);
        !SEVERAL.contains(&first)
            && !ENDS.contains(&first)
            && !words.iter().any(|word| word == "concurrently")
    })
}

/// The words of each statement in lower case, without strings, quoted names and comments.
fn statements(sql: &str) -> Vec<Vec<String>> {
    let mut rest = sql.char_indices().peekable();
    let mut statements: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        match c {
            ';' => inside = false,
            '-' if next == Some('-') => skip_until(&mut rest, |c| c == '\n'),
            '/' if next == Some('*') => skip_comment(&mut rest),
            _ if c.is_whitespace() => {}
            _ => {
                if !std::mem::replace(&mut inside, true) {
                    statements.push(Vec::new());
                }
                if let Some(words) = statements.last_mut().filter(|_| is_name(c)) {
                    if !is_name(before) {
                        words.push(String::new());
                    }
                    words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
                }
                match c {
                    '\'' => skip_string(&mut rest, matches!(before, 'e' | 'E')),
                    // A doubled quote reads as two names in succession, with the same result.
                    '"' => skip_until(&mut rest, |c| c == '"'),
                    '$' if !is_name(before) => skip_dollars(&mut rest, &sql[at..]),
                    _ => {}
                }
            }
        }
        before = c;
    }
    statements
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn skip_until(rest: &mut Peekable<CharIndices<'_>>, ends: impl Fn(char) -> bool) {
    let _ = rest.find(|(_, c)| ends(*c));
}

fn skip_string(rest: &mut Peekable<CharIndices<'_>>, escapes: bool) {
    while let Some((_, c)) = rest.next() {
        match c {
            '\\' if escapes => {
                let _ = rest.next();
            }
            '\'' if rest.next_if(|(_, next)| *next == '\'').is_none() => return,
            _ => {}
        }
    }
}

/// Skips a comment, which may be nested.
fn skip_comment(rest: &mut Peekable<CharIndices<'_>>) {
    let mut depth = 1;
    let _ = rest.next();
    while let Some((_, c)) = rest.next() {
        match c {
            '*' if rest.next_if(|(_, next)| *next == '/').is_some() => depth -= 1,
            '/' if rest.next_if(|(_, next)| *next == '*').is_some() => depth += 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// Skips a dollar-quoted string, if `text` begins with one: `$tag$ … $tag$`.
fn skip_dollars(rest: &mut Peekable<CharIndices<'_>>, text: &str) {
    let Some(tag) = text[1..].find('$').map(|end| &text[..end + 2]) else { return };
    let name = &tag[1..tag.len() - 1];
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
        return;
    }
    // The end of the text if the string has none.
    let end = text[tag.len()..].find(tag).map_or(text.len(), |found| found + 2 * tag.len());
    let mut left = text[..end].chars().count() - 1;
    while left > 0 && rest.next().is_some() {
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_error_undoes_all_but_what_works_in_several_transactions() {
        for (sql, wanted) in [
            ("CREATE INDEX seen ON visists (seen_at)", true),
            ("ALTER TABLE a ADD b int; UPDATE a SET b = 1", true),
            ("CREATE TABLE \"concurrently\" (note text DEFAULT 'call it')", true),
            ("SELECT 1; -- commit\nSELECT 2", true),
            ("CREATE INDEX  Concurrently i ON t (x)", false),
            ("REINDEX TABLE CONCURRENTLY t", false),
            ("CALL fill(5)", false),
            ("do $$ begin commit; end $$", false),
            ("BEGIN; DROP TABLE a; COMMIT; DROP TABLE b", false),
            ("DROP TABLE a; /* then */ COMMIT; DROP TABLE b", false),
            ("VACUUM a, b", false),
        ] {
            assert_eq!(fail_together(sql), wanted, "{sql}");
        }
    }

    #[test]
    fn semicolons_count_only_where_they_end_a_statement() {
        let cases = [
            ("", 0),
            (" ;; -- x ; y\n /* ; /* ; */ */ ;", 0),
            ("SELECT 1", 1),
            ("SELECT 1; -- the end", 1),
            ("SELECT 1; SELECT 2", 2),
            ("SELECT ';', 'it''s;', \"a;\"\";b\"", 1),
            (r"SELECT E'\';', 2; SELECT 3", 2),
            (r"SELECT '\'; SELECT 3", 2),
            ("SELECT $$;$$ || $a$;$$;$a$; SELECT 2", 2),
            ("SELECT a$1$b; SELECT $1", 2),
            ("SELECT 1 /* ; */ + 2 - -3", 1),
            ("SELECT 'é;', $é$ ; $é$", 1),
        ];
        for (sql, wanted) in cases {
            assert_eq!(count(sql), wanted, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(sql in "[-$'\";/*a1é\\\\ \n]{0,40}") {
            prop_assert!(count(&sql) <= sql.matches(';').count() + 1);
        }
    }
}
