//! What comes next: a file for each strategy. A strategy is a pure function of the runs that are done.

pub(crate) mod again;
pub(crate) mod aside;
pub(crate) mod calibration;
pub(crate) mod limits;
pub(crate) mod list;
mod search;

use std::time::Duration;

use spec::{Run, RunKey};

use self::again::Again;
pub(crate) use self::aside::{Aside, Cause};
use crate::plan::{Plan, PlannedRun};
use crate::setup::Setup;

/// A run that is stored.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) run: Run,
    /// Why it is invalid, as far as one such run can be told from another by it; not known of earlier invocations.
    pub(crate) cause: Option<Cause>,
    /// Its number in the results file, if it is there.
    pub(crate) number: i64,
    /// Whether it took turns with the one before it.
    pub(crate) in_turn: bool,
}

/// Runs that belong together: they are stored together, or not at all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) runs: Vec<Next>,
}

/// One run to be carried out, and what is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Next {
    pub(crate) run: PlannedRun,
    pub(crate) setup: Setup,
    /// In words; runs that follow each other under the same words are told as one.
    pub(crate) what: String,
    /// Its number among all that are planned, from 1.
    pub(crate) number: usize,
    /// About how long it takes.
    pub(crate) takes: Duration,
    /// Whether it has more clients than were asked for, to see whether these do more.
    pub(crate) more_clients: bool,
}

/// The one that a plan asks for. `superseded` is what earlier invocations measured and set aside, since the machine disturbed it, `most_clients` how many the server lets
/// in, where that matters.
pub(crate) fn of<'a>(
    plan: &'a Plan,
    superseded: &'a [RunKey],
    most_clients: Option<u32>,
) -> Box<dyn Course + 'a> {
    match &plan.content.measure.search {
        Some(asked) => Box::new(limits::Limits::new(plan, asked, most_clients)),
        None => Box::new(list::List::new(plan, superseded)),
    }
}

/// Decides what comes next.
pub(crate) trait Strategy {
    /// The next block, when these runs are done; `None` when there is no more to do.
    fn next(&self, done: &[Done]) -> Option<Block>;
}

/// The strategy of an experiment: it can also foresee what is to come.
pub(crate) trait Course: Strategy {
    /// How many runs there will be in all.
    fn planned(&self, done: &[Done]) -> usize;

    /// How many runs there will be in all, at least and at most, as a rule.
    fn usual(&self, done: &[Done]) -> [usize; 2] {
        [self.planned(done); 2]
    }

    /// What is still to be done, in order, except for what waits until somebody has looked.
    fn left(&self, done: &[Done]) -> Vec<PlannedRun>;

    /// What is to be measured again, since the machine disturbed it: nothing, where the strategy has its own way with it.
    fn again(&self, _done: &[Done]) -> Again {
        Again::default()
    }

    /// Whether a run that is invalid says that something is wrong with what it belongs to.
    fn may_set_aside(&self, run: &Run) -> bool;
}
