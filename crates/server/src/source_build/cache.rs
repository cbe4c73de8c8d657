//! Finished builds in pgdyno's home: `builds/KEY`, each complete from the moment its `build.json` is there. A
//! process that uses one holds a shared lock on it; a process that builds or removes it holds the lock alone.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use spec::{Class, Error};

use super::kind::BuildKind;
use crate::child::Account;
use crate::home::{Dir, Home, HomeFolder, Readable, passed_through};
use crate::lock::LOCK;

/// In the folder of a build: what it is, written last.
const MARKER: &str = "build.json";
/// Version of its format.
const FORMAT: u32 = 1;
/// What was installed: only pgdyno's user can change it.
pub(super) const INSTALLED: &str = "pgsql";
/// Where it is built; the account for servers owns it.
pub(super) const WORK: &str = "work";
/// A copy under way.
pub(super) const HALF: &str = "half";
/// The sources as an archive.
pub(super) const ARCHIVE: &str = "source.tar";

/// Digits of a key: enough for the builds of one machine.
pub(super) const DIGITS: usize = 16;

/// A finished build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedBuild {
    format: u32,
    /// The branch or tag, else the commit's first digits, when it was built.
    pub name: String,
    pub kind: BuildKind,
    /// The folder of its sources.
    pub source: PathBuf,
    /// 40 hex digits, with `-dirty` behind them for a working tree with changes.
    pub commit: String,
    pub options: Vec<String>,
    /// First line of `CC --version`.
    pub compiler: String,
    /// Version of the PostgreSQL that an extension was built for.
    pub base: Option<String>,
    /// UTC, RFC 3339.
    pub built_at: String,
    /// Of its files.
    pub bytes: u64,
}

impl CachedBuild {
    /// A description with the present format.
    #[expect(clippy::too_many_arguments, reason = "plain data, named by its only caller")]
    pub(super) fn new(
        name: &str,
        kind: BuildKind,
        source: PathBuf,
        commit: String,
        options: &[String],
        compiler: &str,
        base: Option<&str>,
        bytes: u64,
    ) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            kind,
            source,
            commit,
            options: options.to_vec(),
            compiler: compiler.to_owned(),
            base: base.map(str::to_owned),
            built_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            bytes,
        }
    }
}

/// A build that cannot be removed while this lives.
#[derive(Debug)]
pub struct BuildInUse {
    /// Processes that its programs left running, and that were ended: `sleep (pid 4711)`. Empty if the cache had it.
    pub strays: Vec<String>,
    _lock: File,
}

/// The folder of a build, made if it does not exist.
pub(super) fn folder_of(home: &Home, key: &str, account: Option<&Account>) -> Result<Dir, Error> {
    let builds = home.make_part(HomeFolder::Builds, account)?;
    let made = builds.make(key, passed_through(account.is_some()));
    made.map_err(|error| Error::io("use", &builds.path().join(key), error))
}

/// What is in the folder of a build, if it is complete.
pub(super) fn read(folder: &Dir) -> Result<Option<CachedBuild>, Error> {
    let failed = |error| Error::io("read", &folder.path().join(MARKER), error);
    match folder.read(MARKER) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(text) => {
            let read: Option<CachedBuild> = serde_json::from_slice(&text).ok();
            // One of another format is built again.
            Ok(read.filter(|build| build.format == FORMAT && folder.has(INSTALLED)))
        }
    }
}

/// Completes a build.
pub(super) fn complete(folder: &Dir, build: &CachedBuild) -> io::Result<()> {
    let text = serde_json::to_string_pretty(build)?;
    folder.replace(MARKER, text.as_bytes(), Readable::ByUs).map(drop)
}

