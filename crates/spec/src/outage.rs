//! Periods in which clients had no connection.

/// A period in which at least one client had lost its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// First lost connection, ns from the start of the measured part; negative during warm-up.
    pub from_ns: i64,
    /// Time when all clients had new connections; else the end of the run.
    pub to_ns: i64,
    /// Clients without a connection, at least 1.
    pub clients: u64,
    /// Whether it ended before the run.
    pub over: bool,
}

impl Outage {
    /// Its length, ns.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }
}
