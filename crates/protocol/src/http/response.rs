//! What a server answers: its head read, its body passed over or kept.

use std::mem::MaybeUninit;

use super::broken::Broken;
use super::head::{self, Body, Encoding};
use crate::limits;

/// Longest head, and all that may follow a chunked body.
pub(super) const HEAD_LIMIT: usize = 64 * 1024;
/// Longest line with the length of a chunk.
const CHUNK_LINE: usize = 4 * 1024;
const HEADERS: usize = 128;
/// Bytes of a body that are kept in any case, to be told.
pub const FIRST_BYTES: usize = 160;

/// What to do with the bodies that arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Want {
    /// Count them and pass over them.
    Skip,
    /// Hand them out whole.
    #[default]
    Read,
}

/// A response, complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// As in 200.
    pub status: u16,
    /// As the server writes it; empty where it does not.
    pub content_type: &'a [u8],
    /// Where a redirect leads; empty for other statuses.
    pub location: &'a [u8],
    /// How the body is packed.
    pub encoding: Encoding,
    /// Whether the connection takes further requests.
    pub stays: bool,
    /// Bytes of the body as it came, without what frames its chunks.
    pub bytes: u64,
    /// The first bytes of the body as it came, at most [`FIRST_BYTES`].
    pub first: &'a [u8],
    /// The body as it came; empty under [`Want::Skip`].
    pub body: &'a [u8],
}

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Head,
    /// This many bytes of the body, then it is over.
    Length(u64),
    UntilClose,
    /// The line with a chunk's length.
    ChunkLine,
    /// This many bytes of a chunk.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// Lines behind the last chunk, up to an empty one; so many bytes of them are passed.
    Trailer(usize),
}

/// Decodes the responses of one connection. Memory is used again from one to the next.
#[derive(Debug, Default)]
pub struct Responses {
    want: Want,
    state: State,
    /// Some bytes of a head were seen that is not all there.
    begun: bool,
    status: u16,
    encoding: Encoding,
    stays: bool,
    bytes: u64,
    content_type: Vec<u8>,
    location: Vec<u8>,
    first: Vec<u8>,
    body: Vec<u8>,
}

impl Responses {
    /// A decoder at the start of a connection.
    #[must_use]
    pub fn new(want: Want) -> Responses {
        Responses { want, ..Responses::default() }
    }

    /// Begins again, on another connection.
    pub fn restart(&mut self) {
        self.state = State::Head;
        self.begun = false;
    }

