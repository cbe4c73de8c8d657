//! Sessions of arms that are kept from round to round, by cell and arm.

use std::collections::BTreeMap;

use spec::Run;

use crate::measure::Sessions;

/// Of one cell and arm; the compared factor is not among the factors.
type CellArm = (BTreeMap<String, String>, Option<String>);

/// The kept sessions, each with its server's process. That of a server elsewhere is unknown: whether it is still the
/// same shows when its clients work.
#[derive(Default)]
pub(super) struct KeptSessions(BTreeMap<CellArm, (Option<u32>, Sessions)>);

impl KeptSessions {
    /// The sessions of these runs, with the processes of their servers, in their order; `None` unless all are there and
    /// on the same start of the server. What is left of them is closed then: the arms of a cell are of one age.
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

    /// Closes all; whether there were some.
    pub(super) fn end_all(&mut self) -> bool {
        let some = !self.0.is_empty();
        self.0.clear();
        some
    }
}

fn key(run: &Run) -> CellArm {
    (run.factors.clone(), run.arm.clone())
}
