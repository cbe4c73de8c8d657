//! The results file: opening, migrating, and its life as one writer and many readers.

mod migrate;
mod query;
mod read;
mod write;

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use read::{ExperimentSummary, RunKey, StoredExperiment};

use crate::error::StoreError;

/// Number of an experiment in a results file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExperimentId(pub i64);

/// How long a statement waits for another program's lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open results file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the file for writing, making it (mode 0600) or migrating it first if need be.
    ///
    /// # Errors
    /// When it is something else, newer, locked, or cannot be written.
    pub fn create_or_open(path: &Path) -> Result<Self, StoreError> {
        let unusable = |error: std::io::Error| StoreError::from_io(path, &error);
        // SQLite gives its companions (-wal, -shm) the rights of the file itself.
        let mut options = std::fs::OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(false).mode(0o600).open(path).map_err(unusable)?;
        let metadata = file.metadata().map_err(unusable)?;
        if metadata.permissions().mode() & 0o077 != 0 {
            // Not ours to narrow? Then whoever owns it has decided.
            let _ = file.set_permissions(std::fs::Permissions::from_mode(0o600));
        }
        let mut store = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        store.set_up()?;
        Ok(store)
    }

    /// Opens an existing file for reading; a running experiment may write to it meanwhile.
    ///
    /// # Errors
    /// When it is absent, something else, newer, or damaged.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent { path: path.to_owned() });
        }
        // Reading a file in WAL mode needs its companions, which a reader may have to make.
        let store = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY))?;
        match migrate::version(&store.connection, path)? {
            migrate::NEWEST => {}
            found if found > migrate::NEWEST => {
                return Err(StoreError::Newer { path: path.to_owned(), found, known: migrate::NEWEST });
            }
            0 => return Err(StoreError::NotResults { path: path.to_owned() }),
            _ => return Self::create_or_open(path).and_then(Self::reading),
        }
        migrate::refuse_foreign(&store.connection, path)?;
        store.reading()
    }

    fn open(path: &Path, access: OpenFlags) -> Result<Self, StoreError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| StoreError::from_sqlite(path, &error))?;
        connection.busy_timeout(PATIENCE).map_err(|error| StoreError::from_sqlite(path, &error))?;
        Ok(Self { connection, path: path.to_owned() })
    }

    fn set_up(&mut self) -> Result<(), StoreError> {
        migrate::refuse_foreign(&self.connection, &self.path)?;
        let found = migrate::version(&self.connection, &self.path)?;
        if found > migrate::NEWEST {
            return Err(StoreError::Newer { path: self.path.clone(), found, known: migrate::NEWEST });
        }
        self.sql("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
        migrate::to_newest(&mut self.connection, &self.path)
    }

    fn reading(self) -> Result<Self, StoreError> {
        self.sql("PRAGMA query_only = ON;")?;
        Ok(self)
    }

    fn sql(&self, text: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(text).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests;
