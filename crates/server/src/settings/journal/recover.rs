//! Restores what killed pgdynos left changed on servers that we do not own.

use std::path::Path;

use protocol::postgres::sql::SqlError;
use protocol::postgres::{Config, Env};
use spec::{Class, Error};

use super::access::CONNECT_BOUND;
use super::changes::Undoing;
use super::entry::{Claim, Claimed, JournalEntry, JournalFile, files};
use super::left::{LeftBy, Leftover, claim_abandoned};
use super::server::{HERE, ServerId};
use super::undo::{Undone, undo};
use crate::child::Watchdog;
use crate::control::{Control, connect};
use crate::error::{conninfo_error, server_error};
use crate::home::Home;
use crate::managed::{self, Cluster};

const ONCE_IT_IS_THERE: &str =
    "once the server is there: pgdyno target restore (with --url for another way to it)";
const GONE: &str = "if the former one is no more: pgdyno target restore --forget";
const GIVE_A_ROLE: &str = "give a role that may change them: pgdyno target restore --url …";

/// The result for an earlier journal.
#[derive(Debug)]
pub enum Recovered {
    Undone {
        dsn: String,
        undone: Undone,
    },
    /// It must still be undone.
    Pending {
        left: Leftover,
        /// Why it was not possible now.
        error: Error,
        /// Whether it is known to be about the connected server.
        here: bool,
    },
    /// Another pgdyno works on this server, and will restore it.
    InUse(Leftover),
}

impl Recovered {
    /// The message at the start of a command.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Undone { dsn, undone } => {
                let kind = if undone.changes.is_empty() { "settings of " } else { "" };
                format!("a pgdyno that was killed had left {kind}{dsn} changed; {}", undone.words())
            }
            Self::Pending { left: Leftover { by: LeftBy::Unknown(_), .. }, error, .. } => {
                format!(
                    "settings of a server may be changed: {error}; look at that file, then: pgdyno target restore --forget"
                )
            }
            Self::Pending { left, error, .. } => format!(
                "{} of {} are still as an earlier pgdyno left them: {}; not put back: {}; \
                 try: pgdyno target restore",
                left.kind(),
                left.dsn,
                left.list(),
                one_line(&error.to_string()),
            ),
            Self::InUse(left) => {
                format!(
                    "another pgdyno is at work on {} and changes its {} (now: {})",
                    left.dsn,
                    left.kind(),
                    left.list()
                )
            }
        }
    }
}

