//! Which program wrote a line, by what is before its text: several may write into one log at the same time.

use super::prefix::without_colors;
use crate::import::moment::Moment;

/// What lines of one program have in common before their text, without times and numbers; numbers in the name
/// of a container tell it from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stream {
    name: String,
    is_container: bool,
}

impl Stream {
    /// The program of a line with this before its text.
    pub(super) fn of(prefix: &str) -> Self {
        let plain = without_colors(prefix);
        // A progress display that is overwritten.
        let plain = plain.split("Processing: ").next().unwrap_or_default();
        if let Some((before, _)) = plain.split_once('|') {
            return Self { name: without_moment(before).trim().to_owned(), is_container: true };
        }
        let pod = plain.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((pod, _)) = pod.filter(|(pod, _)| pod.contains('/')) {
            return Self { name: format!("[{pod}]"), is_container: true };
        }
        let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
        let words: Vec<String> = without_moment(plain).split_whitespace().map(str::to_owned).collect();
        let mut name: String = words.join(" ").chars().map(digits).collect();
        while name.contains("00") {
            name = name.replace("00", "0");
        }
        Self { name, is_container: false }
    }

    pub(super) fn container(&self) -> Option<&str> {
        self.is_container.then_some(self.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Length of the name, if a line begins with it.
    pub(super) fn begins(&self, line: &str) -> Option<usize> {
        let line = without_colors(line);
        let rest = line.trim_start().strip_prefix(self.name.as_str())?;
        let is_whole = self.name.is_empty() || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
        is_whole.then_some(self.name.len())
    }
}

fn without_moment(text: &str) -> String {
    match Moment::within(text) {
        Some((at, _, length)) => format!("{}{}", &text[..at], &text[at + length..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_program_have_one_stream() {
        for (one, other, same) in [
            ("", "", true),
            ("load-1  | ", "load-1   | Processing: Node(1k 1.0k/s) Way(0k 0.00k/s) Relation(0 0.0/s)", true),
            ("\x1b[36mload-1 |\x1b[0m ", "load-1 | ", true),
            ("load-1 | ", "load-2 | ", false),
            ("load-1 | 2026-01-01T10:00:00Z ", "load-1 | 2026-01-01T11:07:12.5Z ", true),
            ("[pod/osm-x7/load] ", "[pod/osm-y9/load] ", false),
            ("Nov  1 10:00:00 host osm[9]: ", "Dec 11 10:00:59 host osm[1204]: ", true),
            ("[10:00:00] ", "[10:00:01] ", true),
            ("#12 3.25 ", "#12 103.1 ", true),
            ("a: ", "b: ", false),
        ] {
            assert_eq!(Stream::of(one) == Stream::of(other), same, "{one:?} {other:?}");
        }
        assert_eq!(Stream::of("load-1 | ").container(), Some("load-1"));
        assert_eq!(Stream::of("> ").container(), None);
        assert_eq!(
            (Stream::of("a-1 | ").begins("a-1  | x"), Stream::of("a-1 | ").begins("a-12 | x")),
            (Some(3), None)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(prefix in "\\PC{0,20}", line in "\\PC{0,40}") {
            let _ = Stream::of(&prefix).begins(&line);
        }
    }
}
