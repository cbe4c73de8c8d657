//! pgdyno's own files: managed servers, the journal of changed settings, sockets, results.
//!
//! Pure functions over the environment decide the paths. We own everything except what a server must write,
//! and use nothing that others can change (`trust`); files are opened by descriptor ([`Dir`]).
//! docs/decisions/0030.

mod dir;
mod folders;
mod socket;
mod trust;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use spec::{Class, Error};

pub use dir::{Dir, Readable};
pub(crate) use dir::{DirEntry, give};
pub(crate) use folders::passed_through;
pub use folders::{Home, HomeFolder};
pub(crate) use socket::{is_socket_folder_of, remove_socket_folder};
pub use socket::{remove_empty_socket_folders, socket_folder};
pub use trust::Distrust;

/// A folder of ours cannot be used.
#[must_use]
pub fn cannot_use(folder: &Path, source: io::Error) -> Error {
    let what = format!("cannot use folder {}: {source}; set PGDYNO_HOME to another one", folder.display());
    Error::new(Class::Io, what).because(source)
}

/// Neither `$PGDYNO_HOME`, `$XDG_DATA_HOME` nor `$HOME` is set.
pub(crate) fn no_home() -> Error {
    Error::new(Class::Io, "no place for data: set PGDYNO_HOME to a folder that pgdyno may use")
}

/// Path of the results file: the given one, otherwise `$PGDYNO_RESULTS`, otherwise `pgdyno.sqlite` in the
/// current folder.
#[must_use]
pub fn results_path(asked: Option<&Path>) -> PathBuf {
    results_path_in(asked, std::env::var_os("PGDYNO_RESULTS"))
}

/// The option that a command needs to read this results file: empty for the default, else ` --results FILE`.
#[must_use]
pub fn results_option(path: &Path) -> String {
    match path == results_path(None) {
        true => String::new(),
        false => format!(" --results {}", spec::shell::word(&path.to_string_lossy())),
    }
}

fn results_path_in(asked: Option<&Path>, environment: Option<OsString>) -> PathBuf {
    match (asked, environment) {
        (Some(path), _) => path.to_owned(),
        (None, Some(path)) if !path.is_empty() => path.into(),
        _ => PathBuf::from("pgdyno.sqlite"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_path_prefers_what_was_asked() {
        let cases = [
            (Some("a.sqlite"), Some("b.sqlite"), "a.sqlite"),
            (None, Some("b.sqlite"), "b.sqlite"),
            (None, Some(""), "pgdyno.sqlite"),
            (None, None, "pgdyno.sqlite"),
        ];
        for (asked, environment, wanted) in cases {
            let path = results_path_in(asked.map(Path::new), environment.map(OsString::from));
            assert_eq!(path, Path::new(wanted), "{asked:?} {environment:?}");
        }
    }
}
