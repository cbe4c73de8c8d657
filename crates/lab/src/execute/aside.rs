//! Runs that turn out invalid again and again: what is left of their kind waits until somebody has looked.

use std::collections::{BTreeMap, BTreeSet};

use engine::Abort;
use record::{Reason, Run, Validity};

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
#[derive(Debug)]
struct Last {
    cell: Cell,
    cause: Cause,
    run: i64,
}

/// What waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waits {
    /// In words: a workload, or one cell of it.
    pub(crate) what: String,
    /// Numbers of the two runs that showed it, as stored.
    pub(crate) runs: [i64; 2],
}

/// Watches for two invalid runs in a row with the same cause: of one cell, then that cell waits; of two cells of one
/// workload, then the workload does.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    workloads: BTreeSet<String>,
    cells: BTreeSet<Cell>,
    last_of_workload: BTreeMap<String, Last>,
    last_of_cell: BTreeMap<Cell, Last>,
}

impl Aside {
    /// Whether a run waits.
    pub(crate) fn waits(&self, run: &PlannedRun) -> bool {
        self.workloads.contains(&run.workload) || self.cells.contains(&run.factors)
    }

    /// Takes note of a run that was stored under this number; answers what waits from now on because of it.
    pub(crate) fn judged(&mut self, run: &PlannedRun, cause: Option<Cause>, number: i64) -> Option<Waits> {
        let (workload, cell) = (run.workload.clone(), run.factors.clone());
        let before_in_workload = self.last_of_workload.remove(&workload);
        let before_in_cell = self.last_of_cell.remove(&cell);
        let cause = cause?;
        let same = |last: &Last| last.cause == cause;
        let waits = if let Some(before) = before_in_cell.filter(same) {
            self.cells.insert(cell.clone());
            Some(Waits { what: in_words(run), runs: [before.run, number] })
        } else if let Some(before) = before_in_workload.filter(|last| same(last) && last.cell != cell) {
            self.workloads.insert(workload.clone());
            Some(Waits { what: workload.clone(), runs: [before.run, number] })
        } else {
            None
        };
        let last = |cause| Last { cell: cell.clone(), cause, run: number };
        self.last_of_workload.insert(workload, last(cause.clone()));
        self.last_of_cell.insert(cell.clone(), last(cause));
        waits
    }
}

/// `tpcb, 4 clients`: the cell of a run.
fn in_words(run: &PlannedRun) -> String {
    let clients = crate::words::count(run.clients as usize, "client");
    let rate = run.rate.map(|rate| format!(", {rate}/s")).unwrap_or_default();
    format!("{}, {clients}{rate}", run.workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(workload: &str, clients: u32) -> PlannedRun {
        PlannedRun {
            sequence: 0,
            round: 1,
            workload: workload.into(),
            factors: [("workload", workload.to_owned()), ("clients", clients.to_string())]
                .map(|(name, level)| (name.to_owned(), level))
                .into(),
            arm: None,
            position_in_pair: 1,
            seed: 0,
            clients,
            threads: 1,
            rate: None,
            beside: false,
        }
    }

    fn cause(code: &str) -> Option<Cause> {
        Some(Cause { reasons: [Reason::Errors].into(), code: Some(code.to_owned()) })
    }

    /// A dropped table made all the remaining rounds invalid, one after the other.
    #[test]
    fn the_second_invalid_run_in_a_row_for_the_same_cause_is_the_last_one() {
        let mut aside = Aside::default();
        let (one, four, other) = (planned("a", 1), planned("a", 4), planned("b", 1));
        assert_eq!(aside.judged(&one, cause("42P01"), 1), None);
        assert_eq!(aside.judged(&other, None, 2), None);
        let waits = aside.judged(&one, cause("42P01"), 3).unwrap();
        assert_eq!(waits, Waits { what: "a, 1 client".into(), runs: [1, 3] });
        assert!(aside.waits(&one) && !aside.waits(&four) && !aside.waits(&other));
        // The next cell of that workload shows that it is not the cell.
        assert_eq!(aside.judged(&four, cause("42P01"), 4).unwrap().what, "a");
        assert!(aside.waits(&four) && !aside.waits(&other));
    }

    #[test]
    fn another_cause_or_a_good_run_begins_anew() {
        let mut aside = Aside::default();
        let run = planned("a", 1);
        for (cause, number) in
            [(cause("42P01"), 1), (cause("57014"), 2), (None, 3), (cause("57014"), 4), (cause("42P01"), 5)]
        {
            assert_eq!(aside.judged(&run, cause, number), None, "{number}");
        }
        assert!(!aside.waits(&run));
    }

    #[test]
    fn causes_are_told_apart_by_code_and_not_by_words() {
        let doubts = |reasons: &[Reason]| {
            let doubt = |reason: &Reason| record::Doubt { reason: *reason, detail: "any words".into() };
            let run = crate::execute::planned(&planned("a", 1), "closed", 0.0, 1);
            Run { validity: Validity::Invalid, doubts: reasons.iter().map(doubt).collect(), ..run }
        };
        let abort = |code: &str, message: &str| Abort {
            client: 0,
            code: Some(code.into()),
            causes: Vec::new(),
            message: message.into(),
        };
        let early = Cause::of(&doubts(&[Reason::TooShort, Reason::Errors]), &[abort("42P01", "at once")]);
        let late = Cause::of(&doubts(&[Reason::Errors, Reason::Steal]), &[abort("42P01", "after a while")]);
        assert!(early.is_some() && early == late);
        assert_ne!(early, Cause::of(&doubts(&[Reason::Errors]), &[abort("42501", "at once")]));
        let valid = Run { validity: Validity::Suspect, ..doubts(&[Reason::TooShort]) };
        assert_eq!(Cause::of(&valid, &[]), None);
    }
}
