//! What pgdynos that were killed left on servers that are not ours: told, and put back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::conninfo::ConnInfoError;
use protocol::postgres::sql::SqlError;
use protocol::postgres::{Config, Env};

use super::access::CONNECT_BOUND;
use super::entry::{ChangedSetting, Claim, Claimed, Entry, files, is_held};
use super::server::ServerId;
use super::undo::{Undone, undo};
use crate::control::{ConnectError, Control, connect, places};
use crate::home::Home;
use crate::settings::SettingsError;
use crate::settings::read::is_private;

/// How long somebody may take who is just putting a dead pgdyno's changes back.
const OTHERS_BOUND: Duration = Duration::from_secs(10);

/// Settings that are not what they were, by a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The server, without password; the journal's path where that cannot be read.
    pub dsn: String,
    /// `checkpoint_timeout = 9min (before: 5min)`.
    pub settings: Vec<String>,
    /// Why, and for how long.
    pub by: LeftBy,
}

/// Whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftBy {
    /// A pgdyno at work now (its pid): it puts them back itself.
    Living(u32),
    /// A pgdyno that was killed.
    Killed,
    /// Not known: the journal cannot be read.
    Unknown(String),
}

/// Why settings are not put back yet.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The server cannot be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The journal's connection string is of no use here.
    #[error("connection string: {0}")]
    ConnInfo(#[from] ConnInfoError),
    /// Another server answers at the journal's place.
    #[error("another server answers there now; if the former one is no more, remove {}", path.display())]
    OtherServer {
        /// The journal.
        path: PathBuf,
    },
    /// The server does not say who it is.
    #[error("the server does not say who it is: {0}")]
    Identity(SqlError),
    /// The server refuses.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The journal cannot be read.
    #[error("the journal {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The journal cannot be removed.
    #[error("the journal cannot be removed: {0}")]
    Close(std::io::Error),
}

/// What became of an earlier journal.
#[derive(Debug)]
pub enum Recovered {
    /// Everything is as it was.
    Undone {
        /// The server.
        dsn: String,
        /// What was done.
        undone: Undone,
    },
    /// It is still to be undone.
    Pending {
        /// What.
        left: Left,
        /// Why it was not possible now.
        error: RecoverError,
    },
    /// Another pgdyno is at work on this server, and will put it back.
    InUse(Left),
}

impl Recovered {
    /// As it is told at the start of a command.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Undone { dsn, undone } => {
                format!("a pgdyno that was killed had left settings of {dsn} changed; {}", undone.words())
            }
            Self::Pending { left: Left { by: LeftBy::Unknown(_), .. }, error } => {
                format!("settings of a server may be changed: {error}; look at that file, then remove it")
            }
            Self::Pending { left, error } => format!(
                "settings of {} are still as a pgdyno that was killed left them: {}; not put back: {}; \
                 try: pgdyno target restore",
                left.dsn,
                left.list(),
                one_line(&error.to_string()),
            ),
            Self::InUse(left) => {
                format!(
                    "another pgdyno is at work on {} and changes its settings (now: {})",
                    left.dsn,
                    left.list()
                )
            }
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Left {
    fn of(entry: &Entry, by: LeftBy) -> Self {
        let words = |(name, changed): (&String, &ChangedSetting)| {
            let before = changed.former.as_deref().unwrap_or("not set by ALTER SYSTEM");
            if is_private(name) {
                format!("{name} (values are not shown)")
            } else {
                format!("{name} = {} (before: {before})", changed.ours)
            }
        };
        Self { dsn: entry.dsn.clone(), settings: entry.settings.iter().map(words).collect(), by }
    }

    /// What is changed now; a run under way changes nothing in some of its arms.
    #[must_use]
    pub fn list(&self) -> String {
        if self.settings.is_empty() { "nothing".to_owned() } else { self.settings.join(", ") }
    }

    fn unreadable(path: &Path, reason: &str) -> Self {
        let by = LeftBy::Unknown(reason.to_owned());
        Self { dsn: path.display().to_string(), settings: Vec::new(), by }
    }

    fn at(path: &Path) -> Option<Self> {
        match Entry::read(path) {
            Ok(entry) => Some(Self::of(&entry, who(path, &entry)))
                .filter(|left| !left.settings.is_empty() || matches!(left.by, LeftBy::Living(_))),
            // It was just put back.
            Err(_) if !path.exists() => None,
            Err(reason) => Some(Self::unreadable(path, &reason)),
        }
    }
}

