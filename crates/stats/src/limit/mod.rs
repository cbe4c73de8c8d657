//! The highest rate at which a promise holds, from trials none of which decides alone: classification as in
//! RFC 9971 (MLRsearch), with trials of one length.

mod belief;
mod contradiction;
mod search;

pub use search::{Range, Search, SearchResult, SearchStep};

/// Steps between rates over a width: two, so that a rate at which the promise holds half the time need not be
/// classified.
const STEPS: i64 = 2;

/// When a rate counts as known, and how close two such rates must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Trials after which a rate is always classified: RFC 9971's duration sum, in trials. Odd.
    pub trials: u32,
    /// Largest share of bad trials at a rate that keeps the promise: RFC 9971's exceed ratio.
    pub exceed_ratio: f64,
    /// (upper − lower) / upper at the end, a share.
    pub width: f64,
}

impl Default for Goal {
    /// RFC 9971's exceed ratio, with five trials: three of a kind decide.
    fn default() -> Self {
        Self { trials: 5, exceed_ratio: 0.5, width: 0.03 }
    }
}

/// One trial of full length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Requested transactions per second.
    pub rate: f64,
    /// Whether the promise was kept.
    pub good: bool,
    /// Share of bad arrivals over the allowed one, if known: the promise is kept up to 1.
    pub used: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    good: u32,
    bad: u32,
    /// The first class that its own trials decided, whatever later ones were.
    first: Option<RateClass>,
}

/// What the trials at a rate show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateClass {
    /// The promise holds.
    Lower,
    Upper,
    /// Further trials may decide either way.
    Undecided,
}

impl Goal {
    /// The class of a rate with these good and bad trials. The missing trials are taken as good, then as bad;
    /// if both give the same class, it is decided.
    #[must_use]
    pub fn class(&self, good: u32, bad: u32) -> RateClass {
        let whole = (good + bad).max(self.trials);
        let missing = whole - good - bad;
        let exceeds = |bad: u32| f64::from(bad) > self.exceed_ratio * f64::from(whole);
        match (exceeds(bad), exceeds(bad + missing)) {
            (true, _) => RateClass::Upper,
            (_, false) => RateClass::Lower,
            _ => RateClass::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_five_decide_and_fewer_do_not() {
        let goal = Goal::default();
        for (good, bad, class) in [
            (0, 0, RateClass::Undecided),
            (2, 0, RateClass::Undecided),
            (3, 0, RateClass::Lower),
            (2, 2, RateClass::Undecided),
            (3, 2, RateClass::Lower),
            (2, 3, RateClass::Upper),
            (0, 3, RateClass::Upper),
            // Once there are more, they all count.
            (4, 3, RateClass::Lower),
            (3, 4, RateClass::Upper),
        ] {
            assert_eq!(goal.class(good, bad), class, "{good} good, {bad} bad");
        }
    }
}
