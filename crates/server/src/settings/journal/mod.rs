//! Records what is changed on a server before it is changed: settings of servers that we do not own, and the
//! user's changes ([`crate::change`]) of any.
//!
//! One file per experiment and server: in the home, or in the folder of a private server, which need not run
//! when it is undone. It contains the server, the former values and the undos, never a password. While an arm
//! changes nothing it is empty, and it is removed at the end. If pgdyno is killed, the journal's own watchdog
//! undoes it within 10 s. What that could not do (the server was away) is undone by the next command that
//! reaches the server, or by `pgdyno target restore`.

mod access;
mod changes;
mod entry;
mod forget;
mod guard;
mod left;
mod recover;
mod server;
mod undo;
mod watchdog;

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use protocol::postgres::sql::SqlError;
use rustix::fs::FlockOperation;
use spec::{Class, Error};

pub(crate) use access::Access;
pub use entry::{ChangedSetting, JournalEntry, JournalFile, MadeChange};
pub use forget::{ForgetScope, forget};
pub use guard::guard_main;
pub(crate) use left::left_at;
pub use left::{LeftBy, Leftover, left, left_behind, left_behind_at, left_in};
pub use recover::{Recovered, restore_changes};
pub(crate) use recover::{RestoreScope, recover, recover_private};
pub use server::ServerId;
pub use undo::Undone;
pub use watchdog::GUARD_ARGUMENT;

use self::undo::{auto_conf, undo};
use self::watchdog::Guard;
use super::{Catalog, SettingValues};
use crate::child::{Account, Watchdog};
use crate::control::Control;
use crate::error::server_error;
use crate::home::{Home, HomeFolder};
use crate::settings::already_changed;

/// How long another pgdyno may take to write its journal.
const TURN_BOUND: Duration = Duration::from_secs(10);

/// The journal of one experiment on one server; its file is locked while we live.
#[derive(Debug)]
pub struct Journal {
    /// The home with the journals of other pgdynos; none for a private server, which one pgdyno at a time
    /// uses.
    home: Option<Home>,
    file: JournalFile,
    access: Access,
    watchdog: Watchdog,
    guard: Option<Guard>,
    lock: Option<File>,
    /// An undo that the user did not wait for: we do not start it again.
    given_up: Option<String>,
    entry: JournalEntry,
}

impl Journal {
    /// An empty journal for the server at `dsn` (without password); its watchdog logs in with `access`.
    pub(crate) fn new(home: &Home, dsn: &str, access: Access, watchdog: &Watchdog) -> Result<Self, Error> {
        let folder = home.make_part(HomeFolder::Journal, Account::unprivileged().ok().flatten().as_ref())?;
        let file = JournalFile::new(&folder, format!("{}.json", uuid::Uuid::new_v4().simple()));
        let mut journal = Self::at(file, dsn, access, watchdog);
        journal.home = Some(home.clone());
        Ok(journal)
    }

    /// As [`Self::new`], for a private server: in its folder.
    pub(crate) fn at(file: JournalFile, dsn: &str, access: Access, watchdog: &Watchdog) -> Self {
        Self {
            home: None,
            file,
            access,
            watchdog: watchdog.clone(),
            guard: None,
            lock: None,
            given_up: None,
            entry: JournalEntry::new(dsn),
        }
    }

