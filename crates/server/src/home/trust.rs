//! Which folders pgdyno trusts: only its user and root can change them.
//!
//! A path is walked from `/`, one descriptor at a time, and each folder on the way is checked, including
//! those behind symbolic links. OpenSSH has the same rule (`StrictModes`): owned by us or root, and not
//! writable by others. In a folder with the sticky bit (`/tmp`) others cannot rename our entries, so it may
//! be on the path.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat, statat};
use rustix::io::Errno;

/// Most symbolic links in one path before it counts as a loop, as in Linux.
const MOST_LINKS: usize = 40;
/// Enough to stat a folder; its entries need not be readable.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY;

/// Why a file or folder is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    #[error("it belongs to {owner}, and only {wanted} may own it")]
    Owner {
        owner: String,
        /// Name and uid of the user who should own it.
        wanted: String,
    },
    /// Others can write to it.
    #[error("{who} can write to it (mode {mode:o})")]
    Writable {
        /// `every user`, or `group NAME`.
        who: String,
        mode: u32,
    },
    /// A link instead of a file or folder of pgdyno.
    #[error("it is a symbolic link, and pgdyno follows no link below its home")]
    Link,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is not a folder")]
    NotAFolder,
    /// A new entry has another owner, or another mode than requested.
    #[error("its filesystem does not keep owners and permissions")]
    NoOwners,
    /// The file has further names.
    #[error("it is a hard link: the same file has {0} names")]
    HardLink(u64),
}

impl Distrust {
    pub(crate) fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|why| why.is::<Self>())
    }

    /// As an error of the system's kind.
    pub(crate) fn into_io_error(self) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, self)
    }
}

/// Walks to a folder, and checks each folder on the way; `Ok(Err(missing))` if a part does not exist.
///
/// # Errors
/// The path of the first folder that cannot be used, and why.
pub(super) fn walk(path: &Path) -> Result<Result<Walked, MissingFolders>, (PathBuf, io::Error)> {
    let root = PathBuf::from("/");
    let failed = |path: &Path, error: Errno| (path.to_owned(), io::Error::from(error));
    let top = open("/", LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| failed(&root, error))?;
    let mut way = vec![Walked { fd: top, path: root, is_sticky: false }];
    let mut left = parts(path);
    let mut links = 0;
    while let Some(name) = left.pop() {
        let here = &way[way.len() - 1];
        if name == ".." {
            way.truncate((way.len() - 1).max(1));
            continue;
        }
        let at = here.path.join(&name);
        let stat = match statat(&here.fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {
                left.push(name);
                left.reverse();
                return Ok(Err(MissingFolders { left, above: way.swap_remove(way.len() - 1) }));
            }
            other => other.map_err(|error| failed(&at, error))?,
        };
        if is(&stat, FileType::Symlink) {
            links += 1;
            if links > MOST_LINKS {
                return Err(failed(&at, Errno::LOOP));
            }
            owned_by(&stat, us(), &[0]).map_err(|why| (at.clone(), why.into_io_error()))?;
            let to = readlinkat(&here.fd, &name, Vec::new()).map_err(|error| failed(&at, error))?;
            let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
            if to.is_absolute() {
                way.truncate(1);
            }
            left.extend(parts(&to));
            continue;
        }
        let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&here.fd, &name, flags, Mode::empty()).map_err(|error| failed(&at, error))?;
        let stat = fstat(&fd).map_err(|error| failed(&at, error))?;
        let is_sticky = mode(&stat) & 0o1000 != 0;
        owned_by(&stat, us(), &[0])
            .and_then(|()| if is_sticky { Ok(()) } else { closed(&stat) })
            .map_err(|why| (at.clone(), why.into_io_error()))?;
        way.push(Walked { fd, path: at, is_sticky });
    }
    Ok(Ok(way.swap_remove(way.len() - 1)))
}

#[derive(Debug)]
pub(super) struct Walked {
    pub(super) fd: OwnedFd,
    /// Without links.
    pub(super) path: PathBuf,
    /// Others may add files, but not change ours.
    pub(super) is_sticky: bool,
}