/// The lock of a dead pgdyno's journal is held by whoever puts it back just now.
fn who(path: &Path, entry: &Entry) -> LeftBy {
    if is_held(path) && lives(entry) { LeftBy::Living(entry.pid) } else { LeftBy::Killed }
}

fn lives(entry: &Entry) -> bool {
    entry.pid == 0 || crate::managed::is_alive(entry.pid)
}

/// What stands in the journals of this home; no server is asked.
#[must_use]
pub fn left(home: &Home) -> Vec<Left> {
    files(home).iter().filter_map(|path| Left::at(path)).collect()
}

/// What stands in the journals of this home about the server of a connection. Without a journal that may be about it,
/// the server is asked nothing. Waits for whoever is putting it back just now.
pub(crate) fn left_on(home: &Home, control: &mut Control) -> Vec<Left> {
    let mut paths = about(home, &control.place().address);
    if paths.is_empty() {
        return Vec::new();
    }
    // A server that does not say who it is may be that one.
    let server = ServerId::ask(control).ok();
    paths.retain(|path| {
        Entry::read(path).is_ok_and(|entry| server.as_ref().is_none_or(|server| entry.server.is(server)))
    });
    paths
        .iter()
        .filter_map(|path| {
            let _ = claim_of_the_dead(path);
            Left::at(path)
        })
        .collect()
}

/// Whether a journal of this home may be about the server at an address; it is not asked.
pub(crate) fn may_be_left_at(home: &Home, address: &Address) -> bool {
    !about(home, address).is_empty()
}

fn about(home: &Home, address: &Address) -> Vec<PathBuf> {
    let mut paths = files(home);
    paths.retain(|path| Entry::read(path).is_ok_and(|entry| entry.server.may_be_at(address)));
    paths
}

/// What may stand in the journals of this home about servers that a description leads to, when none of them answers.
pub(crate) fn left_at(home: &Home, config: &Config) -> Vec<Left> {
    let paths = files(home);
    if paths.is_empty() {
        return Vec::new();
    }
    let places: Vec<_> = places(config).into_iter().filter_map(|(_, place)| place.ok()).collect();
    let there = |entry: &Entry| places.iter().any(|place| entry.server.may_be_at(&place.address));
    paths
        .iter()
        .filter(|path| Entry::read(path).is_ok_and(|entry| there(&entry)))
        .filter_map(|path| Left::at(path))
        .collect()
}

/// What stands in the journals of this home about a server.
pub(super) fn of_server(home: &Home, server: &ServerId) -> Vec<Left> {
    let of_it = |path: &&PathBuf| Entry::read(path).is_ok_and(|entry| entry.server.is(server));
    files(home).iter().filter(of_it).filter_map(|path| Left::at(path)).collect()
}

/// What is asked of [`recover`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Whatever can be put back, before something else is done.
    Everything,
    /// Just this, for its own sake: the server of the connection, or all without one.
    Asked,
}

/// Undoes what earlier, dead pgdynos left: on the server of `here` over that connection, on others as far as the
/// environment and the passfile let us connect there.
pub(crate) fn recover(home: &Home, here: Option<&mut Control>, scope: Scope) -> Vec<Recovered> {
    let paths = files(home);
    if paths.is_empty() {
        return Vec::new();
    }
    let others = here.is_none() || scope == Scope::Everything;
    let mut here = here.map(|control| (ServerId::ask(control), control));
    let mut found = Vec::new();
    for path in &paths {
        let entry = match Entry::read(path) {
            Ok(entry) => entry,
            Err(_) if !path.exists() => continue,
            Err(reason) => {
                found.push(unreadable(path, reason));
                continue;
            }
        };
        let known = match &here {
            Some((Ok(server), _)) => entry.server.is(server),
            Some((Err(_), control)) => entry.server.may_be_at(&control.place().address),
            None => false,
        };
        if !known && !others {
            continue;
        }
        let control = here.as_mut().filter(|_| known).map(|(_, control)| &mut **control);
        found.extend(recover_one(path, &entry, control, scope));
    }
    found
}

fn unreadable(path: &Path, reason: String) -> Recovered {
    let left = Left::unreadable(path, &reason);
    Recovered::Pending { left, error: RecoverError::Unreadable { path: path.to_owned(), reason } }
}

