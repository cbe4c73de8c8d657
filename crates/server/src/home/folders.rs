//! The folder that holds managed servers and the journal.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use spec::{Class, Error, shell};

use super::dir::Dir;
use super::trust::{self, Distrust, walk};
use super::{cannot_use, no_home};
use crate::child::Account;
use crate::host::Disk;

/// A folder in the home. We own it; the account for servers may enter most of them and read some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeFolder {
    /// A folder per managed PostgreSQL server.
    Clusters,
    Redis,
    Poolers,
    /// Streaming replicas of managed servers, with their data.
    Replicas,
    TileServers,
    /// A folder per filesystem made for servers.
    Storage,
    /// Builds of PostgreSQL and of extensions from git, a folder for each.
    Builds,
    /// What must be undone on servers of others.
    Journal,
    /// Extracts of OpenStreetMap, fetched or synthetic.
    Extracts,
    /// Output of programs that failed.
    Logs,
    /// What interrupted jobs go on with.
    Kept,
}

impl HomeFolder {
    fn name(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Redis => "redis",
            Self::Poolers => "poolers",
            Self::Replicas => "replicas",
            Self::TileServers => "tile-servers",
            Self::Storage => "storage",
            Self::Builds => "builds",
            Self::Journal => "journal",
            Self::Extracts => "extracts",
            Self::Logs => "logs",
            Self::Kept => "kept",
        }
    }

    /// The account enters its folders through these, and reads extracts. If servers run as the current user,
    /// nobody else needs access.
    fn mode(self, with_account: bool) -> u32 {
        match self {
            Self::Journal | Self::Logs | Self::Kept => 0o700,
            Self::Extracts => 0o755,
            _ => passed_through(with_account),
        }
    }
}

/// Mode of a folder of ours that contains folders of the account.
pub(crate) fn passed_through(with_account: bool) -> u32 {
    if with_account { 0o711 } else { 0o700 }
}

