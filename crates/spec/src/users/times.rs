//! How long sessions took.

use stats::Histogram;

/// How long the sessions of a run took that ended with their last transaction in the measured part.
#[derive(Debug, Clone, Default)]
pub struct SessionTimes {
    /// From the intended start of a session to its end, think times included.
    pub duration: Histogram,
    /// Sum of the response times of a session's transactions.
    pub response: Histogram,
}
