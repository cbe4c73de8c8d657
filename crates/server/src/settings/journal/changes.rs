//! Makes and undoes the user's changes, recorded in the journal.

use std::time::{Duration, Instant};

use protocol::postgres::Place;
use spec::Error;
use spec::plan::change::{Change, ChangePart, ChangeStep};

use super::Journal;
use super::entry::{JournalEntry, MadeChange};
use crate::change::{self, ChangeFailure, ChangeResult, Environment, Executor};
use crate::child::Watchdog;
use crate::control::Control;
use crate::stop::Stop;

/// Runs the commands of undos, within a total time.
#[derive(Debug)]
pub(crate) struct Undoing<'a> {
    watchdog: &'a Watchdog,
    start: Instant,
    bound: Duration,
}

impl<'a> Undoing<'a> {
    /// Starts now; `bound` applies to each command, and no command starts or continues after it.
    pub(super) fn within(watchdog: &'a Watchdog, bound: Duration) -> Self {
        Self { watchdog, start: Instant::now(), bound }
    }

    /// With the usual timeout of a command.
    pub(crate) fn usual(watchdog: &'a Watchdog) -> Self {
        Self::within(watchdog, change::BOUND)
    }

    fn executor<'b>(&'b self, made: &'b MadeChange, place: &Place) -> Executor<'b> {
        let left = self.bound.saturating_sub(self.start.elapsed());
        Executor::new(&made.id, place, &made.database, &made.environment, self.watchdog, left)
    }

    /// Undoes the changes in `entry`, the last one first, and removes them from it; returns what was undone,
    /// and why the first of the rest was not.
    pub(super) fn undo(&self, place: &Place, entry: &mut JournalEntry) -> (Vec<String>, Option<Error>) {
        self.undo_each(entry, |made, undo| Some(self.executor(made, place).undo(undo, made.done)))
    }

    /// Undoes one change in `entry` (the last one, if made twice), and removes it from there.
    fn undo_one(&self, place: &Place, entry: &mut JournalEntry, change: &Change) -> Result<(), Error> {
        let Some(at) = entry.changes.iter().rposition(|made| made.change == *change) else { return Ok(()) };
        let made = &entry.changes[at];
        if let Some(undo) = &made.change.undo {
            self.executor(made, place).undo(undo, made.done)?;
        }
        entry.changes.remove(at);
        Ok(())
    }

    /// Undoes without a server the changes that consist of commands only.
    pub(super) fn undo_commands(&self, place: &Place, entry: &mut JournalEntry) -> Vec<String> {
        let only_commands = |made: &MadeChange, undo: &ChangeStep| match (&made.change.do_, undo) {
            (Some(ChangeStep::Command(_)), ChangeStep::Command(undo)) => {
                Some(self.executor(made, place).undo_command(undo, made.done))
            }
            _ => None,
        };
        self.undo_each(entry, only_commands).0
    }

    fn undo_each(
        &self,
        entry: &mut JournalEntry,
        undo: impl Fn(&MadeChange, &ChangeStep) -> Option<Result<(), Error>>,
    ) -> (Vec<String>, Option<Error>) {
        let (mut undone, mut first) = (Vec::new(), None);
        for at in (0..entry.changes.len()).rev() {
            let made = &entry.changes[at];
            match made.change.undo.as_ref().map_or(Some(Ok(())), |step| undo(made, step)) {
                Some(Ok(())) => undone.push(entry.changes.remove(at).change.words()),
                Some(Err(error)) => drop(first.get_or_insert(error)),
                None => {}
            }
        }
        (undone, first)
    }
}

