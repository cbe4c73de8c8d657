//! An incomplete file: `FILE.part`, and `FILE.part.json` with the identity of its data.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spec::Error;

use super::error;
use super::http::Head;
use super::site::shown;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartialState {
    /// The requested URL, without a password.
    url: String,
    /// The server's MD5 sum of the whole file when the first bytes came.
    md5: String,
    /// Where it came from, after redirects.
    pub(super) from: String,
    etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) total: Option<u64>,
}

/// A file that is being fetched, locked while this lives.
#[derive(Debug)]
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    state: PartialState,
    length: u64,
    /// Bytes of an older version of the file were found and dropped.
    pub(super) outdated: bool,
}

impl Partial {
    /// Opens the part of the file `whole`, or makes it. A part of other data is dropped.
    ///
    /// # Errors
    /// When another process has it, or it cannot be opened.
    pub(super) fn open(whole: &Path, url: &str, md5: &str) -> Result<Self, Error> {
        let path = with_suffix(whole, ".part");
        if whole.is_dir() {
            return Err(error::file_error(whole, ErrorKind::IsADirectory.into()));
        }
        let file = locked(&path)?;
        let state = std::fs::read(state_path(&path)).ok();
        let state: Option<PartialState> = state.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let length = file.metadata().map_err(|error| error::file_error(&path, error))?.len();
        let mut partial = Self { file, path, state: state.unwrap_or_default(), length, outdated: false };
        if partial.state.url != url || partial.state.md5 != md5 {
            partial.outdated = partial.state.url == url && length > 0;
            partial.truncate()?;
            partial.state =
                PartialState { url: url.to_owned(), md5: md5.to_owned(), ..PartialState::default() };
        }
        Ok(partial)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    pub(super) fn free(&self) -> Result<u64, Error> {
        let found = rustix::fs::fstatvfs(&self.file);
        let found = found.map_err(|error| error::file_error(&self.path, error.into()))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    pub(super) fn state(&self) -> &PartialState {
        &self.state
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether nothing is missing, as far as the total is known.
    pub(super) fn is_whole(&self) -> bool {
        self.length > 0 && self.state.total == Some(self.length)
    }

    /// Where to resume, and the condition for it (`If-Range`, RFC 9110, 13.1.5: a strong validator); `None`
    /// when there is nothing to resume.
    pub(super) fn resumable(&self) -> Option<(u64, String)> {
        let strong = self.state.etag.as_ref().filter(|etag| etag.starts_with('"'));
        let validator = strong.or(self.state.last_modified.as_ref())?;
        (self.length > 0).then(|| (self.length, validator.clone()))
    }

    /// Whether an answer with a part of a file continues this one.
    pub(super) fn is_continued_by(&self, head: &Head) -> bool {
        let Some((start, total)) = head.content_range.as_deref().and_then(content_range) else {
            return false;
        };
        start == self.length && (total.is_none() || total == self.state.total)
    }

    /// Whether the server's file is still the same, as far as an answer's head shows.
    pub(super) fn is_of(&self, head: &Head) -> bool {
        self.state.etag == head.etag && self.state.last_modified == head.last_modified
    }

    /// Starts over with an answer that has the whole file.
    pub(super) fn begin(&mut self, head: &Head) -> Result<(), Error> {
        self.truncate()?;
        self.state = PartialState {
            from: shown(&head.url),
            etag: head.etag.clone(),
            last_modified: head.last_modified.clone(),
            total: head.length,
            ..std::mem::take(&mut self.state)
        };
        let path = state_path(&self.path);
        let text = serde_json::to_vec_pretty(&self.state).expect("plain data");
        replace_file(&path, &text).map_err(|error| error::file_error(&path, error))
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        self.length = match &written {
            Ok(()) => self.length + bytes.len() as u64,
            // A part of it may have been written, and is valid.
            Err(_) => self.file.metadata().map_or(self.length, |data| data.len()),
        };
        written.map_err(|error| error::file_error(&self.path, error))
    }

    pub(super) fn truncate(&mut self) -> Result<(), Error> {
        let failed = |error| error::file_error(&self.path, error);
        self.file.set_len(0).map_err(failed)?;
        self.length = 0;
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(())
    }

    pub(super) fn discard(&self) -> Result<(), Error> {
        for path in [self.path.clone(), state_path(&self.path)] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error::file_error(&path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives it its name, once it is on the disk; returns its length.
    pub(super) fn finish(self, name: &Path) -> Result<u64, Error> {
        self.file.sync_all().map_err(|error| error::file_error(&self.path, error))?;
        std::fs::rename(&self.path, name).map_err(|error| error::file_error(name, error))?;
        // Without its file it means nothing, whether or not it can be removed.
        let _ = std::fs::remove_file(state_path(&self.path));
        Ok(self.length)
    }
}

/// A link would redirect the data to another place.
#[expect(clippy::cast_possible_wrap, reason = "the bits are the system's own int")]
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// Writes a small file, replacing whatever has its name.
pub(super) fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text)
}

/// Opens or makes the file for appending, and locks it.
fn locked(path: &Path) -> Result<File, Error> {
    let failed = |error| error::file_error(path, error);
    let mut how = OpenOptions::new();
    let file = how.read(true).append(true).create(true).custom_flags(NO_LINK).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(error::busy(path)),
        // A file system without locks.
        Err(TryLockError::Error(_)) => {}
    }
    // Another process may have renamed it since it was opened.
    let opened = file.metadata().map_err(failed)?;
    match std::fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (opened.dev(), opened.ino()) => Ok(file),
        _ => Err(error::busy(path)),
    }
}

fn state_path(path: &Path) -> PathBuf {
    with_suffix(path, ".json")
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Start and total of `bytes 100-199/1000`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(content_range("bytes 100-199/1000"), Some((100, Some(1000))));
        assert_eq!(content_range("bytes 100-199/*"), Some((100, None)));
        assert_eq!(content_range("bytes */1000"), None);
        assert_eq!(content_range("pages 1-2/3"), None);
    }

    #[test]
    fn only_one_at_a_time_fetches_into_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("malta.osm.pbf");
        let mut first = Partial::open(&whole, "http://x/malta", "sum").unwrap();
        first.begin(&Head { etag: Some("\"1\"".into()), length: Some(4), ..Head::default() }).unwrap();
        first.append(b"ab").unwrap();
        let busy = Partial::open(&whole, "http://x/malta", "sum").unwrap_err();
        assert_eq!(busy.class(), spec::Class::Refused);
        drop(first);
        let again = Partial::open(&whole, "http://x/malta", "sum").unwrap();
        assert_eq!(again.resumable(), Some((2, "\"1\"".to_owned())));
        drop(again);
        // With another checksum it is a part of another file.
        let other = Partial::open(&whole, "http://x/malta", "other").unwrap();
        assert_eq!((other.resumable(), other.outdated), (None, true));
    }

    #[test]
    fn a_weak_tag_does_not_tell_whether_a_file_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut part = Partial::open(&folder.path().join("x"), "u", "m").unwrap();
        part.begin(&Head { etag: Some("W/\"1\"".into()), ..Head::default() }).unwrap();
        part.append(b"a").unwrap();
        assert_eq!(part.resumable(), None);
        let date = "Fri, 20 Nov 2026 21:21:18 GMT";
        part.begin(&Head { last_modified: Some(date.into()), ..Head::default() }).unwrap();
        part.append(b"a").unwrap();
        assert_eq!(part.resumable(), Some((1, date.to_owned())));
    }
}
