//! A program's output as lines, each stamped with our clock when its end arrived.

use std::io::Read;
use std::time::Instant;

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A line of a program's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// When its end was read, µs on the monotonic clock since the program was started.
    pub at_us: u64,
    pub stream: Stream,
    /// Without the line end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// A longer line is split.
const LONGEST: usize = 64 * 1024;

/// Splits bytes into lines at `\n` and `\r` (progress displays use the latter); skips empty lines.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    partial: Vec<u8>,
}

impl Splitter {
    /// Adds bytes; each complete line is passed to `emit`.
    pub(super) fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(String)) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            match piece.split_last() {
                Some((b'\n' | b'\r', text)) => {
                    self.partial.extend_from_slice(text);
                    self.finish(&mut emit);
                }
                _ => self.partial.extend_from_slice(piece),
            }
            if self.partial.len() >= LONGEST {
                self.finish(&mut emit);
            }
        }
    }

    /// Passes on the last line without an end.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(String)) {
        if !self.partial.is_empty() {
            emit(String::from_utf8_lossy(&self.partial).into_owned());
            self.partial.clear();
        }
    }
}

/// Reads a stream to its end, and passes on stamped lines.
pub(super) fn read_lines(
    mut source: impl Read,
    stream: Stream,
    start: Instant,
    mut emit: impl FnMut(OutputLine),
) {
    let mut splitter = Splitter::default();
    let mut buffer = [0; 8192];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let at_us = micros_since(start);
        splitter.push(&buffer[..count], |text| emit(OutputLine { at_us, stream, text }));
    }
    let at_us = micros_since(start);
    splitter.finish(|text| emit(OutputLine { at_us, stream, text }));
}

/// µs since `start` on the monotonic clock.
pub(super) fn micros_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(pieces: &[&[u8]]) -> Vec<String> {
        let (mut splitter, mut lines) = (Splitter::default(), Vec::new());
        for piece in pieces {
            splitter.push(piece, |line| lines.push(line));
        }
        splitter.finish(|line| lines.push(line));
        lines
    }

    #[test]
    fn both_line_ends_split() {
        assert_eq!(split(&[b"one\r\ntwo\rth", b"ree\n\nfour"]), ["one", "two", "three", "four"]);
    }

    #[test]
    fn endless_lines_are_cut() {
        let long = vec![b'x'; LONGEST + 10];
        assert_eq!(split(&[&long[..LONGEST], &long[LONGEST..]]).len(), 2);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(split(&[&bytes]), split(&[&bytes[..cut], &bytes[cut..]]));
        }
    }
}
