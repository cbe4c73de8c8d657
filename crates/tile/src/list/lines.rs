//! Lines of a file of any size and contents.

use std::io::{BufRead, Error};

/// Bytes read of a line; the rest is skipped.
const LONGEST: usize = 1 << 16;
const SHOWN: usize = 200;

/// Lines that are not empty and not comments (`#`).
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    /// The next line, trimmed, and its number from 1; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, String)>, Error> {
        let mut line = Vec::new();
        while self.fill(&mut line)? {
            self.number += 1;
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_start_matches('\u{feff}').trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(Some((self.number, text.to_owned())));
            }
            line.clear();
        }
        Ok(None)
    }

    /// Reads to the end of a line; false at the end of the file.
    fn fill(&mut self, line: &mut Vec<u8>) -> Result<bool, Error> {
        let mut any = false;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            line.extend(&part[..part.len().min(LONGEST - line.len())]);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// The beginning of a line, with control characters and those that change the writing direction escaped.
pub(super) fn shown(line: &str) -> String {
    let mut shown = String::new();
    let mut left = SHOWN;
    for c in line.chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let piece = if hidden { c.escape_unicode().to_string() } else { c.to_string() };
        let Some(rest) = left.checked_sub(piece.chars().count()) else { break };
        left = rest;
        shown += &piece;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_numbered() {
        let text = format!("a\n#b\n\n{}\nlast", "x".repeat(3 * LONGEST));
        for size in [1, 7, 1 << 20] {
            let mut lines = Lines::new(std::io::BufReader::with_capacity(size, text.as_bytes()));
            assert_eq!(lines.next().unwrap(), Some((1, "a".to_owned())));
            let (number, long) = lines.next().unwrap().unwrap();
            assert_eq!((number, long.len()), (4, LONGEST));
            assert_eq!(lines.next().unwrap(), Some((5, "last".to_owned())));
            assert_eq!(lines.next().unwrap(), None);
        }
    }

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[31m\u{202e}é"), "a\\u{1b}[31m\\u{202e}é");
        assert_eq!(shown(&"\u{7}".repeat(500)).chars().count(), 200);
        assert_eq!(shown(&"é".repeat(500)).chars().count(), 200);
    }
}
