//! What the servers that only one pgdyno uses have in common (Redis, PgBouncer, tile servers): folders closed to others, a socket with
//! a short path, a log, a watchdog; they keep nothing, so nothing of them is left.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::child::{Account, Child, ChildError, Program, Watchdog};
use crate::home::{
    Dir, Home, Part, PlaceError, Readable, passed_through, remove_socket_folder, socket_folder,
};
use crate::stop::Stop;

/// How long it may take to answer for the first time.
const START_BOUND: Duration = Duration::from_secs(10);
/// File of its output.
const LOG: &str = "log";
/// Lines of its log that are quoted.
const QUOTED_LINES: usize = 4;

/// Why a member cannot be used.
#[derive(Debug)]
pub(crate) enum MemberError {
    Child(ChildError),
    File {
        path: PathBuf,
        source: io::Error,
    },
    /// What its log says, or how long was waited.
    NotStarted(String),
    Died {
        end: String,
        log: String,
    },
    Stopped,
}

/// The folders of one member: for its files, for what it writes itself and, short enough, for its socket. They go with it.
#[derive(Debug)]
pub(crate) struct Folders {
    /// All members of its kind.
    all: Dir,
    /// Ours: what it reads, and its log.
    dir: Dir,
    /// Its own, where it starts.
    pub(crate) work: PathBuf,
    pub(crate) sockets: PathBuf,
    account: Option<Account>,
}

impl Folders {
    /// Makes them for a new member of this process in a part of the home; what dead pgdynos left there is removed.
    pub(crate) fn make(
        home: &Home,
        part: Part,
        longest_socket_name: &str,
        account: Option<&Account>,
    ) -> Result<Self, PlaceError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = home.make_part(part, account)?;
        remove_dead_in(&all);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let failed = |source| PlaceError::Folder { folder: all.path().join(&name), source };
        let dir = all.make(&name, passed_through(account.is_some())).map_err(failed)?;
        let work = dir.make_for("data", account).map_err(failed)?.path().to_owned();
        let sockets = socket_folder(dir.path(), longest_socket_name, account)?;
        Ok(Self { all, dir, work, sockets, account: account.cloned() })
    }

    /// The folder of its files.
    pub(crate) fn files(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file that only we and the member's account can read.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, MemberError> {
        let path = self.files().join(name);
        let file = self.dir.create(name, Readable::By(self.account.as_ref()));
        match file.and_then(|mut file| file.write_all(content)) {
            Ok(()) => Ok(path),
            Err(source) => Err(MemberError::File { path, source }),
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // What cannot be removed now is found by the next one.
        remove_socket_folder(self.files());
        let _ = self.files().file_name().map(|name| self.all.remove_all(name));
    }
}

/// A member in use; dropping it stops it and removes its folders.
#[derive(Debug)]
pub(crate) struct Member {
    child: Child,
    folders: Folders,
}

impl Member {
    /// Starts it under a watchdog, which removes its folders should pgdyno be killed; its output is its log.
    pub(crate) fn start(
        program: Program,
        folders: Folders,
        watchdog: &Watchdog,
    ) -> Result<Self, MemberError> {
        let file = folders.dir.create(LOG, Readable::ByUs);
        let file = file.map_err(|source| MemberError::File { path: folders.files().join(LOG), source })?;
        let program = program.leaving([folders.files(), &folders.sockets]);
        let child = watchdog.start(&program, &file).map_err(MemberError::Child)?;
        Ok(Self { child, folders })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// The folder of its socket.
    pub(crate) fn sockets(&self) -> &Path {
        &self.folders.sockets
    }

    /// Whether it still runs.
    pub(crate) fn check(&mut self) -> Result<(), MemberError> {
        match self.child.wait(Duration::ZERO).map_err(MemberError::Child)? {
            None => Ok(()),
            Some(ended) => Err(MemberError::Died { end: ended.to_string(), log: self.last_lines() }),
        }
    }

    /// Waits until it answers.
    pub(crate) fn await_ready(&mut self, stop: &Stop, answers: impl Fn() -> bool) -> Result<(), MemberError> {
        self.await_ready_within(START_BOUND, stop, |_| answers())
    }

    /// The same for one that takes its time.
    pub(crate) fn await_ready_within(
        &mut self,
        bound: Duration,
        stop: &Stop,
        answers: impl Fn(&Self) -> bool,
    ) -> Result<(), MemberError> {
        let start = Instant::now();
        loop {
            match self.check() {
                Err(MemberError::Died { log, .. }) => return Err(MemberError::NotStarted(log)),
                other => other?,
            }
            if answers(self) {
                return Ok(());
            }
            if stop.at_once() {
                return Err(MemberError::Stopped);
            }
            if start.elapsed() > bound {
                let log = self.last_lines();
                let said = if log.is_empty() { String::new() } else { format!(": {log}") };
                let waited = format!("no answer within {} s{said}", bound.as_secs());
                return Err(MemberError::NotStarted(waited));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn last_lines(&self) -> String {
        let text = self.log_text();
        // Those that are indented belong to others: where in a program something went wrong.
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with(char::is_whitespace)).collect();
        lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
    }

    /// All that it has said, unless that is very much.
    pub(crate) fn log_text(&self) -> String {
        let bytes = self.folders.dir.read(LOG).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // One that does not stop is ended by its watchdog.
        let _ = self.child.stop();
    }
}

/// The first of these programs that is installed.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/sbin", "/usr/local/sbin"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual.map(PathBuf::from)).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// Removes what members of dead pgdynos left and their watchdogs could not remove: nothing in it is of use.
pub(crate) fn remove_dead(home: &Home, part: Part) {
    if let Ok(Some(all)) = home.part(part) {
        remove_dead_in(&all);
    }
}

fn remove_dead_in(all: &Dir) {
    for name in all.names().unwrap_or_default() {
        let pid = name.to_str().and_then(|name| name.split('-').next()).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !crate::host::proc::is_alive(pid)) {
            // The folder goes last: what is left of an interrupted removal is still known.
            remove_socket_folder(&all.path().join(&name));
            let _ = all.remove_all(&name);
        }
    }
}
