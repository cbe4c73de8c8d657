//! What the caller of a fetch learns of it, and how it ends one.

use std::time::Duration;

use super::error::FetchError;

/// Somebody who watches a fetch, called by the thread that fetches.
pub trait Watch {
    /// Called when something happens, and for every piece of data that arrives.
    fn told(&mut self, event: Event<'_>);

    /// Asked about twenty times a second, in every wait: whether to stop. What is there by then stays.
    fn stops(&self) -> bool;
}

/// What happens in a fetch.
#[derive(Debug)]
pub enum Event<'a> {
    /// The server sent us to another server.
    Redirected {
        /// Scheme, host and port.
        from: &'a str,
        to: &'a str,
    },
    /// The download starts, or goes on where an earlier one ended.
    Begins {
        /// Bytes that are there.
        from: u64,
        /// Bytes of the whole file, if the server says so.
        total: Option<u64>,
    },
    /// So many bytes of the file are there.
    Received(u64),
    /// What was there of the file is of no use.
    Anew(Anew),
    /// It went wrong, and is tried again after a pause.
    Again { cause: &'a FetchError, pause: Duration },
    /// The file is there; its MD5 sum is made.
    Verifying,
}

/// Why a download starts from the beginning though a part of the file was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anew {
    /// The server's file is another one by now.
    Changed,
    /// The server gives whole files only.
    NoRanges,
}
