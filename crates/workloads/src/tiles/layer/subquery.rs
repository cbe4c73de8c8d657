//! A text that is a subquery, as in configurations of Mapnik and carto: `(SELECT …) AS roads`.

use super::quoted::{quoted, starts_name};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subquery<'t> {
    /// With its parentheses.
    pub(super) text: &'t str,
    /// As written, perhaps in quotes.
    pub(super) written_alias: &'t str,
    pub(super) alias: String,
}

/// The subquery that is the whole text, if it has a name.
///
/// # Errors
/// A quote or a comment that is not closed.
pub(super) fn of(text: &str) -> Result<Option<Subquery<'_>>, String> {
    let start = comments(text)?;
    let Some(end) = closing(&text[start..])? else { return Ok(None) };
    let behind = text[start + end..].trim().trim_end_matches(';').trim_end();
    let is_as = behind.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("as"));
    let written_alias = match behind.get(2..) {
        Some(name) if is_as && name.starts_with(|next: char| next.is_whitespace() || next == '"') => {
            name.trim()
        }
        _ => behind,
    };
    let alias = name(written_alias);
    Ok(alias.map(|alias| Subquery { text: &text[start..start + end], written_alias, alias }))
}

/// Length of comments and blanks at the beginning.
fn comments(text: &str) -> Result<usize, String> {
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if !rest.starts_with("--") && !rest.starts_with("/*") {
            return Ok(at);
        }
        at += quoted(rest)?;
    }
}

/// Length up to the end of the parenthesis that opens the text.
fn closing(text: &str) -> Result<Option<usize>, String> {
    if !text.starts_with('(') {
        return Ok(None);
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(next) = text[at..].chars().next() {
        let length = quoted(&text[at..])?;
        if length > 0 {
            at += length;
            continue;
        }
        at += next.len_utf8();
        match next {
            '(' => depth += 1,
            ')' if depth == 1 => return Ok(Some(at)),
            ')' => depth -= 1,
            _ => {}
        }
    }
    Ok(None)
}

/// A name as SQL reads it.
fn name(written: &str) -> Option<String> {
    if let Some(inner) = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (!inner.is_empty() && !inner.replace("\"\"", "").contains('"'))
            .then(|| inner.replace("\"\"", "\""));
    }
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
    (starts_name(written) && written.chars().all(is_plain)).then(|| written.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_subquery_is_found() {
        for (text, wanted, alias) in [
            ("(select 1) as Roads", "(select 1)", "roads"),
            ("-- roads\n (select (1), ')' from t) \"a b\";", "(select (1), ')' from t)", "a b"),
            ("( select 1 -- )\n ) AS\"x\"", "( select 1 -- )\n )", "x"),
            ("(select 1) assets", "(select 1)", "assets"),
        ] {
            let found = of(text).unwrap().unwrap();
            assert_eq!((found.text, found.alias.as_str()), (wanted, alias), "{text}");
        }
        for text in
            ["select 1", "(select 1)", "(select 1) union (select 2)", "(select 1", "(select 1) as a b", ""]
        {
            assert_eq!(of(text), Ok(None), "{text}");
        }
        assert!(of("(select 'a) as b").is_err());
    }
}
