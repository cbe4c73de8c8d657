//! Counts the statements in an SQL text.

use std::iter::Peekable;
use std::str::CharIndices;

/// Number of statements separated by semicolons, without empty ones and comments.
pub(super) fn count(sql: &str) -> usize {
    let mut rest = sql.char_indices().peekable();
    let (mut statements, mut inside) = (0, false);
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        match c {
            ';' => inside = false,
            '-' if next == Some('-') => skip_until(&mut rest, |c| c == '\n'),
            '/' if next == Some('*') => skip_comment(&mut rest),
            _ if c.is_whitespace() => {}
            _ => {
                statements += usize::from(!std::mem::replace(&mut inside, true));
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
