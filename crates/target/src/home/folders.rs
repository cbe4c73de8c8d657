//! The folder that holds managed servers and the journal.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{PlaceError, make_folder};
use crate::child::Account;

/// pgdyno's own folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// `$PGDYNO_HOME`, else `$XDG_DATA_HOME/pgdyno`, else `~/.local/share/pgdyno`; for root, whose home is closed
    /// to the server's account, `/var/lib/pgdyno`.
    ///
    /// # Errors
    /// [`PlaceError::NoHome`] when the environment names none of them.
    pub fn locate() -> Result<Self, PlaceError> {
        let folder = choose(|name| std::env::var_os(name), rustix::process::geteuid().is_root())?;
        Ok(Self::at(&folder))
    }

    /// A home at the given folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()) }
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Holds a folder per managed PostgreSQL server.
    #[must_use]
    pub fn clusters(&self) -> PathBuf {
        self.folder.join("clusters")
    }

    /// Holds a folder per private Redis server.
    #[must_use]
    pub fn redis(&self) -> PathBuf {
        self.folder.join("redis")
    }

    /// Holds a folder per private PgBouncer.
    #[must_use]
    pub fn poolers(&self) -> PathBuf {
        self.folder.join("poolers")
    }

    /// Holds a folder per private tile server.
    #[must_use]
    pub fn tile_servers(&self) -> PathBuf {
        self.folder.join("tile-servers")
    }

    /// Holds a folder per filesystem that was made for servers.
    #[must_use]
    pub fn storage(&self) -> PathBuf {
        self.folder.join("storage")
    }

    /// Makes the home and, in it, the folder for filesystems, through which the account only passes.
    pub(crate) fn prepare_storage(&self, account: Option<&Account>) -> Result<PathBuf, PlaceError> {
        self.prepare(account)?;
        let folder = self.storage();
        make_folder(&folder, 0o711, None)?;
        Ok(folder)
    }

    /// Holds what programs said that failed; made when there is something to be kept.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Holds what must be undone on servers that are not ours.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Holds extracts of OpenStreetMap that were fetched.
    #[must_use]
    pub fn extracts(&self) -> PathBuf {
        self.folder.join("extracts")
    }

    /// Makes the home and, in it, the folder for extracts, which we write and the account that loads them only reads.
    ///
    /// # Errors
    /// As for [`Self::prepare`].
    pub fn prepare_extracts(&self, account: Option<&Account>) -> Result<PathBuf, PlaceError> {
        self.prepare(account)?;
        let folder = self.extracts();
        make_folder(&folder, 0o755, None)?;
        Ok(folder)
    }

    /// Makes the home and its folders, mode 0700, for the account that runs servers (`None`: the user we are).
    ///
    /// # Errors
    /// When a folder cannot be made, or the account cannot enter it.
    pub fn prepare(&self, account: Option<&Account>) -> Result<(), PlaceError> {
        if let Some(above) = self.folder.parent() {
            std::fs::create_dir_all(above)
                .map_err(|source| PlaceError::Folder { folder: above.to_owned(), source })?;
        }
        make_folder(&self.folder, 0o700, account)?;
        for part in [self.clusters(), self.redis(), self.poolers(), self.tile_servers(), self.journal()] {
            make_folder(&part, 0o700, account)?;
        }
        match account {
            Some(account) => reachable(&self.clusters(), account),
            None => Ok(()),
        }
    }
}

fn choose(get: impl Fn(&str) -> Option<OsString>, root: bool) -> Result<PathBuf, PlaceError> {
    let set = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("PGDYNO_HOME") {
        return Ok(home);
    }
    if root {
        return Ok(PathBuf::from("/var/lib/pgdyno"));
    }
    // The XDG rules say that a relative path is to be ignored.
    if let Some(data) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Ok(data.join("pgdyno"));
    }
    set("HOME").map(|home| home.join(".local/share/pgdyno")).ok_or(PlaceError::NoHome)
}

/// Checks that the account may enter every folder on the way.
pub(crate) fn reachable(folder: &Path, account: &Account) -> Result<(), PlaceError> {
    let real =
        folder.canonicalize().map_err(|source| PlaceError::Folder { folder: folder.to_owned(), source })?;
    for above in real.ancestors() {
        let metadata =
            above.metadata().map_err(|source| PlaceError::Folder { folder: above.to_owned(), source })?;
        let needed = match (metadata.uid() == account.uid, metadata.gid() == account.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        if metadata.mode() & needed == 0 {
            return Err(PlaceError::Unreachable {
                folder: folder.to_owned(),
                blocker: above.to_owned(),
                account: account.name.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_follows_the_environment() {
        type Case<'a> = (&'a [(&'a str, &'a str)], bool, Option<&'a str>);
        let cases: &[Case<'_>] = &[
            (&[("PGDYNO_HOME", "/a"), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")], false, Some("/a")),
            (&[("XDG_DATA_HOME", "/b"), ("HOME", "/c")], false, Some("/b/pgdyno")),
            (&[("XDG_DATA_HOME", "b"), ("HOME", "/c")], false, Some("/c/.local/share/pgdyno")),
            (&[("HOME", "/c"), ("PGDYNO_HOME", "")], false, Some("/c/.local/share/pgdyno")),
            (&[], false, None),
            (&[("HOME", "/root")], true, Some("/var/lib/pgdyno")),
            (&[("PGDYNO_HOME", "/a")], true, Some("/a")),
        ];
        for (environment, root, wanted) in cases {
            let get = |name: &str| {
                environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            };
            assert_eq!(choose(get, *root).ok(), wanted.map(PathBuf::from), "{environment:?} root {root}");
        }
    }

    #[test]
    fn a_closed_folder_above_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = Account { name: "stranger".into(), uid: 4_000_000, gid: 4_000_000 };
        let error = reachable(&inner, &stranger).unwrap_err();
        assert!(
            matches!(error, PlaceError::Unreachable { ref account, .. } if account == "stranger"),
            "{error}"
        );
    }
}
