//! The timeouts of a control connection, and what ends its waits.

use std::io;
use std::time::{Duration, Instant};

use crate::stop::Stop;

/// Timeout of queries with fast answers: a setting, a counter, a row of a catalog.
pub const ANSWER_BOUND: Duration = Duration::from_secs(30);
/// Silence of long work after which a second connection checks the server and its process, and time until the
/// next check.
pub const LOOK_AFTER: Duration = Duration::from_secs(10);
/// Timeout of that second connection, including login.
pub const LOOK_BOUND: Duration = Duration::from_secs(30);
/// Longest wait for clean-up once the user wants to stop.
pub const HURRY: Duration = Duration::from_secs(3);
/// How long to wait for the server's answer after the user stops a statement.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// The timeouts of a control connection, and the switch that ends its waits.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// The switch that ends every wait.
    pub stop: Stop,
    /// Timeout of short queries; `None`: unlimited, as in pgbench.
    pub answer: Option<Duration>,
    /// Silence of long work after which a second connection checks the server, repeatedly; `None`: never.
    pub look_after: Option<Duration>,
    /// Timeout of that second connection.
    pub look_bound: Duration,
}

impl Timeouts {
    /// For all commands except the drop-in.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            stop: Stop::of_process(),
            answer: Some(ANSWER_BOUND),
            look_after: Some(LOOK_AFTER),
            look_bound: LOOK_BOUND,
        }
    }

    /// pgbench's: only the user ends a wait.
    #[must_use]
    pub fn endless() -> Self {
        Self { answer: None, look_after: None, ..Self::usual() }
    }

    /// A wait that begins now, with this timeout.
    pub(super) fn at_most(&self, bound: Option<Duration>) -> impl FnMut() -> io::Result<()> + use<> {
        let (stop, start) = (self.stop.clone(), Instant::now());
        move || {
            let over = |bound: Duration| start.elapsed() >= bound;
            if stop.ends_waits() {
                Err(GivenUp::Stopped.into())
            } else if bound.is_some_and(over) || (stop.at_once() && over(HURRY)) {
                Err(io::ErrorKind::TimedOut.into())
            } else {
                Ok(())
            }
        }
    }
}

/// Why a wait was given up.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum GivenUp {
    #[error("stopped")]
    Stopped,
    /// No answer will come, in words.
    #[error("{0}")]
    Silent(String),
}

impl GivenUp {
    /// The reason in a wait's error.
    pub(super) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Whether the user ended the wait.
    pub(super) fn is_stop(error: &io::Error) -> bool {
        matches!(Self::of(error), Some(Self::Stopped))
    }
}

impl From<GivenUp> for io::Error {
    fn from(why: GivenUp) -> Self {
        Self::other(why)
    }
}
