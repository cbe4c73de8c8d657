//! The content of a build, as hashes: of its server, each library, the files of each extension, and the rest.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use spec::{Class, Error};

use super::places::{libraries, shared};

/// More files than any build has: another folder was named.
const MOST_FILES: usize = 50_000;
/// More than any build has, bytes.
const MOST_BYTES: u64 = 8 << 30;

/// Bytes that are read at once.
const BLOCK: usize = 1 << 18;

/// Programs that make and run a server.
const PROGRAMS: [&str; 2] = ["postgres", "initdb"];

/// Digits of the hash of a part: enough to see that it differs.
const DIGITS: usize = 16;

/// Folders that do not affect a server.
const IGNORED: [&str; 7] = ["pgxs", "pkgconfig", "man", "doc", "locale", "include", "cmake"];

/// The content of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildTree {
    /// SHA-256 over all parts, hex.
    pub sha256: String,
    /// The first digits of the SHA-256 of each part: `postgres`, `lib/postgis-3.so`, `extension postgis`, `share`.
    pub parts: BTreeMap<String, String>,
}

/// What was read by this process: a plan needs it several times, and a build has 100 MB.
static READ: Mutex<BTreeMap<Vec<FileState>, BuildTree>> = Mutex::new(BTreeMap::new());

/// A file of a build: its part and path, and length, inode and time of change, which show whether it changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FileState {
    part: String,
    path: PathBuf,
    state: (u64, u64, i64, i64),
}

/// Reads the build of this folder of programs. Nothing is executed.
///
/// # Errors
/// When a file cannot be read, or there is far more than a build has.
pub fn tree_of(bin: &Path) -> Result<BuildTree, Error> {
    let mut files = Files { all: Vec::new(), bytes: 0 };
    for program in PROGRAMS {
        let path = bin.join(program);
        if path.exists() {
            files.add(program.to_owned(), path)?;
        }
    }
    for folder in libraries(bin) {
        files.folder(&folder, Path::new(""), &|path| is_library(path).then(|| part_of_library(path)))?;
    }
    if let Some(folder) = shared(bin) {
        files.folder(&folder, Path::new(""), &|path| Some(part_of_shared(path)))?;
    }
    let known = READ.lock().unwrap_or_else(PoisonError::into_inner).get(&files.all).cloned();
    if let Some(known) = known {
        return Ok(known);
    }
    let tree = hashed(&files.all)?;
    READ.lock().unwrap_or_else(PoisonError::into_inner).insert(files.all, tree.clone());
    Ok(tree)
}

/// The parts of these files, which are in the order of their names.
fn hashed(files: &[FileState]) -> Result<BuildTree, Error> {
    let mut parts: BTreeMap<&str, Sha256> = BTreeMap::new();
    let mut block = vec![0; BLOCK];
    for FileState { part, path, .. } in files {
        let failed = |error: io::Error| unreadable(path, &error);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let hash = parts.entry(part).or_default();
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update(length.to_le_bytes());
        loop {
            match file.read(&mut block).map_err(failed)? {
                0 => break,
                length => hash.update(&block[..length]),
            }
        }
    }
    let mut all = Sha256::new();
    let mut hashes = BTreeMap::new();
    for (name, hash) in parts {
        let hash = spec::hex(&hash.finalize());
        all.update(name.as_bytes());
        all.update([0]);
        all.update(&hash);
        hashes.insert(name.to_owned(), hash[..DIGITS].to_owned());
    }
    Ok(BuildTree { sha256: spec::hex(&all.finalize()), parts: hashes })
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib") || name.ends_with(".bc")
}

