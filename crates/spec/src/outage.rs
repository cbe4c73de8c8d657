//! Times without a connection.

/// A time in which at least one client was without a connection it wanted back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the first client lost its connection, in ns from the start of the measured part; negative during warm-up.
    pub from_ns: i64,
    /// When all clients went on again (had set up their new connections); else the end of the run.
    pub to_ns: i64,
    /// Clients that were away in it, at least 1.
    pub clients: u64,
    /// Whether it was over before the run was.
    pub over: bool,
}

impl Outage {
    /// How long it took, ns.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }
}