    /// Whether nothing must be undone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entry.is_empty()
    }

    /// Whether settings must be restored.
    pub(crate) fn has_settings(&self) -> bool {
        !self.entry.settings.is_empty()
    }

    /// Reserves the server before anything is changed there: until we end, no other pgdyno changes it.
    ///
    /// # Errors
    /// When another pgdyno changes it or has left it changed, it does not identify itself, or the file cannot
    /// be written.
    pub(crate) fn claim(&mut self, control: &mut Control) -> Result<(), Error> {
        if self.lock.is_some() {
            return Ok(());
        }
        self.entry.server = ServerId::ask(control).map_err(former_unknown)?;
        let _turn = self.take_turn().map_err(|source| self.failed(source))?;
        self.refuse_two_at_once()?;
        self.lock = Some(self.entry.write(&self.file).map_err(|source| self.failed(source))?);
        Ok(())
    }

    /// Records the current values before `server` is set; from then on a watchdog restores them when we die.
    /// `known` is what is in force now.
    ///
    /// # Errors
    /// When the former values cannot be read, the file cannot be written, the watchdog does not start, or
    /// another pgdyno has changed this server: nothing may be changed then.
    pub fn note(
        &mut self,
        control: &mut Control,
        server: &SettingValues,
        known: &Catalog,
    ) -> Result<(), Error> {
        debug_assert!(!self.has_settings(), "what an earlier arm changed is undone first");
        let entries = auto_conf(control).map_err(former_unknown)?;
        self.write_down(control, |entry| {
            for (name, value) in server {
                let changed = ChangedSetting {
                    former: entries.get(&name.to_lowercase()).cloned(),
                    ours: value.clone(),
                    in_force: known.get(name).map(|entry| entry.setting.clone()),
                };
                entry.settings.insert(name.clone(), changed);
            }
        })
    }

    /// Adds to the journal what is about to be done; adds nothing if that cannot be written, or nobody would
    /// undo it.
    fn write_down(
        &mut self,
        control: &mut Control,
        add: impl FnOnce(&mut JournalEntry),
    ) -> Result<(), Error> {
        self.entry.server = ServerId::ask(control).map_err(former_unknown)?;
        // Two that look for each other at the same time would both find nobody.
        let _turn = self.take_turn().map_err(|source| self.failed(source))?;
        if self.lock.is_none() {
            self.refuse_two_at_once()?;
        }
        self.start_guard()?;
        let mut entry = self.entry.clone();
        add(&mut entry);
        self.lock = Some(entry.write(&self.file).map_err(|source| self.failed(source))?);
        self.entry = entry;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.file.path();
        let what = format!("cannot keep the journal {}, so nothing is changed: {source}", path.display());
        Error::new(Class::Io, what).because(source)
    }

    /// One pgdyno at a time looks for others and writes its journal.
    fn take_turn(&self) -> io::Result<Option<File>> {
        if self.home.is_none() {
            return Ok(None);
        }
        let file = self.file.folder().lock_file(crate::lock::LOCK)?;
        let start = Instant::now();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < TURN_BOUND => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Changes on top of another's changes would be restored to the other's values, or not at all.
    fn refuse_two_at_once(&self) -> Result<(), Error> {
        let others = match &self.home {
            Some(home) => left::of_server(home, &self.entry.server)?,
            None => left_in(&self.file).into_iter().collect(),
        };
        others.into_iter().next().map_or(Ok(()), |other| Err(already_changed(&other)))
    }

    /// Starts the watchdog before the first change, and again if somebody ended it.
    fn start_guard(&mut self) -> Result<(), Error> {
        if !self.guard.as_mut().is_some_and(Guard::is_alive) {
            self.guard = None;
            let guard = Guard::start(&self.watchdog, &self.file.path(), &self.access);
            self.guard = Some(guard.map_err(|error| {
                let what = format!(
                    "cannot start the watchdog that puts settings back, so nothing is changed: {error}"
                );
                Error::new(Class::Child, what).because(error)
            })?);
        }
        Ok(())
    }

    /// Restores all settings, and verifies them; returns what was done. The file stays until we end.
    ///
    /// # Errors
    /// When the server refuses; the file stays.
    pub fn undo(&mut self, control: &mut Control) -> Result<Undone, Error> {
        let undone = undo(control, &self.entry)?;
        self.entry.settings.clear();
        self.rewrite();
        Ok(undone)
    }

    /// Writes what must still be undone. An empty journal still reserves the server: between two arms nobody
    /// else may change it. If writing fails, the file contains more than must be undone, which is harmless.
    fn rewrite(&mut self) {
        match self.entry.write(&self.file) {
            Ok(lock) => self.lock = Some(lock),
            Err(_) if self.is_empty() => self.remove(),
            Err(_) => {}
        }
    }

    fn remove(&mut self) {
        let _ = self.file.remove();
        self.lock = None;
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_empty() && self.lock.is_some() {
            self.remove();
        }
        // The watchdog needs the lock to undo the rest.
        self.lock = None;
        if let Some(guard) = self.guard.take() {
            guard.release(self.is_empty());
        }
    }
}

/// The former values cannot be read, so they could not be restored.
fn former_unknown(error: SqlError) -> Error {
    let what = format!("the former values cannot be read, so nothing is changed: {error}");
    server_error(what, error).with_class(Class::Missing)
}
