//! The unprivileged account that servers run as when pgdyno runs as root.

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
    /// Primary group id.
    pub gid: u32,
}

impl Account {
    /// The account to drop to: `$PGDYNO_USER`, else `postgres`, else `nobody`. `None` when we are not root, and
    /// run everything as ourselves.
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

    /// Whether it may enter a folder, and each one above it.
    #[must_use]
    pub fn may_enter(&self, folder: &Path) -> bool {
        matches!(self.blocker(folder), Ok(None))
    }

    /// The first folder that it may not enter, from this one up to `/`.
    ///
    /// # Errors
    /// When one of them cannot be looked at.
    pub(crate) fn blocker(&self, folder: &Path) -> io::Result<Option<PathBuf>> {
        for above in folder.canonicalize()?.ancestors() {
            if self.rights(&above.metadata()?) & 0o1 == 0 {
                return Ok(Some(above.to_owned()));
            }
        }
        Ok(None)
    }

    /// Whether it may read a file that it can get to, by the file's owner and mode.
    #[must_use]
    pub fn may_read(&self, file: &Metadata) -> bool {
        self.rights(file) & 0o4 != 0
    }

    /// The three bits of a mode that count for it.
    fn rights(&self, file: &Metadata) -> u32 {
        let shift = match (file.uid() == self.uid, file.gid() == self.gid) {
            (true, _) => 6,
            (false, true) => 3,
            (false, false) => 0,
        };
        file.mode() >> shift & 0o7
    }
}

/// Has a command run as an account (`None`: the user we are), without our further groups.
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
            let what = format!("PGDYNO_USER names the user {name:?}, whom this machine does not know");
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
            "PostgreSQL refuses to run as root, and there is no user postgres or nobody; set PGDYNO_USER";
        Error::new(Class::Missing, what)
    })
}

/// Asks the system's user database (files, LDAP, ...) for a login name.
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
        refused(choose(Some("ghost"), known).unwrap_err(), "\"ghost\", whom this machine does not know");
        refused(choose(None, |_| None).unwrap_err(), "there is no user postgres or nobody");
    }

    #[test]
    fn the_system_knows_root() {
        assert_eq!(look_up("root").unwrap().uid, 0);
        assert_eq!(look_up("no such user here"), None);
    }
}
