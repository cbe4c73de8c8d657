//! The file of a measuring process: its contents, and a lock held as long as the process lives.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::time::{ClockId, clock_gettime};
use spec::visible;

use crate::host::proc::is_alive;

/// Prefix of these files; the pid follows.
const PREFIX: &str = "pgdyno-measuring-";
const LONGEST: u64 = 2048;
/// Longest line that is shown, characters.
const LONGEST_LINE: usize = 120;

/// Another process, from its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherPgdyno {
    pub pid: u32,
    /// Whether it measures already and does not wait.
    pub measures: bool,
    /// Since the machine started, ns.
    announced_ns: u64,
    /// Local time of day of its announcement.
    since: String,
    command: String,
    /// Without a password; empty if unknown yet.
    server: String,
}

impl OtherPgdyno {
    /// `pid 4711, pgdyno run, since 21:03:12, on postgres://me@db/shop and 1 more`.
    #[must_use]
    pub fn words(&self) -> String {
        let on = if self.server.is_empty() { String::new() } else { format!(", on {}", self.server) };
        format!("pid {}, {}, since {}{on}", self.pid, self.command, self.since)
    }

    /// `pid 4711, pgdyno run`.
    #[must_use]
    pub fn in_short(&self) -> String {
        format!("pid {}, {}", self.pid, self.command)
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Sort key: who came first.
    pub(super) fn order(&self) -> (u64, u32) {
        (self.announced_ns, self.pid)
    }

    fn read(pid: u32, text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let measures = lines.next()? == MEASURES;
        let announced_ns = lines.next()?.trim().parse().ok()?;
        let mut shown = || {
            let line: String = lines.next().unwrap_or_default().chars().take(LONGEST_LINE).collect();
            visible::line(&line).into_owned()
        };
        Some(Self { pid, measures, announced_ns, since: shown(), command: shown(), server: shown() })
    }
}

const MEASURES: &str = "measures";
const WAITS: &str = "waits";

/// The file of this process, removed with this value.
#[derive(Debug)]
pub(super) struct AnnouncementFile {
    file: File,
    path: PathBuf,
    announcement: OtherPgdyno,
    /// Of its arms, in order.
    servers: Vec<String>,
}

impl AnnouncementFile {
    /// Makes the file; it is locked before others see it.
    pub(super) fn make(folder: &Path, command: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let now = clock_gettime(ClockId::Monotonic);
        let announced_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let since = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        let (command, server) = (command.to_owned(), String::new());
        let announcement = OtherPgdyno { pid, measures: false, announced_ns, since, command, server };
        let part = tempfile::Builder::new()
            .prefix(".pgdyno-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        flock(part.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        let path = folder.join(format!("{PREFIX}{pid}-{announced_ns}"));
        let file = part.persist_noclobber(&path).map_err(|error| error.error)?;
        // Others read it, whatever the umask is.
        file.set_permissions(Permissions::from_mode(0o644))?;
        let mut entry = Self { file, path, announcement, servers: Vec::new() };
        entry.write()?;
        Ok(entry)
    }

    pub(super) fn order(&self) -> (u64, u32) {
        self.announcement.order()
    }

    pub(super) fn measures(&self) -> bool {
        self.announcement.measures
    }

    pub(super) fn command(&self) -> &str {
        &self.announcement.command
    }

    pub(super) fn begin(&mut self) {
        self.announcement.measures = true;
        // If writing fails, others assume that it measures.
        let _ = self.write();
    }

    /// Adds a server. Only the first one is named: arms differ by their folder, and a list of them would not fit.
    pub(super) fn on(&mut self, server: &str) {
        if !self.servers.iter().any(|known| known == server) {
            self.servers.push(server.to_owned());
        }
        self.announcement.server = match &self.servers[..] {
            [first, others @ ..] if !others.is_empty() => format!("{first} and {} more", others.len()),
            [first, ..] => first.clone(),
            [] => String::new(),
        };
        let _ = self.write();
    }

    fn write(&mut self) -> io::Result<()> {
        let OtherPgdyno { measures, announced_ns, since, command, server, .. } = &self.announcement;
        let state = if *measures { MEASURES } else { WAITS };
        let line = |text: &str| visible::line(text).into_owned();
        let text = format!("{state}\n{announced_ns}\n{since}\n{}\n{}\n", line(command), line(server));
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for AnnouncementFile {
    fn drop(&mut self) {
        // A file that stays is not locked, and so is ignored.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// All living processes with a file in the folder.
pub(super) fn all(folder: &Path) -> Vec<OtherPgdyno> {
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    names.filter_map(|name| read(&folder.join(&name), pid_of(&name)?)).collect()
}

fn pid_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

/// A process that holds its file's lock; an unlocked file is removed, if it is ours.
fn read(path: &Path, pid: u32) -> Option<OtherPgdyno> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) if is_alive(pid) => {}
        Ok(()) => {
            // In a shared folder only its owner can.
            let _ = std::fs::remove_file(path);
            return None;
        }
        Err(_) => return None,
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    OtherPgdyno::read(pid, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_measures_is_seen_and_one_that_ended_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut entry = AnnouncementFile::make(folder.path(), "pgdyno run x.toml").unwrap();
        let seen = || all(folder.path());
        assert!(!seen()[0].measures, "{:?}", seen());
        entry.begin();
        entry.on("postgres://me@db/shop");
        let [other] = &seen()[..] else { panic!("{:?}", seen()) };
        assert!(other.measures && other.order() == entry.order());
        let words = other.words();
        assert!(
            words.starts_with(&format!("pid {}, pgdyno run x.toml, since ", std::process::id())),
            "{words}"
        );
        assert!(words.ends_with(", on postgres://me@db/shop"), "{words}");
        for server in ["postgres://me@db/shop", "host=/run/a", "host=/run/b"] {
            entry.on(server);
        }
        let words = seen()[0].words();
        assert!(words.ends_with(", on postgres://me@db/shop and 2 more"), "{words}");
        assert_eq!(seen()[0].in_short(), format!("pid {}, pgdyno run x.toml", std::process::id()));
        drop(entry);
        assert_eq!(seen(), []);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_others_put_there_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(format!("{PREFIX}{name}"));
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "measures\n1\nx\ny\nz\n").unwrap();
        std::os::unix::fs::symlink(&secret, at("1-1")).unwrap();
        std::fs::create_dir(at("1-2")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("1-3"), rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
        // Left by a killed pgdyno.
        std::fs::write(at("1-4"), "measures\n1\n").unwrap();
        assert_eq!(all(folder.path()), []);
        assert!(secret.exists() && !at("1-4").exists());
        // A lock that another process holds for a process that ended.
        std::fs::write(at("999999999-1"), "measures\n1\n").unwrap();
        let held = File::open(at("999999999-1")).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        assert_eq!(all(folder.path()), []);
        let other = OtherPgdyno::read(7, "measures\n1\n12:00:00\n\u{1b}[31mred\nhost\n").unwrap();
        assert!(!other.words().contains('\u{1b}'), "{}", other.words());
        assert_eq!(OtherPgdyno::read(7, "measures\n"), None);
    }
}
