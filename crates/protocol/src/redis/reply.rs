//! Replies, borrowed from the receive buffer or skipped. No library skips a value without holding it whole.

/// Longest accepted string: twice the default limit of Redis (512 MiB).
const STRING_LIMIT: i64 = 1 << 30;
/// Longest line: a status, an error, or a number.
const LINE_LIMIT: usize = 64 * 1024;
/// Most accepted elements of an array.
const ARRAY_LIMIT: i64 = 1 << 31;

/// What to do with replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Want {
    /// Count and skip strings and arrays, even if incomplete.
    Skip,
    /// Return replies whole.
    #[default]
    Read,
}

/// A reply of Redis (RESP2), borrowed from the bytes that were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A short text such as `OK`.
    Status(&'a [u8]),
    /// Its first word is the kind, such as `ERR` or `WRONGTYPE`.
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    Nil,
    Array(Array<'a>),
    Skipped(Skipped),
}

/// Contents of a skipped reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Strings and numbers, also inside arrays.
    pub values: u64,
    pub nils: u64,
    /// Errors inside arrays; an error that is the whole reply is returned.
    pub errors: u64,
    pub bytes: u64,
}

/// The elements of an array; validated on construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array<'a> {
    len: usize,
    body: &'a [u8],
}

impl<'a> Array<'a> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Reply<'a>> + use<'a> {
        let body = self.body;
        let mut at = 0;
        (0..self.len).map_while(move |_| whole_reply(body, &mut at).ok().flatten())
    }
}

/// The byte stream is not RESP2; the connection cannot be used any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    #[error(
        "unexpected byte 0x{0:02x} where a Redis reply should begin; is it a Redis server that speaks RESP2?"
    )]
    Kind(u8),
    /// An invalid length or integer.
    #[error("malformed Redis reply: {0}")]
    Malformed(&'static str),
}

/// The first line of a reply and where it ends.
enum Head<'a> {
    Status(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    /// Length of the string that follows, without its line end.
    Bulk(usize),
    Nil,
    /// Number of replies that follow.
    Array(u64),
}

/// Reads the first line of the reply at `at` and moves `at` to its end; `None` while it is incomplete.
#[inline]
fn head<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Head<'a>>, BadReply> {
    let rest = input.get(*at..).unwrap_or_default();
    let Some((&kind, rest)) = rest.split_first() else {
        return Ok(None);
    };
    if !matches!(kind, b'+' | b'-' | b':' | b'$' | b'*') {
        return Err(BadReply::Kind(kind));
    }
    let Some(end) = line_end(rest)? else {
        return Ok(None);
    };
    let line = &rest[..end];
    let head = match kind {
        b'+' => Head::Status(line),
        b'-' => Head::Error(line),
        b':' => Head::Integer(integer(line)?),
        b'$' => match integer(line)? {
            -1 => Head::Nil,
            length @ 0..=STRING_LIMIT => Head::Bulk(length as usize),
            _ => return Err(BadReply::Malformed("string length out of bounds")),
        },
        _ => match integer(line)? {
            -1 => Head::Nil,
            length @ 0..=ARRAY_LIMIT => Head::Array(length as u64),
            _ => return Err(BadReply::Malformed("array length out of bounds")),
        },
    };
    *at += 1 + end + 2;
    Ok(Some(head))
}

#[inline]
fn line_end(text: &[u8]) -> Result<Option<usize>, BadReply> {
    match text.iter().take(LINE_LIMIT).position(|&b| b == b'\r') {
        None if text.len() >= LINE_LIMIT => Err(BadReply::Malformed("line too long")),
        None => Ok(None),
        Some(end) => match text.get(end + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(end)),
            Some(_) => Err(BadReply::Malformed("carriage return without line feed")),
        },
    }
}

fn integer(text: &[u8]) -> Result<i64, BadReply> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(BadReply::Malformed("not an integer"))
}

/// The string of this length at `at` without its line end; `None` while it is incomplete.
fn string<'a>(input: &'a [u8], at: &mut usize, length: usize) -> Result<Option<&'a [u8]>, BadReply> {
    let Some(text) = input.get(*at..*at + length + 2) else {
        return Ok(None);
    };
    let (text, end) = text.split_at(length);
    if end != b"\r\n" {
        return Err(BadReply::Malformed("string longer than its length"));
    }
    *at += length + 2;
    Ok(Some(text))
}

/// The whole reply at `at`; `None`, with `at` unchanged, while it is incomplete.
fn whole_reply<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Reply<'a>>, BadReply> {
    let mut end = *at;
    let reply = match head(input, &mut end)? {
        None => return Ok(None),
        Some(Head::Status(text)) => Reply::Status(text),
        Some(Head::Error(text)) => Reply::Error(text),
        Some(Head::Integer(number)) => Reply::Integer(number),
        Some(Head::Nil) => Reply::Nil,
        Some(Head::Bulk(length)) => match string(input, &mut end, length)? {
            None => return Ok(None),
            Some(text) => Reply::Bulk(text),
        },
        Some(Head::Array(len)) => {
            let start = end;
            if !pass(input, &mut end, len)? {
                return Ok(None);
            }
            Reply::Array(Array { len: len as usize, body: &input[start..end] })
        }
    };
    *at = end;
    Ok(Some(reply))
}

