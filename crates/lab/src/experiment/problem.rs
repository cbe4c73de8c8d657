//! The mistakes in an experiment file, with file, line, column and the line itself.

use std::fmt;
use std::ops::Range;

use protocol::nearest;
use spec::{Class, Error};

/// A mistake in a file, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The wrong part of the experiment, as keys and `[0]` for elements of lists; empty for the whole.
    pub path: Vec<String>,
    pub message: String,
    /// The same without the key, if it begins with it.
    pub said: String,
    pub hint: Option<String>,
    /// The line of the file, possibly without its value.
    text: String,
    /// In characters.
    mark: Range<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wrong {
    pub(super) path: Vec<String>,
    pub(super) key: Option<String>,
    pub(super) said: String,
    pub(super) hint: Option<String>,
}

impl Problem {
    /// A problem at a range of bytes of the file's text.
    pub(super) fn at(source: &str, span: &Range<usize>, wrong: Wrong) -> Self {
        let Wrong { path, key, said, hint } = wrong;
        let start = floor(source, span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |length| start + length);
        let end = floor(source, span.end).clamp(start, line_end);
        let before = source[line_start..start].chars().count();
        let width = source[start..end].trim_end().chars().count().max(1);
        let line = source[line_start..line_end].trim_end();
        let (text, said, mark) = match may_hold_address(&source[..line_start], line) {
            false => (line.to_owned(), said, before..before + width),
            true => {
                let text = without_value(line);
                let length = text.chars().count();
                let first = before.min(length - 1);
                (text, without_quoted(&said), first..(before + width).clamp(first + 1, length))
            }
        };
        let message = key.map_or_else(|| said.clone(), |key| format!("{key} {said}"));
        Self {
            line: source[..start].matches('\n').count() + 1,
            column: before + 1,
            path,
            message,
            said,
            hint,
            text,
            mark,
        }
    }

    /// The lines to print; each contains only what belongs to it.
    fn lines(&self, file: &str) -> [String; 3] {
        let Self { line, column, message, text, mark, .. } = self;
        let (text, mark) = part_of(text, mark);
        let margin = line.to_string().len();
        let hint = self.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
        [
            format!("{file}:{line}:{column}: {message}"),
            format!(" {line} | {}", text.replace('\t', " ")),
            format!(" {:margin$} | {:skip$}{}{hint}", "", "", "^".repeat(mark.len()), skip = mark.start),
        ]
    }
}

/// Most characters of a line that are shown.
const LONGEST: usize = 100;

/// The part of a line around its mark, and the mark in it.
fn part_of(text: &str, mark: &Range<usize>) -> (String, Range<usize>) {
    let length = text.chars().count();
    if length <= LONGEST {
        return (text.to_owned(), mark.clone());
    }
    let first = mark.start.saturating_sub(LONGEST / 2).min(length - LONGEST);
    let before = if first > 0 { "…" } else { "" };
    let after = if first + LONGEST < length { "…" } else { "" };
    let part: String = text.chars().skip(first).take(LONGEST).collect();
    let start = mark.start - first + before.chars().count();
    let shown = mark.end.min(first + LONGEST).saturating_sub(mark.start).max(1);
    (format!("{before}{part}{after}"), start..start + shown)
}

const NOT_SHOWN: &str = "(not shown)";

/// Whether a line may hold the address of a server, perhaps a wrong one. Such lines are in a server's table,
/// or begin with a key for addresses. Headers, and other keys with plain values, are not.
fn may_hold_address(before: &str, line: &str) -> bool {
    let begins = |line: &str, names: &[&str]| {
        let name = line.trim_start_matches(|c: char| c.is_whitespace() || "[\"'#".contains(c));
        names.iter().any(|known| name.starts_with(known))
    };
    let is_plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-. {}[],".contains(c));
    let is_other = match line.split_once('=') {
        // Quoted texts contain no `=`.
        Some((key, value)) => {
            let mut parts = value.split(['"', '\'']).enumerate();
            let fits =
                |(at, part): (usize, &str)| is_plain(&part.replace('=', if at % 2 == 0 { "" } else { "=" }));
            OTHERS.contains(&key.trim()) && parts.all(fits)
        }
        None => line.trim_start().starts_with('[') && is_plain(line),
    };
    let header = before.lines().rfind(|line| line.trim_start().starts_with('['));
    let is_of_server = begins(line, &["target", "server", "url"])
        || header.is_some_and(|header| begins(header, &["target", "server"]));
    is_of_server && !is_other
}

const OTHERS: [&str; 3] = ["managed", "change_server", "tile_servers"];

fn without_value(line: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    match line.split_once('=').filter(|(key, _)| key.chars().all(is_plain)) {
        Some((key, _)) => format!("{key}= {NOT_SHOWN}"),
        None => NOT_SHOWN.to_owned(),
    }
}

