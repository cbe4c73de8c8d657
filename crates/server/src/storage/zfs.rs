//! ZFS: the kernel's if available, otherwise zfs-fuse, whose single daemon on a machine we start and stop.
//!
//! All filesystems of a home share the daemon. It is identified by a variable in its environment. One process
//! at a time starts and stops it, and makes and removes pools.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use spec::Error;

use super::error::{of_file, too_slow, tool_failed, unavailable};
use super::made::MadeFolder;
use super::tools::Tools;
use crate::error::file_error;
use crate::home::{Dir, Home, HomeFolder, Readable, no_home};
use crate::host::proc::{processes, signal_with_variable};
use crate::lock::{Lock, LockResult};
use spec::plan::storage::{Filesystem, FilesystemKind};

/// Timeout of a command of ZFS.
pub(super) const BOUND: Duration = Duration::from_secs(60);
/// Timeout of the daemon's first answer, and of waiting for another process's turn.
const START_BOUND: Duration = Duration::from_secs(10);
const TURN_BOUND: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// How long a killed daemon may take to be gone.
const KILLED: Duration = Duration::from_secs(2);
/// Where zfs-fuse listens; its tools abort where nobody does.
const SOCKET: &str = "/var/run/zfs/zfs_socket";
/// Pools that a new daemon of zfs-fuse would open.
const REMEMBERED: &str = "/var/lib/zfs/zpool.cache";

/// In the folder for filesystems; contains its log.
const DAEMON: &str = "zfs-fuse";
const LOG: &str = "log";

/// The daemon that this process started, to be reaped.
static STARTED: Mutex<Option<Child>> = Mutex::new(None);

/// Which ZFS is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Kernel,
    Fuse,
}

/// The kernel's, if it has one.
pub(super) fn by(tools: &Tools<'_>) -> By {
    let in_kernel = || Path::new("/dev/zfs").exists() || Path::new("/sys/module/zfs").exists();
    if !in_kernel() && tools.find("modprobe").is_some() {
        // A failure shows in the next check.
        let _ = tools.run("modprobe", &["-q", "zfs"], Duration::from_secs(10));
    }
    if in_kernel() { By::Kernel } else { By::Fuse }
}

/// Checks that a daemon can be started, or that ours runs.
pub(super) fn daemon_can_be_had(home: &Home) -> Result<(), Error> {
    let no = |reason: String| Err(unavailable("zfs", reason));
    if !Path::new("/dev/fuse").exists() {
        return no(
            "there is no /dev/fuse, which zfs-fuse needs; try modprobe fuse, or a container that is given it"
                .to_owned(),
        );
    }
    if !daemons(home).is_empty() {
        return Ok(());
    }
    if let Some(other) = processes().find(|process| process.name == "zfs-fuse" && !process.is_zombie()) {
        return no(format!(
            "only one zfs-fuse can run on a machine, and one runs that pgdyno did not start here (pid {}); stop it first",
            other.pid
        ));
    }
    if answers() {
        return no(format!("somebody else's zfs-fuse listens on {SOCKET}; stop it first"));
    }
    if Path::new(REMEMBERED).metadata().is_ok_and(|file| file.len() > 0) {
        return no(format!("this machine has other pools, which zfs-fuse would open ({REMEMBERED})"));
    }
    Ok(())
}