impl Journal {
    /// Makes a change in a database of the server that `control` leads to: records, does and checks it. If
    /// that fails, its effects are undone.
    ///
    /// # Errors
    /// When the journal cannot be written, another pgdyno changes the server, or the change fails.
    pub(crate) fn make(
        &mut self,
        control: &mut Control,
        change: &Change,
        environment: Environment,
        bound: Duration,
    ) -> Result<ChangeResult, Error> {
        let place = control.place().clone();
        // A change whose commands cannot be started is not recorded.
        let mut steps = change.do_.iter().chain(&change.undo);
        if steps.any(|step| matches!(step, ChangeStep::Command(_))) {
            environment.account()?;
        }
        let made = MadeChange {
            id: uuid::Uuid::new_v4().simple().to_string(),
            change: change.clone(),
            done: false,
            database: place.login.dbname.clone(),
            environment,
        };
        let id = made.id.clone();
        self.write_down(control, |entry| entry.changes.push(made.clone()))?;
        let watchdog = self.watchdog.clone();
        let executor = Executor::new(&id, &place, &made.database, &made.environment, &watchdog, bound);
        match executor.make(change) {
            Ok(outcome) => {
                self.note_done(&id);
                Ok(outcome)
            }
            Err(error) => {
                // After a stop the change is still undone, unless the user stops once more.
                let _concluding = Stop::of_process().concluding();
                let undo = change.undo.as_ref().filter(|_| !Executor::changed_nothing(change, &error));
                match undo.map(|undo| executor.undo(undo, false)) {
                    Some(Err(undo)) => {
                        let undo = self.remember_given_up(undo);
                        Err(change::not_undone(error, &undo))
                    }
                    _ => {
                        self.entry.changes.retain(|made| made.id != id);
                        self.rewrite();
                        Err(error)
                    }
                }
            }
        }
    }

    /// Records data that their maker drops itself: until [`Self::settle`] a watchdog drops them when we die.
    ///
    /// # Errors
    /// When the journal cannot be written, or another pgdyno changes the server.
    pub(crate) fn note_scratch(&mut self, control: &mut Control, change: &Change) -> Result<(), Error> {
        let made = MadeChange {
            id: uuid::Uuid::new_v4().simple().to_string(),
            change: change.clone(),
            done: true,
            database: control.place().login.dbname.clone(),
            environment: Environment::default(),
        };
        self.write_down(control, |entry| entry.changes.push(made))
    }

    /// What [`Self::note_scratch`] recorded is dropped.
    pub(crate) fn settle(&mut self, change: &Change) {
        self.entry.changes.retain(|made| made.change != *change);
        self.rewrite();
    }

    /// Makes a permanent change: its server will be removed. Nothing is recorded.
    pub(crate) fn make_for_good(
        &self,
        place: &Place,
        change: &Change,
        environment: &Environment,
        bound: Duration,
    ) -> Result<ChangeResult, Error> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        Executor::new(&id, place, &place.login.dbname, environment, &self.watchdog, bound).make(change)
    }

    /// Undoes the changes made so far, the last one first; returns them.
    ///
    /// # Errors
    /// When one of them cannot be undone now: it stays in the journal.
    pub(crate) fn undo_changes(&mut self, place: &Place) -> Result<Vec<String>, Error> {
        if self.entry.changes.is_empty() {
            return Ok(Vec::new());
        }
        self.check_not_given_up()?;
        let watchdog = self.watchdog.clone();
        let (undone, failed) = Undoing::usual(&watchdog).undo(place, &mut self.entry);
        self.rewrite();
        failed.map_or(Ok(undone), |error| Err(self.remember_given_up(error)))
    }

    /// Undoes one of them; does nothing if it was not made.
    ///
    /// # Errors
    /// When it cannot be undone now: it stays in the journal.
    pub(crate) fn undo_change(&mut self, place: &Place, change: &Change) -> Result<(), Error> {
        self.check_not_given_up()?;
        let watchdog = self.watchdog.clone();
        let undone = Undoing::usual(&watchdog).undo_one(place, &mut self.entry, change);
        self.rewrite();
        undone.map_err(|error| self.remember_given_up(error))
    }

    /// Refuses an undo that the user did not wait for: it would hang again.
    fn check_not_given_up(&self) -> Result<(), Error> {
        self.given_up.as_ref().map_or(Ok(()), |what| Err(change::stopped_undo(what)))
    }

    /// Passes an error through, and remembers an undo that the user did not wait for.
    fn remember_given_up(&mut self, error: Error) -> Error {
        let part = error.attached().and_then(|failure: &ChangeFailure| failure.part);
        if error.is_stopped() && part == Some(ChangePart::Undo) {
            self.given_up = Some(error.to_string());
        }
        error
    }

    /// The current changes, by their do.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.entry.changes.iter().map(|made| made.change.words()).collect()
    }

    /// If this cannot be written, an undo after a crash first ends what the do left running.
    fn note_done(&mut self, id: &str) {
        for made in self.entry.changes.iter_mut().filter(|made| made.id == id) {
            made.done = true;
        }
        self.rewrite();
    }
}
