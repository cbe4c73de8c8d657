//! How long a control connection waits, and what ends its waits.

use std::io;
use std::time::{Duration, Instant};

use crate::stop::Stop;

/// Longest wait for what a server answers at once: a setting, a counter, a row of a catalog.
pub const ANSWER_BOUND: Duration = Duration::from_secs(30);
/// Silence of long work after which a second connection asks whether the server and its process still work, and time
/// until it asks again.
pub const LOOK_AFTER: Duration = Duration::from_secs(10);
/// Longest wait for that second connection, login and answer.
pub const LOOK_BOUND: Duration = Duration::from_secs(30);
/// Longest wait for anything once the user wants to stop and things are only put in order.
pub const HURRY: Duration = Duration::from_secs(3);
/// How long the server's last word is waited for when the user stops a statement.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// How long a control connection waits, and what ends its waits.
#[derive(Debug, Clone)]
pub struct Patience {
    /// The switch that ends every wait.
    pub stop: Stop,
    /// Longest wait for what should be answered at once; `None`: for ever, as pgbench does.
    pub answer: Option<Duration>,
    /// Silence of long work after which a second connection looks, again and again; `None`: it never does.
    pub look_after: Option<Duration>,
    /// Longest wait for that second connection.
    pub look_bound: Duration,
}

impl Patience {
    /// That of all commands but the drop-in.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            stop: Stop::of_process(),
            answer: Some(ANSWER_BOUND),
            look_after: Some(LOOK_AFTER),
            look_bound: LOOK_BOUND,
        }
    }

    /// pgbench's own: only the user ends a wait.
    #[must_use]
    pub fn endless() -> Self {
        Self { answer: None, look_after: None, ..Self::usual() }
    }

    /// A wait that begins now and lasts so long at most.
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

/// Why something is no longer waited for.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum GivenUp {
    /// The user stops.
    #[error("stopped")]
    Stopped,
    /// No answer will come, in words.
    #[error("{0}")]
    Silent(String),
}

impl GivenUp {
    /// What is in an error of a wait.
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
