//! The server's log: stored in the cluster's folder, quoted in errors.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use spec::is_of_shared_memory;

use crate::home::Dir;

/// In the server's folder.
const LOG: &str = "server.log";

const QUOTED_LINES: usize = 6;
/// Bytes read from the end of the log.
const READ_BYTES: u64 = 64 * 1024;
/// A log larger than this is set aside when the server starts, bytes.
const LARGE_BYTES: u64 = 32 << 20;

#[derive(Debug, Clone)]
pub(super) struct ServerLog {
    folder: Dir,
}

impl ServerLog {
    pub(super) fn new(folder: &Dir) -> Self {
        Self { folder: folder.clone() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(LOG)
    }

    /// Opens it for appending, mode 0600; a large one is first set aside, replacing the one before.
    pub(super) fn open(&self) -> io::Result<File> {
        if self.length() > LARGE_BYTES {
            self.folder.rename(LOG, "server.log.1")?;
        }
        self.folder.append(LOG)
    }

    /// Its length, bytes: later output starts there.
    pub(super) fn length(&self) -> u64 {
        let metadata = self.folder.file(LOG).and_then(|file| file.metadata());
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// The output after the first `start` bytes (at most its last 64 KiB).
    pub(super) fn since(&self, start: u64) -> String {
        let read = || -> io::Result<String> {
            let mut file = self.folder.file(LOG)?;
            let from = start.max(file.metadata()?.len().saturating_sub(READ_BYTES));
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(READ_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_default()
    }
}

/// The last informative lines of a log, without statements.
pub(super) fn quote(log: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_statement = false;
    for line in log.lines() {
        // The server indents continuation lines by a tab.
        let continues = line.starts_with('\t');
        in_statement = if continues { in_statement } else { line.contains("STATEMENT:  ") };
        if !in_statement && !line.trim().is_empty() {
            lines.push(line.trim().to_owned());
        }
    }
    lines.split_off(lines.len().saturating_sub(QUOTED_LINES)).join("\n")
}

/// The line that reports a full disk, if any, for programs that report it in no other way.
pub(super) fn disk_full_line(log: &str) -> Option<String> {
    // A partial write is reported without the system's text.
    let signs = ["No space left on device", "Disk quota exceeded", ": wrote only "];
    let full = |line: &&str| signs.iter().any(|sign| line.contains(sign)) && !is_of_shared_memory(line);
    log.lines().rfind(full).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_hold_no_statement() {
        let log = "\
LOG:  starting
ERROR:  syntax error
STATEMENT:  ALTER ROLE x PASSWORD 'secret';
\tSELECT 'secret'
FATAL:  could not map anonymous shared memory
HINT:  Reduce shared_buffers
";
        let quoted = quote(log);
        assert!(!quoted.contains("secret"), "{quoted}");
        assert!(quoted.ends_with("HINT:  Reduce shared_buffers"));
        assert_eq!(quote(&"x\n".repeat(100)).lines().count(), QUOTED_LINES);
        assert_eq!(quote(""), "");
    }

    #[test]
    fn a_full_disk_is_seen() {
        let log = "a\nPANIC:  could not write to file \"pg_wal/x\": No space left on device\nb\n";
        assert!(disk_full_line(log).unwrap().starts_with("PANIC"));
        assert!(
            disk_full_line("ERROR:  could not extend file \"x\": wrote only 4096 of 8192 bytes").is_some()
        );
        assert_eq!(disk_full_line("all is well"), None);
        let shm = "ERROR:  could not resize shared memory segment \"/PostgreSQL.77\" to 8 bytes: No space left on device";
        assert_eq!(disk_full_line(shm), None, "it is no disk");
    }

    #[test]
    fn only_the_new_part_is_read() {
        let top = tempfile::tempdir().unwrap();
        let log = ServerLog::new(&crate::home::Home::at(top.path()).open().unwrap().unwrap());
        assert_eq!(log.since(0), "");
        std::fs::write(log.path(), "old\n").unwrap();
        let start = log.length();
        std::fs::write(log.path(), "old\nnew\n").unwrap();
        assert_eq!(log.since(start), "new\n");
    }
}