/// Moves `at` past this many replies, including nested ones; false while they are incomplete.
fn pass(input: &[u8], at: &mut usize, replies: u64) -> Result<bool, BadReply> {
    let mut left = replies;
    while left > 0 {
        left -= 1;
        match head(input, at)? {
            None => return Ok(false),
            Some(Head::Bulk(length)) => {
                if string(input, at, length)?.is_none() {
                    return Ok(false);
                }
            }
            Some(Head::Array(len)) => left = more(left, len)?,
            Some(_) => {}
        }
    }
    Ok(true)
}

fn more(left: u64, elements: u64) -> Result<u64, BadReply> {
    left.checked_add(elements).ok_or(BadReply::Malformed("array length out of bounds"))
}

/// Decodes the replies of one connection.
#[derive(Debug, Default)]
pub struct Replies {
    want: Want,
    passing: Option<Passing>,
    replies: u64,
    bytes: u64,
}

/// State of a reply that is being skipped.
#[derive(Debug, Default)]
struct Passing {
    /// Replies still to come, including those inside arrays.
    left: u64,
    /// Bytes of the current string and its line end still to come.
    string: usize,
    /// An array was among the skipped replies.
    array: bool,
    so_far: Skipped,
}

impl Replies {
    /// A decoder at the start of a connection.
    #[must_use]
    pub fn new() -> Replies {
        Replies::default()
    }

    /// Sets what to do with the replies from now on; a reply that is being skipped stays skipped.
    #[inline]
    pub fn want(&mut self, want: Want) {
        self.want = want;
    }

    /// Takes the next reply from `input`, starting at index `at`, and moves `at` to its end.
    ///
    /// `None` means that the rest of `input` is not a complete reply: keep it, append what arrives, call
    /// again. Under [`Want::Skip`] strings and arrays are consumed as far as they have arrived.
    ///
    /// # Errors
    /// When the bytes are not RESP2; the connection must then be closed.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], at: &mut usize) -> Result<Option<Reply<'a>>, BadReply> {
        let reply = if self.passing.is_some() || self.must_pass(input, *at) {
            let passing = self.passing.get_or_insert_with(|| Passing { left: 1, ..Passing::default() });
            let Some(skipped) = passing.go_on(input, at)? else {
                return Ok(None);
            };
            // A single missing value is returned as `Nil`; missing ones inside an array are counted.
            let alone = !passing.array && skipped.nils > 0;
            self.passing = None;
            self.bytes += skipped.bytes;
            if alone { Reply::Nil } else { Reply::Skipped(skipped) }
        } else {
            let Some(reply) = whole_reply(input, at)? else {
                return Ok(None);
            };
            self.bytes += payload(&reply);
            reply
        };
        self.replies += 1;
        Ok(Some(reply))
    }

    /// Only strings and arrays are skipped, never the short kinds.
    fn must_pass(&self, input: &[u8], at: usize) -> bool {
        self.want == Want::Skip && matches!(input.get(at), Some(b'$' | b'*'))
    }

    /// Replies and bytes of their strings since the last call; both counters restart at 0.
    #[inline]
    pub fn take_counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.replies), std::mem::take(&mut self.bytes))
    }
}

fn payload(reply: &Reply<'_>) -> u64 {
    match reply {
        Reply::Bulk(text) => text.len() as u64,
        Reply::Array(array) => {
            let mut passing = Passing { left: array.len as u64, ..Passing::default() };
            let skipped = passing.go_on(array.body, &mut 0);
            skipped.ok().flatten().map_or(0, |skipped| skipped.bytes)
        }
        _ => 0,
    }
}

impl Passing {
    /// Skips what has arrived; returns the reply's contents once it is complete.
    fn go_on(&mut self, input: &[u8], at: &mut usize) -> Result<Option<Skipped>, BadReply> {
        loop {
            let passed = self.string.min(input.len().saturating_sub(*at));
            *at += passed;
            self.string -= passed;
            if self.string > 0 {
                return Ok(None);
            }
            if self.left == 0 {
                return Ok(Some(self.so_far));
            }
            let Some(head) = head(input, at)? else {
                return Ok(None);
            };
            self.left -= 1;
            self.note(head)?;
        }
    }

    fn note(&mut self, head: Head<'_>) -> Result<(), BadReply> {
        let so_far = &mut self.so_far;
        match head {
            Head::Status(_) | Head::Integer(_) => so_far.values += 1,
            Head::Error(_) => so_far.errors += 1,
            Head::Nil => so_far.nils += 1,
            Head::Bulk(length) => {
                so_far.values += 1;
                so_far.bytes += length as u64;
                self.string = length + 2;
            }
            Head::Array(len) => {
                self.array = true;
                self.left = more(self.left, len)?;
            }
        }
        Ok(())
    }
}
