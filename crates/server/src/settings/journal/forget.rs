//! Ends journals on request, and undoes nothing: their servers are gone, or were put in order by hand.

use protocol::postgres::{Config, Env};
use spec::{Class, Error};

use super::entry::{Claimed, JournalEntry, JournalFile, files};
use super::left::{LeftBy, Leftover, claim_abandoned};
use crate::control::places;
use crate::error::conninfo_error;
use crate::home::Home;
use crate::managed;

/// Which journals to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetScope<'a> {
    /// The journals of every server.
    All,
    /// The journal of a private server, by name.
    Private(&'a str),
    /// The journals that may be about a server, by connection string; it is not contacted.
    At(&'a str),
}

/// Ends journals. Returns what each of them listed, which may still be as it is there; those of a pgdyno that
/// works ([`LeftBy::Living`]) stay.
///
/// # Errors
/// When there is no such private server, the connection string is invalid, somebody else can change the home
/// or a journal, or a journal cannot be removed.
pub fn forget(home: &Home, scope: ForgetScope<'_>) -> Result<Vec<Leftover>, Error> {
    let found = match scope {
        ForgetScope::All => {
            let mut found = files(home)?;
            found.extend(managed::journals(home)?);
            found
        }
        ForgetScope::Private(name) => vec![managed::status(home, name)?.journal],
        ForgetScope::At(dsn) => {
            let config = Config::parse(Some(dsn), &Env::process()).map_err(conninfo_error)?;
            let places: Vec<_> = places(&config).into_iter().filter_map(|(_, place)| place.ok()).collect();
            let there =
                |entry: &JournalEntry| places.iter().any(|place| entry.server.may_be_at(&place.address));
            let mut found = files(home)?;
            found.retain(|file| JournalEntry::read(file).is_ok_and(|entry| there(&entry)));
            found
        }
    };
    found.iter().filter(|file| file.exists()).filter_map(|file| end(file).transpose()).collect()
}

/// `None` where it listed nothing, or is gone.
fn end(file: &JournalFile) -> Result<Option<Leftover>, Error> {
    let failed = |error: std::io::Error| {
        let what = format!("the journal {} cannot be removed: {error}", file.path().display());
        Error::new(Class::Io, what).because(error)
    };
    match claim_abandoned(file) {
        Claimed::Ours(claim) => {
            let left = Leftover::of(&claim.entry, LeftBy::Killed);
            claim.close().map_err(failed)?;
            Ok(Some(left).filter(|left| !left.is_empty()))
        }
        Claimed::Unreadable(reason) => {
            file.remove().map_err(failed)?;
            Ok(Some(Leftover::unreadable(&file.path(), &reason)))
        }
        Claimed::Held => {
            Ok(JournalEntry::read(file).ok().map(|entry| Leftover::of(&entry, LeftBy::Living(entry.pid))))
        }
        Claimed::Gone => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::left::tests::entry;
    use super::*;
    use crate::home::HomeFolder;

    #[test]
    fn a_journal_ends_whatever_it_says_unless_its_pgdyno_works() {
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(top.path());
        let folder = home.make_part(HomeFolder::Journal, None).unwrap();
        let file = |name: &str| JournalFile::new(&folder, name);
        let mut away = entry(&[("work_mem", Some("7MB"))]);
        away.server.port = Some(5999);
        drop(away.write(&file("a.json")).unwrap());
        std::fs::write(file("b.json").path(), "half of a jour").unwrap();
        let mut living = entry(&[("fsync", None)]);
        living.server.port = Some(5999);
        living.pid = std::process::id();
        let held = living.write(&file("c.json")).unwrap();
        let none = forget(&home, ForgetScope::At("host=127.0.0.1 port=5998")).unwrap();
        assert_eq!((none.len(), file("a.json").exists()), (0, true), "of another server");
        let found = forget(&home, ForgetScope::All).unwrap();
        assert_eq!(found[0].list(), "work_mem = new (before: 7MB)");
        assert!(matches!(&found[1].by, LeftBy::Unknown(_)), "{found:?}");
        assert_eq!(found[2].by, LeftBy::Living(std::process::id()));
        let left: Vec<bool> = ["a.json", "b.json", "c.json"].map(|name| file(name).exists()).into();
        assert_eq!(left, [false, false, true]);
        drop(held);
    }
}