/// Why a property cannot have a value, according to `zfs get` of the kernel's ZFS, or to what is known of
/// zfs-fuse.
pub(super) fn check_properties(by: By, kind: &FilesystemKind, tools: &Tools<'_>) -> Result<(), Error> {
    let FilesystemKind::Zfs { recordsize_bytes, compression } = kind else { return Ok(()) };
    let known = match by {
        By::Fuse => FUSE.to_owned(),
        // It fails, and lists all properties meanwhile.
        By::Kernel => match tools.run_for_output("zfs", &["get", "pgdyno"], BOUND) {
            Ok(words) => words,
            Err(error) => return Err(unavailable("zfs", error.to_string())),
        },
    };
    if let Some(wanted) = compression
        && !knows_compression(&known, wanted)
    {
        let whose = if by == By::Fuse { "zfs-fuse" } else { "this ZFS" };
        let values = values_of(&known, "compression").unwrap_or_default();
        let reason = format!("{whose} does not know compression {wanted} (it knows {values})");
        return Err(unavailable("zfs", reason));
    }
    match recordsize_bytes {
        Some(size) if by == By::Fuse && !(512..=128 << 10).contains(size) => {
            Err(unavailable("zfs", "zfs-fuse knows no recordsize above 128k".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The properties of zfs-fuse, as its `zfs get` lists them (0.7.0).
const FUSE: &str = "\tcompression     YES      YES   on | off | lzjb | gzip | gzip-[1-9] | zle\n";

fn values_of<'a>(known: &'a str, property: &str) -> Option<&'a str> {
    let line = known.lines().find(|line| line.split_whitespace().next() == Some(property))?;
    line.rsplit_once("YES").map(|(_, values)| values.trim())
}

/// If the list has an unknown form, `zpool create` will check the value.
fn knows_compression(known: &str, wanted: &str) -> bool {
    let Some(values) = values_of(known, "compression") else { return true };
    let matches = |value: &str| match value.split_once("[1-9]") {
        // `gzip-[1-9]`
        Some((before, "")) => wanted
            .strip_prefix(before)
            .is_some_and(|level| level.len() == 1 && matches!(level.as_bytes()[0], b'1'..=b'9')),
        // `zstd-[1-19]`, `zstd-fast-[1-10,20,...]`.
        _ if value.contains('[') => wanted.starts_with(value.split('[').next().unwrap_or(value)),
        _ => value == wanted,
    };
    values.split('|').any(|value| matches(value.trim()))
}

/// While it is held, no other pgdyno of this home starts or stops the daemon.
pub(super) fn turn(home: &Home) -> Result<Lock, Error> {
    let folder = daemon_folder(home)?;
    let start = Instant::now();
    loop {
        match Lock::take(&folder) {
            Ok(LockResult::Ours(lock)) => return Ok(lock),
            Err(source) => return Err(file_error(folder.path(), source)),
            Ok(LockResult::Held(_)) if start.elapsed() >= TURN_BOUND => {
                return Err(too_slow("another pgdyno's ZFS", TURN_BOUND));
            }
            Ok(LockResult::Held(_)) => std::thread::sleep(PAUSE),
        }
    }
}

/// The folder of the daemon's lock and log.
fn daemon_folder(home: &Home) -> Result<Dir, Error> {
    let storage = home.part(HomeFolder::Storage)?.ok_or_else(no_home)?;
    storage.make(DAEMON, 0o700).map_err(of_file(&storage.path().join(DAEMON)))
}

/// Set only for the daemon of this home.
fn variable(home: &Home) -> (&'static str, PathBuf) {
    let folder = home.path(HomeFolder::Storage).join(DAEMON);
    ("PGDYNO_ZFS", folder.canonicalize().unwrap_or(folder))
}

/// Daemons of this home: one, or none.
fn daemons(home: &Home) -> Vec<u32> {
    signal_daemons(home, None)
}

fn signal_daemons(home: &Home, signal: Option<Signal>) -> Vec<u32> {
    let (name, value) = variable(home);
    signal_with_variable(&format!("{name}={}", value.display()), signal)
}

fn answers() -> bool {
    UnixStream::connect(SOCKET).is_ok()
}

/// Starts the daemon unless it runs. The turn must be held.
pub(super) fn start_daemon(home: &Home, tools: &Tools<'_>) -> Result<(), Error> {
    daemon_can_be_had(home)?;
    let folder = daemon_folder(home)?;
    let log = folder.path().join(LOG);
    if daemons(home).is_empty() {
        let file = folder.remove_file(LOG).and_then(|()| folder.create(LOG, Readable::ByUs));
        let file = file.map_err(of_file(&log))?;
        let errors = file.try_clone().map_err(of_file(&log))?;
        let (name, value) = variable(home);
        let mut command = tools.command("zfs-fuse")?;
        command.args(["--no-daemon", "--no-kstat-mount"]).env(name, value).current_dir("/");
        let started = command.stdout(file).stderr(errors).spawn();
        let started = started.map_err(of_file(Path::new("zfs-fuse")))?;
        *STARTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
    }
    let start = Instant::now();
    while !answers() {
        if daemons(home).is_empty() && start.elapsed() > Duration::from_secs(1)
            || start.elapsed() > START_BOUND
        {
            let output = folder.read_text(LOG).unwrap_or_default();
            let output = format!("it does not answer on {SOCKET} {}", output.trim());
            return Err(tool_failed("zfs-fuse", output));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Stops the daemon if it has no pool, and kills it after `timeout`. The turn must be held.
pub(super) fn stop_daemon(home: &Home, timeout: Duration, tools: &Tools<'_>) -> Result<(), String> {
    if daemons(home).is_empty() || (answers() && !pools(tools).map_err(|error| error.to_string())?.is_empty())
    {
        return Ok(());
    }
    end_daemon(home, &[(Signal::TERM, timeout), (Signal::KILL, KILLED)])
}

/// Kills the daemon together with its only pool. The turn must be held.
pub(super) fn kill_daemon(home: &Home, pool: &str, tools: &Tools<'_>) -> Result<(), String> {
    let pools = pools(tools).map_err(|error| error.to_string())?;
    if pools.iter().any(|other| other != pool) {
        return Err(format!("pool {pool} is in use, and so are others of the same daemon"));
    }
    end_daemon(home, &[(Signal::KILL, KILLED)])
}

fn end_daemon(home: &Home, steps: &[(Signal, Duration)]) -> Result<(), String> {
    for (signal, bound) in steps {
        signal_daemons(home, Some(*signal));
        let start = Instant::now();
        while start.elapsed() < *bound {
            if daemons(home).is_empty() {
                let ours = STARTED.lock().unwrap_or_else(PoisonError::into_inner).take();
                let _ = ours.map(|mut ours| ours.wait());
                // A killed daemon leaves its socket, on which nobody listens.
                let _ = if answers() { Ok(()) } else { std::fs::remove_file(SOCKET) };
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
    Err("the daemon of zfs-fuse does not end".to_owned())
}

/// Names of all existing pools; none if zfs-fuse does not answer.
fn pools(tools: &Tools<'_>) -> Result<Vec<String>, Error> {
    let names = tools.run("zpool", &["list", "-H", "-o", "name"], BOUND)?;
    Ok(names
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|name| name.starts_with(|c: char| c.is_alphanumeric()) && !name.contains(' '))
        .collect())
}

/// Whether this pool exists, and is on our image. A failed query is an error: an existing pool must not be
/// taken for gone.
pub(super) fn is_there(
    made: &MadeFolder,
    pool: &str,
    kernel: bool,
    tools: &Tools<'_>,
) -> Result<bool, Error> {
    let reachable = if kernel { Path::new("/dev/zfs").exists() } else { answers() };
    if !reachable || !pool.starts_with(POOL) || !pools(tools)?.iter().any(|known| known == pool) {
        return Ok(false);
    }
    let status = tools.run("zpool", &["status", pool], BOUND)?;
    Ok(status.contains(&made.image().display().to_string()))
}

/// Prefix of the names of our pools.
const POOL: &str = "pgdyno-";

/// A name that no other pool has.
pub(super) fn new_name() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{POOL}{}", &random[..12])
}

/// Makes the pool on the image, and mounts it. It is not remembered, so that only we open it.
pub(super) fn create(
    made: &MadeFolder,
    pool: &str,
    filesystem: &Filesystem,
    tools: &Tools<'_>,
) -> Result<(), Error> {
    let mut args: Vec<String> = ["create", "-f", "-o", "cachefile=none", "-m"].map(str::to_owned).into();
    args.push(made.mounted().display().to_string());
    let mut properties: Vec<String> = filesystem.options().map(str::to_owned).collect();
    if let FilesystemKind::Zfs { recordsize_bytes, compression } = &filesystem.kind {
        properties.extend(recordsize_bytes.map(|size| format!("recordsize={size}")));
        properties.extend(compression.as_ref().map(|it| format!("compression={it}")));
    }
    args.extend(properties.into_iter().flat_map(|property| ["-O".to_owned(), property]));
    args.extend([pool.to_owned(), made.image().display().to_string()]);
    tools.run("zpool", &args, BOUND).map(drop)
}

/// Exports the pool, which frees its cache.
pub(super) fn export(pool: &str, tools: &Tools<'_>) -> Result<(), Error> {
    tools.run("zpool", &["export", pool], BOUND).map(drop)
}

/// Imports it again.
pub(super) fn import(made: &MadeFolder, pool: &str, tools: &Tools<'_>) -> Result<(), Error> {
    let folder = made.folder.display().to_string();
    tools.run("zpool", &["import", "-o", "cachefile=none", "-d", &folder, pool], BOUND).map(drop)
}

/// Destroys it with its contents; `force` unmounts it even if in use.
pub(super) fn destroy(pool: &str, force: bool, tools: &Tools<'_>) -> Result<(), Error> {
    let args = if force { vec!["destroy", "-f", pool] } else { vec!["destroy", pool] };
    tools.run("zpool", &args, BOUND).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_compression_that_is_known_is_asked_for() {
        for (wanted, known) in [
            ("lzjb", true),
            ("gzip-9", true),
            ("off", true),
            ("lz4", false),
            ("zstd", false),
            ("gzip-10", false),
        ] {
            assert_eq!(knows_compression(FUSE, wanted), known, "{wanted}");
        }
        let kernel = "\tcompression     YES      YES   on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19]\n";
        for (wanted, known) in [("lz4", true), ("zstd-12", true), ("brotli", false)] {
            assert_eq!(knows_compression(kernel, wanted), known, "{wanted}");
        }
        assert!(knows_compression("something else", "lz4"), "zpool create will say");
    }
}
