//! What is wrong with an experiment file, told with file, line, column and the line itself.

use std::fmt;
use std::ops::Range;

use protocol::nearest;

use super::hidden::{HIDDEN, Hidden, covered};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, naming the key.
    pub message: String,
    /// What to write instead, where that can be said.
    pub hint: Option<String>,
    /// The line of the file, without what may be a password.
    text: String,
    /// Which characters of it are meant.
    mark: Range<usize>,
}

impl Problem {
    /// A problem at a range of bytes of the file's text.
    pub(super) fn at(
        hidden: &Hidden<'_>,
        span: &Range<usize>,
        message: String,
        hint: Option<String>,
    ) -> Self {
        let source = hidden.source;
        let start = floor(source, span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |length| start + length);
        let end = floor(source, span.end).clamp(start, line_end);
        let before = source[line_start..start].chars().count();
        let around = (!hidden.shows(start)).then(|| hidden.around(start));
        let text = hidden.line(&(line_start..line_end));
        let width = source[start..end].trim_end().chars().count().max(1);
        let mark = match text.find(HIDDEN).map(|at| text[..at].chars().count()) {
            Some(cover) if before + width > cover => cover..cover + HIDDEN.chars().count(),
            _ => before..before + width,
        };
        Self {
            line: source[..start].matches('\n').count() + 1,
            column: before + 1,
            message: covered(&message, around),
            hint: hint.map(|hint| covered(&hint, around)),
            text,
            mark,
        }
    }

    /// What to print of it, a line each; nothing in a line but what is told there.
    fn lines(&self, file: &str) -> [String; 3] {
        let Self { line, column, message, text, mark, .. } = self;
        let margin = line.to_string().len();
        let hint = self.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
        [
            format!("{file}:{line}:{column}: {message}"),
            format!(" {line} | {}", text.replace('\t', " ")),
            format!(" {:margin$} | {:skip$}{}{hint}", "", "", "^".repeat(mark.len()), skip = mark.start),
        ]
    }
}

/// The nearest place at or before `index` where a character starts.
fn floor(source: &str, index: usize) -> usize {
    let mut index = index.min(source.len());
    while !source.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Everything found wrong with one experiment file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblems {
    /// The file as it was named.
    pub file: String,
    /// What is wrong; never empty.
    pub problems: Vec<Problem>,
}

impl std::error::Error for FileProblems {}

impl FileProblems {
    /// What to print, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.problems.iter().flat_map(|problem| problem.lines(&self.file)).collect()
    }
}

impl fmt::Display for FileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// "did you mean …?", or else the list of known words.
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

    #[test]
    fn a_problem_points_at_its_place() {
        let source = "a = 1\n# frü \"x\"\n";
        let start = source.find('"').unwrap();
        let problem =
            Problem::at(&Hidden::of(source), &(start..start + 3), "bad".into(), Some("try y".into()));
        assert_eq!((problem.line, problem.column), (2, 7));
        let all = FileProblems { file: "f.toml".into(), problems: vec![problem] };
        assert_eq!(all.to_string(), "f.toml:2:7: bad\n 2 | # frü \"x\"\n   |       ^^^ try y");
    }

    #[test]
    fn places_outside_the_text_do_not_panic() {
        for span in [0..0, 5..90, 90..95] {
            let problem = Problem::at(&Hidden::of("ä"), &span, String::new(), None);
            assert_eq!(problem.line, 1);
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
