//! The caller's view of a fetch, and how to end it.

use std::time::Duration;

use spec::Error;

/// Observes a fetch, called by the fetching thread.
pub trait FetchObserver {
    /// Called for each event, and for every piece of data that arrives.
    fn event(&mut self, event: FetchEvent<'_>);

    /// Whether to stop; called about twenty times a second in every wait. The part so far is kept.
    fn stops(&self) -> bool;
}

/// What happens in a fetch.
#[derive(Debug)]
pub enum FetchEvent<'a> {
    /// A redirect to another server.
    Redirected {
        /// Scheme, host and port.
        from: &'a str,
        to: &'a str,
    },
    /// The download starts or resumes.
    Begins {
        /// Bytes already stored.
        from: u64,
        /// Bytes of the whole file, if known.
        total: Option<u64>,
    },
    /// Bytes stored so far.
    Received(u64),
    /// The stored part is useless.
    Restart(Restart),
    /// A failure; retried after a pause.
    Again { cause: &'a Error, pause: Duration },
    /// The file is complete; its MD5 sum is being computed.
    Verifying,
}

/// Why a download starts from the beginning despite a stored part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    Changed,
    NoRanges,
}
