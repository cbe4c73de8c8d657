//! Why a results file cannot be used: which file, what is wrong, what to try.

use std::path::{Path, PathBuf};

use record::shell::Command;

/// Why a results file cannot be used, or a question cannot be answered from it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: no results file there; name one with --results, or run something first", path.display())]
    Absent { path: PathBuf },
    #[error("{}: not a results file of pgdyno", path.display())]
    NotResults { path: PathBuf },
    #[error(
        "{}: written by a newer pgdyno (schema {found}, this one knows {known}); use that version, or another file",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The newest version this build knows.
        known: u32,
    },
    /// Made with the last schema before the present one.
    #[error(
        "{}: made by an earlier build of pgdyno; copy its experiments into a new results file: {}",
        path.display(), take_over(path)
    )]
    Earlier { path: PathBuf },
    /// Made with a schema that is not read any more.
    #[error("{}: made by a build of pgdyno that is too old (schema {found}); read it with that build", path.display())]
    TooOld { path: PathBuf, found: u32 },
    /// No space is left for it.
    #[error("{}: the disk is full; nothing stored before is lost, free some space and go on", path.display())]
    Full { path: PathBuf },
    /// It has a view, trigger or the like that pgdyno did not make.
    #[error(
        "{}: {kind} {name:?} was not made by pgdyno, and would run when the file is used; if it is yours, drop it, and keep \
         it in another database that attaches this file",
        path.display()
    )]
    Addition {
        path: PathBuf,
        /// `view`, `trigger`, `index`, `table`, or `object`.
        kind: &'static str,
        name: String,
    },
    /// A query of the user needs more than it may.
    #[error("the query {what} more than {}; select less, or raise the limit with --max-size", record::bytes(*limit))]
    TooMuch {
        /// Such as `returns`.
        what: &'static str,
        /// In bytes.
        limit: u64,
    },
    #[error("{}: locked by another program; wait for it, or use another file", path.display())]
    Locked { path: PathBuf },
    /// Another pgdyno measures the same experiment into it.
    #[error(
        "{}: another pgdyno{} measures the same experiment into this file, and both would be under each other's load; \
         wait for it or end it with Ctrl-C, then the same command goes on; or name another file with --results",
        path.display(), pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse { path: PathBuf, pid: Option<u32> },
    #[error("{}: cannot be opened or written: {detail}", path.display())]
    Unusable { path: PathBuf, detail: String },
    /// A statement of the user is not one that only reads, or is wrong.
    #[error("{message}")]
    Query { message: String },
    /// No experiment of that number or name.
    #[error("{}: no experiment {wanted}; there are: {}", path.display(), if known.is_empty() { "none" } else { known })]
    NoExperiment { path: PathBuf, wanted: String, known: String },
    /// Stored content that cannot be read back.
    #[error("{}: damaged: {detail}", path.display())]
    Damaged { path: PathBuf, detail: String },
}

/// The command that reads a file of an earlier build. It leaves that file unchanged.
fn take_over(path: &Path) -> Command {
    Command::new("import").path(&path.to_string_lossy()).option("--results", "new.sqlite")
}

impl StoreError {
    /// Sorts an error of the operating system.
    pub(crate) fn from_io(path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full { path: path.to_owned() },
            std::io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).display();
                let detail = match path.is_symlink() {
                    true => "it is a link to a file that does not exist; remove the link".to_owned(),
                    false => {
                        format!("there is no folder {folder}; make it, or name another file with --results")
                    }
                };
                Self::Unusable { path: path.to_owned(), detail }
            }
            _ => Self::Unusable { path: path.to_owned(), detail: error.to_string() },
        }
    }

    /// Sorts an SQLite error.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        // A full disk met while making the index of the log is an I/O error to SQLite.
        if error.sqlite_error().is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return Self::Full { path };
        }
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::Full { path },
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked { path },
            Some(Code::NotADatabase) => Self::NotResults { path },
            Some(Code::ReadOnly) => {
                let detail = "only for reading; look at the rights of the file and its folder, or name another file with --results".into();
                Self::Unusable { path, detail }
            }
            Some(Code::CannotOpen) => Self::Unusable {
                path,
                detail: "look at the rights of the file and its folder, or name another file with --results"
                    .into(),
            },
            Some(Code::SystemIoFailure) => {
                let detail =
                    format!("{error}; look at the disk, and at limits of the size of files (ulimit -f)");
                Self::Unusable { path, detail }
            }
            Some(Code::DatabaseCorrupt) => Self::Damaged { path, detail: error.to_string() },
            _ => Self::Unusable { path, detail: error.to_string() },
        }
    }
}
