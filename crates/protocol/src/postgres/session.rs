//! The protocol state of one connection.

use std::sync::Arc;

use super::frame::{self, Broken};
use super::handshake::Stage;
use super::login::Login;
use super::message::{self, CommandTag, Message, TxStatus};
use super::server_error::ServerError;

/// What to do with the rows (and COPY data) that arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Want {
    /// Count them and pass over them, also over those that have not arrived completely: a row of any size
    /// passes through a small buffer. Their description is passed over, too.
    Skip,
    /// Hand them out. A row must be complete in the input for that. They are counted too.
    #[default]
    Read,
}

/// What statements gave, counted from their rows and command tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counted {
    /// Rows, and pieces of COPY data.
    pub rows: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Rows inserted, updated, deleted or merged, those of `CREATE TABLE AS` among them.
    pub affected: u64,
    /// Statements that ended well and return rows, or say that they found none.
    pub queries: u32,
    /// Statements that ended well and say how many rows they changed.
    pub changes: u32,
}

/// What it takes to cancel a query of this session from another connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CancelKey {
    /// Process id of the server process.
    pub process_id: u32,
    /// A secret that goes with it.
    pub secret: u32,
}

impl std::fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelKey").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// The protocol state of one connection: handshake first, then messages.
///
/// It is told when the link opens ([`start`](Session::start)), when TLS is up ([`secured`](Session::secured)), and
/// what arrives ([`handshake`](Session::handshake) until it is ready, then [`next`](Session::next)); it appends what
/// is to be sent. The same session serves the next connection after another `start`.
#[derive(Debug)]
pub struct Session {
    pub(super) login: Arc<Login>,
    pub(super) stage: Stage,
    /// Use TLS on this connection (until the server refuses).
    pub(super) try_tls: bool,
    /// The refusal that led to this second try with or without TLS.
    pub(super) first_refusal: Option<Box<ServerError>>,
    pub(super) secure: bool,
    pub(super) binding: Option<Vec<u8>>,
    pub(super) cancel_key: Option<CancelKey>,
    pub(super) settings: Vec<(String, String)>,
    pub(super) notices: Vec<ServerError>,
    status: TxStatus,
    want: Want,
    /// Bytes of a skipped message that have not arrived yet.
    skip: usize,
    counted: Counted,
    /// `counted.rows` as the last statement ended.
    rows_before: u64,
}

/// Fewest bytes that tell how much of a row is payload: header and number of columns.
const ROW_HEAD: usize = frame::HEADER + 2;

/// Most settings remembered; servers report about 15, with those of extensions a few more.
const MOST_SETTINGS: usize = 256;

impl Session {
    /// A session that has not begun.
    #[must_use]
    pub fn new(login: Arc<Login>) -> Session {
        Session {
            try_tls: login.ssl_mode >= super::SslMode::Prefer,
            login,
            stage: Stage::Closed,
            first_refusal: None,
            secure: false,
            binding: None,
            cancel_key: None,
            settings: Vec::new(),
            notices: Vec::new(),
            status: TxStatus::Idle,
            want: Want::Read,
            skip: 0,
            counted: Counted::default(),
            rows_before: 0,
        }
    }

    /// Says what to do with the rows that come from now on.
    #[inline]
    pub fn rows(&mut self, want: Want) {
        self.want = want;
    }

    /// Takes the next message from `input`, starting at index `at`, and moves `at` behind it.
    ///
    /// `None` means that the rest of `input` is no whole message: keep it, add what arrives, call again. Skipped rows
    /// are passed over as far as they have arrived.
    ///
    /// # Errors
    /// When the bytes are not PostgreSQL's protocol; the connection must then be closed.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], at: &mut usize) -> Result<Option<Message<'a>>, Broken> {
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
                return Ok(None);
            };
            let message = message::decode(header, body)?;
            *at += frame::HEADER + header.body;
            self.note(&message);
            return Ok(Some(message));
        }
    }

    /// Counts the row at the start of `rest`, if it is one, and sets out to skip it; false when its head has not arrived.
    #[inline]
    fn begin_skip(&mut self, header: frame::Header, rest: &[u8]) -> Result<bool, Broken> {
        match header.tag {
            b'D' => {
                let Some(head) = rest.get(..ROW_HEAD) else {
                    return match header.body {
                        0 | 1 => Err(Broken::Malformed { tag: header.tag, what: "too short" }),
                        _ => Ok(false),
                    };
                };
                let columns = usize::from(u16::from_be_bytes([head[ROW_HEAD - 2], head[ROW_HEAD - 1]]));
                let payload = header.body.checked_sub(2 + 4 * columns);
                self.count(payload.ok_or(Broken::Malformed { tag: header.tag, what: "too short" })?);
            }
            b'd' => self.count(header.body),
            _ => {}
        }
        self.skip = frame::HEADER + header.body;
        Ok(true)
    }

    /// Keeps what later calls may ask for.
    #[inline]
    fn note(&mut self, message: &Message<'_>) {
        match message {
            Message::DataRow(row) => self.count(row.payload()),
            Message::CopyData(data) => self.count(data.len()),
            Message::CommandComplete(tag) => self.count_statement(*tag),
            Message::ReadyForQuery(status) => self.status = *status,
            Message::ParameterStatus(setting) => self.set(setting.name, setting.value),
            _ => {}
        }
    }

    #[inline]
    fn count(&mut self, payload: usize) {
        self.counted.rows += 1;
        self.counted.bytes += payload as u64;
    }

    /// Counts a statement that ended well; one whose tag has no count (`DO`, `SET`, `BEGIN`) only if it gave rows.
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

    /// Remembers a setting the server reported.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) {
        let name = String::from_utf8_lossy(name);
        let value = String::from_utf8_lossy(value).into_owned();
        let room = self.settings.len() < MOST_SETTINGS;
        match self.settings.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None if !room => {}
            None => self.settings.push((name.into_owned(), value)),
        }
    }

    /// What was counted since the last call; all counters start again at 0.
    #[inline]
    pub fn take_counts(&mut self) -> Counted {
        self.rows_before = 0;
        std::mem::take(&mut self.counted)
    }

    /// State of the transaction, as of the last ReadyForQuery.
    #[inline]
    #[must_use]
    pub fn status(&self) -> TxStatus {
        self.status
    }

    /// True when the connection is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// A setting the server reports by itself, such as `server_version` or `TimeZone`.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What it takes to cancel this session's query; `None` before the session is ready.
    #[must_use]
    pub fn cancel_key(&self) -> Option<CancelKey> {
        self.cancel_key
    }

    /// Notices that came during the handshake, oldest first.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }

    /// Forgets what belongs to an earlier connection.
    pub(super) fn reset(&mut self) {
        self.secure = false;
        self.binding = None;
        self.cancel_key = None;
        self.settings.clear();
        self.notices.clear();
        self.status = TxStatus::Idle;
        self.want = Want::Read;
        self.skip = 0;
        self.take_counts();
    }
}
