//! The control connection a workload is lent: blocking, a request at a time, bodies whole and as they were before they were
//! compressed.

use std::net::SocketAddr;

use super::{Encoding, Get, Url};
use crate::postgres::Tls;
pub use crate::redis::ControlError;

/// A response that the caller may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// As in 200.
    pub status: u16,
    /// As the server writes it, e.g. `application/x-protobuf`; empty where it does not.
    pub content_type: String,
    /// Where a redirect leads; empty for other statuses.
    pub location: String,
    /// How the body came.
    pub encoding: Encoding,
    /// Bytes of the body as it came.
    pub bytes: u64,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

/// Blocking connections to web servers, outside the timed part of a run.
pub trait Server {
    /// Every address of a URL's host, in the order in which they are to be tried; at least one.
    ///
    /// # Errors
    /// When there is none.
    fn look_up(&self, url: &Url) -> Result<Vec<SocketAddr>, ControlError>;

    /// Connects to the first address of a URL's host that takes connections.
    ///
    /// # Errors
    /// When none does.
    fn control(&self, url: &Url, tls: Option<&Tls>) -> Result<Box<dyn Control + '_>, ControlError>;
}

/// A blocking connection to a web server; made again where the server closed it after a response.
pub trait Control {
    /// Asks for a path.
    ///
    /// # Errors
    /// When the connection fails, no answer comes in time, it is no HTTP, or its body is longer than [`crate::limits::max_answer`].
    fn get(&mut self, get: &Get, path: &str) -> Result<Got, ControlError>;
}