/// The lock of a build, to use it or alone; `None` while another process has it.
pub(super) fn lock(folder: &Dir, alone: bool) -> io::Result<Option<File>> {
    let file = folder.lock_file(LOCK)?;
    let how = match alone {
        true => FlockOperation::NonBlockingLockExclusive,
        false => FlockOperation::NonBlockingLockShared,
    };
    match rustix::fs::flock(&file, how) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Lets others use what this process built.
pub(super) fn share(lock: File, strays: Vec<String>) -> io::Result<BuildInUse> {
    rustix::fs::flock(&lock, FlockOperation::LockShared)?;
    Ok(BuildInUse { strays, _lock: lock })
}

/// Removes what an unfinished build left, its marker first. The caller holds the lock alone.
pub(super) fn clear(folder: &Dir) -> io::Result<()> {
    [MARKER, WORK, HALF, ARCHIVE, INSTALLED].iter().try_for_each(|name| folder.remove_all(name))
}

/// Removes what killed processes left of other builds.
pub(super) fn clear_dead(home: &Home, except: &str) -> Result<(), Error> {
    let Some(builds) = home.part(HomeFolder::Builds)? else { return Ok(()) };
    for key in keys(&builds)?.into_iter().filter(|key| key != except) {
        let Ok(Some(folder)) = builds.open(&key) else { continue };
        let is_left = |folder: &Dir| [WORK, HALF, ARCHIVE].iter().any(|name| folder.has(name));
        // A process that builds it now has its lock.
        if is_left(&folder)
            && let Ok(Some(_alone)) = lock(&folder, true)
            && is_left(&folder)
        {
            clear(&folder).map_err(|error| Error::io("remove", folder.path(), error))?;
        }
    }
    Ok(())
}

/// Builds in the home.
#[derive(Debug, Default)]
pub struct CachedBuilds {
    pub folder: PathBuf,
    /// Key, build, and whether a process uses it; the last built first.
    pub builds: Vec<(String, CachedBuild, bool)>,
}

/// All finished builds. Nothing is changed.
///
/// # Errors
/// When the home cannot be read.
pub fn cached(home: &Home) -> Result<CachedBuilds, Error> {
    let mut found = CachedBuilds { folder: home.path(HomeFolder::Builds), builds: Vec::new() };
    let Some(builds) = home.part(HomeFolder::Builds)? else { return Ok(found) };
    for key in keys(&builds)? {
        let Ok(Some(folder)) = builds.open(&key) else { continue };
        if let Some(build) = read(&folder)? {
            let in_use = lock(&folder, true).is_ok_and(|free| free.is_none());
            found.builds.push((key, build, in_use));
        }
    }
    found.builds.sort_by(|(_, one, _), (_, other, _)| other.built_at.cmp(&one.built_at));
    Ok(found)
}

fn keys(builds: &Dir) -> Result<Vec<String>, Error> {
    let names = builds.names().map_err(|error| Error::io("read", builds.path(), error))?;
    let mut keys: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    keys.sort_unstable();
    Ok(keys)
}

/// What was removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RemovedBuilds {
    /// Names of the builds.
    pub removed: Vec<String>,
    /// Names of the builds that a process uses; they stay.
    pub in_use: Vec<String>,
    pub bytes: u64,
}

/// Removes builds by name, key, or first digits of their commit; `None` for all, with what unfinished ones left.
///
/// # Errors
/// When there is none of this name, or one cannot be removed.
pub fn remove(home: &Home, which: Option<&str>) -> Result<RemovedBuilds, Error> {
    let mut done = RemovedBuilds::default();
    let Some(builds) = home.part(HomeFolder::Builds)? else { return none_of(done, which) };
    for key in keys(&builds)? {
        let Ok(Some(folder)) = builds.open(&key) else { continue };
        let build = read(&folder)?;
        let is_meant = match (which, &build) {
            (None, _) => true,
            (Some(which), Some(build)) => {
                build.name == which || key == which || which.len() >= 7 && build.commit.starts_with(which)
            }
            (Some(_), None) => false,
        };
        if !is_meant {
            continue;
        }
        let failed = |error| Error::io("remove", folder.path(), error);
        let name = build.as_ref().map_or_else(|| key.clone(), |build| build.name.clone());
        match lock(&folder, true).map_err(failed)? {
            None => done.in_use.push(name),
            Some(_alone) => {
                clear(&folder).map_err(failed)?;
                // The folder with its lock stays for a process that waits for it; it is empty.
                done.bytes += build.as_ref().map_or(0, |build| build.bytes);
                done.removed.extend(build.map(|build| build.name));
            }
        }
    }
    none_of(done, which)
}

fn none_of(done: RemovedBuilds, which: Option<&str>) -> Result<RemovedBuilds, Error> {
    match which.filter(|_| done == RemovedBuilds::default()) {
        None => Ok(done),
        Some(which) => {
            let what = format!("pgdyno's home has no build {which:?}");
            Err(Error::new(Class::Missing, what).with_hint("see them: pgdyno target builds"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(home: &Home, key: &str, name: &str) -> Dir {
        let folder = folder_of(home, key, None).unwrap();
        std::fs::create_dir_all(folder.path().join(INSTALLED).join("bin")).unwrap();
        let (kind, commit) = (BuildKind::Configure, format!("{key}{}", "0".repeat(30)));
        complete(&folder, &CachedBuild::new(name, kind, "/src".into(), commit, &[], "gcc", None, 7)).unwrap();
        folder
    }

    #[test]
    fn a_build_in_use_stays_and_others_are_removed_by_name() {
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(&top.path().join("home"));
        assert_eq!(remove(&home, None).unwrap(), RemovedBuilds::default());
        let (one, _) = (build(&home, "aaaaaaaaaa", "master"), build(&home, "bbbbbbbbbb", "v3"));
        // What a killed pgdyno left.
        std::fs::create_dir_all(folder_of(&home, "cc", None).unwrap().path().join(WORK)).unwrap();
        assert_eq!(cached(&home).unwrap().builds.len(), 2);

        let used = share(lock(&one, true).unwrap().unwrap(), Vec::new()).unwrap();
        assert!(lock(&one, true).unwrap().is_none() && lock(&one, false).unwrap().is_some());
        let done = remove(&home, None).unwrap();
        assert_eq!((done.removed, done.in_use, done.bytes), (vec!["v3".into()], vec!["master".into()], 7));
        assert!(!folder_of(&home, "cc", None).unwrap().has(WORK));
        drop(used);
        assert!(remove(&home, Some("v3")).unwrap_err().hint().unwrap().contains("target builds"));
        assert_eq!(remove(&home, Some("aaaaaaa")).unwrap().removed, ["master"]);
        assert!(cached(&home).unwrap().builds.is_empty());
    }
}
