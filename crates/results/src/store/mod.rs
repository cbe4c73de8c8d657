//! The results file: creating and opening it; one program writes to it, many read it.

mod copy;
mod course;
mod earlier;
mod facts;
mod gates;
mod hosts;
mod import;
mod lock;
mod merge;
mod parts;
mod plans;
mod query;
mod read;
mod rows;
mod run;
mod runs;
mod schema;
mod texts;
mod tiles;
mod write;

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

pub use course::Course;
pub use earlier::Earlier;
pub use import::{Collection, Imported, KnownRun, StoredRun};
pub use lock::ExperimentLock;
pub use merge::{Merged, MergedExperiment, merge};
pub use runs::{Distributions, RunParts, Samples};
pub use tiles::{StoredTile, TileCounts, TilesOf};

use spec::{Error, ExperimentRecord, Host, MeasuredTarget, Run, written};

use self::schema::SchemaState;
use crate::error::{absent, from_io, from_sqlite, is_locked, not_results, unusable};
use crate::spool::Spool;

/// Longest file without a table, bytes: two pages of SQLite.
const BEGINNING: u64 = 8192;

/// Number of an experiment in a results file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExperimentId(pub i64);

/// A line of the list of experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentSummary {
    pub id: ExperimentId,
    pub name: String,
    pub question: String,
    pub hash: String,
    pub created_at: String,
    pub runs: u64,
    /// Number of its last run; `None` without runs.
    pub last_run: Option<i64>,
}

/// An experiment with its host and target.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredExperiment {
    pub id: ExperimentId,
    pub experiment: ExperimentRecord,
    pub host: Host,
    pub target: MeasuredTarget,
}

/// A run that is ready to be stored.
#[derive(Debug, Clone)]
pub struct Finished {
    pub run: Run,
    /// Response times of its seconds; they are read back with SQL only.
    pub seconds: Spool,
}

type Sqlite<T> = Result<T, rusqlite::Error>;

/// `hist.start_us` of a histogram over the whole run.
const WHOLE_RUN: i64 = -1;

/// How long a file may be without a table while another program creates it.
const BEING_MADE: Duration = Duration::from_secs(1);

const PATIENCE: Duration = Duration::from_secs(10);

/// An open results file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that was opened.
    opened: Option<FileId>,
    /// After the connection, so that this is dropped once it is closed.
    made_companions: Option<Companions>,
    /// Likewise.
    written_log: Option<WrittenLog>,
}

/// The log that was written to. If the file was removed or replaced meanwhile, SQLite leaves it there, and would write
/// it into the next file of that name.
#[derive(Debug)]
struct WrittenLog {
    of: PathBuf,
    opened: Option<FileId>,
    /// Each with its file.
    log: Vec<(PathBuf, FileId)>,
}

impl WrittenLog {
    fn of(path: &Path, opened: Option<FileId>) -> Self {
        let log = ["-wal", "-shm"].map(|ending| companion(path, ending)).into_iter();
        let log = log.filter_map(|log| FileId::of(&log).map(|id| (log, id))).collect();
        Self { of: path.to_owned(), opened, log }
    }
}

impl Drop for WrittenLog {
    fn drop(&mut self) {
        if FileId::of(&self.of) == self.opened {
            return;
        }
        for (log, id) in &self.log {
            if FileId::of(log) == Some(*id) {
                let _ = std::fs::remove_file(log);
            }
        }
    }
}

/// The log and its index (`-wal`, `-shm`) that SQLite creates next to a file to read it, and that a
/// read-only connection leaves behind.
#[derive(Debug)]
struct Companions {
    of: PathBuf,
}

impl Drop for Companions {
    /// The last connection that may write removes them; the log is empty. If another program has opened the
    /// file, they stay.
    fn drop(&mut self) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let Ok(found) = std::fs::metadata(&self.of) else { return };
        if refuse_companions_of_others(&self.of, &found).is_ok()
            && refuse_journal(&self.of).is_ok()
            && let Ok(real) = self.of.canonicalize()
            && let Ok(connection) = Connection::open_with_flags(real, flags)
        {
            let _ = SchemaState::of(&connection, &self.of);
        }
    }
}

impl Store {
    /// Opens the file for writing, and creates it first (mode 0600) if it does not exist. An opened file is
    /// writable, as far as writing a little can show.
    ///
    /// # Errors
    /// When it is another file, of another version, locked, or cannot be written.
    pub fn create_or_open(path: &Path) -> Result<Self, Error> {
        let is_new = std::fs::symlink_metadata(path).is_err();
        let opened = Self::create(path);
        // A beginning that a full disk cut off would be refused as another file for ever.
        if is_new && opened.is_err() && std::fs::metadata(path).is_ok_and(|found| found.len() <= BEGINNING) {
            let _ = std::fs::remove_file(path);
        }
        opened
    }

