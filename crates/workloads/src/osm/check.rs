//! Before a load: is the extract whole, and which osm2pgsql is there?

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::WorkloadError;
use crate::jobs::{ChildOrder, RunChild};

/// Longest blob header the format allows (<https://wiki.openstreetmap.org/wiki/PBF_Format>).
const LONGEST_HEADER: u32 = 64 * 1024;
/// Longest blob the format allows.
const LONGEST_BLOB: u64 = 32 * 1024 * 1024;

/// An osm2pgsql program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Osm2pgsql {
    /// Path or name.
    pub program: PathBuf,
    /// Its version as it says, e.g. `1.8.0`.
    pub version: String,
}

impl Osm2pgsql {
    /// Whether it is at least this version; an unreadable version counts as new.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(own_major), Some(own_minor)) => (own_major, own_minor) >= (major, minor),
            _ => true,
        }
    }
}

/// Asks osm2pgsql for its version.
///
/// # Errors
/// When it cannot be started or says nothing that looks like a version.
pub fn find_version(program: &Path, run: &mut dyn RunChild) -> Result<Osm2pgsql, WorkloadError> {
    let order = ChildOrder { program: program.to_owned(), args: vec!["--version".into()], env: Vec::new() };
    let mut version = None;
    let failed = |problem: String| WorkloadError::Program {
        program: program.display().to_string(),
        problem: format!("{problem}; install osm2pgsql, or name it with osm.program"),
    };
    run.run(&order, &mut |_, _, line| {
        if version.is_none() {
            version = version_in(line).map(str::to_owned);
        }
    })
    .map_err(&failed)?;
    let version = version.ok_or_else(|| failed("it does not say its version".to_owned()))?;
    Ok(Osm2pgsql { program: program.to_owned(), version })
}

/// The version in a line such as `osm2pgsql version 1.2.1 (64 bit id space)`, stamped or not.
pub(super) fn version_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("osm2pgsql version ")?;
    rest.split_whitespace().next()
}

/// Checks that a file is a whole OSM extract in PBF: every blob is there, and the first is the header.
///
/// # Errors
/// [`WorkloadError::File`] saying where it breaks off.
pub fn check_extract(path: &Path) -> Result<(), WorkloadError> {
    let wrong = |problem: String| WorkloadError::File { path: path.to_owned(), problem };
    let mut file = File::open(path).map_err(|error| wrong(format!("cannot be opened: {error}")))?;
    let length = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
    if length == 0 {
        return Err(wrong("is empty; get the extract again".to_owned()));
    }
    let mut at = 0;
    while at < length {
        at = check_blob(&mut file, at, length).map_err(|error| wrong(error.in_words(at, length)))?;
    }
    Ok(())
}

/// Why a blob is not one.
enum Broken {
    NotPbf,
    CutShort,
    Io(io::Error),
}

impl Broken {
    fn in_words(&self, at: u64, length: u64) -> String {
        match self {
            Self::NotPbf if at == 0 => {
                "is not an OSM extract in PBF (no OSMHeader at its start); pgdyno takes .osm.pbf files"
                    .to_owned()
            }
            Self::NotPbf => format!("is damaged at byte {at} of {length}; get the extract again"),
            Self::CutShort => {
                format!(
                    "is cut short: the block at byte {at} goes beyond its {length} bytes; get the extract again"
                )
            }
            Self::Io(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::CutShort } else { Self::Io(error) }
    }
}

/// Checks the blob at `at` and gives the offset of the next one.
fn check_blob(file: &mut File, at: u64, length: u64) -> Result<u64, Broken> {
    let mut size = [0; 4];
    file.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size);
    if size == 0 || size > LONGEST_HEADER {
        return Err(Broken::NotPbf);
    }
    let mut header = vec![0; size as usize];
    file.read_exact(&mut header).map_err(|error| if at == 0 { Broken::NotPbf } else { error.into() })?;
    let (kind, data_size) = blob_header(&header).ok_or(Broken::NotPbf)?;
    let right_kind = if at == 0 { kind == b"OSMHeader" } else { kind != b"OSMHeader" };
    if !right_kind || data_size > LONGEST_BLOB {
        return Err(Broken::NotPbf);
    }
    let end = at + 4 + u64::from(size) + data_size;
    if end > length {
        return Err(Broken::CutShort);
    }
    file.seek(SeekFrom::Start(end))?;
    Ok(end)
}

/// Type and data size of a BlobHeader message: fields 1 (bytes) and 3 (varint); others are passed over.
fn blob_header(mut bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (mut kind, mut size) = (None, None);
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        match key & 7 {
            0 => {
                let value = varint(&mut bytes)?;
                if key >> 3 == 3 {
                    size = Some(value);
                }
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                if key >> 3 == 1 {
                    kind = Some(value);
                }
            }
            _ => return None,
        }
    }
    Some((kind?, size?))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A blob whose header says `kind` and whose data is `data` zeros.
    fn blob(kind: &str, data: u8) -> Vec<u8> {
        let mut header = vec![0x0a, u8::try_from(kind.len()).unwrap()];
        header.extend_from_slice(kind.as_bytes());
        header.extend_from_slice(&[0x18, data]);
        let mut bytes = u32::try_from(header.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&header);
        bytes.extend(std::iter::repeat_n(0, usize::from(data)));
        bytes
    }

    fn verdict(bytes: &[u8]) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        match check_extract(file.path()) {
            Ok(()) => "whole".to_owned(),
            Err(WorkloadError::File { problem, .. }) => problem,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn extracts_are_told_from_other_files() {
        let whole = [blob("OSMHeader", 5), blob("OSMData", 9)].concat();
        let cut = &whole[..whole.len() - 1];
        let damaged = [blob("OSMHeader", 5), vec![0xff; 40]].concat();
        let cases: [(&[u8], &str); 7] = [
            (&whole, "whole"),
            (b"", "is empty"),
            (b"<?xml version='1.0'?><osm>", "is not an OSM extract in PBF"),
            (&blob("OSMData", 3), "is not an OSM extract in PBF"),
            (&[0, 0], "is cut short"),
            (cut, "is cut short: the block at byte 22"),
            (&damaged, "is damaged at byte 22"),
        ];
        for (bytes, wanted) in cases {
            let found = verdict(bytes);
            assert!(found.starts_with(wanted), "{found:?} for {wanted:?}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        let program = |version: &str| Osm2pgsql { program: "osm2pgsql".into(), version: version.to_owned() };
        assert!(program("1.11.0").at_least(1, 4));
        assert!(program("2.0.0").at_least(1, 4));
        assert!(!program("1.2.1").at_least(1, 4));
        assert_eq!(version_in("2026-11-21 02:44:37  osm2pgsql version 1.8.0"), Some("1.8.0"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = blob_header(&bytes);
            let _ = verdict(&bytes);
        }
    }
}
