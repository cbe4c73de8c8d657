//! Sessions of arms that are kept from round to round, by cell and arm.

use std::collections::BTreeMap;

use spec::Run;

use crate::measure::Sessions;

/// Factors of a cell without the compared one, and the arm.
type CellArm = (BTreeMap<String, String>, Option<String>);

/// The kept sessions, each with the pid of its server. The pid of a server on another machine is unknown: a restart of it
/// shows when its clients work.
#[derive(Default)]
pub(super) struct KeptSessions(BTreeMap<CellArm, (Option<u32>, Sessions)>);

impl KeptSessions {
    /// The sessions of these runs, each with the pid of its server, in their order; `None` unless every run has sessions
    /// and its server was not restarted. The others are then closed, so that the sessions of a cell have the same age.
    pub(super) fn take(&mut self, cell: &[(&Run, Option<u32>)]) -> Option<Vec<Sessions>> {
        let found: Vec<Option<Sessions>> = cell
            .iter()
            .map(|(run, server)| {
                let (of, sessions) = self.0.remove(&key(run))?;
                (of == *server && !sessions.is_over()).then_some(sessions)
            })
            .collect();
        found.into_iter().collect()
    }

    pub(super) fn keep(&mut self, cell: &[(&Run, Option<u32>)], sessions: Option<Vec<Sessions>>) {
        let all = cell.iter().zip(sessions.into_iter().flatten());
        self.0.extend(all.map(|((run, server), sessions)| (key(run), (*server, sessions))));
    }

    /// Closes all sessions. Returns whether there were any.
    pub(super) fn end_all(&mut self) -> bool {
        let some = !self.0.is_empty();
        self.0.clear();
        some
    }
}

fn key(run: &Run) -> CellArm {
    (run.factors.clone(), run.arm.clone())
}
