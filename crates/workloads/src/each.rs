//! What each client does in a run without a duration.

/// What each client does in a run whose length is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Each {
    pub transactions: u64,
    /// Sessions of a user.
    pub sessions: Option<u64>,
}
