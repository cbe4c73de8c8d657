//! Stored extracts: files named by id and date, each with a note in a second file about its data.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use spec::Error;

use super::Fetched;
use super::checksum;
use super::error;
use super::index::{Index, IndexEntry};
use super::partial::with_suffix;
use super::watch::FetchObserver;

/// A folder of extracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// The note of a file: `FILE.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheNote {
    entry: IndexEntry,
    url: String,
    bytes: u64,
    md5: String,
    last_modified: Option<String>,
    /// Modification time when it was stored, ns since 1970: an unchanged file needs no new checksum.
    written_ns: i128,
}

impl Cache {
    /// The extracts in a folder, which need not exist yet.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// All stored extracts, as an index.
    #[must_use]
    pub fn index(&self) -> Index {
        Index::of(self.kept().into_iter().map(|(_, kept)| kept.entry))
    }

    /// The newest file of an extract, without asking the server.
    ///
    /// # Errors
    /// As [`Index::find`], also when there is none.
    pub fn newest(&self, name: &str) -> Result<Fetched, Error> {
        let index = self.index();
        let id = &index.find(name)?.id;
        let of_it = self.kept().into_iter().filter(|(_, kept)| kept.entry.id == *id);
        let newest = of_it.max_by(|(_, one), (_, other)| {
            let date = |kept: &CacheNote| (kept.last_modified.clone(), kept.written_ns);
            date(one).cmp(&date(other))
        });
        newest.map(|(path, kept)| kept.fetched(path)).ok_or_else(|| error::unknown(name, Vec::new()))
    }

    /// The file of an extract that still has this checksum.
    pub(super) fn with_sum(
        &self,
        entry: &IndexEntry,
        md5: &str,
        watch: &dyn FetchObserver,
    ) -> Result<Option<Fetched>, Error> {
        for (path, kept) in self.kept() {
            if kept.entry.id != entry.id || kept.md5 != md5 {
                continue;
            }
            let untouched = size_and_time(&path).is_some_and(|looks| looks == (kept.bytes, kept.written_ns));
            if untouched || checksum::of_file(&path, watch)? == md5 {
                return Ok(Some(kept.fetched(path)));
            }
        }
        Ok(None)
    }

    /// Path of an extract that is being fetched; makes the folder.
    pub(super) fn unfinished(&self, entry: &IndexEntry) -> Result<PathBuf, Error> {
        std::fs::create_dir_all(&self.folder).map_err(|error| error::file_error(&self.folder, error))?;
        Ok(self.folder.join(format!("{}.osm.pbf", file_name(&entry.id))))
    }

    /// Path of an extract of this day in UTC.
    pub(super) fn path(&self, entry: &IndexEntry, last_modified: Option<Timestamp>) -> PathBuf {
        let date = last_modified.map(|time| time.strftime("-%Y-%m-%d").to_string()).unwrap_or_default();
        self.folder.join(format!("{}{date}.osm.pbf", file_name(&entry.id)))
    }

    pub(super) fn note(&self, kept: &CacheNote, path: &Path) -> Result<(), Error> {
        let note = with_suffix(path, ".json");
        let text = serde_json::to_vec_pretty(kept).expect("plain data");
        super::partial::replace_file(&note, &text).map_err(|error| error::file_error(&note, error))
    }

    /// All files with a note that still exist.
    fn kept(&self) -> Vec<(PathBuf, CacheNote)> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let notes = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut kept: Vec<(PathBuf, CacheNote)> = notes
            .filter_map(|name| {
                let path = self.folder.join(name.strip_suffix(".osm.pbf.json")?.to_owned() + ".osm.pbf");
                let note = std::fs::read(with_suffix(&path, ".json")).ok()?;
                path.is_file().then_some((path, serde_json::from_slice(&note).ok()?))
            })
            .collect();
        kept.sort_by(|(one, _), (other, _)| one.cmp(other));
        kept
    }
}

impl CacheNote {
    pub(super) fn of(fetched: &Fetched) -> Result<Self, Error> {
        let Fetched { entry, url, path, md5, last_modified, .. } = fetched;
        let (bytes, written_ns) = size_and_time(path)
            .ok_or_else(|| error::file_error(path, std::io::ErrorKind::NotFound.into()))?;
        Ok(Self {
            entry: entry.clone(),
            url: url.clone(),
            bytes,
            md5: md5.clone(),
            last_modified: last_modified.clone(),
            written_ns,
        })
    }

    fn fetched(self, path: PathBuf) -> Fetched {
        let Self { entry, url, bytes, md5, last_modified, .. } = self;
        Fetched { entry, url, path, bytes, md5, last_modified, there_already: true, doubt: None }
    }
}

/// A file's length and modification time.
fn size_and_time(path: &Path) -> Option<(u64, i128)> {
    let data = std::fs::metadata(path).ok()?;
    let written = data.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((data.len(), i128::try_from(written.as_nanos()).ok()?))
}

/// An id as a file name: it comes from a server, and must not lead out of the folder.
fn file_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = id.chars().map(plain).take(100).collect();
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_day() {
        let entry = IndexEntry { id: "malta".into(), parent: None, name: "Malta".into(), url: String::new() };
        let time = super::super::http::time("Fri, 20 Nov 2026 21:21:18 GMT");
        let path = Cache::at(Path::new("/x")).path(&entry, time);
        assert_eq!(path, Path::new("/x/malta-2026-11-20.osm.pbf"));
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        for (id, wanted) in [
            ("malta", "malta"),
            ("us/delaware", "us_delaware"),
            ("../../etc/x", "_._.._etc_x"),
            ("a\u{1b}b", "a_b"),
        ] {
            assert_eq!(file_name(id), wanted);
        }
    }
}