/// A message without its quoted value. The value may contain quotes.
fn without_quoted(message: &str) -> String {
    match (message.find('"'), message.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            format!("{}{NOT_SHOWN}{}", &message[..first], &message[last + 1..])
        }
        _ => message.to_owned(),
    }
}

/// The nearest character boundary at or before `index`.
fn floor(source: &str, index: usize) -> usize {
    let mut index = index.min(source.len());
    while !source.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// All mistakes of an experiment file, in the order of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblems {
    pub file: String,
    /// Never empty.
    pub problems: Vec<Problem>,
    /// Whether there may be more.
    pub is_cut: bool,
}

impl std::error::Error for FileProblems {}

impl From<FileProblems> for Error {
    fn from(problems: FileProblems) -> Self {
        Self::new(Class::BadInput, problems.to_string()).attach(problems)
    }
}

impl FileProblems {
    /// The lines to print.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let lines = self.problems.iter().flat_map(|problem| problem.lines(&self.file));
        let more = self
            .is_cut
            .then(|| format!("{}: only the first {} mistakes are shown", self.file, self.problems.len()));
        lines.chain(more).collect()
    }
}

impl fmt::Display for FileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// "did you mean …?", or the list of known words.
pub(super) fn suggestion(word: &str, known: &[&str]) -> Option<String> {
    match nearest(word, known.iter().copied()) {
        Some(candidate) => Some(format!("did you mean `{candidate}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known here: {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(said: &str, hint: Option<&str>) -> Wrong {
        Wrong { said: said.to_owned(), hint: hint.map(str::to_owned), ..Wrong::default() }
    }

    /// A list of 90,000 characters in one line ended in a panic.
    #[test]
    fn of_a_long_line_the_part_around_the_mistake_is_shown() {
        let source = format!("a = [{}]", (0..20_000).map(|at| format!("{at}, ")).collect::<String>());
        for (start, end) in
            [(0, 1), (5, 6), (70_000, 70_003), (4, source.len()), (source.len() - 1, source.len())]
        {
            let problem = Problem::at(&source, &(start..end), wrong("bad", None));
            let [_, shown, marked] = problem.lines("f.toml");
            assert!(shown.chars().count() <= LONGEST + 10, "{shown}");
            assert!(marked.chars().count() <= LONGEST + 10, "{marked}");
            let at = marked.chars().position(|c| c == '^').unwrap();
            assert_eq!(shown.chars().nth(at), source[start..].chars().next(), "{shown}");
        }
    }

    #[test]
    fn a_problem_points_at_its_place() {
        let source = "a = 1\n# frü \"x\"\n";
        let start = source.find('"').unwrap();
        let problem = Problem::at(source, &(start..start + 3), wrong("bad", Some("try y")));
        assert_eq!((problem.line, problem.column), (2, 7));
        let all = FileProblems { file: "f.toml".into(), problems: vec![problem], is_cut: false };
        assert_eq!(all.to_string(), "f.toml:2:7: bad\n 2 | # frü \"x\"\n   |       ^^^ try y");
    }

    #[test]
    fn places_outside_the_text_do_not_panic() {
        for span in [0..0, 5..90, 90..95] {
            let problem = Problem::at("ä", &span, Wrong::default());
            assert_eq!(problem.line, 1);
        }
    }

    #[test]
    fn a_line_that_may_hold_an_address_is_shown_without_its_value() {
        for (source, at, wanted) in [
            (
                "[target]\nurl = \"h geheim\"",
                "\"h",
                "x.toml:2:7: no (not shown)\n 2 | url = (not shown)\n   |       ^^^^^^^^^^",
            ),
            ("[server.a]\ngeheim@h", "geheim", "x.toml:2:1: no (not shown)\n 2 | (not shown)\n   | ^^^^^^^^"),
            (
                "target.url = 'geheim@h'",
                "'geheim",
                "x.toml:1:14: no (not shown)\n 1 | target.url = (not shown)\n   |              ^^^^^^^^^^",
            ),
            (
                "[target]\nmanaged = { redis = 1 }",
                "1",
                "x.toml:2:21: no \"it\"\n 2 | managed = { redis = 1 }\n   |                     ^",
            ),
        ] {
            let start = source.find(at).unwrap();
            let end = source[start..].find('\n').map_or(source.len(), |end| start + end);
            let end = if at == "1" { start + 1 } else { end };
            let problem = Problem::at(source, &(start..end), wrong("no \"it\"", None));
            assert_eq!(problem.lines("x.toml").join("\n"), wanted);
        }
    }

    #[test]
    fn the_nearest_word_is_offered() {
        let known = ["warmup", "duration", "rounds"];
        assert_eq!(suggestion("ronds", &known).unwrap(), "did you mean `rounds`?");
        assert_eq!(suggestion("zzz", &known).unwrap(), "known here: warmup, duration, rounds");
        assert_eq!(suggestion("zzz", &[]), None);
    }
}