    fn create(path: &Path) -> Result<Self, Error> {
        make_private(path).map_err(|error| from_io(path, &error))?;
        let mut store = Self::open_to_write(path)?;
        match SchemaState::of(&store.connection, path)? {
            SchemaState::Empty => schema::make(&mut store.connection, path),
            _ => store.without_waiting(|store| store.try_writing()),
        }?;
        store.written_log = Some(WrittenLog::of(path, store.opened));
        Ok(store)
    }

    /// Opens an existing file for writing; a new one is still empty.
    fn open_to_write(path: &Path) -> Result<Self, Error> {
        let found = std::fs::metadata(path).map_err(|error| from_io(path, &error))?;
        refuse_other_than_file(path, &found)?;
        refuse_companions_of_others(path, &found)?;
        let store = Self::open(path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        SchemaState::of(&store.connection, path)?.check(path)?;
        schema::refuse_additions(&store.connection, path)?;
        store.use_log()?;
        store.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
        Ok(store)
    }

    /// Does what is to be stored with something that comes next, without waiting for the disk: the next write outside
    /// of it, or closing the file, waits for both. A killed program loses nothing, a lost machine what would be of no
    /// use alone.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn without_waiting<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.execute("PRAGMA synchronous = NORMAL")?;
        let written = write(self);
        self.execute("PRAGMA synchronous = FULL")?;
        written
    }

