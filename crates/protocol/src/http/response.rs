//! Responses: the head is decoded, the body skipped or kept.

use std::mem::MaybeUninit;

use super::head::{self, BadResponse, Body, Encoding};
use crate::limits;

/// Longest head, and longest trailer of a chunked body.
pub(super) const HEAD_LIMIT: usize = 64 * 1024;
/// Longest line with a chunk's length.
const CHUNK_LINE: usize = 4 * 1024;
const HEADERS: usize = 128;
/// Bytes of a body that are always kept, for messages.
pub const FIRST_BYTES: usize = 160;

/// What to do with bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Want {
    /// Count and skip them.
    Skip,
    /// Return them whole.
    #[default]
    Read,
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    pub status: u16,
    /// As sent; empty where the server sends none.
    pub content_type: &'a [u8],
    /// Target of a redirect; empty for other statuses.
    pub location: &'a [u8],
    pub encoding: Encoding,
    /// Whether the connection stays open for further requests.
    pub stays: bool,
    /// Bytes of the body as sent, without the framing of chunks.
    pub bytes: u64,
    /// The first bytes of the body as sent, at most [`FIRST_BYTES`].
    pub first: &'a [u8],
    /// The body as sent; empty under [`Want::Skip`].
    pub body: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ResponseState {
    #[default]
    Head,
    /// This many bytes until the end of the body.
    Length(u64),
    UntilClose,
    ChunkLine,
    /// This many bytes of a chunk.
    Chunk(u64),
    ChunkEnd,
    /// Lines after the last chunk, up to an empty one; the number of their bytes so far.
    Trailer(usize),
}

/// Decodes the responses of one connection, and reuses its memory for each.
#[derive(Debug, Default)]
pub struct Responses {
    want: Want,
    state: ResponseState,
    /// A part of a head was seen.
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
    /// A decoder for a new connection.
    #[must_use]
    pub fn new(want: Want) -> Responses {
        Responses { want, ..Responses::default() }
    }

    /// Starts again on another connection.
    pub fn restart(&mut self) {
        self.state = ResponseState::Head;
        self.begun = false;
    }