/// The folder in which pgdyno keeps servers, journals and other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// `$PGDYNO_HOME`, otherwise `$XDG_DATA_HOME/pgdyno`, otherwise `~/.local/share/pgdyno`; for root, whose
    /// home the server's account cannot enter, `/var/lib/pgdyno`.
    ///
    /// # Errors
    /// When the environment names none of them.
    pub fn locate() -> Result<Self, Error> {
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

    /// Path of a part, which may not exist.
    #[must_use]
    pub fn path(&self, part: HomeFolder) -> PathBuf {
        self.folder.join(part.name())
    }

    /// Opens the home; `None` if it does not exist.
    ///
    /// # Errors
    /// If another user can change it or a folder above it.
    pub fn open(&self) -> Result<Option<Dir>, Error> {
        match walk(&self.folder).map_err(|(path, error)| self.untrusted(path, error))? {
            Err(_) => Ok(None),
            Ok(found) => {
                let path = found.path.clone();
                Dir::ours(found.fd, found.path).map(Some).map_err(|error| self.untrusted(path, error))
            }
        }
    }

    /// Opens a part of the home; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn part(&self, part: HomeFolder) -> Result<Option<Dir>, Error> {
        let Some(home) = self.open()? else { return Ok(None) };
        home.open(part.name()).map_err(|error| self.untrusted(home.path().join(part.name()), error))
    }

    /// Opens a part of the home, and makes it if it does not exist. `account` runs the servers (`None`: the
    /// current user).
    ///
    /// # Errors
    /// As [`Self::open`], when it cannot be made, or the account cannot reach it.
    pub fn make_part(&self, part: HomeFolder, account: Option<&Account>) -> Result<Dir, Error> {
        let home = self.make(account)?;
        home.make(part.name(), part.mode(account.is_some()))
            .map_err(|error| self.untrusted(home.path().join(part.name()), error))
    }

    /// Opens the home, and makes it if it does not exist.
    ///
    /// # Errors
    /// As [`Self::make_part`].
    pub fn make(&self, account: Option<&Account>) -> Result<Dir, Error> {
        let mut above = match walk(&self.folder).map_err(|(path, error)| self.untrusted(path, error))? {
            Ok(_) => None,
            Err(missing) => {
                // The same mode as `mkdir -p` with the usual umask.
                let mut above = Dir::above(missing.above.fd, missing.above.path);
                for name in &missing.left {
                    let failed = |error| self.untrusted(above.path().join(name), error);
                    above = above.make(name, 0o755).map_err(failed)?;
                }
                Some(above)
            }
        };
        let home = match above.take() {
            Some(home) => home,
            None => self.open()?.ok_or_else(no_home)?,
        };
        let failed = |error| self.untrusted(home.path().to_owned(), error);
        home.set_mode(passed_through(account.is_some())).map_err(failed)?;
        account.map_or(Ok(()), |account| reachable(home.path(), account))?;
        Ok(home)
    }

    /// The shared folder, such as `/tmp`, in which the home would be made; `None` if the home exists or its
    /// folder is not shared.
    #[must_use]
    pub fn is_new_in(&self) -> Option<PathBuf> {
        match walk(&self.folder) {
            Ok(Err(missing)) if missing.above.is_sticky => Some(missing.above.path),
            _ => None,
        }
    }

    pub(crate) fn untrusted(&self, path: PathBuf, source: io::Error) -> Error {
        let Some(why) = source.get_ref().and_then(|why| why.downcast_ref::<Distrust>()) else {
            return cannot_use(&path, source);
        };
        let elsewhere =
            "set PGDYNO_HOME to a folder that you own, below folders that only you or root can change";
        let is_root = rustix::process::geteuid().is_root();
        let shown = shell::word(&path.to_string_lossy()).into_owned();
        let real = self.folder.canonicalize();
        let below = path.starts_with(&self.folder) || real.is_ok_and(|real| path.starts_with(real));
        let is_of_account = |why: &Distrust| match (why, Account::unprivileged()) {
            (Distrust::Owner { owner, .. }, Ok(Some(account))) => *owner == trust::user_name(account.uid),
            _ => false,
        };
        let fix = match why {
            why if below && is_of_account(why) => {
                let home = shell::word(&self.folder.to_string_lossy()).into_owned();
                format!(
                    "an older pgdyno gave it to that user, so nothing in it is trusted; move it away with: mv {home} \
                     {home}.old (a new one is made; data folders of servers are in its clusters/NAME/data)"
                )
            }
            Distrust::Owner { .. } if let Some(filesystem) = without_owners(&path) => format!(
                "its filesystem ({filesystem}) may not keep owners: set PGDYNO_HOME to a folder on another one, such as \
                 ext4, xfs or btrfs"
            ),
            Distrust::Owner { .. } if is_root => {
                "run pgdyno without sudo, or as root with PGDYNO_HOME unset (not sudo -E): root's own is /var/lib/pgdyno"
                    .to_owned()
            }
            // Every user is meant to write to it.
            Distrust::Writable { mode, .. } if mode & 0o1000 != 0 => elsewhere.to_owned(),
            Distrust::Writable { .. } => format!("take that right away with: chmod go-w {shown}; or {elsewhere}"),
            Distrust::NoOwners => {
                "set PGDYNO_HOME to a folder on another filesystem, such as ext4, xfs or btrfs".to_owned()
            }
            Distrust::Link | Distrust::NotAFile | Distrust::NotAFolder | Distrust::HardLink(_) if below => {
                format!("look at it, then remove it with: rm {shown}")
            }
            _ => elsewhere.to_owned(),
        };
        Error::new(Class::Io, format!("{} cannot be used: {why}; {fix}", path.display()))
    }
}

/// The filesystem of a folder, if it may show the same owner for every file.
fn without_owners(folder: &Path) -> Option<String> {
    let filesystem = Disk::of(folder)?.filesystem?;
    let known =
        ["vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuse", "fuseblk", "9p", "cifs", "smb3", "nfs", "nfs4"];
    let is_known = known.contains(&filesystem.as_str()) || filesystem.starts_with("fuse.");
    is_known.then_some(filesystem)
}

fn choose(get: impl Fn(&str) -> Option<OsString>, root: bool) -> Result<PathBuf, Error> {
    let set = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("PGDYNO_HOME") {
        return Ok(home);
    }
    if root {
        return Ok(PathBuf::from("/var/lib/pgdyno"));
    }
    // The XDG rules require relative paths to be ignored.
    if let Some(data) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Ok(data.join("pgdyno"));
    }
    set("HOME").map(|home| home.join(".local/share/pgdyno")).ok_or_else(no_home)
}

/// Checks that the account may enter every folder of a path.
fn reachable(folder: &Path, account: &Account) -> Result<(), Error> {
    let blocker = account.blocker(folder).map_err(|source| cannot_use(folder, source))?;
    blocker.map_or(Ok(()), |blocker| {
        let what = format!(
            "user {} cannot enter {}, which lies above {}; set PGDYNO_HOME to a folder that user can reach",
            account.name,
            blocker.display(),
            folder.display()
        );
        Err(Error::new(Class::Io, what))
    })
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
        assert!(error.to_string().starts_with("user stranger cannot enter "), "{error}");
    }
}
