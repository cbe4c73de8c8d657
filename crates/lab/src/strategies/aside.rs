//! Runs that turn out invalid again and again: what is left of their kind waits until somebody has looked.

use std::collections::{BTreeMap, BTreeSet};

use engine::Abort;
use record::{Reason, Run, Validity};

use super::Done;
use crate::plan::PlannedRun;

/// Why a run was invalid, as far as one such run can be told from another by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    reasons: BTreeSet<Reason>,
    /// SQLSTATE of the error that ended the first client.
    pub(crate) code: Option<String>,
}

impl Cause {
    /// Of a run that was judged; `None` when it is not invalid.
    pub(crate) fn of(run: &Run, aborts: &[Abort]) -> Option<Self> {
        if run.validity != Validity::Invalid {
            return None;
        }
        let code = aborts.first().and_then(|abort| abort.code.clone());
        let counts = |reason: &Reason| match aborts {
            // How many transactions there were before the first client gave up is chance.
            [_, ..] => *reason == Reason::Errors,
            [] => matches!(
                reason,
                Reason::Errors | Reason::EmptyResults | Reason::TooShort | Reason::SettingsNotApplied
            ),
        };
        Some(Self { reasons: run.doubts.iter().map(|doubt| doubt.reason).filter(counts).collect(), code })
    }
}

/// What identifies a cell.
type Cell = BTreeMap<String, String>;

/// The last invalid run of a cell or workload.
#[derive(Debug, Clone)]
struct Last {
    cell: Cell,
    cause: Cause,
    /// Its number, and those of the runs that took turns with it.
    runs: Vec<i64>,
}

/// What waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waits {
    /// In words: a workload, or one cell of it.
    pub(crate) what: String,
    /// Numbers of the two runs that showed it, as stored; with each go those that took turns with it.
    pub(crate) runs: Vec<i64>,
}

/// What waits because of the runs that are done: two invalid runs in a row with the same cause, of one cell, and that
/// cell waits; of two cells of one workload, and the workload does.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    workloads: BTreeSet<String>,
    cells: BTreeSet<Cell>,
    last_of_workload: BTreeMap<String, Last>,
    last_of_cell: BTreeMap<Cell, Last>,
    /// Why, in the order it came to be.
    pub(crate) waits: Vec<Waits>,
}

impl Aside {
    /// Because of these runs.
    pub(crate) fn of(done: &[Done]) -> Self {
        let mut aside = Self::default();
        done.iter().for_each(|done| aside.judged(done));
        aside
    }

    /// Whether a run waits.
    pub(crate) fn holds(&self, run: &PlannedRun) -> bool {
        self.workloads.contains(&run.workload) || self.cells.contains(&run.factors)
    }

    fn judged(&mut self, done: &Done) {
        if done.in_turn && self.is_of_last(done) {
            return;
        }
        let (workload, cell) = (done.run.workload.clone(), done.run.factors.clone());
        let before_in_workload = self.last_of_workload.remove(&workload);
        let before_in_cell = self.last_of_cell.remove(&cell);
        let Some(cause) = done.cause.clone() else { return };
        let same = |last: &Last| last.cause == cause;
        if let Some(before) = before_in_cell.filter(same) {
            self.cells.insert(cell.clone());
            self.waits.push(Waits { what: in_words(&done.run), runs: with(before.runs, done.number) });
        } else if let Some(before) = before_in_workload.filter(|last| same(last) && last.cell != cell) {
            self.workloads.insert(workload.clone());
            self.waits.push(Waits { what: workload.clone(), runs: with(before.runs, done.number) });
        }
        let last = |cause| Last { cell: cell.clone(), cause, runs: vec![done.number] };
        self.last_of_workload.insert(workload, last(cause.clone()));
        self.last_of_cell.insert(cell.clone(), last(cause));
    }
}

impl Aside {
    /// Whether what an arm shows was shown already by one that took turns with it: that happened once, to both.
    fn is_of_last(&mut self, done: &Done) -> bool {
        let lasts =
            [self.last_of_cell.get_mut(&done.run.factors), self.last_of_workload.get_mut(&done.run.workload)];
        let mut first = None;
        for last in lasts.into_iter().flatten() {
            first = last.runs.first().copied();
            last.runs.push(done.number);
        }
        let waits = self.waits.last_mut().filter(|waits| first.is_some_and(|run| waits.runs.contains(&run)));
        waits.into_iter().for_each(|waits| waits.runs.push(done.number));
        first.is_some()
    }
}

fn with(mut runs: Vec<i64>, run: i64) -> Vec<i64> {
    runs.push(run);
    runs
}