    /// Takes the next response from `input`, starting at index `at`, and moves `at` behind it.
    ///
    /// `None` means that the rest of `input` is no whole response: keep what is behind `at`, add what arrives, call again.
    /// Bodies are taken as far as they have arrived.
    ///
    /// # Errors
    /// When the bytes are not HTTP/1.1; the connection must then be closed.
    #[inline]
    pub fn next(&mut self, input: &[u8], at: &mut usize) -> Result<Option<Response<'_>>, Broken> {
        let over = loop {
            match self.state {
                State::Head => {
                    if !self.head(input, at)? {
                        break false;
                    }
                }
                State::Length(left) => {
                    let left = self.take(left, input, at)?;
                    self.state = State::Length(left);
                    break left == 0;
                }
                State::UntilClose => {
                    self.take(u64::MAX, input, at)?;
                    break false;
                }
                State::Trailer(passed) => {
                    if let Some(over) = self.trailer(passed, input, at)? {
                        break over;
                    }
                }
                _ => {
                    if !self.chunk(input, at)? {
                        break false;
                    }
                }
            }
        };
        if !over {
            return Ok(None);
        }
        self.state = State::Head;
        Ok(Some(self.last()))
    }

    /// The connection was closed: the response that this ends, where it is one.
    ///
    /// # Errors
    /// When it is closed in the middle of a response.
    pub fn closed(&mut self) -> Result<Option<Response<'_>>, Broken> {
        match std::mem::take(&mut self.state) {
            State::UntilClose => Ok(Some(self.last())),
            State::Head if !std::mem::take(&mut self.begun) => Ok(None),
            _ => Err(Broken::Cut),
        }
    }

    /// Reads the head at `at`, and those of responses that announce another one; false when it is not all there.
    fn head(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Broken> {
        let rest = input.get(*at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(HEAD_LIMIT)];
        let mut lines = [const { MaybeUninit::uninit() }; HEADERS];
        let Some((head, length)) = head::parse(rest, &mut lines)? else {
            self.begun = !rest.is_empty();
            return if rest.len() < HEAD_LIMIT { Ok(false) } else { Err(Broken::Long) };
        };
        *at += length;
        self.begun = false;
        if head.status < 200 {
            // An announcement, such as 103: the response itself follows.
            return if head.status == 101 { Err(Broken::Switched) } else { Ok(true) };
        }
        for (kept, told) in [(&mut self.content_type, head.content_type), (&mut self.location, head.location)]
        {
            kept.clear();
            kept.extend_from_slice(told);
        }
        (self.status, self.encoding, self.stays, self.bytes) = (head.status, head.encoding, head.stays, 0);
        self.first.clear();
        self.body.clear();
        self.state = match head.body {
            Body::Length(length) => State::Length(length),
            Body::Chunked => State::ChunkLine,
            Body::UntilClose => State::UntilClose,
        };
        Ok(true)
    }

    /// Takes so many bytes of the body, or as many as there are; gives how many are left.
    fn take(&mut self, left: u64, input: &[u8], at: &mut usize) -> Result<u64, Broken> {
        let rest = input.get(*at..).unwrap_or_default();
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        let bytes = &rest[..count];
        if self.first.len() < FIRST_BYTES {
            let missing = FIRST_BYTES - self.first.len();
            self.first.extend_from_slice(&bytes[..count.min(missing)]);
        }
        if self.want == Want::Read {
            let limit = limits::max_answer();
            if self.body.len() + count > limit {
                return Err(Broken::Body { limit });
            }
            self.body.extend_from_slice(bytes);
        }
        self.bytes += count as u64;
        *at += count;
        Ok(left - count as u64)
    }

    /// Takes one step into a chunk; false when what it needs is not there.
    fn chunk(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Broken> {
        self.state = match self.state {
            State::Chunk(left) => match self.take(left, input, at)? {
                0 => State::ChunkEnd,
                left => {
                    self.state = State::Chunk(left);
                    return Ok(false);
                }
            },
            State::ChunkEnd => match line(input, at, 0)? {
                None => return Ok(false),
                Some(_) => State::ChunkLine,
            },
            _ => match line(input, at, CHUNK_LINE)? {
                None => return Ok(false),
                Some(line) => match chunk_length(line)? {
                    0 => State::Trailer(0),
                    length => State::Chunk(length),
                },
            },
        };
        Ok(true)
    }

    /// Passes over a line behind the last chunk; whether it was the last one, or is not there.
    fn trailer(&mut self, passed: usize, input: &[u8], at: &mut usize) -> Result<Option<bool>, Broken> {
        let before = *at;
        match line(input, at, HEAD_LIMIT - passed)? {
            None => Ok(Some(false)),
            Some([]) => Ok(Some(true)),
            Some(_) => {
                let passed = passed + (*at - before);
                if passed >= HEAD_LIMIT {
                    return Err(Broken::Long);
                }
                self.state = State::Trailer(passed);
                Ok(None)
            }
        }
    }

    /// The response that was given last, until the next one begins.
    #[must_use]
    pub fn last(&self) -> Response<'_> {
        Response {
            status: self.status,
            content_type: &self.content_type,
            location: &self.location,
            encoding: self.encoding,
            stays: self.stays,
            bytes: self.bytes,
            first: &self.first,
            body: &self.body,
        }
    }
}

/// The line at `at` without its end, at most so long; `None`, with `at` as it was, when it is not all there.
fn line<'a>(input: &'a [u8], at: &mut usize, limit: usize) -> Result<Option<&'a [u8]>, Broken> {
    let rest = input.get(*at..).unwrap_or_default();
    let Some(end) = rest.iter().take(limit + 1).position(|byte| *byte == b'\r') else {
        return if rest.len() > limit {
            Err(Broken::Malformed("a line of a chunk is too long"))
        } else {
            Ok(None)
        };
    };
    match rest.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => {
            *at += end + 2;
            Ok(Some(&rest[..end]))
        }
        Some(_) => Err(Broken::Malformed("carriage return without line feed")),
    }
}

/// `1a;name=value` gives 26.
fn chunk_length(line: &[u8]) -> Result<u64, Broken> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let wrong = Broken::Malformed("the length of a chunk is none");
    if digits.is_empty() || digits.len() > 15 {
        return Err(wrong);
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(wrong)?;
        Ok(sum * 16 + u64::from(digit))
    })
}
