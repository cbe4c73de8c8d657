//! Why a load failed: osm2pgsql's error, the line of the style it refers to, and what to try.

use std::path::Path;

use crate::jobs::{ChildEnd, file_name};

/// Error texts that mean a lack of memory.
const NO_MEMORY: [&str; 4] =
    ["bad_alloc", "annot allocate memory", "Resource temporarily unavailable", "out of memory"];

/// osm2pgsql's error. For an invalid option its last line is only a pointer to the help; the error comes
/// before that.
pub(super) fn error_text(error: Option<&str>, log: &str) -> Option<String> {
    let error = error?;
    let is_about_an_option = |line: &&str| line.contains("option") && line.contains("osm2pgsql: ");
    let option = log.lines().find(is_about_an_option).filter(|_| error.contains("Usage error"));
    Some(option.map_or(error, str::trim).to_owned())
}

pub(super) fn why(message: Option<&str>, end: &ChildEnd, style: Option<&Path>) -> String {
    let what = message.map_or_else(|| how_it_ended(end), str::to_owned);
    let line =
        message.zip(style).and_then(|(message, style)| line_of_style(message, style)).unwrap_or_default();
    let is_server = what.contains("Database error");
    let no_memory = !is_server && NO_MEMORY.iter().any(|words| what.contains(words));
    let advice = match end.signal {
        _ if no_memory => {
            "; there was not enough memory: give node locations less (cache_mb, --cache) or a file (flat_nodes), or use fewer processes"
        }
        Some(9) => {
            "; somebody killed it, or the system did for want of memory (see dmesg): then give node locations less (cache_mb, --cache) or a file (flat_nodes)"
        }
        _ => "",
    };
    format!("osm2pgsql failed: {what}{line}{advice}")
}

fn how_it_ended(end: &ChildEnd) -> String {
    match (end.code, end.signal) {
        (Some(code), _) => format!("it ended with code {code} and gave no reason"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it was stopped".to_owned(),
    }
}

/// The line of the style that an error refers to, if any: ` (line 2 of x.lua: local x = ()`.
fn line_of_style(message: &str, style: &Path) -> Option<String> {
    let name = file_name(style);
    let text = spec::given::read_text(style).ok()?;
    let number = number_after(message, &format!("{name}:"))
        .or_else(|| number_after(message, "style file line "))
        .or_else(|| line_with_type(message, &text))?;
    let lines: Vec<&str> = text.lines().collect();
    // The end of a file is reported as the line after its last one.
    let number = number.min(lines.len());
    let line: String = lines.get(number.checked_sub(1)?)?.trim().chars().take(120).collect();
    Some(format!(" (line {number} of {name}: {line})"))
}

fn number_after(message: &str, words: &str) -> Option<usize> {
    let (_, rest) = message.split_once(words)?;
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// The first line with a type that the server does not know.
fn line_with_type(message: &str, text: &str) -> Option<usize> {
    let (_, rest) = message.split_once("type \"")?;
    let name = rest.split_once("\" does not exist")?.0;
    let has_it = |line: &str| {
        let code = line.split('#').next().unwrap_or_default();
        code.split_whitespace().nth(2).is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    text.lines().position(has_it).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(error: &str, style: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(style);
        std::fs::write(&path, text).unwrap();
        why(Some(error), &ChildEnd { code: Some(1), ..ChildEnd::default() }, Some(&path))
    }

    #[test]
    fn an_option_that_it_does_not_take_is_named() {
        let log = "osm2pgsql: unrecognized option '--no-such'\n2026-11-23 14:00:00  ERROR: Usage error. Try 'osm2pgsql --help'.";
        let error_text = |error| error_text(Some(error), log);
        assert_eq!(
            error_text("ERROR: Usage error. Try 'osm2pgsql --help'.").unwrap(),
            "osm2pgsql: unrecognized option '--no-such'"
        );
        assert_eq!(error_text("ERROR: no space").unwrap(), "ERROR: no space");
    }

    #[test]
    fn the_line_of_a_style_is_shown() {
        let lua = "local t = {}\nlocal x = (\n";
        let error = "ERROR: Error loading lua config: /a/b/s.lua:3: unexpected symbol near <eof>.";
        assert_eq!(
            message(error, "s.lua", lua),
            format!("osm2pgsql failed: {error} (line 2 of s.lua: local x = ()")
        );
        let style = "# a remark\nnode,way amenity text\nnode nowhere nonsense # why\n";
        let error = "ERROR: Error reading style file line 2 (fields=2).";
        assert!(message(error, "s.style", style).ends_with("(line 2 of s.style: node,way amenity text)"));
        let error = "ERROR: Database error: ERROR:  type \"nonsense\" does not exist";
        assert!(
            message(error, "s.style", style).ends_with("(line 3 of s.style: node nowhere nonsense # why)")
        );
        let other = "ERROR: Connecting to database failed.";
        assert_eq!(message(other, "s.style", style), format!("osm2pgsql failed: {other}"));
        assert_eq!(message(other, "s.style", ""), format!("osm2pgsql failed: {other}"));
    }

    /// It has no last line.
    #[test]
    fn an_empty_style_has_no_line_to_show() {
        let error = "ERROR: Error loading lua config: /a/b/s.lua:1: unexpected symbol near <eof>.";
        assert_eq!(message(error, "s.lua", ""), format!("osm2pgsql failed: {error}"));
        assert_eq!(
            message("ERROR: style file line 0", "s.style", "a\n"),
            "osm2pgsql failed: ERROR: style file line 0"
        );
    }

    #[test]
    fn want_of_memory_is_named_with_what_to_try() {
        let ended = |code, signal| ChildEnd { code, signal, ..ChildEnd::default() };
        for error in ["ERROR: std::bad_alloc", "ERROR: mmap failed: Cannot allocate memory"] {
            let error_text = why(Some(error), &ended(Some(1), None), None);
            assert!(error_text.contains(error) && error_text.contains("cache_mb"), "{error_text}");
        }
        assert!(why(None, &ended(None, Some(9)), None).contains("ended by signal 9; somebody killed it"));
        let of_server = why(Some("ERROR: Database error: out of memory"), &ended(Some(1), None), None);
        assert!(!of_server.contains("cache_mb"), "the server's memory is another: {of_server}");
        assert_eq!(
            why(None, &ended(Some(3), None), None),
            "osm2pgsql failed: it ended with code 3 and gave no reason"
        );
    }
}
