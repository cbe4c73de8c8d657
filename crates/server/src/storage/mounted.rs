//! A filesystem that was made, on pgdyno's side of the lifeline.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use spec::{Class, Error};

use super::available::available_below;
use super::dismantle::{Deadline, dismantle};
use super::error::failed;
use super::made::{AGAIN, DONE, FAILED, KEEPER_ARGUMENT, KeeperOrder, MadeFolder, REMOVE};
use crate::child::{Account, WATCHDOG_ARGUMENT, Watchdog};
use crate::home::{Home, HomeFolder};
use crate::host::Disk;
use crate::stop::Stop;
use spec::plan::storage::{Filesystem, FilesystemKind, StorageLocation};

/// Timeout of a keeper's whole answer; its tools have separate timeouts.
const BOUND: Duration = Duration::from_secs(900);
/// How long to wait for its last steps once the user wants to stop; it then finishes without us, within 10 s.
const PARTING: Duration = Duration::from_secs(3);
/// A disk with less free space than this is full, bytes.
const LITTLE: u64 = 1 << 20;
/// Time between two checks of the stop switch.
const SLICE: Duration = Duration::from_millis(50);

/// A mounted filesystem for servers. Dropping it removes it with all its contents; its servers must have been
/// stopped before. When pgdyno is killed, its keeper does so within 10 s.
#[derive(Debug)]
pub struct Mounted {
    made: MadeFolder,
    kind: FilesystemKind,
    label: String,
    keeper: Mutex<Option<Keeper>>,
}

impl Mounted {
    /// Makes it in a home, for the account that runs servers.
    ///
    /// # Errors
    /// When it is not available here, a tool fails, or the user asked to stop; nothing is left then.
    pub fn make(
        home: &Home,
        filesystem: &Filesystem,
        account: Option<&Account>,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let label =
            available_below(home, &StorageLocation::Filesystem(filesystem.clone()))?.label().to_owned();
        let made = MadeFolder::next(&home.make_part(HomeFolder::Storage, account)?);
        let order = KeeperOrder { folder: made.folder.clone(), filesystem: filesystem.clone() };
        let mut keeper = Keeper::start(watchdog, &order)?;
        // When this fails, the keeper is dropped, and removes what it made.
        let answer = keeper.await_answer(&|_| stop.at_once());
        answer.map_err(|unanswered| unanswered.into_error(&order.folder))?;
        Ok(Self { made, kind: filesystem.kind.clone(), label, keeper: Mutex::new(Some(keeper)) })
    }

    /// Its mount point; ours, and the account may enter it.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.made.mounted()
    }

    /// What it is, in words.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Pid of its keeper; `None` once that was killed.
    #[must_use]
    pub fn keeper(&self) -> Option<u32> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|keeper| keeper.process.id())
    }

    pub(super) fn kind(&self) -> &FilesystemKind {
        &self.kind
    }

    pub(super) fn made(&self) -> &MadeFolder {
        &self.made
    }

    /// Unmounts it and mounts it again: none of its data are in memory then, in the page cache or its own cache.
    ///
    /// # Errors
    /// When somebody uses it, or a tool fails.
    pub fn again(&self) -> Result<(), Error> {
        let mut held = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || keeper_failed(&self.made.folder, "it was killed");
        let keeper = held.as_mut().ok_or_else(gone)?;
        let done = keeper.ask(AGAIN, &|_| Stop::of_process().ends_waits());
        if matches!(done, Err(Unanswered::GivenUp)) {
            // Its late answer would be mistaken for the next one. It removes everything by itself.
            *held = None;
        }
        done.map_err(|unanswered| unanswered.into_error(&self.made.folder))
    }

    /// Why it cannot be used any more, if known: only we and root can have caused that.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        if let Err(error) = std::fs::metadata(self.folder()) {
            return Some(format!("it no longer exists ({error})"));
        }
        if Disk::of(&self.made.folder).is_some_and(|disk| disk.free_bytes < LITTLE) {
            return Some("the disk that its file is on is full, so that writing to it failed".to_owned());
        }
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = keeper.as_mut().and_then(|keeper| keeper.process.try_wait().ok().flatten());
        ended.map(|end| format!("its keeper ended ({end})"))
    }

    /// Removes it with all its contents.
    ///
    /// # Errors
    /// What is left, and why. If the user did not wait, its keeper removes the rest within 10 s.
    pub fn remove(self) -> Result<(), Error> {
        self.remove_all()
    }

    fn remove_all(&self) -> Result<(), Error> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut keeper) = keeper else { return self.remove_without_keeper() };
        let (stop, start) = (Stop::of_process(), Instant::now());
        let presses = stop.presses();
        let parting = |_: &Keeper| stop.presses() > presses || (stop.soon() && start.elapsed() >= PARTING);
        match keeper.ask(REMOVE, &parting) {
            Ok(()) => Ok(()),
            Err(Unanswered::Failed(left)) => Err(self.not_removed(&[left])),
            // A keeper that was killed has removed nothing, or not all.
            Err(Unanswered::Unheard(_)) => self.remove_without_keeper(),
            Err(Unanswered::GivenUp) => Err(Error::stopped()),
        }
    }

    fn remove_without_keeper(&self) -> Result<(), Error> {
        if !self.made.folder.exists() {
            return Ok(());
        }
        // Held by a process that removes it already: the keeper, which was not dead.
        let Some(_lock) = self.made.lock() else { return Ok(()) };
        let left = dismantle(&self.made, Deadline::asked());
        if left.is_empty() { Ok(()) } else { Err(self.not_removed(&left)) }
    }

    fn not_removed(&self, left: &[String]) -> Error {
        let (folder, left) = (self.made.folder.display(), left.join("; "));
        Error::new(Class::Io, format!("the filesystem below {folder} was not removed as a whole: {left}"))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let is_kept = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_kept || self.made.folder.exists() {
            // The next pgdyno removes the rest.
            let _ = self.remove_all();
        }
    }
}

