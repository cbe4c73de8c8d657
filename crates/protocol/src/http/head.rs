//! The head of a response: what decides how the body is read, and what is reported.

use std::mem::MaybeUninit;

use httparse::{Error, Header, ParserConfig, Status};

use crate::limits;

/// The byte stream is not HTTP/1.1; the connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    #[error("no HTTP response: {0}; is it a web server that speaks HTTP/1.1?")]
    Head(&'static str),
    /// The server sends TLS.
    #[error("no HTTP response, but TLS; try https://")]
    Tls,
    /// The head is longer than 64 KiB, or has more than 128 lines.
    #[error("head of an HTTP response that is too long (over 64 KiB or 128 lines)")]
    Long,
    /// An invalid length, or two that differ.
    #[error("malformed HTTP response: {0}")]
    Malformed(&'static str),
    /// Status 101.
    #[error("HTTP status 101: the server changes to a protocol that was not asked for")]
    Switched,
    /// Only for bodies that are kept: longer than [`limits::max_answer`].
    #[error("the body of an HTTP response is {}", limits::too_long(*.limit))]
    Body { limit: usize },
    #[error("the server closed the connection in the middle of a response")]
    Cut,
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    #[default]
    Identity,
    Gzip,
    /// A method that was not requested.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length(u64),
    Chunked,
    /// Everything until the connection is closed.
    UntilClose,
}

#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) status: u16,
    pub(super) content_type: &'a [u8],
    pub(super) location: &'a [u8],
    pub(super) encoding: Encoding,
    pub(super) stays: bool,
    pub(super) body: Body,
}

/// The head at the start of `input`, and its length; `None` while it is incomplete.
#[inline]
pub(super) fn parse<'a>(
    input: &'a [u8],
    lines: &mut [MaybeUninit<Header<'a>>],
) -> Result<Option<(Head<'a>, usize)>, BadResponse> {
    if matches!(input.first(), Some(0x15 | 0x16)) {
        return Err(BadResponse::Tls);
    }
    let mut response = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, input, lines);
    let length = match parsed {
        Ok(Status::Partial) => return Ok(None),
        Ok(Status::Complete(length)) => length,
        Err(error) => return Err(broken(error)),
    };
    let mut found = HeadFields::default();
    for header in response.headers.iter() {
        found.note(header)?;
    }
    let status = response.code.unwrap_or_default();
    let keeps = if response.version == Some(0) { found.keep_alive } else { !found.close };
    let body = match (status, found.chunked, found.length) {
        (100..=199 | 204 | 304, ..) => Body::Length(0),
        (_, true, _) => Body::Chunked,
        (_, false, Some(length)) => Body::Length(length),
        (_, false, None) => Body::UntilClose,
    };
    let head = Head {
        status,
        content_type: found.content_type,
        location: if (300..400).contains(&status) { found.location } else { &[] },
        encoding: found.encoding,
        stays: keeps && body != Body::UntilClose,
        body,
    };
    Ok(Some((head, length)))
}

#[derive(Default)]
struct HeadFields<'a> {
    content_type: &'a [u8],
    location: &'a [u8],
    encoding: Encoding,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl<'a> HeadFields<'a> {
    /// Compares lengths first, because most headers are none of these.
    #[inline]
    fn note(&mut self, header: &Header<'a>) -> Result<(), BadResponse> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = header.value;
        match header.name.len() {
            8 if is("location") => self.location = value,
            10 if is("connection") => {
                self.close |= has_word(value, "close");
                self.keep_alive |= has_word(value, "keep-alive");
            }
            12 if is("content-type") => self.content_type = value,
            14 if is("content-length") => {
                let length = length(value)?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(BadResponse::Malformed("two lengths that differ"));
                }
                self.length = Some(length);
            }
            16 if is("content-encoding") => self.encoding = encoding(value),
            17 if is("transfer-encoding") => self.chunked = has_word(value, "chunked"),
            _ => {}
        }
        Ok(())
    }
}

fn has_word(list: &[u8], word: &str) -> bool {
    list.split(|byte| *byte == b',').any(|one| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

fn encoding(value: &[u8]) -> Encoding {
    let is = |word: &str| value.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
    match () {
        () if is("gzip") || is("x-gzip") => Encoding::Gzip,
        () if is("identity") || value.is_empty() => Encoding::Identity,
        () => Encoding::Other,
    }
}

fn length(value: &[u8]) -> Result<u64, BadResponse> {
    let digits = value.trim_ascii();
    let wrong = BadResponse::Malformed("invalid Content-Length");
    // Digits that always fit 64 bits.
    if digits.is_empty() || digits.len() > 18 {
        return Err(wrong);
    }
    digits.iter().try_fold(0, |sum, digit| match digit {
        b'0'..=b'9' => Ok(sum * 10 + u64::from(digit - b'0')),
        _ => Err(wrong),
    })
}

fn broken(error: Error) -> BadResponse {
    match error {
        Error::TooManyHeaders => BadResponse::Long,
        Error::Version => BadResponse::Head("it does not begin with HTTP/1.0 or HTTP/1.1"),
        Error::Status => BadResponse::Head("its status is none"),
        Error::NewLine => BadResponse::Head("a line does not end as it must"),
        Error::HeaderName | Error::HeaderValue | Error::Token => BadResponse::Head("invalid header line"),
    }
}