/// Undoes one journal, over a connection to its server if there is one; `None` when there is nothing to tell.
fn recover_one(path: &Path, entry: &Entry, here: Option<&mut Control>, scope: Scope) -> Option<Recovered> {
    let dsn = entry.dsn.clone();
    let claim = match claim_of_the_dead(path) {
        // Killed while nothing was changed.
        Claimed::Ours(claim) if claim.entry.settings.is_empty() => {
            let _ = claim.close();
            return None;
        }
        Claimed::Ours(claim) => claim,
        Claimed::Gone if entry.settings.is_empty() => return None,
        Claimed::Gone => {
            // Its watchdog was faster.
            let put_back = entry.settings.keys().cloned().collect();
            return Some(Recovered::Undone { dsn, undone: Undone { put_back, ..Undone::default() } });
        }
        Claimed::Held => {
            let told = here.is_some() || scope == Scope::Asked;
            return told.then(|| Recovered::InUse(Left::of(entry, LeftBy::Living(entry.pid))));
        }
        Claimed::Unreadable(reason) => return Some(unreadable(path, reason)),
    };
    let left = Left::of(&claim.entry, LeftBy::Killed);
    let undone = match here {
        Some(control) => undo_over(control, claim),
        None => reach(&dsn).and_then(|mut control| undo_over(&mut control, claim)),
    };
    Some(match undone {
        Ok(undone) => Recovered::Undone { dsn, undone },
        Err(error) => Recovered::Pending { left, error },
    })
}

/// Claims a journal; waits a while for somebody who is putting a dead pgdyno's changes back.
fn claim_of_the_dead(path: &Path) -> Claimed {
    let start = Instant::now();
    loop {
        match Claim::take(path) {
            Claimed::Held
                if start.elapsed() < OTHERS_BOUND && Entry::read(path).is_ok_and(|entry| !lives(&entry)) =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            claimed => return claimed,
        }
    }
}

/// Undoes a claimed journal over a connection, if that leads to its server, and removes it.
pub(super) fn undo_over(control: &mut Control, claim: Claim) -> Result<Undone, RecoverError> {
    let server = ServerId::ask(control).map_err(RecoverError::Identity)?;
    if !claim.entry.server.is(&server) {
        return Err(RecoverError::OtherServer { path: claim.path().to_owned() });
    }
    let undone = undo(control, &claim.entry)?;
    claim.close().map_err(RecoverError::Close)?;
    Ok(undone)
}

/// Connects to the server of a journal as far as the environment and the passfile let us.
fn reach(dsn: &str) -> Result<Control, RecoverError> {
    let mut config = Config::parse(Some(dsn), &Env::process())?;
    config.connect_timeout = Some(config.connect_timeout.map_or(CONNECT_BOUND, |own| own.min(CONNECT_BOUND)));
    Ok(connect(&config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pairs: &[(&str, Option<&str>)]) -> Entry {
        let mut entry = Entry::new("host=x");
        for (name, former) in pairs {
            let former = former.map(str::to_owned);
            let changed = ChangedSetting { former, ours: "new".into(), in_force: None };
            entry.settings.insert((*name).to_owned(), changed);
        }
        entry
    }

    fn refused(text: &str) -> RecoverError {
        RecoverError::Identity(SqlError { sqlstate: None, text: text.to_owned() })
    }

    #[test]
    fn values_that_may_be_secret_are_not_told() {
        let entry = entry(&[("archive_command", Some("scp -i geheim")), ("fsync", None)]);
        let left = Left::of(&entry, LeftBy::Killed);
        let wanted = "archive_command (values are not shown), fsync = new (before: not set by ALTER SYSTEM)";
        assert_eq!(left.list(), wanted);
    }

    #[test]
    fn each_fate_of_a_journal_is_one_clear_line() {
        let (killed, living) = (Left::of(&entry(&[("fsync", None)]), LeftBy::Killed), LeftBy::Living(7));
        let undone = Undone {
            put_back: vec!["a".into(), "b".into()],
            left_alone: vec!["c".into()],
            ..Undone::default()
        };
        let unreadable = RecoverError::Unreadable { path: "/j.json".into(), reason: "cut off".into() };
        let cases = [
            (
                Recovered::Undone { dsn: "host=x".into(), undone },
                "put back: a, b; left alone, because changed again since: c",
            ),
            (
                Recovered::Pending { left: killed, error: refused("line\n two") },
                "not put back: the server does not say who it is: line two; try: pgdyno target restore",
            ),
            (
                Recovered::InUse(Left::of(&entry(&[]), living)),
                "another pgdyno is at work on host=x and changes its settings (now: nothing)",
            ),
            (
                Recovered::Pending {
                    left: Left::unreadable(Path::new("/j.json"), "cut off"),
                    error: unreadable,
                },
                "the journal /j.json cannot be read: cut off; look at that file, then remove it",
            ),
        ];
        for (recovered, wanted) in cases {
            let words = recovered.words();
            assert!(words.ends_with(wanted) && !words.contains('\n'), "{words}");
        }
    }
}
