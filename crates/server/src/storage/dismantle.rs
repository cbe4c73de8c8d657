//! Removing a filesystem with all that was made for it, whatever step it had come to.

use std::io;
use std::time::{Duration, Instant};

use spec::Error;

use super::journal::{Journal, Step};
use super::loop_device::attached;
use super::made::{IMAGE, JOURNAL, MOUNTED, Made};
use super::mount_point;
use super::tools::Tools;
use super::zfs;
use crate::home::Part;
use crate::host::is_mounted;
use crate::lock::{LOCK, Lock};

/// How long one tool may take here.
const BOUND: Duration = Duration::from_secs(30);
/// Between two tries to unmount what somebody still uses.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a loop device may be busy after its filesystem was unmounted.
const LOOP_BOUND: Duration = Duration::from_secs(2);

/// How long whoever uses it is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    until: Instant,
    daemon: Duration,
}

impl Patience {
    /// Its servers were stopped; a daemon may end by itself.
    pub(super) fn asked() -> Self {
        Self { until: Instant::now() + Duration::from_secs(15), daemon: Duration::from_secs(5) }
    }

    /// pgdyno is gone: watchdogs kill its servers within 8 s, and all must be over within 10.
    pub(super) fn lost() -> Self {
        Self { until: Instant::now() + Duration::from_millis(8600), daemon: Duration::from_millis(300) }
    }

    fn is_over(self) -> bool {
        Instant::now() >= self.until
    }
}

/// Removes it all; answers what is left, and why. The lock of its folder must be held.
pub(super) fn dismantle(made: &Made, patience: Patience) -> Vec<String> {
    let tools = &Tools::new(&|| false);
    let journal = Journal::read(made);
    let mut left = Vec::new();
    if let Some((pool, journal)) = journal.as_ref().and_then(|journal| Some((journal.pool.clone()?, journal)))
    {
        left.extend(remove_pool(made, &pool, journal, patience, tools).err());
    }
    if !left.is_empty() {
        // Nothing else would tell the next one of the pool.
        return left;
    }
    left.extend(unmount(made, patience).err());
    left.extend(detach(made, tools).err());
    if is_mounted(&made.mounted()) {
        // Removing would reach into it.
        return left;
    }
    remove_servers(made);
    left.extend(remove_files(made).err());
    left
}

fn remove_pool(
    made: &Made,
    pool: &str,
    journal: &Journal,
    patience: Patience,
    tools: &Tools<'_>,
) -> Result<(), String> {
    let words = |error: Error| error.to_string();
    let home = made.home();
    let turn = || zfs::turn(&home).map_err(words);
    if journal.step == Step::Image {
        return Ok(());
    }
    // Others have their turn while a server still uses ours.
    loop {
        let _turn = turn()?;
        let there = zfs::is_there(made, pool, journal.kernel, tools);
        if matches!(there, Ok(false)) || zfs::destroy(pool, false, tools).is_ok() {
            break;
        }
        if patience.is_over() {
            there.map_err(words)?;
            let _ = mount_point::unmount(made, true);
            match zfs::destroy(pool, true, tools) {
                // Whoever still uses it keeps the pool, and nobody but its daemon can take that from him.
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
    zfs::stop_daemon(&home, patience.daemon, tools)
}

/// What is still used when patience is over leaves the tree of folders now, and goes when its last user does.
fn unmount(made: &Made, patience: Patience) -> Result<(), String> {
    while is_mounted(&made.mounted()) {
        let lazily = patience.is_over();
        match mount_point::unmount(made, lazily) {
            Err(error) if lazily => return Err(error.to_string()),
            Err(_) => std::thread::sleep(PAUSE),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn detach(made: &Made, tools: &Tools<'_>) -> Result<(), String> {
    if !made.image().exists() || tools.find("losetup").is_none() {
        return Ok(());
    }
    let start = Instant::now();
    loop {
        let devices = attached(made, tools).map_err(|error| error.to_string())?;
        if devices.is_empty() {
            return Ok(());
        }
        // One that is busy is let go of by the kernel when its last user ends.
        devices.iter().for_each(|device| drop(tools.run("losetup", &["--detach", device], BOUND)));
        if start.elapsed() > LOOP_BOUND {
            return Err(format!("{} is still in use", devices.join(", ")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server goes with the filesystem that its files stood on, unless somebody has it already to make it again.
fn remove_servers(made: &Made) {
    let clusters = made.home().part(Part::Clusters);
    for (name, folder) in made.servers() {
        if let (Some(_lock), Ok(Some(clusters))) = (Lock::if_free(&folder), &clusters) {
            let _ = clusters.remove_all(&name);
        }
    }
}

/// The folder goes last, and the journal before it: what is left of an interrupted removal is still known.
fn remove_files(made: &Made) -> Result<(), String> {
    let failed = |name: &str, error: io::Error| format!("{}: {error}", made.folder.join(name).display());
    let folder = match made.open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| failed("", error))?,
    };
    // Of what is unmounted nothing is in it; the system refuses where something is.
    folder.remove_empty(MOUNTED).map_err(|error| failed(MOUNTED, error))?;
    for file in [IMAGE, &format!("{JOURNAL}.new"), JOURNAL, LOCK] {
        folder.remove_file(file).map_err(|error| failed(file, error))?;
    }
    let above = made.home().part(Part::Storage).map_err(|error| error.to_string())?;
    let name = made.folder.file_name().unwrap_or_default();
    above.map_or(Ok(()), |above| above.remove_empty(name)).map_err(|error| failed("", error))
}
