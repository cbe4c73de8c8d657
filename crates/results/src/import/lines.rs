//! Lines of a stream, one at a time, with their numbers, and the hash of all input.

use std::io::{self, Read};

use sha2::{Digest, Sha256};
use spec::hex;

/// Bytes read from the input at once.
const CHUNK: usize = 256 * 1024;
/// Longest accepted line; pgbench's lines are far shorter.
const LONGEST: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLine<'a> {
    pub(super) number: u64,
    pub(super) text: &'a [u8],
    /// Whether a line break follows; only the last line of a stream can lack it.
    pub(super) whole: bool,
}

/// Reads lines; uses memory for one chunk and one line, for input of any length.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    number: u64,
    bytes: u64,
    hash: Sha256,
    at_end: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            number: 0,
            bytes: 0,
            hash: Sha256::new(),
            at_end: false,
        }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// Errors of the input; `InvalidData` for a line longer than 4 MB.
    pub(super) fn next(&mut self) -> io::Result<Option<FileLine<'_>>> {
        let mut searched = self.start;
        let (end, whole) = loop {
            if let Some(found) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                break (searched + found, true);
            }
            if self.at_end {
                if self.start == self.buffer.len() {
                    return Ok(None);
                }
                break (self.buffer.len(), false);
            }
            let unread = self.buffer.len() - self.start;
            if unread > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line longer than 4 MB: not text"));
            }
            self.fill()?;
            searched = self.start + unread;
        };
        let start = self.start;
        self.start = end + usize::from(whole);
        self.number += 1;
        let mut text = &self.buffer[start..end];
        if let [before @ .., b'\r'] = text {
            text = before;
        }
        if self.number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        Ok(Some(FileLine { number: self.number, text, whole }))
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let unread = self.buffer.len();
        self.buffer.resize(unread + CHUNK, 0);
        let got = loop {
            match self.input.read(&mut self.buffer[unread..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.buffer.truncate(unread);
                    return Err(error);
                }
                Ok(got) => break got,
            }
        };
        self.buffer.truncate(unread + got);
        self.hash.update(&self.buffer[unread..]);
        self.bytes += got as u64;
        self.at_end = got == 0;
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of all bytes read, hex; of the whole input once [`Self::next`] returned `None`.
    pub(super) fn sha256(&self) -> String {
        spec::hex(&self.hash.clone().finalize())
    }
}

pub(super) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns its bytes in pieces of this size.
    struct InPieces<'a>(&'a [u8], usize);

    impl Read for InPieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn all(bytes: &[u8], piece: usize) -> Vec<(String, bool)> {
        let mut lines = Lines::new(InPieces(bytes, piece));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            assert_eq!(line.number, found.len() as u64 + 1);
            found.push((String::from_utf8_lossy(line.text).into_owned(), line.whole));
        }
        assert_eq!(lines.bytes(), bytes.len() as u64);
        assert_eq!(lines.sha256(), spec::hex(&Sha256::digest(bytes)));
        found
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_come() {
        let text = b"\xef\xbb\xbfone\r\n\ntwo words\nlast";
        let wanted = [("one", true), ("", true), ("two words", true), ("last", false)]
            .map(|(text, whole)| (text.to_owned(), whole));
        for piece in 1..30 {
            assert_eq!(all(text, piece), wanted, "in pieces of {piece}");
        }
        assert!(all(b"", 1).is_empty());
        assert_eq!(all(b"x\n", 1), [("x".to_owned(), true)]);
    }

    #[test]
    fn what_is_no_text_does_not_fill_the_memory() {
        let mut lines = Lines::new(io::repeat(0));
        assert_eq!(lines.next().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
