//! Why a results file cannot be used: which file, what is wrong, what to try.

use std::path::Path;

use rusqlite::ErrorCode as Code;
use spec::shell::PrintedCommand;
use spec::{Class, Error, is_disk_full};

fn of_file(class: Class, path: &Path, what: &str) -> Error {
    Error::new(class, format!("{}: {what}", path.display()))
}

pub(crate) fn absent(path: &Path) -> Error {
    let what = "no results file there; name one with --results, or run something first";
    of_file(Class::BadInput, path, what)
}

pub(crate) fn not_results(path: &Path) -> Error {
    of_file(Class::BadInput, path, "not a results file of pgdyno")
}

pub(crate) fn newer(path: &Path, found: u32, known: u32) -> Error {
    let what = format!(
        "written by a newer pgdyno (schema {found}, this one knows {known}); use that version, or another file"
    );
    of_file(Class::BadInput, path, &what)
}

/// Made with the last schema before the present one: it can be copied into a new file, and stays unchanged.
pub(crate) fn earlier(path: &Path) -> Error {
    let copy = PrintedCommand::new("import").path(&path.to_string_lossy()).option("--results", "new.sqlite");
    let what =
        format!("made by an earlier build of pgdyno; copy its experiments into a new results file: {copy}");
    of_file(Class::BadInput, path, &what)
}

pub(crate) fn too_old(path: &Path, found: u32) -> Error {
    let what = format!("made by a build of pgdyno that is too old (schema {found}); read it with that build");
    of_file(Class::BadInput, path, &what)
}

pub(crate) fn damaged(path: &Path, detail: &dyn std::fmt::Display) -> Error {
    of_file(Class::BadInput, path, &format!("damaged: {detail}"))
}

pub(crate) fn unusable(path: &Path, detail: &str) -> Error {
    of_file(Class::Io, path, &format!("cannot be opened or written: {detail}"))
}

fn full(path: &Path) -> Error {
    let what = "the disk is full; nothing stored before is lost, free some space and go on";
    of_file(Class::Io, path, what)
}

pub(crate) fn no_experiment(path: &Path, wanted: &str, known: &str) -> Error {
    let known = if known.is_empty() { "none" } else { known };
    of_file(Class::Usage, path, &format!("no experiment {wanted}; there are: {known}"))
}

pub(crate) fn from_io(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        _ if is_disk_full(error) => full(path),
        std::io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).display();
            let detail = match path.is_symlink() {
                true => "it is a link to a file that does not exist; remove the link".to_owned(),
                false => format!("there is no folder {folder}; make it, or name another file with --results"),
            };
            unusable(path, &detail)
        }
        _ => unusable(path, &error.to_string()),
    }
}

pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Error {
    // SQLite reports a full disk while creating the log's index as an I/O error.
    if error.sqlite_error().is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
        return full(path);
    }
    match error.sqlite_error_code() {
        Some(Code::DiskFull) => full(path),
        _ if is_locked(error) => {
            of_file(Class::Io, path, "locked by another program; wait for it, or use another file")
        }
        Some(Code::NotADatabase) => not_results(path),
        Some(Code::ReadOnly) => {
            let detail = "only for reading; look at the rights of the file and its folder, or name another file with --results";
            unusable(path, detail)
        }
        Some(Code::CannotOpen) => {
            let detail = "look at the rights of the file and its folder, or name another file with --results";
            unusable(path, detail)
        }
        Some(Code::SystemIoFailure) => {
            let detail = format!("{error}; look at the disk, and at limits of the size of files (ulimit -f)");
            unusable(path, &detail)
        }
        Some(Code::DatabaseCorrupt) => damaged(path, error),
        _ => unusable(path, &error.to_string()),
    }
}

pub(crate) fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(Code::DatabaseBusy | Code::DatabaseLocked))
}