/// `tpcb, 4 clients`: the cell of a run.
fn in_words(run: &Run) -> String {
    let clients = crate::words::count(run.clients as usize, "client");
    let rate = run.offered_rate.map(|rate| format!(", {rate}/s")).unwrap_or_default();
    format!("{}, {clients}{rate}", run.workload)
}

#[cfg(test)]
mod tests {
    use record::{RunKey, RunKind};

    use super::*;

    fn run(workload: &str, clients: u32) -> Run {
        let factors = [("workload", workload.to_owned()), ("clients", clients.to_string())]
            .map(|(name, level)| (name.to_owned(), level));
        let key = RunKey { workload: workload.into(), factors: factors.into(), arm: None, round: 1 };
        Run { clients, ..Run::new(RunKind::Client, key) }
    }

    fn done(run: &Run, code: Option<&str>, number: i64) -> Done {
        let cause = code.map(|code| Cause { reasons: [Reason::Errors].into(), code: Some(code.to_owned()) });
        Done { run: run.clone(), cause, number, in_turn: false }
    }

    /// A dropped table made all the remaining rounds invalid, one after the other.
    #[test]
    fn the_second_invalid_run_in_a_row_for_the_same_cause_is_the_last_one() {
        let (one, four, other) = (run("a", 1), run("a", 4), run("b", 1));
        let cell = |run: &Run| run.factors.clone();
        let mut runs = vec![done(&one, Some("42P01"), 1), done(&other, None, 2)];
        assert_eq!(Aside::of(&runs).waits, []);
        runs.push(done(&one, Some("42P01"), 3));
        let aside = Aside::of(&runs);
        assert_eq!(aside.waits, [Waits { what: "a, 1 client".into(), runs: vec![1, 3] }]);
        assert_eq!(aside.cells, [cell(&one)].into());
        // The next cell of that workload shows that it is not the cell.
        runs.push(done(&four, Some("42P01"), 4));
        let aside = Aside::of(&runs);
        assert_eq!((aside.waits.len(), aside.waits[1].what.as_str()), (2, "a"));
        assert_eq!(aside.workloads, ["a".to_owned()].into());
    }

    /// What happened once to arms that took turns counted as two in a row, and only one of each pair was measured again.
    #[test]
    fn arms_that_took_turns_are_one() {
        let run = run("a", 1);
        let pair = |code, number| {
            let other = Done { in_turn: true, ..done(&run, code, number + 1) };
            [done(&run, code, number), other]
        };
        let once: Vec<_> = pair(Some("42P01"), 1).into();
        assert_eq!(Aside::of(&once).waits, []);
        let twice = [pair(Some("42P01"), 1), pair(Some("42P01"), 3)].concat();
        assert_eq!(Aside::of(&twice).waits, [Waits { what: "a, 1 client".into(), runs: vec![1, 2, 3, 4] }]);
        let mended = [pair(Some("42P01"), 1), pair(None, 3), pair(Some("42P01"), 5)].concat();
        assert_eq!(Aside::of(&mended).waits, []);
    }

    #[test]
    fn another_cause_or_a_good_run_begins_anew() {
        let run = run("a", 1);
        let codes = [Some("42P01"), Some("57014"), None, Some("57014"), Some("42P01")];
        let runs: Vec<_> = codes.iter().zip(1..).map(|(code, number)| done(&run, *code, number)).collect();
        assert_eq!(Aside::of(&runs).waits, []);
    }

    #[test]
    fn causes_are_told_apart_by_code_and_not_by_words() {
        let doubts = |reasons: &[Reason]| {
            let doubt = |reason: &Reason| record::Doubt { reason: *reason, detail: "any words".into() };
            Run { validity: Validity::Invalid, doubts: reasons.iter().map(doubt).collect(), ..run("a", 1) }
        };
        let abort = |code: &str, message: &str| Abort {
            code: Some(code.into()),
            message: message.into(),
            ..Abort::default()
        };
        let early = Cause::of(&doubts(&[Reason::TooShort, Reason::Errors]), &[abort("42P01", "at once")]);
        let late = Cause::of(&doubts(&[Reason::Errors, Reason::Steal]), &[abort("42P01", "after a while")]);
        assert!(early.is_some() && early == late);
        assert_ne!(early, Cause::of(&doubts(&[Reason::Errors]), &[abort("42501", "at once")]));
        let valid = Run { validity: Validity::Suspect, ..doubts(&[Reason::TooShort]) };
        assert_eq!(Cause::of(&valid, &[]), None);
    }
}
