//! What a server reports without being asked: settings, its cancel key, notices.

use super::server_error::ServerError;

/// Most settings kept; servers report about 15, and extensions a few more.
const MOST_SETTINGS: usize = 256;

/// Most notices kept from one handshake.
const MOST_NOTICES: usize = 100;

const MOST_NOTICE_BYTES: usize = 1 << 20;

/// What a request to cancel this connection's query must contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CancelKey {
    pub process_id: u32,
    pub secret: u32,
}

impl std::fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelKey").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(super) struct Announced {
    pub(super) cancel_key: Option<CancelKey>,
    settings: Vec<(String, String)>,
    notices: Vec<ServerError>,
    notice_bytes: usize,
}

impl Announced {
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

    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Keeps a notice whose message has `bytes` bytes, if there is room.
    pub(super) fn remark(&mut self, notice: ServerError, bytes: usize) {
        self.notice_bytes += bytes;
        if self.notices.len() < MOST_NOTICES && self.notice_bytes <= MOST_NOTICE_BYTES {
            self.notices.push(notice);
        }
    }

    pub(super) fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }
}
