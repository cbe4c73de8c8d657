//! Connection strings: `keyword=value keyword = 'quoted value'`.

use std::iter::Peekable;
use std::str::Chars;

use super::error::ConnInfoError;
use super::parameters::Parameters;
use super::{keywords, secret};

type Characters<'a> = Peekable<Chars<'a>>;

/// Parses a connection string; the last of repeated keywords wins.
pub(super) fn parse(string: &str, into: &mut Parameters) -> Result<(), ConnInfoError> {
    let mut text = string.chars().peekable();
    for number in 1.. {
        skip_blanks(&mut text);
        if text.peek().is_none() {
            break;
        }
        let keyword = take_until(&mut text, |c| c == '=' || is_blank(c));
        skip_blanks(&mut text);
        if text.next_if_eq(&'=').is_none() {
            return Err(ConnInfoError::MissingEquals { after: keywords::word_or_number(&keyword, number) });
        }
        skip_blanks(&mut text);
        let quotes = text.next_if_eq(&'\'').is_some();
        let value = if quotes { quoted(&mut text)? } else { bare(&mut text) };
        let taken = if quotes { into.set(&keyword, &value) } else { into.set_bare(&keyword, &value) };
        taken.map_err(|error| error.numbered(number))?;
    }
    Ok(())
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn skip_blanks(text: &mut Characters<'_>) {
    while text.next_if(|&c| is_blank(c)).is_some() {}
}

fn take_until(text: &mut Characters<'_>, end: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| text.next_if(|&c| !end(c))).collect()
}

/// A value up to the next blank; a backslash escapes the next character.
fn bare(text: &mut Characters<'_>) -> String {
    let mut value = String::new();
    while let Some(c) = text.next_if(|&c| !is_blank(c)) {
        match c {
            '\\' => value.extend(text.next()),
            _ => value.push(c),
        }
    }
    value
}

/// A value up to the closing quote.
fn quoted(text: &mut Characters<'_>) -> Result<String, ConnInfoError> {
    let mut value = String::new();
    loop {
        match text.next() {
            None => return Err(ConnInfoError::UnterminatedQuote),
            Some('\'') => return Ok(value),
            Some('\\') => value.extend(text.next()),
            Some(c) => value.push(c),
        }
    }
}

/// Quotes a value for a connection string if necessary.
fn quote(value: &str) -> String {
    if !value.is_empty()
        && !value.contains(|c| is_blank(c) || matches!(c, '\'' | '\\'))
        && !secret::needs_quotes(value)
    {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub(super) fn connection_string(parts: &[(&'static str, String)]) -> String {
    parts.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect::<Vec<_>>().join(" ")
}
