//! Reads CSV strictly (RFC 4180): what lenient readers accept, such as a quote that is never closed, would
//! silently become other rows.

use std::borrow::Cow;

/// Passes each record to `take`, with the number of its first line. Empty lines are skipped.
///
/// # Errors
/// The line and the mistake; also errors of `take`.
pub(super) fn records<'t>(
    text: &'t str,
    mut take: impl FnMut(usize, &[Cow<'t, str>]) -> Result<(), String>,
) -> Result<(), String> {
    let (mut rest, mut line) = (text, 1);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        if let Some(next) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) {
            (rest, line) = (next, line + 1);
            continue;
        }
        let first = line;
        fields.clear();
        loop {
            let (value, after) = field(rest, &mut line)?;
            fields.push(value);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = after.strip_prefix('\n').unwrap_or(after);
                    break;
                }
            }
        }
        line += 1;
        take(first, &fields)?;
    }
    Ok(())
}

/// The next field, and what follows it: a comma, a line feed or nothing.
fn field<'t>(text: &'t str, line: &mut usize) -> Result<(Cow<'t, str>, &'t str), String> {
    let Some(mut inside) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([',', '\n']).unwrap_or(text.len()));
        let value = if rest.starts_with(',') { value } else { value.strip_suffix('\r').unwrap_or(value) };
        return Ok((value.into(), rest));
    };
    let begun = *line;
    let mut value = Cow::Borrowed("");
    loop {
        let end =
            inside.find('"').ok_or_else(|| format!("line {begun}: a quote is opened and never closed"))?;
        let (part, rest) = inside.split_at(end);
        *line += part.matches('\n').count();
        value += part;
        inside = &rest[1..];
        match inside.strip_prefix('"') {
            Some(next) => (value, inside) = (value + "\"", next),
            None => break,
        }
    }
    let rest = match inside.strip_prefix('\r') {
        Some(rest) if rest.is_empty() || rest.starts_with('\n') => rest,
        _ => inside,
    };
    match rest.is_empty() || rest.starts_with([',', '\n']) {
        true => Ok((value, rest)),
        false => Err(format!("line {line}: text follows a closing quote; write \"\" for a quote in a value")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
        let mut all = Vec::new();
        records(text, |line, fields| {
            all.push((line, fields.iter().map(ToString::to_string).collect()));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn records_have_their_lines() {
        let text = "a,b\r\n\n\"x\n\"\"y\"\"\",\r\n1,\"2\"\r\n\"\",5\" disk";
        let wanted: [(usize, [&str; 2]); 4] =
            [(1, ["a", "b"]), (3, ["x\n\"y\"", ""]), (5, ["1", "2"]), (6, ["", "5\" disk"])];
        assert_eq!(read(text).unwrap(), wanted.map(|(line, row)| (line, row.map(str::to_owned).to_vec())));
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn quotes_that_do_not_fit_are_refused_with_their_line() {
        assert_eq!(read("a\n\"b\nc\n").unwrap_err(), "line 2: a quote is opened and never closed");
        assert!(read("a\n\"b\"c\n").unwrap_err().starts_with("line 2: text follows a closing quote"));
        assert!(read("\"b\"\rc").unwrap_err().starts_with("line 1: text follows a closing quote"));
    }

    proptest! {
        #[test]
        fn quoted_values_come_back(rows in prop::collection::vec(prop::collection::vec("[a\",\r\n é]{0,4}", 2), 0..6)) {
            let line = |row: &Vec<String>| {
                let quoted: Vec<_> = row.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
                format!("{}\n", quoted.join(","))
            };
            let text: String = rows.iter().map(line).collect();
            let read: Vec<_> = read(&text).unwrap().into_iter().map(|(_, row)| row).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
