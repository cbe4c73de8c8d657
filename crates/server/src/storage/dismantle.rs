//! Removes a filesystem and everything made for it, from any step of its making.

use std::io;
use std::time::{Duration, Instant};

use spec::Error;

use super::journal::{StorageJournal, StorageStep};

use super::loop_device::attached;
use super::made::{IMAGE, JOURNAL, MOUNTED, MadeFolder};
use super::mount_point;
use super::tools::Tools;
use super::zfs;
use crate::home::{Home, HomeFolder};
use crate::host::is_mounted;
use crate::lock::{LOCK, Lock};

/// Timeout of one tool.
const BOUND: Duration = Duration::from_secs(30);
/// Time between two tries to unmount a busy filesystem.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a loop device may be busy after its filesystem was unmounted.
const LOOP_BOUND: Duration = Duration::from_secs(2);

/// How long to wait for users of the filesystem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    until: Instant,
    daemon: Duration,
}

impl Deadline {
    /// Its servers were stopped; a daemon may end by itself.
    pub(super) fn asked() -> Self {
        Self { until: Instant::now() + Duration::from_secs(15), daemon: Duration::from_secs(5) }
    }

    /// pgdyno is gone: watchdogs kill its servers within 8 s, and everything must be over within 10.
    pub(super) fn lost() -> Self {
        Self { until: Instant::now() + Duration::from_millis(8600), daemon: Duration::from_millis(300) }
    }

    fn is_over(self) -> bool {
        Instant::now() >= self.until
    }
}

/// Removes everything; returns what is left, and why. The lock of its folder must be held.
pub(super) fn dismantle(made: &MadeFolder, deadline: Deadline) -> Vec<String> {
    let tools = &Tools::new(&|| false);
    let journal = StorageJournal::read(made);
    let mut left = Vec::new();
    if let Some((pool, journal)) = journal.as_ref().and_then(|journal| Some((journal.pool.clone()?, journal)))
    {
        left.extend(remove_pool(made, &pool, journal, deadline, tools).err());
    }
    if !left.is_empty() {
        // The journal is the only record of the pool.
        return left;
    }
    left.extend(unmount(made, deadline).err());
    left.extend(detach(made, tools).err());
    if is_mounted(&made.mounted()) {
        // Removing would delete files on it.
        return left;
    }
    remove_servers(made);
    left.extend(remove_files(made).err());
    left
}

fn remove_pool(
    made: &MadeFolder,
    pool: &str,
    journal: &StorageJournal,
    deadline: Deadline,
    tools: &Tools<'_>,
) -> Result<(), String> {
    let words = |error: Error| error.to_string();
    let home = made.home();
    let turn = || zfs::turn(&home).map_err(words);
    if journal.step == StorageStep::Image {
        return Ok(());
    }
    // Others get their turn while a server still uses ours.
    loop {
        let _turn = turn()?;
        let there = zfs::is_there(made, pool, journal.kernel, tools);
        if matches!(there, Ok(false)) || zfs::destroy(pool, false, tools).is_ok() {
            break;
        }
        if deadline.is_over() {
            there.map_err(words)?;
            let _ = mount_point::unmount(made, true);
            match zfs::destroy(pool, true, tools) {
                // A user of the filesystem keeps the pool, and only its daemon can take it away.
                Err(_) if !journal.kernel => return zfs::kill_daemon(&home, pool, tools),
                done => done.map_err(words)?,
            }
            break;
        }
        drop(_turn);
        std::thread::sleep(PAUSE);
    }
    if journal.kernel {
        return Ok(());
    }
    let _turn = turn()?;
    zfs::stop_daemon(&home, deadline.daemon, tools)
}

/// A filesystem still in use after the timeout is detached from the tree of folders, and removed with its
/// last user.
fn unmount(made: &MadeFolder, deadline: Deadline) -> Result<(), String> {
    while is_mounted(&made.mounted()) {
        let lazily = deadline.is_over();
        match mount_point::unmount(made, lazily) {
            Err(error) if lazily => return Err(error.to_string()),
            Err(_) => std::thread::sleep(PAUSE),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn detach(made: &MadeFolder, tools: &Tools<'_>) -> Result<(), String> {
    if !made.image().exists() || tools.find("losetup").is_none() {
        return Ok(());
    }
    let start = Instant::now();
    loop {
        let devices = attached(made, tools).map_err(|error| error.to_string())?;
        if devices.is_empty() {
            return Ok(());
        }
        // The kernel releases a busy one with its last user.
        devices.iter().for_each(|device| drop(tools.run("losetup", &["--detach", device], BOUND)));
        if start.elapsed() > LOOP_BOUND {
            return Err(format!("{} is still in use", devices.join(", ")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server is removed with the filesystem of its files, unless somebody is making it again.
fn remove_servers(made: &MadeFolder) {
    let clusters = made.home().part(HomeFolder::Clusters);
    for (name, folder) in made.servers() {
        if let (Some(_lock), Ok(Some(clusters))) = (Lock::if_free(&folder), &clusters) {
            let _ = clusters.remove_all(&name);
        }
    }
}

/// The folder goes last, and the journal before it: the rest of an interrupted removal can then still be
/// found.
fn remove_files(made: &MadeFolder) -> Result<(), String> {
    let failed = |name: &str, error: io::Error| format!("{}: {error}", made.folder.join(name).display());
    let folder = match made.open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| failed("", error))?,
    };
    // Empty once unmounted; the system refuses otherwise.
    folder.remove_empty(MOUNTED).map_err(|error| failed(MOUNTED, error))?;
    for file in [IMAGE, &format!("{JOURNAL}.new"), JOURNAL, LOCK] {
        folder.remove_file(file).map_err(|error| failed(file, error))?;
    }
    let above = made.home().part(HomeFolder::Storage).map_err(|error| error.to_string())?;
    let name = made.folder.file_name().unwrap_or_default();
    above.map_or(Ok(()), |above| above.remove_empty(name)).map_err(|error| failed("", error))
}

/// Removes filesystems left by killed pgdynos whose keepers were killed too, or after a power failure: those
/// of this home that nobody uses and nobody keeps, with the servers on them. Returns in words what was
/// removed, and what could not be. Call it after [`crate::managed::stop_orphans`].
pub fn remove_dead(home: &Home) -> Vec<String> {
    let dead = MadeFolder::all(home).into_iter().filter(|made| !made.is_in_use());
    dead.filter_map(|made| remove(&made)).collect()
}

fn remove(made: &MadeFolder) -> Option<String> {
    // Another process that has it by now removes it.
    let _lock = made.lock()?;
    let what = StorageJournal::read(made).map_or_else(
        || "a filesystem".to_owned(),
        |journal| journal.filesystem.words(journal.pool.is_some() && !journal.kernel),
    );
    let left = dismantle(made, Deadline::lost());
    let folder = made.folder.display();
    let whose = format!("{what} in {folder}, which a pgdyno that was killed with its keeper left");
    Some(match left.is_empty() {
        true => format!("removed {whose}"),
        false => format!("could not remove all of {whose}: {}", left.join("; ")),
    })
}
