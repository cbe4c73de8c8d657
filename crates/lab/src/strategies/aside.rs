//! Runs that are repeatedly invalid: the remaining runs of their kind are suspended until the user acts.

use std::collections::{BTreeMap, BTreeSet};

use engine::Abort;
use spec::plan::PlannedRun;
use spec::{Reason, Run};

use super::PastRun;
use super::again::is_invalid_otherwise;

/// Why a run was invalid, as far as it distinguishes such runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    reasons: BTreeSet<Reason>,
    /// SQLSTATE of the error that ended the first client.
    pub(crate) code: Option<String>,
}

impl Cause {
    /// The cause for a judged run; `None` when it is not invalid, or only because the generator stalled: the
    /// next run may be fine.
    pub(crate) fn of(run: &Run, aborts: &[Abort]) -> Option<Self> {
        if !is_invalid_otherwise(run) {
            return None;
        }
        let code = aborts.first().and_then(|abort| abort.code.clone());
        let counts = |reason: &Reason| match aborts {
            // The number of transactions before the first client was aborted is random.
            [_, ..] => *reason == Reason::Errors,
            [] => matches!(
                reason,
                Reason::Errors | Reason::EmptyResults | Reason::TooShort | Reason::SettingsNotApplied
            ),
        };
        Some(Self { reasons: run.doubts.iter().map(|doubt| doubt.reason).filter(counts).collect(), code })
    }
}

/// The identity of a cell: its factors, `workload` among them.
pub(crate) type Cell = BTreeMap<String, String>;

/// The last event of a cell or workload, if invalid.
#[derive(Debug, Clone)]
struct Last {
    cell: Cell,
    cause: Cause,
    /// Numbers of its run, or of the runs that took turns in it.
    runs: Vec<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waits {
    /// As text: a workload, or one cell of it.
    pub(crate) what: String,
    /// Stored numbers of the two runs that showed it, each with the runs that took turns with it, since half
    /// a pair is not measured again.
    pub(crate) runs: Vec<i64>,
    pub(crate) seen: i64,
}

/// What is suspended because of finished runs. After two consecutive invalid runs with the same cause in one
/// cell, the cell is suspended; in two cells of one workload, the workload is. Runs that take turns count as
/// one.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    workloads: BTreeSet<String>,
    cells: BTreeSet<Cell>,
    last_of_workload: BTreeMap<String, Last>,
    last_of_cell: BTreeMap<Cell, Last>,
    pub(crate) waits: Vec<Waits>,
}

impl Aside {
    pub(crate) fn of(done: &[PastRun]) -> Self {
        let mut aside = Self::default();
        done.chunk_by(|_, next| next.in_turn).for_each(|event| aside.judged(event));
        aside
    }

    pub(crate) fn holds(&self, run: &PlannedRun) -> bool {
        self.workloads.contains(&run.workload) || self.cells.contains(&run.factors)
    }

    pub(crate) fn holds_any(&self, workload: &str, meant: impl Fn(&Cell) -> bool) -> bool {
        self.workloads.contains(workload) || self.cells.iter().any(meant)
    }

    /// One run, or the runs that took turns.
    fn judged(&mut self, event: &[PastRun]) {
        let run = &event[0].run;
        let (workload, cell) = (run.workload.clone(), run.factors.clone());
        let before_in_workload = self.last_of_workload.remove(&workload);
        let before_in_cell = self.last_of_cell.remove(&cell);
        let invalid = event.iter().rev().find_map(|done| Some((done.number, done.cause.clone()?)));
        let Some((seen, cause)) = invalid else { return };
        let runs: Vec<i64> = event.iter().map(|done| done.number).collect();
        let with = |before: Last| [before.runs, runs.clone()].concat();
        let same = |last: &Last| last.cause == cause;
        if let Some(before) = before_in_cell.filter(same) {
            self.cells.insert(cell.clone());
            self.waits.push(Waits { what: in_words(run), runs: with(before), seen });
        } else if let Some(before) = before_in_workload.filter(|last| same(last) && last.cell != cell) {
            self.workloads.insert(workload.clone());
            self.waits.push(Waits { what: workload.clone(), runs: with(before), seen });
        }
        let last = Last { cell: cell.clone(), cause, runs };
        self.last_of_workload.insert(workload, last.clone());
        self.last_of_cell.insert(cell, last);
    }
}

/// `tpcb, 4 clients`: the cell of a run.
fn in_words(run: &Run) -> String {
    let clients = (run.clients > 0).then(|| crate::words::count(run.clients as usize, "client"));
    let rate = run.offered_rate.map(|rate| format!("{rate}/s"));
    let parts = std::iter::once(run.workload.clone()).chain(clients).chain(rate);
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use spec::{RunKey, RunKind, Validity};

    use super::*;

    fn run(workload: &str, clients: u32) -> Run {
        let factors = [("workload", workload.to_owned()), ("clients", clients.to_string())]
            .map(|(name, level)| (name.to_owned(), level));
        let key = RunKey { workload: workload.into(), factors: factors.into(), arm: None, round: 1 };
        Run { clients, ..Run::new(RunKind::Client, key) }
    }

    fn done(run: &Run, code: Option<&str>, number: i64) -> PastRun {
        let cause = code.map(|code| Cause { reasons: [Reason::Errors].into(), code: Some(code.to_owned()) });
        PastRun { run: run.clone(), cause, number, in_turn: false }
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
        assert_eq!(aside.waits, [Waits { what: "a, 1 client".into(), runs: vec![1, 3], seen: 3 }]);
        assert_eq!(aside.cells, [cell(&one)].into());
        // The next cell of that workload shows that the cell is not the cause.
        runs.push(done(&four, Some("42P01"), 4));
        let aside = Aside::of(&runs);
        assert_eq!((aside.waits.len(), aside.waits[1].what.as_str()), (2, "a"));
        assert_eq!(aside.workloads, ["a".to_owned()].into());
    }

    /// What happened once to arms that took turns counted as two in a row, and only one of each pair was
    /// measured again.
    #[test]
    fn arms_that_took_turns_are_one() {
        let run = run("a", 1);
        let pair = |code, number| {
            let other = PastRun { in_turn: true, ..done(&run, code, number + 1) };
            [done(&run, code, number), other]
        };
        let once: Vec<_> = pair(Some("42P01"), 1).into();
        assert_eq!(Aside::of(&once).waits, []);
        let twice = [pair(Some("42P01"), 1), pair(Some("42P01"), 3)].concat();
        let waits = Waits { what: "a, 1 client".into(), runs: vec![1, 2, 3, 4], seen: 4 };
        assert_eq!(Aside::of(&twice).waits, [waits]);
        let mended = [pair(Some("42P01"), 1), pair(None, 3), pair(Some("42P01"), 5)].concat();
        assert_eq!(Aside::of(&mended).waits, []);
    }

    /// A valid arm next to an invalid one gave "invalid for the same cause ()".
    #[test]
    fn the_invalid_one_of_two_in_turn_tells_the_cause() {
        let run = run("a", 1);
        let pair = |[first, second]: [Option<&str>; 2], number| {
            [done(&run, first, number), PastRun { in_turn: true, ..done(&run, second, number + 1) }]
        };
        let both = [pair([None, Some("42P01")], 1), pair([Some("42P01"), None], 3)].concat();
        let waits = Aside::of(&both).waits;
        assert_eq!(waits, [Waits { what: "a, 1 client".into(), runs: vec![1, 2, 3, 4], seen: 3 }]);
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
            let doubt = |reason: &Reason| spec::Doubt { reason: *reason, detail: "any words".into() };
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
