//! Errors of managed servers, and what to try.

use std::io;
use std::path::Path;

use spec::{Class, Error, is_disk_full};

use crate::error::file_error;

/// An error of a file in the server's folder, or of a full disk.
pub(super) fn server_file_error(path: &Path, source: io::Error) -> Error {
    if is_disk_full(&source) {
        disk_full(path, &source.to_string()).because(source)
    } else {
        file_error(path, source)
    }
}

/// The disk of a server's folder is full, according to the server or the system.
pub(super) fn disk_full(folder: &Path, line: &str) -> Error {
    let folder = folder.display();
    let try_this = "make room, or set PGDYNO_HOME to a folder on another disk";
    Error::new(Class::Io, format!("the disk under {folder} is full: {line}; {try_this}"))
}

pub(super) fn storage_full(folder: &Path, line: &str) -> Error {
    let what = format!(
        "the storage of the server's files, {}, is full: {line}; ask for a larger one (size = \"…\" in [storage.NAME]), or \
         make room there",
        folder.display()
    );
    Error::new(Class::Io, what)
}

pub(super) fn not_ours(folder: &Path) -> Error {
    let what = format!(
        "{} is not pgdyno's (its marker is missing); it is left alone: remove the folder if nobody needs it",
        folder.display()
    );
    Error::new(Class::Usage, what)
}

pub(super) fn not_found(name: &str) -> Error {
    let hint = format!("make it with: pgdyno target start {}", spec::shell::word(name));
    Error::new(Class::Usage, format!("managed server {name:?} does not exist")).with_hint(hint)
}

/// Another pgdyno uses it; its pid, if known.
pub(super) fn in_use(name: &str, pid: Option<u32>) -> Error {
    let by = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    let what = format!("managed server {name:?} is in use by another pgdyno{by}");
    Error::new(Class::Refused, what).with_hint("wait for it, or use another name")
}

pub(super) fn other_version(name: &str, made_by: u32, asked: u32) -> Error {
    let what =
        format!("managed server {name:?} holds data of PostgreSQL {made_by}, but {asked} is asked for");
    let hint = format!("use another name, or remove it: pgdyno target destroy {}", spec::shell::word(name));
    Error::new(Class::Usage, what).with_hint(hint)
}

/// Whether a server did not start since its data were made by programs with another catalog. It names the constant in
/// every language.
pub(super) fn is_of_other_catalog(error: &Error) -> bool {
    let lines = error.cause::<LastLines>().map(|LastLines(lines)| lines.as_str()).unwrap_or_default();
    lines.contains("CATALOG_VERSION_NO") || lines.contains("PG_CONTROL_VERSION")
}

pub(super) fn other_catalog(name: &str, bin: &Path) -> Error {
    let what = format!(
        "managed server {name:?} holds data whose catalog version differs from the programs in {}",
        bin.display()
    );
    let hint = format!(
        "use another name; or keep the data with pg_dump by the programs that made them, and remove it: pgdyno target destroy {}",
        spec::shell::word(name)
    );
    Error::new(Class::Usage, what).with_hint(hint)
}

pub(super) fn would_not_stop(pid: u32) -> Error {
    Error::new(Class::Child, format!("the server (pid {pid}) does not stop"))
}

/// Its files do not contain all data, so they cannot be copied.
pub(super) fn not_clean(data: &Path) -> Error {
    let what = format!("the server of {} was not stopped cleanly, so it cannot be copied", data.display());
    Error::new(Class::Child, what)
}

/// The last lines of the log of a server that did not start.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LastLines(pub(crate) String);

pub(super) fn advice(extension: &str, major: u32) -> String {
    let package = match extension {
        name if name.starts_with("postgis") || name == "address_standardizer" => {
            format!("install it (Debian, Ubuntu: apt install postgresql-{major}-postgis-3)")
        }
        "hstore" | "pg_stat_statements" | "pg_buffercache" | "pg_prewarm" | "pgcrypto" | "pgstattuple"
        | "btree_gist" => {
            "install the contrib modules (Debian: part of postgresql; Fedora, RHEL: postgresql-contrib)"
                .to_owned()
        }
        name => format!(
            "install it (Debian, Ubuntu: try apt install postgresql-{major}-{})",
            name.replace('_', "-")
        ),
    };
    format!("{package}, then run the same command again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_try() {
        assert!(advice("postgis", 15).contains("apt install postgresql-15-postgis-3"));
        let held = in_use("main", Some(7)).to_string();
        assert!(held.contains("(pid 7)"), "{held}");
        let full = server_file_error(Path::new("/x"), io::ErrorKind::StorageFull.into()).to_string();
        assert!(full.starts_with("the disk under /x is full: "), "{full}");
    }
}