    /// Takes the next response from `input`, starting at index `at`, and moves `at` to its end.
    ///
    /// `None` means that the rest of `input` is not a complete response: keep the bytes from `at` on, append
    /// what arrives, call again. Bodies are consumed as far as they have arrived.
    ///
    /// # Errors
    /// When the bytes are not HTTP/1.1; the connection must then be closed.
    #[inline]
    pub fn next(&mut self, input: &[u8], at: &mut usize) -> Result<Option<Response<'_>>, BadResponse> {
        let over = loop {
            match self.state {
                ResponseState::Head => {
                    if !self.head(input, at)? {
                        break false;
                    }
                }
                ResponseState::Length(left) => {
                    let left = self.take(left, input, at)?;
                    self.state = ResponseState::Length(left);
                    break left == 0;
                }
                ResponseState::UntilClose => {
                    self.take(u64::MAX, input, at)?;
                    break false;
                }
                ResponseState::Trailer(passed) => {
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
        self.state = ResponseState::Head;
        Ok(Some(self.last()))
    }

    /// The connection was closed; returns the response that this ends, if any.
    ///
    /// # Errors
    /// When it is closed in the middle of a response.
    pub fn closed(&mut self) -> Result<Option<Response<'_>>, BadResponse> {
        match std::mem::take(&mut self.state) {
            ResponseState::UntilClose => Ok(Some(self.last())),
            ResponseState::Head if !std::mem::take(&mut self.begun) => Ok(None),
            _ => Err(BadResponse::Cut),
        }
    }

    /// Reads the head at `at`, after any interim responses (1xx); false while it is incomplete.
    fn head(&mut self, input: &[u8], at: &mut usize) -> Result<bool, BadResponse> {
        let rest = input.get(*at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(HEAD_LIMIT)];
        let mut lines = [const { MaybeUninit::uninit() }; HEADERS];
        let Some((head, length)) = head::parse(rest, &mut lines)? else {
            self.begun = !rest.is_empty();
            return if rest.len() < HEAD_LIMIT { Ok(false) } else { Err(BadResponse::Long) };
        };
        *at += length;
        self.begun = false;
        if head.status < 200 {
            // An interim response, such as 103: the response follows.
            return if head.status == 101 { Err(BadResponse::Switched) } else { Ok(true) };
        }
        for (kept, sent) in [(&mut self.content_type, head.content_type), (&mut self.location, head.location)]
        {
            kept.clear();
            kept.extend_from_slice(sent);
        }
        (self.status, self.encoding, self.stays, self.bytes) = (head.status, head.encoding, head.stays, 0);
        self.first.clear();
        self.body.clear();
        self.state = match head.body {
            Body::Length(length) => ResponseState::Length(length),
            Body::Chunked => ResponseState::ChunkLine,
            Body::UntilClose => ResponseState::UntilClose,
        };
        Ok(true)
    }

    /// Consumes up to `left` bytes of the body; returns how many are still missing.
    fn take(&mut self, left: u64, input: &[u8], at: &mut usize) -> Result<u64, BadResponse> {
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
                return Err(BadResponse::Body { limit });
            }
            self.body.extend_from_slice(bytes);
        }
        self.bytes += count as u64;
        *at += count;
        Ok(left - count as u64)
    }

    /// Consumes the next part of a chunk; false while it is incomplete.
    fn chunk(&mut self, input: &[u8], at: &mut usize) -> Result<bool, BadResponse> {
        self.state = match self.state {
            ResponseState::Chunk(left) => match self.take(left, input, at)? {
                0 => ResponseState::ChunkEnd,
                left => {
                    self.state = ResponseState::Chunk(left);
                    return Ok(false);
                }
            },
            ResponseState::ChunkEnd => match line(input, at, 0)? {
                None => return Ok(false),
                Some(_) => ResponseState::ChunkLine,
            },
            _ => match line(input, at, CHUNK_LINE)? {
                None => return Ok(false),
                Some(line) => match chunk_length(line)? {
                    0 => ResponseState::Trailer(0),
                    length => ResponseState::Chunk(length),
                },
            },
        };
        Ok(true)
    }

    /// Consumes a line after the last chunk; true if it was the last one, or is incomplete.
    fn trailer(&mut self, passed: usize, input: &[u8], at: &mut usize) -> Result<Option<bool>, BadResponse> {
        let before = *at;
        match line(input, at, HEAD_LIMIT - passed)? {
            None => Ok(Some(false)),
            Some([]) => Ok(Some(true)),
            Some(_) => {
                let passed = passed + (*at - before);
                if passed >= HEAD_LIMIT {
                    return Err(BadResponse::Long);
                }
                self.state = ResponseState::Trailer(passed);
                Ok(None)
            }
        }
    }

    /// The last response, until the next one begins.
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

/// The line at `at` without its end, at most `limit` bytes; `None`, with `at` unchanged, while it is
/// incomplete.
fn line<'a>(input: &'a [u8], at: &mut usize, limit: usize) -> Result<Option<&'a [u8]>, BadResponse> {
    let rest = input.get(*at..).unwrap_or_default();
    let Some(end) = rest.iter().take(limit + 1).position(|byte| *byte == b'\r') else {
        return if rest.len() > limit {
            Err(BadResponse::Malformed("a line of a chunk is too long"))
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
        Some(_) => Err(BadResponse::Malformed("carriage return without line feed")),
    }
}

/// `1a;name=value` gives 26.
fn chunk_length(line: &[u8]) -> Result<u64, BadResponse> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let wrong = BadResponse::Malformed("the length of a chunk is none");
    if digits.is_empty() || digits.len() > 15 {
        return Err(wrong);
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(wrong)?;
        Ok(sum * 16 + u64::from(digit))
    })
}
