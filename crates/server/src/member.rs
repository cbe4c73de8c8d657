//! Common parts of servers that only one pgdyno uses (Redis, poolers, replicas, tile servers): private folders, a
//! socket with a short path, a log, a watchdog. They store nothing, so everything is removed with them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use spec::{Class, Error};

use crate::child::{Account, Child, Program, Watchdog};
use crate::error::file_error;
use crate::home::{
    Dir, Home, HomeFolder, Readable, cannot_use, passed_through, remove_socket_folder, socket_folder,
};
use crate::secrets::Secrets;
use crate::stop::Stop;

/// Timeout of the first answer.
const START_BOUND: Duration = Duration::from_secs(10);
/// File of its output.
const LOG: &str = "log";
/// Its own working folder.
const WORK: &str = "data";
const QUOTED_LINES: usize = 4;

/// The folders of one member: for its files, for its own output and, short enough, for its socket. Removed
/// with this value.
#[derive(Debug)]
pub(crate) struct Folders {
    /// All members of its kind.
    all: Dir,
    /// Ours: its input and its log.
    dir: Dir,
    /// Its own working folder.
    pub(crate) work: PathBuf,
    pub(crate) sockets: PathBuf,
    account: Option<Account>,
}

impl Folders {
    /// Makes the folders of a new member in a part of the home, and removes those that dead pgdynos left
    /// there.
    pub(crate) fn make(
        home: &Home,
        part: HomeFolder,
        longest_socket_name: &str,
        account: Option<&Account>,
    ) -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = home.make_part(part, account)?;
        remove_dead_in(&all);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let failed = |source| cannot_use(&all.path().join(&name), source);
        let dir = all.make(&name, passed_through(account.is_some())).map_err(failed)?;
        let work = dir.make_for(WORK, account).map_err(failed)?.path().to_owned();
        let sockets = socket_folder(dir.path(), longest_socket_name, account)?;
        Ok(Self { all, dir, work, sockets, account: account.cloned() })
    }

    pub(crate) fn files(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file that only we and the member's account can read.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.files().join(name);
        let file = self.dir.create(name, Readable::By(self.account.as_ref()));
        match file.and_then(|mut file| file.write_all(content)) {
            Ok(()) => Ok(path),
            Err(source) => Err(file_error(&path, source)),
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // Folders that cannot be removed now are found next time.
        remove_socket_folder(self.files());
        let _ = self.files().file_name().map(|name| self.all.remove_all(name));
    }
}

/// A member in use; dropping it stops it and removes its folders.
#[derive(Debug)]
pub(crate) struct Member {
    name: &'static str,
    child: Child,
    folders: Folders,
    secrets: Secrets,
}

impl Member {
    /// Starts it under a watchdog, which removes its folders if pgdyno is killed. Its output goes to its log;
    /// messages that quote the log hide the secrets.
    pub(crate) fn start(
        (name, secrets): (&'static str, Secrets),
        program: Program,
        folders: Folders,
        watchdog: &Watchdog,
    ) -> Result<Self, Error> {
        let file = folders.dir.create(LOG, Readable::ByUs);
        let file = file.map_err(|source| file_error(&folders.files().join(LOG), source))?;
        let program = program.leaving([folders.files(), &folders.sockets]);
        let child = watchdog.start(&program, &file)?;
        Ok(Self { name, child, folders, secrets })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Its own working folder, open; `None` if it is not there.
    pub(crate) fn work(&self) -> Option<Dir> {
        self.folders.dir.open_for(WORK, self.folders.account.as_ref()).ok().flatten()
    }

    pub(crate) fn sockets(&self) -> &Path {
        &self.folders.sockets
    }

    /// Checks that it still runs.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.child.wait(Duration::ZERO)?.map_or(Ok(()), |ended| {
            let what = format!("{} died ({ended}): {}", self.name, self.last_lines());
            Err(Error::new(Class::Unreachable, what))
        })
    }

    /// Checks that it still runs while it starts.
    pub(crate) fn check_start(&mut self) -> Result<(), Error> {
        self.child.wait(Duration::ZERO)?.map_or(Ok(()), |_| Err(self.not_started(&self.last_lines())))
    }

    pub(crate) fn not_started(&self, why: &str) -> Error {
        not_started(self.name, why)
    }

    pub(crate) fn await_ready(&mut self, stop: &Stop, answers: impl Fn() -> bool) -> Result<(), Error> {
        self.await_ready_within(START_BOUND, stop, |_| answers())
    }

    /// As [`Self::await_ready`], with this timeout.
    pub(crate) fn await_ready_within(
        &mut self,
        bound: Duration,
        stop: &Stop,
        answers: impl Fn(&Self) -> bool,
    ) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            self.check_start()?;
            if answers(self) {
                return Ok(());
            }
            if stop.at_once() {
                return Err(Error::stopped());
            }
            if start.elapsed() > bound {
                let log = self.last_lines();
                let quoted = if log.is_empty() { String::new() } else { format!(": {log}") };
                return Err(self.not_started(&format!("no answer within {} s{quoted}", bound.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn last_lines(&self) -> String {
        let text = self.log_text();
        // Indented lines belong to others: positions inside the program.
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with(char::is_whitespace)).collect();
        self.secrets.hidden(&lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n"))
    }

    /// Its whole log, if not too long.
    pub(crate) fn log_text(&self) -> String {
        let bytes = self.folders.dir.read(LOG).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A member that does not stop is ended by its watchdog.
        let _ = self.child.stop();
    }
}

pub(crate) fn not_started(name: &str, why: &str) -> Error {
    Error::new(Class::Child, format!("{name} did not start: {why}"))
}

/// The first of these programs that is installed.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/sbin", "/usr/local/sbin"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual.map(PathBuf::from)).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// Removes what members of dead pgdynos left and their watchdogs could not remove.
pub fn remove_dead_members(home: &Home) {
    for part in [HomeFolder::Redis, HomeFolder::Poolers, HomeFolder::Replicas, HomeFolder::TileServers] {
        if let Ok(Some(all)) = home.part(part) {
            remove_dead_in(&all);
        }
    }
}

fn remove_dead_in(all: &Dir) {
    for name in all.names().unwrap_or_default() {
        let pid = name.to_str().and_then(|name| name.split('-').next()).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !crate::host::proc::is_alive(pid)) {
            // The folder goes last: the rest of an interrupted removal can then still be found.
            remove_socket_folder(&all.path().join(&name));
            let _ = all.remove_all(&name);
        }
    }
}