/// A keeper could not be started or its answer not be read.
fn keeper_failed(folder: &Path, answer: impl Display) -> Error {
    failed(format!("the keeper of the filesystem below {}: {answer}", folder.display()))
}

/// Why a keeper did not carry out an order.
#[derive(Debug)]
enum Unanswered {
    /// It reported the reason.
    Failed(String),
    /// It was killed, or sent something else.
    Unheard(String),
    GivenUp,
}

impl Unanswered {
    fn into_error(self, folder: &Path) -> Error {
        match self {
            Self::Failed(why) => failed(why),
            Self::Unheard(answer) => keeper_failed(folder, answer),
            Self::GivenUp => Error::stopped(),
        }
    }
}

#[derive(Debug)]
struct Keeper {
    process: Child,
    lifeline: UnixStream,
    unread: Vec<u8>,
}

impl Keeper {
    fn start(watchdog: &Watchdog, order: &KeeperOrder) -> Result<Self, Error> {
        let failed = |error: io::Error| keeper_failed(&order.folder, error);
        let text = serde_json::to_string(order).map_err(|error| failed(error.into()))?;
        let mut command = watchdog.command();
        command.args([WATCHDOG_ARGUMENT, KEEPER_ARGUMENT]).arg(text);
        Watchdog::clean_environment(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (process, lifeline) = watchdog.launch(command).map_err(failed)?;
        let keeper = Self { process, lifeline, unread: Vec::new() };
        keeper.lifeline.set_read_timeout(Some(SLICE)).map_err(failed)?;
        Ok(keeper)
    }

    /// Sends an order, and waits for the answer.
    fn ask(&mut self, line: &str, give_up: &dyn Fn(&Self) -> bool) -> Result<(), Unanswered> {
        writeln!(self.lifeline, "{line}").map_err(|error| Unanswered::Unheard(error.to_string()))?;
        self.await_answer(give_up)
    }

    /// Waits for its answer, until `give_up` returns true.
    fn await_answer(&mut self, give_up: &dyn Fn(&Self) -> bool) -> Result<(), Unanswered> {
        let start = Instant::now();
        while start.elapsed() < BOUND {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line[..end]).into_owned();
                return match line.strip_prefix(FAILED) {
                    Some(why) => Err(Unanswered::Failed(why.to_owned())),
                    None if line == DONE => Ok(()),
                    None => Err(Unanswered::Unheard(line)),
                };
            }
            if give_up(self) {
                return Err(Unanswered::GivenUp);
            }
            let mut buffer = [0; 1024];
            match self.lifeline.read(&mut buffer) {
                Ok(0) => return Err(Unanswered::Unheard("it was killed".to_string())),
                Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(Unanswered::Unheard(error.to_string())),
            }
        }
        Err(Unanswered::Unheard("it does not answer".to_string()))
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // It then removes everything that still exists.
        let _ = self.lifeline.shutdown(Shutdown::Both);
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && start.elapsed() < PARTING {
            std::thread::sleep(SLICE / 5);
        }
    }
}
