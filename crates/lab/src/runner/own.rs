//! Users' changes on a server: makes the run's changes, undoes others, and reports failures.

use std::collections::BTreeMap;

use protocol::postgres::sql::SqlError;
use server::change::{Change, ChangeFailure, ChangeFailureKind, ChangePart};
use spec::{Class, Error, advice_on_sqlstate};

use crate::event::{Progress, Step, Tell};
use crate::setup::OwnLevel;
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
    wanted: &BTreeMap<String, OwnLevel>,
    mut progress: &mut dyn Progress,
) -> Result<bool, Error> {
    let standing = stage.in_force.changes.clone();
    if standing.as_ref() == Some(wanted) {
        return Ok(false);
    }
    let standing = standing.unwrap_or_default();
    stage.close_control();
    stage.stop_tile_servers();
    stage.begin_for_good()?;
    for (name, own) in standing.iter().rev().filter(|(name, own)| wanted.get(*name) != Some(own)) {
        if own.change.do_.is_some() {
            progress.step(Step::Change, format!("{name} {}: undo", own.level));
        }
        undo(stage, name, own)?;
    }
    for (name, own) in wanted.iter().filter(|(name, own)| standing.get(*name) != Some(own)) {
        progress.step(Step::Change, format!("{name} {}: {}", own.level, own.change.words()));
        make(stage, name, own, &own.change)?;
        stage.in_force.changes.get_or_insert_default().insert(name.clone(), own.clone());
    }
    // One change may have undone another.
    for (name, own) in wanted.iter().filter(|(name, own)| standing.get(*name) == Some(own)) {
        let check = Change { check: own.change.check.clone(), ..Change::default() };
        make(stage, name, own, &check)?;
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
    let standing = stage.in_force.changes.clone().unwrap_or_default();
    let undone: Vec<_> = standing.iter().rev().map(|(name, own)| undo(stage, name, own)).collect();
    undone.into_iter().collect()
}

fn make(stage: &mut Stage, name: &str, own: &OwnLevel, change: &Change) -> Result<(), Error> {
    let made = stage.target.make(change, &stage.making);
    made.map(drop).map_err(|error| failed(name, own, error))
}

fn undo(stage: &mut Stage, name: &str, own: &OwnLevel) -> Result<(), Error> {
    let undone = stage.target.undo_one(&own.change);
    undone.map_err(|error| failed(name, own, error))?;
    if let Some(standing) = &mut stage.in_force.changes {
        standing.remove(name);
    }
    Ok(())
}

fn failed(name: &str, own: &OwnLevel, error: Error) -> Error {
    let left = is_still_there(&error).then(|| own.change.words());
    let class = match error.class() {
        class if left.is_none() => class,
        Class::Interrupted => Class::Interrupted,
        _ => Class::Guard,
    };
    let still =
        |left| format!("\nwhat {left} did is still there, so nothing more is measured on that server");
    let what = format!("[change.{name}.{}] {error}{}", own.level, left.map(still).unwrap_or_default());
    let change = FailedChange { name: name.to_owned(), level: own.level.clone() };
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
            match sqlstate.map(advice_on_sqlstate) {
                None | Some("") => "it is sent as one text, in a connection of its own: try it with psql",
                Some(known) => known,
            }
        }
        _ => "",
    }
}

/// Refuses a server with a user's change that an earlier pgdyno left.
pub(crate) fn is_as_it_was(stage: &Stage) -> Result<(), Error> {
    let still = stage.target.recovered().iter().find_map(|recovered| recovered.still_changed());
    let Some((left, error)) = still else { return Ok(()) };
    let what = format!(
        "{} is not as it was, so nothing is measured there; still made: {}; not undone: {error}",
        left.dsn,
        left.list(),
    );
    let hint =
        "mend what keeps it from being undone, then: pgdyno target restore; then give the same command again";
    Err(Error::new(Class::Guard, what).with_hint(hint))
}
