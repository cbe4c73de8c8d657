//! Copies what an account installed into files of pgdyno's user: no server, and no later build, can change them.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::home::{Dir, DirEntry, Readable};

/// Levels of folders; an installation has eight.
const DEEPEST: u32 = 32;

/// Copies a folder with its contents; returns the bytes of its files. Links are copied as links, and never followed.
/// Every user may read the copy, as an installed PostgreSQL.
///
/// # Errors
/// When an entry belongs to another user than the folder, or cannot be copied.
pub(super) fn copy(from: &Dir, to: &Dir) -> io::Result<u64> {
    copy_level(from, to, 0)
}

fn copy_level(from: &Dir, to: &Dir, depth: u32) -> io::Result<u64> {
    if depth > DEEPEST {
        return Err(io::Error::other("folders are nested too deep"));
    }
    let mut bytes = 0;
    for name in from.names()? {
        let Some(entry) = from.entry(&name)? else { continue };
        bytes += match entry {
            DirEntry::Folder => {
                let Some(inner) = from.open(&name)? else { continue };
                copy_level(&inner, &to.make(&name, 0o755)?, depth + 1)?
            }
            DirEntry::File { .. } => copy_file(from, to, &name)?,
            DirEntry::Link(target) => {
                to.link(&name, &target)?;
                0
            }
            DirEntry::Other => {
                let what = format!("{} is neither a file nor a folder", Path::new(&name).display());
                return Err(io::Error::other(what));
            }
        };
    }
    Ok(bytes)
}

fn copy_file(from: &Dir, to: &Dir, name: &OsStr) -> io::Result<u64> {
    let mut file = from.linked_file(name)?;
    let is_program = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut copy = to.create(name, Readable::ByAll)?;
    let bytes = io::copy(&mut file, &mut copy)?;
    if is_program {
        copy.set_permissions(Permissions::from_mode(0o755))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::home::Home;

    #[test]
    fn files_links_and_rights_are_copied_and_set_user_id_is_not() {
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(top.path()).open().unwrap().unwrap();
        let (from, to) = (home.make("from", 0o755).unwrap(), home.make("to", 0o755).unwrap());
        let bin = from.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("postgres"), "12345").unwrap();
        std::fs::set_permissions(bin.join("postgres"), Permissions::from_mode(0o4755)).unwrap();
        std::fs::hard_link(bin.join("postgres"), bin.join("postmaster")).unwrap();
        std::fs::write(from.path().join("x"), "1").unwrap();
        symlink("bin/postgres", from.path().join("link")).unwrap();
        assert_eq!(copy(&from, &to).unwrap(), 11);
        let mode = |name: &str| to.path().join(name).symlink_metadata().unwrap().mode() & 0o7777;
        assert_eq!((mode("bin"), mode("bin/postgres"), mode("x")), (0o755, 0o755, 0o644));
        assert_eq!(to.read_link("link").unwrap(), Path::new("bin/postgres"));
    }

    /// An account could make root publish a file that only root may read.
    #[test]
    fn a_file_of_another_user_is_not_copied() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(top.path()).open().unwrap().unwrap();
        let account = crate::child::Account::unprivileged().unwrap();
        let from = home.make_for("from", account.as_ref()).unwrap();
        let to = home.make("to", 0o755).unwrap();
        std::fs::write(top.path().join("secret"), "x").unwrap();
        std::fs::hard_link(top.path().join("secret"), from.path().join("passwd")).unwrap();
        assert!(copy(&from, &to).is_err());
        assert!(!to.has("passwd"));
    }
}
