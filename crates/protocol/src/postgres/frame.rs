//! Splits the byte stream into messages: one tag byte, a length that includes itself, the body.

use std::ffi::CStr;

use crate::limits;

/// Bytes of tag and length.
pub(crate) const HEADER: usize = 5;

/// Longest body of a message without user data. libpq uses the same bound to detect a stream that is out of
/// step.
pub(crate) const SHORT_LIMIT: usize = 30_000;

/// Longest body of a message with user data: PostgreSQL cannot build a larger one (1 GiB).
const LONG_LIMIT: usize = 0x4000_0000;

/// The byte stream violates the protocol; the connection cannot be used any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error(
        "lost synchronization with server: got message type {}, length {length}; is it a PostgreSQL server?",
        show_tag(*.tag)
    )]
    UnknownMessage { tag: u8, length: u32 },
    /// A length that this kind of message cannot have.
    #[error("lost synchronization with server: got message type {}, length {length}", show_tag(*.tag))]
    Length { tag: u8, length: u32 },
    /// More than may be kept in memory.
    #[error("message type {} from the server is {}", show_tag(*.tag), limits::too_long(*.limit))]
    TooLong {
        tag: u8,
        /// In bytes.
        limit: usize,
    },
    /// Too many bytes before the connection is ready.
    #[error("what the server sends before it takes queries is {}", limits::too_long(*.limit))]
    LongStart {
        /// In bytes.
        limit: usize,
    },
    /// A possible length, but the body is invalid.
    #[error("message contents do not agree with length in message type {}: {what}", show_tag(*.tag))]
    Malformed { tag: u8, what: &'static str },
    /// A valid message in the wrong state.
    #[error("unexpected message type {} from server during {during}", show_tag(*.tag))]
    Unexpected { tag: u8, during: &'static str },
    /// The answer to the TLS request was neither yes nor no.
    #[error("received invalid response to SSL negotiation: {}; is it a PostgreSQL server?", show_tag(*.answer))]
    SslAnswer { answer: u8 },
    /// Unencrypted bytes after the server had agreed to TLS: they may be injected (CVE-2021-23222).
    #[error("received unencrypted data after SSL response")]
    ClearBytesAfterSsl,
}

/// A tag's letter, or its number if it is not printable.
fn show_tag(tag: u8) -> String {
    if tag.is_ascii_graphic() { format!("\"{}\"", char::from(tag)) } else { format!("0x{tag:02x}") }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) tag: u8,
    pub(crate) body: usize,
}

impl Header {
    /// Refuses a message that must be kept whole in memory and is too long for that.
    #[inline]
    pub(crate) fn check_kept(self) -> Result<(), FrameError> {
        if self.body <= SHORT_LIMIT {
            return Ok(());
        }
        let limit = match self.tag {
            b'E' | b'N' | b'A' => limits::max_notice(),
            _ => limits::max_answer(),
        };
        if self.body > limit { Err(FrameError::TooLong { tag: self.tag, limit }) } else { Ok(()) }
    }
}

/// The header at the start of `input`, if such a message can exist; `None` while it is incomplete.
#[inline]
pub(crate) fn header(input: &[u8]) -> Result<Option<Header>, FrameError> {
    let Some((&[tag, a, b, c, d], _)) = input.split_first_chunk::<HEADER>() else {
        // The first byte is enough to detect an HTTP or SSH server.
        return match input.first() {
            Some(&tag) if limit(tag).is_none() => Err(FrameError::UnknownMessage { tag, length: 0 }),
            _ => Ok(None),
        };
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    let Some(limit) = limit(tag) else {
        return Err(FrameError::UnknownMessage { tag, length });
    };
    match (length as usize).checked_sub(4) {
        Some(body) if body <= limit => Ok(Some(Header { tag, body })),
        _ => Err(FrameError::Length { tag, length }),
    }
}

/// Longest body of a message with this tag; `None` for a tag no server sends.
#[inline]
fn limit(tag: u8) -> Option<usize> {
    match tag {
        b'D' | b'd' | b'T' | b't' | b'E' | b'N' | b'A' | b'V' => Some(LONG_LIMIT),
        b'1' | b'2' | b'3' | b'C' | b'G' | b'H' | b'I' | b'K' | b'R' | b'S' | b'W' | b'Z' | b'c' | b'n'
        | b's' | b'v' => Some(SHORT_LIMIT),
        _ => None,
    }
}

/// Reads big-endian integers and C strings from the front of a body.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    tag: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(tag: u8, body: &'a [u8]) -> Self {
        Reader { tag, rest: body }
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[cold]
    pub(crate) fn malformed(&self, what: &'static str) -> FrameError {
        FrameError::Malformed { tag: self.tag, what }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.malformed("too short"))?;
        self.rest = rest;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, FrameError> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(crate) fn i16(&mut self) -> Result<i16, FrameError> {
        self.array().map(i16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, FrameError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32, FrameError> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn bytes4(&mut self) -> Result<[u8; 4], FrameError> {
        self.array()
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], FrameError> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.malformed("too short"))?;
        self.rest = rest;
        Ok(head)
    }

    /// The bytes before the next NUL, which is skipped.
    #[inline]
    pub(crate) fn cstr(&mut self) -> Result<&'a [u8], FrameError> {
        let text =
            CStr::from_bytes_until_nul(self.rest).map_err(|_| self.malformed("string without an end"))?;
        let text = text.to_bytes();
        self.rest = &self.rest[text.len() + 1..];
        Ok(text)
    }
}