/// Bitcode for JIT counts to the library of which it is.
fn part_of_library(path: &Path) -> String {
    let mut names = path.components().map(|name| name.as_os_str().to_string_lossy());
    if let Some(of) = names.by_ref().skip_while(|name| name != "bitcode").nth(1) {
        return format!("bitcode of {}", of.trim_end_matches(".index.bc"));
    }
    format!("lib/{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// `extension/postgis--3.3.2.sql` is of the extension postgis.
fn part_of_shared(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.starts_with("extension") {
        return "share".to_owned();
    }
    let end = name.find("--").or_else(|| name.find('.')).unwrap_or(name.len());
    format!("extension {}", &name[..end])
}

struct Files {
    all: Vec<FileState>,
    bytes: u64,
}

impl Files {
    /// All files below, in the order of their names, each of the part that is chosen for it.
    fn folder(
        &mut self,
        root: &Path,
        inside: &Path,
        part: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<(), Error> {
        let folder = root.join(inside);
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort_unstable();
        for name in names {
            let (path, inside) = (folder.join(&name), inside.join(&name));
            if path.is_dir() {
                let is_ignored = IGNORED.iter().any(|ignored| name == *ignored);
                if !path.is_symlink() && !is_ignored {
                    self.folder(root, &inside, part)?;
                }
            } else if let Some(part) = part(&inside).filter(|_| path.is_file()) {
                self.add(part, path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, part: String, path: PathBuf) -> Result<(), Error> {
        let found = std::fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
        self.bytes += found.len();
        if self.all.len() >= MOST_FILES || self.bytes > MOST_BYTES {
            let what = format!("{} holds more than a build of PostgreSQL has", top(&path).display());
            let hint = "name the folder of a build that has its own folder: configure --prefix=FOLDER";
            return Err(Error::new(Class::BadInput, what).with_hint(hint));
        }
        let state = (found.len(), found.ino(), found.ctime(), found.ctime_nsec());
        self.all.push(FileState { part, path, state });
        Ok(())
    }
}

fn top(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(Class::BadInput, format!("cannot read {}: {error}", path.display()))
        .with_hint("it is read to tell this build from another; make it readable")
}

/// The parts in which two builds differ, by name: `postgres, lib/x.so, extension x`; at most `most` of them.
#[must_use]
pub fn different_parts(
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
    most: usize,
) -> String {
    let names = one.keys().chain(other.keys());
    let mut differ: Vec<&str> =
        names.filter(|name| one.get(*name) != other.get(*name)).map(String::as_str).collect();
    differ.sort_unstable();
    differ.dedup();
    let more = differ.len().saturating_sub(most);
    differ.truncate(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", differ.join(", "))
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    fn put(top: &Path, files: &[(&str, &str)]) {
        for (name, content) in files {
            let path = top.join(name);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, content).unwrap();
        }
    }

    fn build(top: &Path) {
        put(
            top,
            &[
                ("bin/postgres", "server"),
                ("bin/initdb", "initdb"),
                ("bin/psql", "a client"),
                ("lib/plpgsql.so", "pl"),
                ("lib/libpq.so.5.16", "libpq"),
                ("lib/libpgcommon.a", "static"),
                ("lib/shop.so", "v1"),
                ("lib/bitcode/postgres/executor/execMain.bc", "inlined"),
                ("lib/pgxs/src/x.so", "x"),
                ("share/postgres.bki", "catalog"),
                ("share/extension/shop.control", "1"),
                ("share/extension/shop--1.0.sql", "CREATE"),
                ("share/man/x.1", "page"),
            ],
        );
    }

    /// Only `postgres` counted: an experiment went on with another library of an extension.
    #[test]
    fn every_file_that_a_server_uses_counts() {
        let top = tempfile::tempdir().unwrap();
        build(top.path());
        let bin = top.path().join("bin");
        let before = tree_of(&bin).unwrap();
        for (name, content, part) in [
            ("lib/shop.so", "v2", Some("lib/shop.so")),
            ("share/extension/shop--1.0.sql", "CREATE OR REPLACE", Some("extension shop")),
            ("share/extension/shop--1.0--1.1.sql", "ALTER", Some("extension shop")),
            ("bin/postgres", "patched", Some("postgres")),
            ("share/postgres.bki", "another catalog", Some("share")),
            ("lib/bitcode/postgres/executor/execMain.bc", "other", Some("bitcode of postgres")),
            ("lib/new.so", "new", Some("lib/new.so")),
            ("bin/psql", "another client", None),
            ("lib/libpgcommon.a", "other", None),
            ("share/man/x.1", "other", None),
            ("lib/pgxs/src/x.so", "other", None),
        ] {
            put(top.path(), &[(name, content)]);
            let changed = tree_of(&bin).unwrap();
            assert_eq!(different_parts(&before.parts, &changed.parts, 5), part.unwrap_or_default(), "{name}");
            assert_eq!(before.sha256 == changed.sha256, part.is_none(), "{name}");
            std::fs::remove_file(top.path().join(name)).unwrap();
            build(top.path());
        }
        assert_eq!(tree_of(&bin).unwrap(), before);
    }

    #[test]
    fn the_same_build_in_another_folder_is_the_same() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        build(one.path());
        build(other.path());
        assert_eq!(tree_of(&one.path().join("bin")).unwrap(), tree_of(&other.path().join("bin")).unwrap());
    }

    #[test]
    fn few_differences_are_named() {
        let parts = |names: &[&str]| -> BTreeMap<String, String> {
            names.iter().map(|name| ((*name).to_owned(), "0".to_owned())).collect()
        };
        let all = parts(&["postgres", "lib/a.so", "lib/b.so"]);
        assert_eq!(different_parts(&all, &parts(&["postgres"]), 1), "lib/a.so and 1 more");
        assert_eq!(different_parts(&all, &all, 1), "");
    }
}
