//! Short private folders for Unix sockets.
//!
//! A socket's path may have 107 bytes; data folders are often longer. So sockets are in the run-time folder,
//! in a folder named by a hash of the data folder.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use spec::{Class, Error};

use super::dir::Dir;
use super::folders::passed_through;
use super::no_home;
use super::trust::{us, walk};
use crate::child::Account;

/// Longest path of a Unix socket on Linux, without the closing zero.
const LONGEST_SOCKET: usize = 107;
/// Length of a socket folder's name.
const LEAF: usize = 10;
/// An empty socket folder of this age is certainly unused.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// Makes and returns the socket folder (mode 0700, owned by `account`) of the server in `owner_folder`.
///
/// `longest_name` is the longest file name in it; the full path has at most 107 bytes.
///
/// # Errors
/// When no candidate can be made, is short enough, and is private.
pub fn socket_folder(
    owner_folder: &Path,
    longest_name: &str,
    account: Option<&Account>,
) -> Result<PathBuf, Error> {
    let leaf = leaf_name(owner_folder);
    let mut last = None;
    for base in bases() {
        let folder = base.join(&leaf);
        let socket = folder.join(longest_name);
        if socket.as_os_str().len() > LONGEST_SOCKET {
            let what = "no folder is short enough for a Unix socket";
            let what = format!("{what} ({} has more than {LONGEST_SOCKET} bytes)", socket.display());
            last = Some(Error::new(Class::Io, what));
            continue;
        }
        match make_private(&base, &leaf, account) {
            Ok(folder) => return Ok(folder),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_home))
}

/// Removes the socket folder of a server that is gone, with its contents.
pub(crate) fn remove_socket_folder(owner_folder: &Path) {
    for base in bases().iter().filter_map(|base| open(base).ok()) {
        let _ = base.remove_all(leaf_name(owner_folder));
    }
}

/// Removes socket folders that have been empty for a day: their pgdyno died, and nothing else shows whose
/// they were. A running server has its socket there, and a starting one has had it for less long.
pub fn remove_empty_socket_folders() {
    bases().iter().filter_map(|base| open(base).ok()).for_each(|base| remove_empty(&base, STALE));
}

fn remove_empty(base: &Dir, age: Duration) {
    for name in base.names().unwrap_or_default() {
        let is_leaf = name
            .to_str()
            .is_some_and(|name| name.len() == LEAF && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let changed = base.path().join(&name).symlink_metadata().and_then(|metadata| metadata.modified());
        if is_leaf && changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since >= age)) {
            // The system refuses to remove a folder with contents.
            let _ = base.remove_empty(&name);
        }
    }
}

/// An existing folder for socket folders, if nobody else can write to it.
fn open(base: &Path) -> io::Result<Dir> {
    match walk(base).map_err(|(_, error)| error)? {
        Ok(found) => Dir::ours(found.fd, found.path),
        Err(_) => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Whether a folder is the socket folder of the server in `owner_folder`.
pub(crate) fn is_socket_folder_of(folder: &Path, owner_folder: &Path) -> bool {
    let leaf = leaf_name(owner_folder);
    folder.file_name().is_some_and(|name| name == leaf.as_str())
        && bases().iter().filter_map(|base| open(base).ok()).any(|base| folder == base.path().join(&leaf))
}

fn leaf_name(owner_folder: &Path) -> String {
    let hash = Sha256::digest(owner_folder.as_os_str().as_bytes());
    spec::hex(&hash[..LEAF / 2])
}

/// Where socket folders may be, best first.
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

fn make_private(base: &Path, leaf: &str, account: Option<&Account>) -> Result<PathBuf, Error> {
    let failed = |folder: &Path, source: io::Error| {
        let what = format!("socket folder {} cannot be used: {source}; remove it", folder.display());
        Error::new(Class::Io, what).because(source)
    };
    let (above, name) = base.parent().zip(base.file_name()).ok_or_else(no_home)?;
    let above = walk(above).map_err(|(path, error)| failed(&path, error))?;
    let above = above.map_err(|_| failed(base, io::ErrorKind::NotFound.into()))?;
    // Root's servers run as another account, which must be able to enter its folder.
    let mode = passed_through(us() == 0);
    let base = Dir::above(above.fd, above.path).make(name, mode).map_err(|error| failed(base, error))?;
    let made = base.make_for(leaf, account).map_err(|error| failed(&base.path().join(leaf), error))?;
    Ok(made.path().to_owned())
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
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&first.metadata().unwrap()) & 0o777, 0o700);
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
        let opened = open(base.path()).unwrap();
        remove_empty(&opened, STALE);
        assert!(leaf("/empty").exists(), "just made");
        remove_empty(&opened, Duration::ZERO);
        assert!(!leaf("/empty").exists());
        assert!(leaf("/live").exists() && base.path().join("other").exists());
    }

    #[test]
    fn a_base_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        let base = top.path().join("base");
        make_private(&base, "leaf", None).unwrap();
        std::fs::set_permissions(&base, std::fs::Permissions::from_mode(0o777)).unwrap();
        let refused = make_private(&base, "leaf", None).unwrap_err().to_string();
        assert!(refused.starts_with("socket folder "), "{refused}");
        assert!(open(&base).is_err());
    }
}
