//! A list: every run of a plan once, in its order.

use std::collections::HashSet;
use std::time::Duration;

use record::RunKey;

use super::{Aside, Block, Done, Next, Strategy};
use crate::plan::{Plan, PlannedRun};

/// The runs of a plan.
pub(crate) struct List<'a> {
    plan: &'a Plan,
}

impl<'a> List<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan }
    }

    /// What is still to be done, in order, but for what waits until somebody has looked.
    pub(crate) fn left(&self, done: &[Done]) -> Vec<&'a PlannedRun> {
        let aside = Aside::of(done);
        let keys: HashSet<RunKey> = done.iter().map(|done| done.run.key()).collect();
        self.plan.runs.iter().filter(|run| !keys.contains(&run.key()) && !aside.holds(run)).collect()
    }

    fn next_of(&self, run: &PlannedRun) -> Next {
        let content = &self.plan.content;
        Next {
            setup: self.plan.setup(run),
            what: self.plan.words_of(run),
            number: run.sequence as usize + 1,
            takes: Duration::from_secs_f64(content.warmup_of(run) + content.measure.duration_s),
            run: run.clone(),
        }
    }
}

impl Strategy for List<'_> {
    /// The arms of a cell that stand next to each other are one block.
    fn next(&self, done: &[Done]) -> Option<Block> {
        let left = self.left(done);
        let first = *left.first()?;
        let together = |run: &&&PlannedRun| {
            self.plan.has_arms_beside(first)
                && (run.round, &run.factors, run.beside) == (first.round, &first.factors, first.beside)
        };
        let more = left[1..].iter().take_while(together).copied();
        let runs = std::iter::once(first).chain(more);
        Some(Block { runs: runs.map(|run| self.next_of(run)).collect() })
    }

    fn planned(&self) -> usize {
        self.plan.runs.len()
    }
}
