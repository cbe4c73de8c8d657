//! Where pgdyno keeps what it owns: managed servers, the journal of changed settings, sockets, results.
//!
//! Paths are decided by pure functions over the environment; folders are made with the narrowest rights that
//! let the server's account in.

mod folders;
mod socket;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use folders::Home;
pub(crate) use folders::reachable;
pub(crate) use socket::remove_socket_folder;
pub use socket::{remove_empty_socket_folders, socket_folder};

use crate::child::Account;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Neither `$PGDYNO_HOME`, `$XDG_DATA_HOME` nor `$HOME` says where to keep data.
    #[error("no place for data: set PGDYNO_HOME to a folder that pgdyno may use")]
    NoHome,
    /// A folder could not be made or read.
    #[error("cannot use folder {}: {source}; set PGDYNO_HOME to another one", folder.display())]
    Folder {
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The account that runs the server cannot enter the folder.
    #[error(
        "user {account} cannot enter {}, which lies above {}; set PGDYNO_HOME to a folder that user can reach",
        blocker.display(), folder.display()
    )]
    Unreachable {
        /// The folder wanted.
        folder: PathBuf,
        /// The folder above it that is closed.
        blocker: PathBuf,
        /// Account of the server.
        account: String,
    },
    /// A socket folder is there already and is not ours alone.
    #[error("socket folder {} belongs to somebody else or is open to others; remove it", folder.display())]
    NotPrivate { folder: PathBuf },
    /// No folder is short enough for a socket.
    #[error("no folder is short enough for a Unix socket ({} has more than 107 bytes)", socket.display())]
    SocketTooLong {
        /// The shortest path tried.
        socket: PathBuf,
    },
}

/// Path of the results file: as asked, else `$PGDYNO_RESULTS`, else `pgdyno.sqlite` in the current folder.
#[must_use]
pub fn results_path(asked: Option<&Path>) -> PathBuf {
    results_path_in(asked, std::env::var_os("PGDYNO_RESULTS"))
}

fn results_path_in(asked: Option<&Path>, environment: Option<OsString>) -> PathBuf {
    match (asked, environment) {
        (Some(path), _) => path.to_owned(),
        (None, Some(path)) if !path.is_empty() => path.into(),
        _ => PathBuf::from("pgdyno.sqlite"),
    }
}

/// Makes a folder of the given mode for an account (`None`: the user we are), unless it is there.
pub(crate) fn make_folder(folder: &Path, mode: u32, account: Option<&Account>) -> Result<(), PlaceError> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let failed = |source| PlaceError::Folder { folder: folder.to_owned(), source };
    if folder.is_dir() {
        if !is_half_made(folder, account).map_err(failed)? {
            return Ok(());
        }
    } else {
        std::fs::DirBuilder::new().mode(mode).create(folder).map_err(failed)?;
    }
    // The umask may have taken more away than asked for.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    match account {
        Some(account) => {
            std::os::unix::fs::chown(folder, Some(account.uid), Some(account.gid)).map_err(failed)
        }
        None => Ok(()),
    }
}

/// Whether it was made for an account and not given to it: whoever made it was killed in between, and it is empty.
fn is_half_made(folder: &Path, account: Option<&Account>) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let Some(account) = account else { return Ok(false) };
    let owner = std::fs::metadata(folder)?.uid();
    let ours = owner == rustix::process::geteuid().as_raw() && owner != account.uid;
    Ok(ours && std::fs::read_dir(folder)?.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kill between making a folder and giving it away left one that its account could not enter.
    #[test]
    fn a_folder_that_was_not_given_to_its_account_yet_is_given_now() {
        use std::os::unix::fs::MetadataExt;
        let Some(account) = Account::unprivileged().expect("an account") else { return };
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("half");
        std::fs::create_dir(&folder).unwrap();
        make_folder(&folder, 0o700, Some(&account)).unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().uid(), account.uid);
        // One that holds something is somebody's.
        let used = home.path().join("used");
        std::fs::create_dir_all(used.join("x")).unwrap();
        make_folder(&used, 0o700, Some(&account)).unwrap();
        assert_ne!(std::fs::metadata(&used).unwrap().uid(), account.uid);
    }

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
