//! The server's messages once a connection is ready, borrowed from the receive buffer.

use super::frame::{FrameError, Header, Reader};
use super::rows::{DataRow, RowDescription, ValueFormat};
use super::server_error::ErrorFields;

/// One message of the server.
// All payloads at one place: the compiler then copies a message in words, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Message<'a> {
    /// Columns of the following rows; not returned under [`Want::Skip`](super::Want::Skip).
    RowDescription(RowDescription<'a>),
    /// Not returned under [`Want::Skip`](super::Want::Skip).
    DataRow(DataRow<'a>),
    /// A statement succeeded.
    CommandComplete(CommandTag<'a>),
    EmptyQuery,
    /// A statement failed. The connection remains usable unless the severity is FATAL or PANIC.
    Error(ErrorFields<'a>),
    Notice(ErrorFields<'a>),
    ReadyForQuery(TxStatus),
    ParseComplete,
    BindComplete,
    CloseComplete,
    NoData,
    /// Types of a statement's parameters.
    ParameterDescription(ParameterTypes<'a>),
    /// Execute stopped at its row limit.
    PortalSuspended,
    /// The server expects COPY data.
    CopyIn(Copy),
    /// COPY data follows.
    CopyOut(Copy),
    /// COPY in both directions (replication).
    CopyBoth(Copy),
    /// Not returned under [`Want::Skip`](super::Want::Skip).
    CopyData(&'a [u8]),
    CopyDone,
    /// A setting's value, on connection and after each change.
    ParameterStatus(Setting<'a>),
    /// A notification on a channel this connection listens on.
    Notification(Notification<'a>),
}

/// State of the transaction at ReadyForQuery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TxStatus {
    #[default]
    Idle,
    InTransaction,
    /// Failed: the server accepts only its end.
    Failed,
}

/// A setting reported by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
}

/// A message sent by `NOTIFY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification<'a> {
    pub process_id: u32,
    pub channel: &'a [u8],
    /// May be empty.
    pub payload: &'a [u8],
}

/// Format of COPY data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    pub format: ValueFormat,
    pub columns: u16,
}

/// The OIDs of a statement's parameter types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterTypes<'a> {
    body: &'a [u8],
}

impl<'a> ParameterTypes<'a> {
    /// Number of parameters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.body.len() / 4
    }

    /// True for a statement without parameters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The OIDs, first parameter first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.body.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
}

/// The tag of a completed statement, such as `SELECT 3` or `INSERT 0 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a>(pub &'a [u8]);

impl<'a> CommandTag<'a> {
    /// The whole tag; empty if it is not ASCII.
    #[must_use]
    pub fn as_str(&self) -> &'a str {
        std::str::from_utf8(self.0).unwrap_or_default()
    }

    /// Rows returned or changed, if the tag has a count.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        self.as_str().rsplit_once(' ').and_then(|(_, count)| count.parse().ok())
    }

    /// Whether a query's tag reports 0 rows.
    pub(crate) fn found_nothing(&self) -> bool {
        matches!(self.0, b"SELECT 0" | b"FETCH 0")
    }

    /// Rows inserted, updated, deleted or merged, if the tag has a count. `SELECT` counts only if it
    /// `returned` no rows: it then filled a table.
    #[must_use]
    pub fn affected(&self, returned: bool) -> Option<u64> {
        let writes = match self.0.first()? {
            b'I' => self.0.starts_with(b"INSERT "),
            b'U' => self.0.starts_with(b"UPDATE "),
            b'D' => self.0.starts_with(b"DELETE "),
            b'M' => self.0.starts_with(b"MERGE "),
            b'S' => !returned && self.0.starts_with(b"SELECT ") && !self.found_nothing(),
            _ => false,
        };
        if writes { self.rows() } else { None }
    }
}

/// Decodes the message with this header; `body` is exactly its body.
pub(crate) fn decode<'a>(header: Header, body: &'a [u8]) -> Result<Message<'a>, FrameError> {
    let tag = header.tag;
    let mut reader = Reader::new(tag, body);
    Ok(match tag {
        b'D' => Message::DataRow(DataRow::read(tag, body)?),
        b'Z' => Message::ReadyForQuery(status(&mut reader)?),
        b'C' => Message::CommandComplete(command_tag(&reader)?),
        b'2' => Message::BindComplete,
        b'T' => Message::RowDescription(RowDescription::read(tag, body)?),
        b'1' => Message::ParseComplete,
        b'3' => Message::CloseComplete,
        b'n' => Message::NoData,
        b'I' => Message::EmptyQuery,
        b's' => Message::PortalSuspended,
        b'E' => Message::Error(ErrorFields::read(tag, body)?),
        b'N' => Message::Notice(ErrorFields::read(tag, body)?),
        b't' => Message::ParameterDescription(parameter_types(&mut reader)?),
        b'G' => Message::CopyIn(copy(&mut reader)?),
        b'H' => Message::CopyOut(copy(&mut reader)?),
        b'W' => Message::CopyBoth(copy(&mut reader)?),
        b'd' => Message::CopyData(body),
        b'c' => Message::CopyDone,
        b'S' => Message::ParameterStatus(Setting { name: reader.cstr()?, value: reader.cstr()? }),
        b'A' => Message::Notification(Notification {
            process_id: reader.u32()?,
            channel: reader.cstr()?,
            payload: reader.cstr()?,
        }),
        _ => return Err(FrameError::Unexpected { tag, during: "a query" }),
    })
}

/// The tag is the body without its NUL: no need to search for that.
fn command_tag<'a>(reader: &Reader<'a>) -> Result<CommandTag<'a>, FrameError> {
    match reader.rest().split_last() {
        Some((0, tag)) => Ok(CommandTag(tag)),
        _ => Err(reader.malformed("string without an end")),
    }
}

fn status(reader: &mut Reader<'_>) -> Result<TxStatus, FrameError> {
    match reader.byte()? {
        b'I' => Ok(TxStatus::Idle),
        b'T' => Ok(TxStatus::InTransaction),
        b'E' => Ok(TxStatus::Failed),
        _ => Err(reader.malformed("unknown transaction status")),
    }
}

fn parameter_types<'a>(reader: &mut Reader<'a>) -> Result<ParameterTypes<'a>, FrameError> {
    let count = usize::from(reader.u16()?);
    Ok(ParameterTypes { body: reader.take(4 * count)? })
}

fn copy(reader: &mut Reader<'_>) -> Result<Copy, FrameError> {
    let format = if reader.byte()? == 0 { ValueFormat::Text } else { ValueFormat::Binary };
    Ok(Copy { format, columns: reader.u16()? })
}
