//! Short private folders for Unix sockets.
//!
//! A socket's path may have 107 bytes; data folders are often longer, so sockets live under the run-time folder,
//! in a folder named by a hash of the data folder.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{PlaceError, make_folder};
use crate::child::Account;

/// Longest path of a Unix socket on Linux, without the closing zero.
const LONGEST_SOCKET: usize = 107;

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

fn leaf_name(owner_folder: &Path) -> String {
    let hash = Sha256::digest(owner_folder.as_os_str().as_bytes());
    hash.iter().take(5).map(|byte| format!("{byte:02x}")).collect()
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
