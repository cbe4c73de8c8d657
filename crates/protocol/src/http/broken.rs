//! Why a byte stream cannot be read on.

use crate::limits;

/// The byte stream is no HTTP/1.1; the connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It does not begin as a response must.
    #[error("no HTTP response: {0}; is it a web server that speaks HTTP/1.1?")]
    Head(&'static str),
    /// What begins is TLS.
    #[error("no HTTP response, but TLS; try https://")]
    Tls,
    /// The head is longer than 64 KiB, or has more than 128 lines.
    #[error("head of an HTTP response that is too long (over 64 KiB or 128 lines)")]
    Long,
    /// A length that is none, or two that differ.
    #[error("malformed HTTP response: {0}")]
    Malformed(&'static str),
    /// The server speaks another protocol from here on.
    #[error("HTTP status 101: the server changes to a protocol that was not asked for")]
    Switched,
    /// A body that was to be kept is longer than [`limits::max_answer`].
    #[error("the body of an HTTP response is {}", limits::too_long(*.limit))]
    Body {
        /// In bytes.
        limit: usize,
    },
    /// The connection ended in the middle.
    #[error("the server closed the connection in the middle of a response")]
    Cut,
}
