//! Connections, the clock, and the wish to stop: lent by whoever runs a job.

use protocol::postgres::sql::{Sql, SqlError};

/// A control connection that can go to another thread.
pub type Connection = Box<dyn Sql + Send>;

/// Further connections, the time, and the wish to stop. Used by several threads at once.
///
/// When the wish to stop comes, the lender also cancels the statements that run over the connections: what is running is
/// then answered with an error, and no statement is begun any more.
pub trait Runtime: Sync {
    /// Opens another connection to the same database.
    ///
    /// # Errors
    /// When that fails; without SQLSTATE if another try may succeed.
    fn connect(&self) -> Result<Connection, SqlError>;

    /// µs on the monotonic clock.
    fn now_us(&self) -> u64;

    /// Waits, less if the wish to stop comes.
    fn sleep_us(&self, us: u64);

    /// Whether all shall end at once.
    fn stopped(&self) -> bool;
}
