//! What to run next: a file for each strategy. A strategy is a pure function of the finished runs.

pub(crate) mod again;
pub(crate) mod aside;
pub(crate) mod calibration;
mod crashed;
pub(crate) mod limits;
pub(crate) mod list;
mod search;

use std::borrow::Cow;
use std::time::Duration;

use spec::plan::{Plan, PlannedRun};
use spec::{Run, RunKey};

use self::again::Again;
pub(crate) use self::aside::{Aside, Cause};
use crate::setup::Setup;

#[derive(Debug, Clone)]
pub(crate) struct PastRun {
    pub(crate) run: Run,
    /// Why it is invalid, as far as it distinguishes such runs; unknown for earlier invocations.
    pub(crate) cause: Option<Cause>,
    /// Its number in the results file, if stored.
    pub(crate) number: i64,
    /// Whether it took turns with the previous one.
    pub(crate) in_turn: bool,
}

/// Runs that belong together: they are stored together, or not at all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunBlock {
    pub(crate) runs: Vec<Next>,
    /// Whether it goes on with the measurement of the block before: both are reported as one.
    pub(crate) goes_on: bool,
    /// Whether it is stored only with the next block, which depends on its result.
    pub(crate) with_next: bool,
}

impl RunBlock {
    /// Runs that depend on no others.
    pub(crate) fn of(runs: Vec<Next>) -> Self {
        Self { runs, goes_on: false, with_next: false }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Next {
    pub(crate) run: PlannedRun,
    pub(crate) setup: Setup,
    /// As text.
    pub(crate) what: String,
    /// Its number among all planned runs, from 1.
    pub(crate) number: usize,
    pub(crate) takes: Duration,
    /// Whether it has more clients than requested, to see whether they achieve more.
    pub(crate) more_clients: bool,
}

/// The strategy of a plan. `superseded` are runs of earlier invocations that were excluded because the
/// machine disturbed them.
pub(crate) fn of<'a>(plan: &'a Plan, superseded: &'a [RunKey]) -> Box<dyn Course + 'a> {
    match (&plan.content.calibrate, &plan.content.measure.search) {
        (Some(asked), _) => Box::new(calibration::Calibration::new(plan, asked)),
        (None, Some(asked)) => Box::new(limits::Limits::new(plan, asked)),
        (None, None) => Box::new(list::List::new(plan, superseded)),
    }
}

pub(crate) trait Strategy {
    /// The next block, after these runs; `None` at the end.
    fn next(&self, done: &[PastRun]) -> Option<RunBlock>;
}

/// The strategy of an experiment: it can also predict the remaining runs.
pub(crate) trait Course: Strategy {
    fn planned(&self, done: &[PastRun]) -> usize;

    /// Usual minimum and maximum number of runs in all.
    fn usual(&self, done: &[PastRun]) -> [usize; 2] {
        [self.planned(done); 2]
    }

    /// The remaining runs, in order, without suspended ones.
    fn left(&self, done: &[PastRun]) -> Vec<PlannedRun>;

    /// Disturbed runs to measure again: none if the strategy handles them itself.
    fn again(&self, _done: &[PastRun]) -> Again {
        Again::default()
    }

    /// Whether an invalid run indicates a mistake in its cell or workload.
    fn may_set_aside(&self, run: &Run) -> bool;

    /// The run to report when `run` ends after `done`; `None` while its measurement goes on.
    fn reported<'r>(&self, _done: &'r [PastRun], run: &'r Run) -> Option<Cow<'r, Run>> {
        Some(Cow::Borrowed(run))
    }

    /// What the last of these runs showed, as text, if the search depends on it.
    fn trial_words(&self, _done: &[PastRun]) -> Option<String> {
        None
    }

    /// Number of whole measurements in so many runs.
    fn measured(&self, runs: usize) -> usize {
        runs
    }

    /// Time left after so many runs, if it is shared out beforehand.
    fn time_left(&self, _runs: usize) -> Option<Duration> {
        None
    }
}
