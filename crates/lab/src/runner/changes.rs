//! Users' changes on a server: makes the run's changes, undoes others, and reports failures.

use std::collections::BTreeMap;

use protocol::postgres::sql::SqlError;
use server::change::{ChangeFailure, ChangeFailureKind};
use spec::plan::change::{Change, ChangePart};
use spec::{Class, Error, advice_on_sqlstate};

use crate::event::{ExperimentStep, Progress, ProgressExt};
use crate::setup::ChangeLevel;
use crate::stage::Stage;

/// Attached to the error of a user's change that could not be made or undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedChange {
    pub(crate) name: String,
    pub(crate) level: String,
}

/// Brings a server to these levels, by factor: what differs is undone, the last one first, and then made;
/// equal levels stay. Returns whether anything changed.
pub(super) fn bring(
    stage: &mut Stage,
    wanted: &BTreeMap<String, ChangeLevel>,
    mut progress: &mut dyn Progress,
) -> Result<bool, Error> {
    let in_force = stage.in_force.changes.clone();
    if in_force.as_ref() == Some(wanted) {
        return Ok(false);
    }
    let in_force = in_force.unwrap_or_default();
    stage.close_control();
    stage.stop_tile_servers();
    stage.begin_for_good()?;
    for (name, level) in in_force.iter().rev().filter(|(name, level)| wanted.get(*name) != Some(level)) {
        if level.change.do_.is_some() {
            progress.step(ExperimentStep::Change, format!("{name} {}: undo", level.level));
        }
        undo(stage, name, level)?;
    }
    for (name, level) in wanted.iter().filter(|(name, level)| in_force.get(*name) != Some(level)) {
        progress.step(ExperimentStep::Change, format!("{name} {}: {}", level.level, level.change.words()));
        make(stage, name, level, &level.change)?;
        stage.in_force.changes.get_or_insert_default().insert(name.clone(), level.clone());
    }
    // One change may have undone another.
    for (name, level) in wanted.iter().filter(|(name, level)| in_force.get(*name) == Some(level)) {
        let check = Change { check: level.change.check.clone(), ..Change::default() };
        make(stage, name, level, &check)?;
    }
    stage.in_force.changes.get_or_insert_default();
    stage.end_for_good()?;
    Ok(true)
}

/// Undoes all changes, the last one first; returns the first failure, but continues with the others.
pub(super) fn undo_all(stage: &mut Stage) -> Result<(), Error> {
    if stage.is_for_good() {
        return Ok(());
    }
    let in_force = stage.in_force.changes.clone().unwrap_or_default();
    let undone: Vec<_> = in_force.iter().rev().map(|(name, level)| undo(stage, name, level)).collect();
    undone.into_iter().collect()
}

fn make(stage: &mut Stage, name: &str, level: &ChangeLevel, change: &Change) -> Result<(), Error> {
    let made = stage.target.make(change, &stage.making);
    made.map(drop).map_err(|error| failed(name, level, error))
}

fn undo(stage: &mut Stage, name: &str, level: &ChangeLevel) -> Result<(), Error> {
    let undone = stage.target.undo_one(&level.change);
    undone.map_err(|error| failed(name, level, error))?;
    if let Some(in_force) = &mut stage.in_force.changes {
        in_force.remove(name);
    }
    Ok(())
}

fn failed(name: &str, level: &ChangeLevel, error: Error) -> Error {
    let left = is_still_there(&error).then(|| level.change.words());
    let class = match error.class() {
        class if left.is_none() => class,
        Class::Interrupted => Class::Interrupted,
        _ => Class::Guard,
    };
    let still =
        |left| format!("\nwhat {left} did is still there, so nothing more is measured on that server");
    let what = format!("[change.{name}.{}] {error}{}", level.level, left.map(still).unwrap_or_default());
    let change = FailedChange { name: name.to_owned(), level: level.level.clone() };
    Error::new(class, what).with_hint(advice_on(&error)).because(error).attach(change)
}

fn is_still_there(error: &Error) -> bool {
    error.attached().is_some_and(|failure: &ChangeFailure| {
        failure.kind == ChangeFailureKind::NotUndone || failure.part == Some(ChangePart::Undo)
    })
}

fn advice_on(error: &Error) -> &'static str {
    let Some(failure) = error.attached::<ChangeFailure>() else { return "" };
    match failure.kind {
        _ if is_still_there(error) => {
            "mend what keeps it from being undone, then: pgdyno target restore; what was measured is kept"
        }
        ChangeFailureKind::NotTrue => {
            "what the do did is undone: look at the check, and whether somebody else changes the server"
        }
        ChangeFailureKind::CommandFailed => "what it did is undone; commands start in the folder of the file",
        ChangeFailureKind::CutShort => "what it did by then is undone",
        ChangeFailureKind::Sql => {
            let sqlstate = error.cause().and_then(|error: &SqlError| error.sqlstate.as_deref());
            match sqlstate.map(|sqlstate| advice_on_sqlstate(sqlstate, &error.to_string())) {
                None | Some("") => "it is sent as one text, in a separate connection: try it with psql",
                Some(known) => known,
            }
        }
        _ => "",
    }
}

/// Refuses a server with a user's change that an earlier pgdyno left.
pub(crate) fn check_undone(stage: &Stage) -> Result<(), Error> {
    let still = stage.target.recovered().iter().find_map(|recovered| recovered.still_changed());
    let Some((left, error)) = still else { return Ok(()) };
    let what = format!(
        "{} is still changed, so nothing is measured there; still made: {}; not undone: {error}",
        left.dsn,
        left.list(),
    );
    let hint =
        "mend what keeps it from being undone, then: pgdyno target restore; then give the same command again";
    Err(Error::new(Class::Guard, what).with_hint(hint))
}
