//! How long the checks of a workload before its runs, or the plans after one, may take.

use std::time::{Duration, Instant};

use spec::plan::CHECK_TIME;

/// What a check tells while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckNote {
    /// What it looked at, a line for each part.
    Looked(String),
    /// A part that it did not look at, since its time was used up or it is too large.
    NotLooked(String),
}

/// The time that is left, and who hears what was looked at.
#[derive(Clone, Copy)]
pub struct CheckTime<'a> {
    until: Instant,
    given: Duration,
    hears: &'a dyn Fn(CheckNote),
}

impl<'a> CheckTime<'a> {
    /// This time from now on.
    #[must_use]
    pub fn begin(given: Duration, hears: &'a dyn Fn(CheckNote)) -> Self {
        let now = Instant::now();
        Self { until: now.checked_add(given).unwrap_or(now), given, hears }
    }

    /// The whole time, from its begin.
    #[must_use]
    pub fn given(&self) -> Duration {
        self.given
    }

    /// What is left of it; zero after its end.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// What is left in milliseconds, at least 1, for a `statement_timeout`; `None` if nothing is.
    #[must_use]
    pub fn left_ms(&self) -> Option<u32> {
        let left = self.left();
        (!left.is_zero())
            .then(|| u32::try_from(left.as_millis()).unwrap_or(i32::MAX as u32).clamp(1, i32::MAX as u32))
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Whether something that takes as long as the last one ends in time.
    #[must_use]
    pub fn allows(&self, last: Duration) -> bool {
        self.left() > last
    }

    /// An equal share of what is left, for the next of so many parts.
    #[must_use]
    pub fn share(&self, parts: usize) -> Self {
        let share = self.left() / u32::try_from(parts.max(1)).unwrap_or(u32::MAX);
        Self { until: Instant::now() + share, ..*self }
    }

    /// Tells what was looked at.
    pub fn looked(&self, what: impl Into<String>) {
        (self.hears)(CheckNote::Looked(what.into()));
    }

    /// Tells what was not looked at.
    pub fn not_looked(&self, what: impl Into<String>) {
        (self.hears)(CheckNote::NotLooked(what.into()));
    }
}

impl Default for CheckTime<'_> {
    fn default() -> Self {
        Self::begin(CHECK_TIME, &|_| ())
    }
}

impl std::fmt::Debug for CheckTime<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CheckTime({:?} of {:?} left)", self.left(), self.given)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_share_ends_before_the_whole_and_nothing_is_left_after_the_end() {
        let heard = RefCell::new(Vec::new());
        let hears = |note| heard.borrow_mut().push(note);
        let time = CheckTime::begin(Duration::from_secs(100), &hears);
        let share = time.share(4);
        assert!(
            share.left() <= Duration::from_secs(25) && share.left() > Duration::from_secs(20),
            "{share:?}"
        );
        assert!((90_000..=100_000).contains(&time.left_ms().unwrap()));
        let over = CheckTime::begin(Duration::ZERO, &hears);
        assert!(over.is_over() && over.left_ms().is_none() && over.share(3).is_over());
        over.not_looked("z0");
        assert_eq!(heard.take(), [CheckNote::NotLooked("z0".into())]);
    }
}
