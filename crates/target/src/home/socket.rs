//! Short private folders for Unix sockets.
//!
//! A socket's path may have 107 bytes; data folders are often longer, so sockets live under the run-time folder,
//! in a folder named by a hash of the data folder.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{PlaceError, make_folder};
use crate::child::Account;

/// Longest path of a Unix socket on Linux, without the closing zero.
const LONGEST_SOCKET: usize = 107;
/// Length of a socket folder's name.
const LEAF: usize = 10;
/// Age at which an empty socket folder is certainly nobody's.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// Makes and returns the socket folder (mode 0700, owned by `account`) of the server kept in `owner_folder`.
///
/// `longest_name` is the longest file name that will be put there; the full path is at most 107 bytes.
///
/// # Errors
/// When no candidate can be made, is short enough, and is ours alone.
pub fn socket_folder(
    owner_folder: &Path,
    longest_name: &str,
    account: Option<&Account>,
) -> Result<PathBuf, PlaceError> {
    let leaf = leaf_name(owner_folder);
    let mut last = None;
    for base in bases() {
        let folder = base.join(&leaf);
        let socket = folder.join(longest_name);
        if socket.as_os_str().len() > LONGEST_SOCKET {
            last = Some(PlaceError::SocketTooLong { socket });
            continue;
        }
        match make_private(&base, &folder, account) {
            Ok(()) => return Ok(folder),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(PlaceError::NoHome))
}

/// Removes the socket folder of a server that is gone, with all that is in it.
pub(crate) fn remove_socket_folder(owner_folder: &Path) {
    for base in bases() {
        if is_own(&base) {
            let _ = std::fs::remove_dir_all(base.join(leaf_name(owner_folder)));
        }
    }
}

/// Removes socket folders that have been empty for a day: whoever made them died, and nothing else tells whose they were.
/// A server that runs has its socket there, and one that starts has had it for less long.
pub fn remove_empty_socket_folders() {
    bases().iter().filter(|base| is_own(base)).for_each(|base| remove_empty(base, STALE));
}

fn remove_empty(base: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_leaf = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.len() == LEAF && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        if is_leaf && changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since >= age)) {
            // The system refuses where something is in it.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// A folder that nobody else can have put anything into.
fn is_own(base: &Path) -> bool {
    check(base, rustix::process::geteuid().as_raw(), 0o022).is_ok()
}

fn leaf_name(owner_folder: &Path) -> String {
    let hash = Sha256::digest(owner_folder.as_os_str().as_bytes());
    record::hex(&hash[..LEAF / 2])
}

/// Where socket folders may be put, best first.
fn bases() -> Vec<PathBuf> {
    let user = rustix::process::geteuid();
    let mut bases = Vec::new();
    if user.is_root() {
        bases.push(PathBuf::from("/run/pgdyno"));
    } else if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        bases.push(PathBuf::from(runtime).join("pgdyno"));
    }
    bases.push(PathBuf::from(format!("/tmp/pgdyno-{}", user.as_raw())));
    bases
}

fn make_private(base: &Path, folder: &Path, account: Option<&Account>) -> Result<(), PlaceError> {
    let own_uid = rustix::process::geteuid().as_raw();
    // Root's servers run as another account, which must be able to pass through to its own folder.
    let base_mode = if own_uid == 0 { 0o711 } else { 0o700 };
    make_folder(base, base_mode, None)?;
    check(base, own_uid, 0o022)?;
    make_folder(folder, 0o700, account)?;
    check(folder, account.map_or(own_uid, |account| account.uid), 0o077)
}

/// The folder is a real one, has this owner, and none of the forbidden rights.
fn check(folder: &Path, uid: u32, forbidden: u32) -> Result<(), PlaceError> {
    let metadata = std::fs::symlink_metadata(folder)
        .map_err(|source| PlaceError::Folder { folder: folder.to_owned(), source })?;
    if metadata.is_dir() && metadata.uid() == uid && metadata.mode() & forbidden == 0 {
        Ok(())
    } else {
        Err(PlaceError::NotPrivate { folder: folder.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_private_short_and_stable() {
        let long = PathBuf::from("/".to_owned() + &"long/".repeat(60));
        let first = socket_folder(&long, ".s.PGSQL.65535", None).unwrap();
        assert_eq!(first, socket_folder(&long, ".s.PGSQL.65535", None).unwrap());
        assert_ne!(first, socket_folder(Path::new("/other"), "s", None).unwrap());
        assert!(first.join(".s.PGSQL.65535").as_os_str().len() <= LONGEST_SOCKET);
        assert_eq!(first.metadata().unwrap().mode() & 0o777, 0o700);
        let _ = std::fs::remove_dir(&first);
        let _ = std::fs::remove_dir(socket_folder(Path::new("/other"), "s", None).unwrap());
    }

    #[test]
    fn only_old_and_empty_socket_folders_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let leaf = |owner: &str| base.path().join(leaf_name(Path::new(owner)));
        for folder in [leaf("/empty"), leaf("/live"), base.path().join("other")] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(leaf("/live").join(".s.PGSQL.5432"), "").unwrap();
        remove_empty(base.path(), STALE);
        assert!(leaf("/empty").exists(), "one that was just made");
        remove_empty(base.path(), Duration::ZERO);
        assert!(!leaf("/empty").exists());
        assert!(leaf("/live").exists() && base.path().join("other").exists());
    }

    #[test]
    fn open_or_foreign_folders_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        assert!(matches!(check(top.path(), uid, 0o022), Err(PlaceError::NotPrivate { .. })));
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(check(top.path(), uid, 0o077).is_ok());
        assert!(check(top.path(), uid + 1, 0o077).is_err());
    }
}
