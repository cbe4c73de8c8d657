//! A log in pieces: osm2pgsql overwrites its progress display with carriage returns, so a piece ends at one
//! of these or at the end of a line. Uses memory for one chunk and the beginning of one piece, of any
//! length.

use std::io::{self, Read};

const CHUNK: usize = 256 * 1024;
/// Bytes kept of a piece; everything that is read from a log is within these.
const LONGEST: usize = 16 * 1024;

pub(super) struct Pieces<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    piece: Vec<u8>,
    /// Number of the current line, from 1.
    line: u64,
    bytes: u64,
}

impl<R: Read> Pieces<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, end: 0, piece: Vec::new(), line: 1, bytes: 0 }
    }

    /// The next piece with the number of its line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.piece.clear();
        loop {
            if self.start == self.end && !self.fill()? {
                let last = (!self.piece.is_empty()).then_some((self.line, self.piece.as_slice()));
                return Ok(last);
            }
            let unread = &self.buffer[self.start..self.end];
            let found = unread.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &unread[..found.unwrap_or(unread.len())];
            let room = LONGEST - self.piece.len().min(LONGEST);
            self.piece.extend_from_slice(&part[..part.len().min(room)]);
            match found {
                None => self.start = self.end,
                Some(at) => {
                    let number = self.line;
                    self.line += u64::from(unread[at] == b'\n');
                    self.start += at + 1;
                    return Ok(Some((number, &self.piece)));
                }
            }
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        let got = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => break got?,
            }
        };
        (self.start, self.end) = (0, got);
        self.bytes += got as u64;
        Ok(got > 0)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: impl Read) -> Vec<(u64, String)> {
        let mut pieces = Pieces::new(input);
        let mut found = Vec::new();
        while let Some((line, piece)) = pieces.next().unwrap() {
            found.push((line, String::from_utf8_lossy(piece).into_owned()));
        }
        found
    }

    #[test]
    fn pieces_end_at_both_kinds_of_ends() {
        let wanted = [(1, "one"), (2, "10 %"), (2, "20 %"), (2, "two"), (3, ""), (4, "last")]
            .map(|(line, text)| (line, text.to_owned()));
        assert_eq!(all(&b"one\n10 %\r20 %\rtwo\n\nlast"[..]), wanted);
        assert!(all(io::empty()).is_empty());
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut pieces = Pieces::new(io::repeat(b'x').take(50 << 20));
        let (line, piece) = pieces.next().unwrap().unwrap();
        assert_eq!((line, piece.len()), (1, LONGEST));
        assert!(pieces.next().unwrap().is_none());
        assert!(pieces.piece.capacity() <= 2 * LONGEST && pieces.bytes() == 50 << 20);
    }
}