impl Recovered {
    /// The user's changes that still exist on the connected server, and why they could not be undone.
    #[must_use]
    pub fn still_changed(&self) -> Option<(&Leftover, &Error)> {
        match self {
            Self::Pending { left, error, here: true } if !left.changes.is_empty() => Some((left, error)),
            _ => None,
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What [`recover`] should restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestoreScope {
    /// Everything that can be restored, before something else is done.
    Everything,
    /// The server of the connection, or all without one, on request.
    Asked,
}

/// Undoes what earlier, dead pgdynos left: on the server of `here` over that connection, on others as far as
/// the environment and the passfile allow a connection.
pub(crate) fn recover(
    home: &Home,
    here: Option<&mut Control>,
    scope: RestoreScope,
    watchdog: &Watchdog,
) -> Result<Vec<Recovered>, Error> {
    let (of_others, of_private) = (files(home)?, managed::journals(home)?);
    if of_others.is_empty() && of_private.is_empty() {
        return Ok(Vec::new());
    }
    let others = here.is_none() || scope == RestoreScope::Everything;
    let mut here = here.map(|control| (ServerId::ask(control), control));
    let mut found = Vec::new();
    let of_others = of_others.iter().map(|file| (file, false));
    for (file, is_private) in of_others.chain(of_private.iter().map(|file| (file, true))) {
        let entry = match JournalEntry::read(file) {
            Ok(entry) => entry,
            Err(_) if !file.exists() => continue,
            Err(reason) => {
                found.push(unreadable(file, reason));
                continue;
            }
        };
        let known = match &here {
            Some((Ok(server), _)) => entry.server.is(server),
            Some((Err(_), control)) => entry.server.may_be_at(&control.place().address),
            None => false,
        };
        // A private server may not run; its own commands handle it.
        if !known && (!others || is_private) {
            continue;
        }
        let control = here.as_mut().filter(|_| known).map(|(_, control)| &mut **control);
        found.extend(recover_one(file, &entry, control, scope, watchdog));
    }
    Ok(found)
}

/// Undoes what a dead pgdyno changed on a running private server.
pub(crate) fn recover_private(cluster: &Cluster, watchdog: &Watchdog) -> Result<Option<Recovered>, Error> {
    let file = cluster.journal();
    if !file.exists() {
        return Ok(None);
    }
    let mut control = cluster.connect("postgres")?;
    Ok(match JournalEntry::read(&file) {
        Ok(entry) => recover_one(&file, &entry, Some(&mut control), RestoreScope::Asked, watchdog),
        Err(_) if !file.exists() => None,
        Err(reason) => Some(unreadable(&file, reason)),
    })
}

/// Undoes the changes on a private server on request: a stopped server is started for it, and stopped again.
/// `None` when there is nothing to undo.
pub fn restore_changes(cluster: &mut Cluster, watchdog: &Watchdog) -> Result<Option<Recovered>, Error> {
    if !cluster.journal().exists() {
        return Ok(None);
    }
    let ran = cluster.pid().is_some();
    cluster.start()?;
    let recovered = recover_private(cluster, watchdog);
    if !ran {
        cluster.stop()?;
    }
    recovered
}

fn unreadable(file: &JournalFile, reason: String) -> Recovered {
    let left = Leftover::unreadable(&file.path(), &reason);
    Recovered::Pending { left, error: unreadable_error(&file.path(), &reason), here: false }
}

fn unreadable_error(journal: &Path, reason: &str) -> Error {
    Error::new(Class::BadInput, format!("the journal {} cannot be read: {reason}", journal.display()))
}

fn identity_error(error: SqlError) -> Error {
    server_error(format!("the server does not say who it is: {error}"), error)
}

/// Undoes one journal, over a connection to its server if there is one; `None` when there is nothing to report.
fn recover_one(
    file: &JournalFile,
    entry: &JournalEntry,
    here: Option<&mut Control>,
    scope: RestoreScope,
    watchdog: &Watchdog,
) -> Option<Recovered> {
    let dsn = entry.dsn.clone();
    let claim = match claim_abandoned(file) {
        // Killed while nothing was changed.
        Claimed::Ours(claim) if claim.entry.is_empty() => {
            let _ = claim.close();
            return None;
        }
        Claimed::Ours(claim) => claim,
        Claimed::Gone if entry.is_empty() => return None,
        Claimed::Gone => {
            // Its watchdog was faster.
            let restored = entry.settings.keys().cloned().collect();
            let changes = entry.changes.iter().map(|made| made.change.words()).collect();
            return Some(Recovered::Undone {
                dsn,
                undone: Undone { restored, changes, ..Undone::default() },
            });
        }
        Claimed::Held => {
            let is_reported = here.is_some() || scope == RestoreScope::Asked;
            return is_reported.then(|| Recovered::InUse(Leftover::of(entry, LeftBy::Living(entry.pid))));
        }
        Claimed::Unreadable(reason) => return Some(unreadable(file, reason)),
    };
    let left = Leftover::of(&claim.entry, LeftBy::Killed);
    let undoing = Undoing::usual(watchdog);
    let connected = here.is_some();
    let undone = match here {
        Some(control) => undo_over(control, *claim, &undoing),
        None => reach(&dsn).and_then(|mut control| undo_over(&mut control, *claim, &undoing)),
    };
    Some(match undone {
        Ok(undone) => Recovered::Undone { dsn, undone },
        Err(error) => Recovered::Pending { left, error, here: connected },
    })
}

/// Undoes a claimed journal over a connection, if that leads to its server, and removes it.
pub(super) fn undo_over(
    control: &mut Control,
    mut claim: Claim,
    undoing: &Undoing<'_>,
) -> Result<Undone, Error> {
    let server = ServerId::ask(control).map_err(identity_error)?;
    if is_in_folder_of(&claim.file().path(), &server)
        && claim.entry.server.system_identifier == server.system_identifier
    {
        claim.entry.moved_to(&server);
    }
    if !claim.entry.server.is(&server) {
        return Err(Error::new(Class::Unreachable, "another server answers there now").with_hint(GONE));
    }
    // Independently: a failure of one must not prevent the other.
    let settings = undo(control, &claim.entry);
    if settings.is_ok() {
        claim.entry.settings.clear();
    }
    let (changes, failed) = undoing.undo(control.place(), &mut claim.entry);
    if !claim.entry.is_empty() {
        // If this cannot be written, the next pgdyno undoes it once more.
        let _ = claim.rewrite();
    }
    let undone = settings.map_err(|error| error.with_hint(GIVE_A_ROLE))?;
    if let Some(error) = failed {
        let what = format!(
            "{error}; if that cannot be helped, undo it by hand, then: pgdyno target restore --forget"
        );
        // Whatever the server's other reason, it is not undone.
        let class = match error.class() {
            class @ (Class::Unreachable | Class::Refused | Class::Interrupted) => class,
            _ => Class::Guard,
        };
        return Err(error.in_words(what).with_class(class));
    }
    claim.close().map_err(|error| {
        Error::new(Class::Io, format!("the journal cannot be removed: {error}")).because(error)
    })?;
    Ok(Undone { changes, ..undone })
}

/// Whether a journal is in a private server's folder, next to its data: no other server works there.
fn is_in_folder_of(journal: &Path, server: &ServerId) -> bool {
    let data = server.data_directory.as_ref().map(Path::new);
    server.machine.as_deref() == Some(HERE)
        && data.zip(journal.parent()).is_some_and(|(data, folder)| data.parent() == Some(folder))
}

/// Connects to the server of a journal as far as the environment and the passfile allow.
fn reach(dsn: &str) -> Result<Control, Error> {
    let mut config = Config::parse(Some(dsn), &Env::process()).map_err(conninfo_error)?;
    config.connect_timeout = Some(config.connect_timeout.map_or(CONNECT_BOUND, |own| own.min(CONNECT_BOUND)));
    connect(&config).map_err(|error| error.with_hint(ONCE_IT_IS_THERE))
}

#[cfg(test)]
mod tests {
    use super::super::left::tests::entry;
    use super::*;

    fn refused(text: &str) -> Error {
        identity_error(SqlError { sqlstate: None, text: text.to_owned() })
    }

    #[test]
    fn each_fate_of_a_journal_is_one_clear_line() {
        let (killed, living) = (Leftover::of(&entry(&[("fsync", None)]), LeftBy::Killed), LeftBy::Living(7));
        let undone = Undone {
            restored: vec!["a".into(), "b".into()],
            left_alone: vec!["c".into()],
            ..Undone::default()
        };
        let unreadable = unreadable_error(Path::new("/j.json"), "cut off");
        let cases = [
            (
                Recovered::Undone { dsn: "host=x".into(), undone },
                "put back: a, b; left alone, because changed again since: c",
            ),
            (
                Recovered::Pending { left: killed, error: refused("line\n two"), here: true },
                "not put back: the server does not say who it is: line two; try: pgdyno target restore",
            ),
            (
                Recovered::InUse(Leftover::of(&entry(&[]), living)),
                "another pgdyno is at work on host=x and changes its settings (now: nothing)",
            ),
            (
                Recovered::Pending {
                    left: Leftover::unreadable(Path::new("/j.json"), "cut off"),
                    error: unreadable,
                    here: false,
                },
                "the journal /j.json cannot be read: cut off; look at that file, then: pgdyno target restore --forget",
            ),
        ];
        for (recovered, wanted) in cases {
            let words = recovered.words();
            assert!(words.ends_with(wanted) && !words.contains('\n'), "{words}");
        }
    }
}
