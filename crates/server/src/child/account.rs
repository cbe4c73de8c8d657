//! The unprivileged account for servers when pgdyno runs as root.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::User;
use spec::{Class, Error};

/// A user of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    /// User id; never 0.
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// The account to use: `$PGDYNO_USER`, otherwise `postgres`, otherwise `nobody`. `None` when pgdyno does
    /// not run as root, and servers run as the current user.
    ///
    /// # Errors
    /// When the named user is unknown or root, or there is none to choose.
    pub fn unprivileged() -> Result<Option<Self>, Error> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let asked = std::env::var("PGDYNO_USER").ok().filter(|name| !name.is_empty());
        choose(asked.as_deref(), look_up).map(Some)
    }

    /// The account that reads this folder for root: its owner, or [`Self::unprivileged`] if root owns it. `None` when
    /// pgdyno does not run as root.
    ///
    /// # Errors
    /// As [`Self::unprivileged`].
    pub fn of_owner(folder: &Metadata) -> Result<Option<Self>, Error> {
        let unprivileged = Self::unprivileged()?;
        if unprivileged.is_none() || folder.uid() == 0 {
            return Ok(unprivileged);
        }
        let known = User::from_uid(nix::unistd::Uid::from_raw(folder.uid())).ok().flatten();
        Ok(Some(match known {
            Some(user) => Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() },
            None => Self { name: format!("uid {}", folder.uid()), uid: folder.uid(), gid: folder.gid() },
        }))
    }

    /// Whether it may enter a folder and each one above it.
    #[must_use]
    pub fn may_enter(&self, folder: &Path) -> bool {
        matches!(self.blocker(folder), Ok(None))
    }

    /// The first folder that it may not enter, from this one up to `/`.
    ///
    /// # Errors
    /// When a folder's permissions cannot be read.
    pub(crate) fn blocker(&self, folder: &Path) -> io::Result<Option<PathBuf>> {
        for above in folder.canonicalize()?.ancestors() {
            if self.rights(&above.metadata()?) & 0o1 == 0 {
                return Ok(Some(above.to_owned()));
            }
        }
        Ok(None)
    }

    /// Whether the file's owner and mode let it read the file.
    #[must_use]
    pub fn may_read(&self, file: &Metadata) -> bool {
        self.rights(file) & 0o4 != 0
    }

    /// The three permission bits that apply to it.
    fn rights(&self, file: &Metadata) -> u32 {
        let shift = match (file.uid() == self.uid, file.gid() == self.gid) {
            (true, _) => 6,
            (false, true) => 3,
            (false, false) => 0,
        };
        file.mode() >> shift & 0o7
    }
}

/// Makes a command run as an account (`None`: the current user), without supplementary groups.
pub(crate) fn as_account<'a>(command: &'a mut Command, account: Option<&Account>) -> &'a mut Command {
    match account {
        // The standard library drops all supplementary groups with it.
        Some(account) => command.uid(account.uid).gid(account.gid),
        None => command,
    }
}

fn choose(asked: Option<&str>, look_up: impl Fn(&str) -> Option<Account>) -> Result<Account, Error> {
    if let Some(name) = asked {
        let account = look_up(name).ok_or_else(|| {
            let what = format!("PGDYNO_USER names the user {name:?}, who does not exist");
            Error::new(Class::Missing, what)
        })?;
        if account.uid == 0 {
            let what = format!(
                "PGDYNO_USER names {name:?}, but PostgreSQL refuses to run as root; name another user"
            );
            return Err(Error::new(Class::Missing, what));
        }
        return Ok(account);
    }
    ["postgres", "nobody"].into_iter().find_map(look_up).filter(|account| account.uid != 0).ok_or_else(|| {
        let what =
            "PostgreSQL refuses to run as root, and no user postgres or nobody exists; set PGDYNO_USER";
        Error::new(Class::Missing, what)
    })
}

/// Looks up a login name in the system's user database (files, LDAP, ...).
fn look_up(name: &str) -> Option<Account> {
    let user = User::from_name(name).ok()??;
    Some(Account { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<Account> {
        let uid = match name {
            "root" => 0,
            "postgres" => 101,
            "bench" => 1000,
            _ => return None,
        };
        Some(Account { name: name.into(), uid, gid: uid })
    }

    #[test]
    fn choice_of_account() {
        assert_eq!(choose(Some("bench"), known).unwrap().uid, 1000);
        assert_eq!(choose(None, known).unwrap().uid, 101);
        let refused = |error: Error, wanted: &str| {
            assert_eq!(error.class(), Class::Missing);
            assert!(error.to_string().contains(wanted), "{error}");
        };
        refused(choose(Some("root"), known).unwrap_err(), "refuses to run as root; name another user");
        refused(choose(Some("ghost"), known).unwrap_err(), "\"ghost\", who does not exist");
        refused(choose(None, |_| None).unwrap_err(), "no user postgres or nobody exists");
    }

    #[test]
    fn the_system_knows_root() {
        assert_eq!(look_up("root").unwrap().uid, 0);
        assert_eq!(look_up("no such user here"), None);
    }
}
