//! A list: every run of a plan once, in order.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use spec::plan::{Plan, PlannedRun};
use spec::{Run, RunKey, RunKeyRef};

use super::again::{Again, Rule};
use super::crashed::Crashed;
use super::{Aside, Course, Next, PastRun, RunBlock, Strategy};
use crate::plan::setups;

pub(crate) struct List<'a> {
    plan: &'a Plan,
    /// Runs of earlier invocations that were excluded because the machine disturbed them.
    superseded: &'a [RunKey],
    /// What was left after which runs. An execution asks several times for each of thousands of runs.
    known: RefCell<Option<(DoneRuns, Vec<&'a PlannedRun>)>>,
}

/// The finished runs of an execution, which are only added to: how many, and the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DoneRuns(usize, Option<String>);

impl<'a> List<'a> {
    pub(crate) fn new(plan: &'a Plan, superseded: &'a [RunKey]) -> Self {
        Self { plan, superseded, known: RefCell::default() }
    }

    fn missing(&self, done: &[PastRun]) -> Vec<&'a PlannedRun> {
        let runs = DoneRuns(done.len(), done.last().map(|last| last.run.uuid.clone()));
        let mut known = self.known.borrow_mut();
        match &*known {
            Some((of, left)) if *of == runs => left.clone(),
            _ => known.insert((runs, self.missing_after(done))).1.clone(),
        }
    }

    fn missing_after(&self, done: &[PastRun]) -> Vec<&'a PlannedRun> {
        let aside = Aside::of(done);
        let again = self.again(done);
        let counted = done.iter().enumerate().filter(|(place, _)| !again.is_former(*place));
        let keys: HashSet<RunKeyRef<'_>> = counted.map(|(_, done)| done.run.borrowed_key()).collect();
        let crashed = Crashed::of(self.plan, done);
        let is_left =
            |run: &&PlannedRun| !keys.contains(&run.borrowed_key()) && !aside.holds(run) && !crashed.has(run);
        self.plan.runs.iter().filter(|run| self.plan.is_measured_now(run)).filter(is_left).collect()
    }

    fn next_of(&self, run: &PlannedRun) -> Next {
        let setup = setups::setup(self.plan, run);
        Next {
            what: setups::words_of(self.plan, run),
            // Of a part, the place among its own runs.
            number: self.plan.runs.partition_point(|own| own.sequence < run.sequence) + 1,
            takes: setup.warmup + Duration::from_secs_f64(self.plan.content.measure.duration_s),
            setup,
            run: run.clone(),
            more_clients: false,
        }
    }
}

impl Strategy for List<'_> {
    /// Adjacent arms of a cell are one block.
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        let left = self.missing(done);
        let first = *left.first()?;
        let together = |run: &&&PlannedRun| {
            self.plan.has_arms_beside(first)
                && (run.round, &run.factors, run.beside) == (first.round, &first.factors, first.beside)
        };
        let more = left[1..].iter().take_while(together).copied();
        let runs = std::iter::once(first).chain(more);
        Some(RunBlock::of(runs.map(|run| self.next_of(run)).collect()))
    }
}

impl Course for List<'_> {
    fn planned(&self, _done: &[PastRun]) -> usize {
        match self.plan.sets.is_empty() {
            true => self.plan.runs.len(),
            // The sets that follow are other invocations.
            false => self.plan.runs.iter().filter(|run| self.plan.is_begun(run)).count(),
        }
    }

    fn left(&self, done: &[PastRun]) -> Vec<PlannedRun> {
        self.missing(done).into_iter().cloned().collect()
    }

    fn again(&self, done: &[PastRun]) -> Again {
        Again::of(done, Rule::of(self.plan), self.superseded)
    }

    /// A ladder looks for a promise that is broken by failures.
    fn may_set_aside(&self, run: &Run) -> bool {
        // The other parts of a load would wait for this one.
        if self.plan.shared_part().is_some() {
            return false;
        }
        let is_ladder = self.plan.content.compare.is_none() && run.promise_ms().is_some();
        !(is_ladder && run.is_only_failing())
    }
}
