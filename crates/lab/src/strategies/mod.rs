//! What comes next: a file for each strategy. A strategy is a pure function of the runs that are done.

pub(crate) mod aside;
pub(crate) mod calibration;
pub(crate) mod list;
mod search;

use std::time::Duration;

use record::Run;

pub(crate) use self::aside::{Aside, Cause};
use crate::plan::PlannedRun;
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
}

/// Decides what comes next.
pub(crate) trait Strategy {
    /// The next block, when these runs are done; `None` when there is no more to do.
    fn next(&self, done: &[Done]) -> Option<Block>;

    /// How many runs (or groups of runs under the same words) it plans in all.
    fn planned(&self) -> usize;
}