    /// Checks whether results can be stored in the file, without leaving traces: a missing file is not
    /// created. A failure should be known before the work.
    ///
    /// # Errors
    /// As [`Store::create_or_open`].
    pub fn try_out(path: &Path) -> Result<(), Error> {
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                crate::spool::try_out(path).map_err(|error| from_io(path, &error))
            }
            _ => {
                let mut store = Self::open_to_write(path)?;
                store.written_log = Some(WrittenLog::of(path, store.opened));
                if SchemaState::of(&store.connection, path)? != SchemaState::Empty {
                    store.check_writable()?;
                }
                // A write into the file would wait for the disk three times.
                crate::spool::try_out(path).map_err(|error| from_io(path, &error))
            }
        }
    }

    /// The same check without writing to an existing file.
    ///
    /// # Errors
    /// When it is another file, of another version, or not writable.
    pub fn check_usable(path: &Path) -> Result<(), Error> {
        match Self::open_if_there(path)? {
            None => Self::try_out(path),
            Some(_) => {
                let opened = std::fs::OpenOptions::new().write(true).open(path);
                opened.map(drop).map_err(|error| from_io(path, &error))
            }
        }
    }

    /// Opens an existing file for reading; a running experiment may write to it meanwhile. The file itself
    /// is never written.
    ///
    /// # Errors
    /// When it is absent, another file, of another version, damaged, or has views or triggers that pgdyno
    /// did not create.
    pub fn open_read_only(path: &Path) -> Result<Self, Error> {
        Self::open_if_there(path)?.ok_or_else(|| absent(path))
    }

    /// Opens a file for reading; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Store::open_read_only`].
    pub fn open_if_there(path: &Path) -> Result<Option<Self>, Error> {
        if std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let (store, mut state) = Self::open_existing(path)?;
        let start = Instant::now();
        // Another program may be creating it: it exists before its tables.
        while state == SchemaState::Empty && start.elapsed() < BEING_MADE {
            std::thread::sleep(Duration::from_millis(10));
            state = SchemaState::of(&store.connection, path)?;
        }
        if state == SchemaState::Empty {
            return Err(not_results(path));
        }
        state.check(path)?;
        schema::refuse_additions(&store.connection, path)?;
        store.execute("PRAGMA query_only = ON;")?;
        Ok(Some(store))
    }

    /// Opens any file for reading only, unless another user could have put files next to it that SQLite
    /// would apply to it.
    fn open_existing(path: &Path) -> Result<(Self, SchemaState), Error> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(absent(path));
            }
            Err(error) => return Err(from_io(path, &error)),
            Ok(found) => {
                refuse_other_than_file(path, &found)?;
                refuse_companions_of_others(path, &found)?;
            }
        }
        refuse_journal(path)?;
        Self::open_unchanged(path)
    }

    /// Opens a file for reading only. SQLite creates companions for that, which are removed again.
    fn open_unchanged(path: &Path) -> Result<(Self, SchemaState), Error> {
        // Companions owned by this user would keep the file's owner from writing.
        if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err()
            && let Some(opened) = Self::open_unwritable(path)
        {
            return opened;
        }
        let has_companion = ["-wal", "-shm"].iter().any(|suffix| companion(path, suffix).exists());
        let (mut store, state) =
            Self::open_with_state(path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_ONLY)
                .or_else(|error| Self::open_unwritable(path).unwrap_or(Err(error)))?;
        store.made_companions = (!has_companion).then(|| Companions { of: path.to_owned() });
        Ok((store, state))
    }

    /// Opens a file in a folder without write permission, where no companions can be created: as an
    /// immutable file. `None` if there is a log with runs that the file itself lacks.
    fn open_unwritable(path: &Path) -> Option<Result<(Self, SchemaState), Error>> {
        if std::fs::metadata(companion(path, "-wal")).is_ok_and(|log| log.len() > 0) {
            return None;
        }
        let real = path.canonicalize().ok()?;
        let escaped = real.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let address = format!("file:{escaped}?immutable=1");
        let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Some(Self::open_with_state(path, address.as_ref(), access))
    }

    /// Opens it and reads its state, since only the first read shows whether that works.
    fn open_with_state(
        path: &Path,
        address: &OsStr,
        access: OpenFlags,
    ) -> Result<(Self, SchemaState), Error> {
        let store = Self::open(path, address, access)?;
        let state = SchemaState::of(&store.connection, path)?;
        Ok((store, state))
    }

    fn open(path: &Path, address: &OsStr, access: OpenFlags) -> Result<Self, Error> {
        let place = written::resolve(path).map_err(|error| from_io(path, &error))?;
        // Links were resolved; another one can only have been put there since.
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let address = if address == path.as_os_str() { place.as_os_str() } else { address };
        let connection = Connection::open_with_flags(Path::new(address), flags)
            .map_err(|error| from_sqlite(path, &error))?;
        connection
            .busy_timeout(PATIENCE)
            .and_then(|()| schema::distrust(&connection))
            .map_err(|error| from_sqlite(path, &error))?;
        let opened = FileId::of(path);
        Ok(Self { connection, path: path.to_owned(), opened, made_companions: None, written_log: None })
    }

    /// Checks that the path still leads to the opened file: writes to a removed file are lost.
    fn check_in_place(&self) -> Result<(), Error> {
        match self.opened.is_none() || self.opened == FileId::of(&self.path) {
            true => Ok(()),
            false => Err(FileId::gone(&self.path)),
        }
    }

    /// Writes existing content: SQLite opens read-only files without an error, and a full disk or another
    /// program's lock shows only on writing.
    fn try_writing(&self) -> Result<(), Error> {
        self.execute("BEGIN IMMEDIATE; UPDATE meta SET value = value WHERE name = 'file_uuid'; COMMIT")
            .inspect_err(|_| {
                // Nothing may be under way where this failed.
                let _ = self.execute("ROLLBACK");
            })
    }

    /// Switches to WAL mode. SQLite does not wait for locks here, so two programs that create a file at
    /// once have to.
    fn use_log(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.connection.execute_batch("PRAGMA journal_mode = WAL") {
                Err(error) if is_locked(&error) && start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                outcome => return outcome.map_err(|error| self.error(&error)),
            }
        }
    }

    fn execute(&self, text: &str) -> Result<(), Error> {
        self.connection.execute_batch(text).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &rusqlite::Error) -> Error {
        from_sqlite(&self.path, error)
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates an empty file with owner-only permissions if there is none; SQLite gives its companions (-wal,
/// -shm) the same permissions.
///
/// Never opens an existing file: closing it would drop the locks that a [`Store`] of this process holds on
/// it, and the next program to leave the file would then delete the log while it is in use.
fn make_private(path: &Path) -> std::io::Result<()> {
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // The file's creator has decided who may read it.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// SQLite writes the content of a journal or log next to a file into it. So their owner must be the owner
/// of the file: in a folder that all users can write to, any user can put them there.
fn refuse_companions_of_others(path: &Path, results: &std::fs::Metadata) -> Result<(), Error> {
    let us = rustix::process::geteuid().as_raw();
    for suffix in ["-journal", "-wal", "-shm"] {
        let companion = companion(path, suffix);
        let Ok(found) = companion.symlink_metadata() else { continue };
        // A journal also names files that are removed with it.
        let owners = [if suffix == "-journal" { us } else { results.uid() }, us, 0];
        if !found.is_file() || found.nlink() > 1 || !owners.contains(&found.uid()) {
            let detail = format!(
                "{} would be written into it, and is not a file of its owner; look where it comes from and remove it",
                companion.display()
            );
            return Err(unusable(path, &detail));
        }
    }
    Ok(())
}

/// SQLite applies a rollback journal to its file, even for a reader. pgdyno uses a log (`-wal`) instead,
/// and has a journal only while it creates a file.
fn refuse_journal(path: &Path) -> Result<(), Error> {
    let journal = companion(path, "-journal");
    let start = Instant::now();
    while journal.symlink_metadata().is_ok() {
        if start.elapsed() >= BEING_MADE {
            let detail = format!(
                "the journal {} would be applied to it; if a pgdyno was killed while it made the file, run the same command \
                 again, else look where the journal comes from and remove it",
                journal.display()
            );
            return Err(unusable(path, &detail));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A file that SQLite keeps next to the results, with links resolved.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(suffix);
    name.into()
}

fn refuse_other_than_file(path: &Path, found: &std::fs::Metadata) -> Result<(), Error> {
    let what = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a folder",
        _ => "it is a device or a pipe",
    };
    Err(unusable(path, what))
}

/// Which file a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// `None` if there is no such file.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::of_metadata)
    }

    fn of_metadata(found: &std::fs::Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }

    /// The error if the path leads to another file than before.
    #[must_use]
    pub fn gone(path: &Path) -> Error {
        unusable(path, "it was removed or replaced by another file in the meantime")
    }
}

#[cfg(test)]
mod tests;
