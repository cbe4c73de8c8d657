//! The protocol state of one connection.

use std::sync::Arc;

use super::announced::{Announced, CancelKey};
use super::frame::FrameError;
use super::handshake::{Handshake, Opening};
use super::login::{Login, LoginError};
use super::message::{Message, TxStatus};
use super::replies::{Counted, Replies, Want};
use super::server_error::ServerError;

/// The protocol state of one connection: first the handshake, then messages.
///
/// The caller reports when the link opens ([`start`](Connection::start)), when TLS is up
/// ([`secured`](Connection::secured)), and what arrives ([`handshake`](Connection::handshake) until ready,
/// then [`next`](Connection::next)). The connection appends what is to be sent. Another `start` resets it for
/// the next connection.
#[derive(Debug)]
pub struct Connection {
    opening: Opening,
    announced: Announced,
    replies: Replies,
}

impl Connection {
    /// A connection before [`start`](Connection::start).
    #[must_use]
    pub fn new(login: Arc<Login>) -> Connection {
        Connection {
            opening: Opening::new(login),
            announced: Announced::default(),
            replies: Replies::default(),
        }
    }

    /// The link is open: starts the handshake.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Handshake {
        self.announced = Announced::default();
        self.replies = Replies::default();
        self.opening.start(out)
    }

    /// TLS is up; `certificate` is the server's own, in DER.
    pub fn secured(&mut self, certificate: Option<&[u8]>, out: &mut Vec<u8>) -> Handshake {
        self.opening.secured(certificate, out)
    }

    /// TLS failed, for this reason. True when the sslmode allows another try without it: connect again and
    /// call [`start`](Connection::start).
    pub fn tls_failed(&mut self, why: &str) -> bool {
        self.opening.tls_failed(why)
    }

    /// Handles what arrived during the handshake, from index `at` on, and moves `at` past the used bytes.
    ///
    /// # Errors
    /// When the server refuses, asks for something that is missing or not supported, or does not speak
    /// PostgreSQL's protocol. The connection must then be closed.
    pub fn handshake(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Vec<u8>,
    ) -> Result<Handshake, LoginError> {
        self.opening.arrived(input, at, out, &mut self.announced)
    }

    /// Sets what to do with the rows that arrive from now on.
    #[inline]
    pub fn request_rows(&mut self, want: Want) {
        self.replies.want = want;
    }

    /// Takes the next message from `input`, starting at index `at`, and moves `at` to its end.
    ///
    /// `None` means that the rest of `input` is not a complete message: keep it, append what arrives, call
    /// again. Skipped rows are consumed as far as they have arrived.
    ///
    /// # Errors
    /// When the bytes are not PostgreSQL's protocol; the connection must then be closed.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8], at: &mut usize) -> Result<Option<Message<'a>>, FrameError> {
        self.replies.next(input, at, &mut self.announced)
    }

    /// Counters since the last call; they restart at 0.
    #[inline]
    pub fn take_counts(&mut self) -> Counted {
        self.replies.take_counts()
    }

    /// State of the transaction, as of the last ReadyForQuery.
    #[inline]
    #[must_use]
    pub fn status(&self) -> TxStatus {
        self.replies.status
    }

    /// True when the connection is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.opening.is_secure()
    }

    /// A setting the server reports, such as `server_version` or `TimeZone`.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.announced.setting(name)
    }

    /// What a request to cancel this connection's query needs; `None` before the handshake is over.
    #[must_use]
    pub fn cancel_key(&self) -> Option<CancelKey> {
        self.announced.cancel_key
    }

    /// Notices that came during the handshake, oldest first.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        self.announced.take_notices()
    }
}
