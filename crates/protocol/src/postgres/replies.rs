//! The server's answers: messages from the byte stream, with rows returned or skipped.

use super::announced::Announced;
use super::frame::{self, FrameError};
use super::message::{self, CommandTag, Message, TxStatus};

/// What to do with rows and COPY data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Want {
    /// Count and skip them, even if incomplete: a row of any size passes through a small buffer. Row
    /// descriptions are skipped too.
    Skip,
    /// Count and return them. A row must be complete in the input.
    #[default]
    Read,
}

/// Results of statements, counted from rows and command tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counted {
    /// Rows, and pieces of COPY data.
    pub rows: u64,
    pub bytes: u64,
    /// Rows inserted, updated, deleted or merged, including `CREATE TABLE AS`.
    pub affected: u64,
    /// Successful statements that return rows, or report that they found none.
    pub queries: u32,
    /// Successful statements that report the number of changed rows.
    pub changes: u32,
}

#[derive(Debug, Default)]
pub(super) struct Replies {
    pub(super) status: TxStatus,
    pub(super) want: Want,
    /// Bytes of a skipped message that have not arrived yet.
    skip: usize,
    counted: Counted,
    /// `counted.rows` at the end of the last statement.
    rows_before: u64,
}

/// Bytes needed to know a row's payload: header and number of columns.
const ROW_HEAD: usize = frame::HEADER + 2;

impl Replies {
    #[inline]
    pub(super) fn next<'a>(
        &mut self,
        input: &'a [u8],
        at: &mut usize,
        announced: &mut Announced,
    ) -> Result<Option<Message<'a>>, FrameError> {
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(input.len().saturating_sub(*at));
                *at += passed;
                self.skip -= passed;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            let rest = input.get(*at..).unwrap_or_default();
            let Some(header) = frame::header(rest)? else {
                return Ok(None);
            };
            if self.want == Want::Skip && matches!(header.tag, b'D' | b'd' | b'T') {
                if !self.begin_skip(header, rest)? {
                    return Ok(None);
                }
                continue;
            }
            let Some(body) = rest.get(frame::HEADER..frame::HEADER + header.body) else {
                header.check_kept()?;
                return Ok(None);
            };
            let message = message::decode(header, body)?;
            *at += frame::HEADER + header.body;
            self.note(&message, announced);
            return Ok(Some(message));
        }
    }

    /// Counts the row at the start of `rest`, if it is one, and starts to skip it; false while its head is
    /// incomplete.
    #[inline]
    fn begin_skip(&mut self, header: frame::Header, rest: &[u8]) -> Result<bool, FrameError> {
        match header.tag {
            b'D' => {
                let Some(head) = rest.get(..ROW_HEAD) else {
                    return match header.body {
                        0 | 1 => Err(FrameError::Malformed { tag: header.tag, what: "too short" }),
                        _ => Ok(false),
                    };
                };
                let columns = usize::from(u16::from_be_bytes([head[ROW_HEAD - 2], head[ROW_HEAD - 1]]));
                let payload = header.body.checked_sub(2 + 4 * columns);
                self.count(payload.ok_or(FrameError::Malformed { tag: header.tag, what: "too short" })?);
            }
            b'd' => self.count(header.body),
            _ => {}
        }
        self.skip = frame::HEADER + header.body;
        Ok(true)
    }

    #[inline]
    fn note(&mut self, message: &Message<'_>, announced: &mut Announced) {
        match message {
            Message::DataRow(row) => self.count(row.payload()),
            Message::CopyData(data) => self.count(data.len()),
            Message::CommandComplete(tag) => self.count_statement(*tag),
            Message::ReadyForQuery(status) => self.status = *status,
            Message::ParameterStatus(setting) => announced.set(setting.name, setting.value),
            _ => {}
        }
    }

    #[inline]
    fn count(&mut self, payload: usize) {
        self.counted.rows += 1;
        self.counted.bytes += payload as u64;
    }

    /// Counts a successful statement; one with a tag without count (`DO`, `SET`, `BEGIN`) only if it returned
    /// rows.
    #[inline]
    fn count_statement(&mut self, tag: CommandTag<'_>) {
        let returned = self.counted.rows != self.rows_before;
        self.rows_before = self.counted.rows;
        self.counted.queries += u32::from(returned || tag.found_nothing());
        if let Some(affected) = tag.affected(returned) {
            self.counted.changes += 1;
            self.counted.affected += affected;
        }
    }

    #[inline]
    pub(super) fn take_counts(&mut self) -> Counted {
        self.rows_before = 0;
        std::mem::take(&mut self.counted)
    }
}
