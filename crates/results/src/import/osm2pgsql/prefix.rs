//! What other programs put before each line: quotes, names of containers, times.

use crate::import::moment::{Form, Moment};

/// Latest start of osm2pgsql's own text.
const LATEST: usize = 300;

/// The prefix of a log's lines: equal in all of them, except times and numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Prefix(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Letter(char),
    Digits,
    Blanks,
    Moment(Form),
}

impl Prefix {
    /// The prefix of a line, as a form for others.
    pub(super) fn of(text: &str) -> Self {
        let text = without_colors(text);
        let moment = Moment::within(&text);
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let at = text.len() - rest.len();
            let (part, length) = match moment {
                Some((start, moment, length)) if start == at => (Part::Moment(moment.form), length),
                _ => part_at(rest, first),
            };
            parts.push(part);
            rest = &rest[length..];
        }
        Self(parts)
    }

    /// The text behind the prefix and the time in it; `None` for a line with another prefix.
    pub(super) fn cut<'a>(&self, line: &'a str) -> Option<(&'a str, Option<Moment>)> {
        let (mut rest, mut found) = (behind_colors(line), None);
        for part in &self.0 {
            let length = match part {
                // Trailing blanks may be lost.
                Part::Blanks if rest.is_empty() => 0,
                Part::Blanks => run(rest, char::is_whitespace)?,
                Part::Digits => run(rest, |c| c.is_ascii_digit())?,
                Part::Letter(letter) => rest.starts_with(*letter).then(|| letter.len_utf8())?,
                Part::Moment(form) => {
                    let (moment, length) = Moment::at_start(rest, *form)?;
                    found = Some(moment);
                    length
                }
            };
            rest = behind_colors(&rest[length..]);
        }
        Some((rest, found))
    }
}

/// Where osm2pgsql's own text begins, by these words of it, behind nothing or what may be a prefix.
pub(super) fn own_text_at(line: &str, words: &[&str]) -> Option<usize> {
    let at = words.iter().filter_map(|words| line.find(words)).min().filter(|at| *at <= LATEST)?;
    let before = without_colors(&line[..at]);
    let trimmed = before.trim();
    let is_prefix = trimmed.is_empty()
        || before.ends_with(char::is_whitespace) && trimmed.ends_with(['|', '>', ']', ':', ')', '#'])
        || before.ends_with(char::is_whitespace) && Moment::within(&before).is_some();
    is_prefix.then_some(at)
}

fn part_at(rest: &str, first: char) -> (Part, usize) {
    if let Some(length) = run(rest, |c| c.is_ascii_digit()) {
        return (Part::Digits, length);
    }
    match run(rest, char::is_whitespace) {
        Some(length) => (Part::Blanks, length),
        None => (Part::Letter(first), first.len_utf8()),
    }
}

/// Length of a run of such characters at the start; `None` if there is none.
fn run(text: &str, fits: impl Fn(char) -> bool) -> Option<usize> {
    let length = text.find(|c| !fits(c)).unwrap_or(text.len());
    (length > 0).then_some(length)
}

pub(super) fn without_colors(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        let behind = behind_colors(&rest[at..]);
        rest = if behind.len() == rest.len() - at { &rest[at + 1..] } else { behind };
    }
    plain.push_str(rest);
    plain
}

/// The text behind escape sequences such as `\x1b[36m`.
fn behind_colors(mut text: &str) -> &str {
    while let Some(sequence) = text.strip_prefix("\x1b[") {
        let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic()) else { return text };
        text = &sequence[end + 1..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_cut_from_other_lines() {
        let cases = [
            ("> ", "> Mid: pgsql", Some("Mid: pgsql")),
            ("> ", ">", Some("")),
            ("import_1  | ", "import_1  | x", Some("x")),
            ("import_1  | ", "import_1  |", Some("")),
            ("import_1  | ", "db_1      | LOG", None),
            ("\x1b[36mimport_1  |\x1b[0m ", "\x1b[36mimport_1  |\x1b[0m x", Some("x")),
            ("[09:59:58] ", "[10:00:01] x", Some("x")),
            ("2026-11-01T10:00:00Z ", "2026-11-01T10:00:00.25Z x", Some("x")),
            ("Nov  1 10:00:00 host osm[9]: ", "Dec 11 10:00:00 host osm[10]: x", Some("x")),
            ("#9 1.02 ", "#9 101.5 x", Some("x")),
            ("", "x", Some("x")),
        ];
        for (prefix, line, wanted) in cases {
            assert_eq!(Prefix::of(prefix).cut(line).map(|(text, _)| text), wanted, "{prefix:?} {line:?}");
        }
    }

    #[test]
    fn prose_is_no_prefix() {
        let at = |line| own_text_at(line, &["Mid: "]);
        assert_eq!(at("import_1  | Mid: x"), Some(12));
        assert_eq!(at("10:00:00 Mid: x"), Some(9));
        assert_eq!(at("Mid: x"), Some(0));
        assert_eq!(at("she said Mid: x"), None);
        assert_eq!(at("10:00:00Mid: x"), None);
    }

    proptest::proptest! {
        #[test]
        fn a_prefix_fits_itself(prefix in "(\\x1b\\[3[0-9]m)?[a-zA-Z0-9_:.,| >\\[\\]-]{0,30}", text in "[a-z]{1,5}") {
            // The text may go on where the prefix ends.
            let line = format!("{prefix}\u{2502}{text}");
            let (rest, _) = Prefix::of(&prefix).cut(&line).expect("its own line");
            proptest::prop_assert!(rest.ends_with(&text));
        }

        #[test]
        fn any_line_is_survived(prefix in "\\PC{0,20}", line in "\\PC{0,40}") {
            let _ = Prefix::of(&prefix).cut(&line);
            let _ = own_text_at(&line, &["a"]);
        }
    }
}