/// The missing part of a path.
#[derive(Debug)]
pub(super) struct MissingFolders {
    /// Names of the folders to make, each inside the one before.
    pub(super) left: Vec<OsString>,
    /// The last existing folder.
    pub(super) above: Walked,
}

/// Names in the path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect();
    parts.reverse();
    parts
}

pub(super) fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Permission bits.
pub(super) fn mode(stat: &Stat) -> u32 {
    #[allow(clippy::useless_conversion, reason = "its width depends on the system")]
    let mode = u32::from(stat.st_mode);
    mode & 0o7777
}

/// Whether the file belongs to `wanted`, or to one of `others`.
pub(super) fn owned_by(stat: &Stat, wanted: u32, others: &[u32]) -> Result<(), Distrust> {
    if stat.st_uid == wanted || others.contains(&stat.st_uid) {
        return Ok(());
    }
    Err(Distrust::Owner { owner: user_name(stat.st_uid), wanted: user_name(wanted) })
}

/// Whether only its owner can write to it. A group with only its owner counts as the owner: where the umask
/// is 002, each user has one.
pub(super) fn closed(stat: &Stat) -> Result<(), Distrust> {
    let mode = mode(stat);
    if mode & 0o002 != 0 {
        return Err(Distrust::Writable { who: "every user".to_owned(), mode });
    }
    if mode & 0o020 != 0 && !is_private_group(stat.st_gid, stat.st_uid) {
        return Err(Distrust::Writable { who: format!("group {}", group_name(stat.st_gid)), mode });
    }
    Ok(())
}

/// `ann (uid 1000)`.
pub(crate) fn user_name(uid: u32) -> String {
    login_name(uid).map_or_else(|| format!("uid {uid}"), |name| format!("user {name} (uid {uid})"))
}

fn login_name(uid: u32) -> Option<String> {
    Some(User::from_uid(Uid::from_raw(uid)).ok()??.name)
}

fn group(gid: u32) -> Option<Group> {
    Group::from_gid(Gid::from_raw(gid)).ok()?
}

fn group_name(gid: u32) -> String {
    group(gid).map_or_else(|| gid.to_string(), |group| group.name)
}

/// A group with the name of the user, and no other member.
fn is_private_group(gid: u32, uid: u32) -> bool {
    let found = login_name(uid).zip(group(gid));
    found.is_some_and(|(user, group)| group.name == user && group.mem.iter().all(|member| *member == user))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_on_the_way_that_others_can_write_is_named() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("a/b/c");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(walk(&inner).unwrap().unwrap().path, inner.canonicalize().unwrap());
        for (mode, fine) in [(0o757, false), (0o1777, true), (0o755, true)] {
            with_mode(&top.path().join("a"), mode);
            match walk(&inner) {
                Ok(_) => assert!(fine, "mode {mode:o}"),
                Err((path, error)) => {
                    assert!(!fine && path.ends_with("a"), "{}: {error}", path.display());
                    assert!(error.to_string().contains("every user can write"), "{error}");
                }
            }
        }
    }

    #[test]
    fn links_are_followed_only_through_folders_that_are_trusted() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().join("real");
        std::fs::create_dir_all(real.join("home")).unwrap();
        symlink("real", top.path().join("link")).unwrap();
        symlink(top.path().join("link/../link"), top.path().join("again")).unwrap();
        let found = walk(&top.path().join("again/home")).unwrap().unwrap();
        assert_eq!(found.path, real.join("home").canonicalize().unwrap());
        symlink("circle", top.path().join("circle")).unwrap();
        assert!(walk(&top.path().join("circle/x")).is_err());
        with_mode(&real, 0o777);
        assert_eq!(walk(&top.path().join("link/home")).unwrap_err().0, real.canonicalize().unwrap());
    }

    #[test]
    fn what_is_missing_is_listed_from_the_top() {
        let top = tempfile::tempdir().unwrap();
        let missing = walk(&top.path().join("x/y")).unwrap().unwrap_err();
        assert_eq!(
            (missing.left, missing.above.path),
            (vec!["x".into(), "y".into()], top.path().canonicalize().unwrap())
        );
    }
}
