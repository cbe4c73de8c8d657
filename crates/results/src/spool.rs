//! Response times of a run's seconds, on their way into the results file.
//!
//! A distribution takes kilobytes, and a long run has hundreds for each script: they wait in an unnamed
//! file next to the results, not in memory, and are read one after another when the run is stored. They are
//! read back with SQL only.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::error::from_io;
use spec::Error;
use stats::{Encoded, Histogram};

/// Response times of one step of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Spooled {
    /// Index into [`Run::scripts`](spec::Run::scripts).
    pub script: u32,
    /// µs since the start of the measured part.
    pub start_us: i64,
    pub length_us: u64,
    pub response: Encoded,
}

/// All written distributions; empty for a run that was read back.
#[derive(Debug, Clone, Default)]
pub struct Spool(SpoolStorage);

#[derive(Debug, Clone)]
enum SpoolStorage {
    Memory(Arc<[Spooled]>),
    File {
        file: Arc<File>,
        length: u64,
    },
    /// A write error, reported when the run is stored.
    Lost(Arc<io::Error>),
}

impl Default for SpoolStorage {
    fn default() -> Self {
        Self::Memory(Arc::new([]))
    }
}

impl From<Vec<Spooled>> for Spool {
    fn from(few: Vec<Spooled>) -> Self {
        Self(SpoolStorage::Memory(few.into()))
    }
}

impl Spool {
    /// Passes each to `take`, in the order of writing.
    pub(crate) fn each<E: From<io::Error>>(
        &self,
        mut take: impl FnMut(&Spooled) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.0 {
            SpoolStorage::Memory(few) => few.iter().try_for_each(take),
            SpoolStorage::Lost(error) => Err(io::Error::new(error.kind(), error.to_string()).into()),
            SpoolStorage::File { file, length } => {
                let mut at = 0;
                while at < *length {
                    let (spooled, next) = read(file, at)?;
                    take(&spooled)?;
                    at = next;
                }
                Ok(())
            }
        }
    }
}

/// Takes distributions during a run.
#[derive(Debug)]
pub struct SpoolWriter {
    /// `None` if nothing is to be stored.
    file: Option<File>,
    length: u64,
    record: Vec<u8>,
    lost: Option<io::Error>,
}

impl SpoolWriter {
    /// In the folder of a results file; `None` keeps nothing.
    ///
    /// # Errors
    /// When no file can be created there.
    pub fn near(results: Option<&Path>) -> Result<Self, Error> {
        let file = match results {
            None => None,
            Some(path) => Some(nameless(path).map_err(|error| from_io(path, &error))?),
        };
        Ok(Self { file, length: 0, record: Vec::new(), lost: None })
    }

    /// Adds a distribution. A write error fails the storing of the run, not the run.
    pub fn push(&mut self, script: u32, start_us: i64, length_us: u64, response: &Histogram) {
        let (Some(file), None) = (&mut self.file, &self.lost) else { return };
        append(&mut self.record, &Spooled { script, start_us, length_us, response: response.encoded() });
        match file.write_all(&self.record) {
            Ok(()) => self.length += self.record.len() as u64,
            Err(error) => self.lost = Some(error),
        }
    }

    /// Ends writing and returns the distributions for reading.
    #[must_use]
    pub fn finish(self) -> Spool {
        match (self.file, self.lost) {
            (_, Some(error)) => Spool(SpoolStorage::Lost(Arc::new(error))),
            (Some(file), None) => Spool(SpoolStorage::File { file: Arc::new(file), length: self.length }),
            (None, None) => Spool::default(),
        }
    }
}

fn nameless(results: &Path) -> io::Result<File> {
    let folder = results.parent().filter(|folder| !folder.as_os_str().is_empty());
    tempfile::tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// Checks whether a results file could be created there: an empty one takes about this many bytes.
pub(crate) fn try_out(results: &Path) -> io::Result<()> {
    nameless(results)?.write_all(&[0; 128 << 10])
}

/// Bytes of a record before its encoding.
const HEAD: usize = 4 + 8 + 8 + 8 + 16 + 8 + 8 + 8 + 8;

fn append(record: &mut Vec<u8>, spooled: &Spooled) {
    let Spooled { script, start_us, length_us, response } = spooled;
    record.clear();
    record.extend(script.to_le_bytes());
    record.extend(start_us.to_le_bytes());
    record.extend(length_us.to_le_bytes());
    record.extend(response.count.to_le_bytes());
    record.extend(response.sum_ns.to_le_bytes());
    record.extend(response.sum_squares.to_le_bytes());
    record.extend(response.min_ns.unwrap_or(u64::MAX).to_le_bytes());
    record.extend(response.max_ns.unwrap_or(0).to_le_bytes());
    record.extend((response.v2.len() as u64).to_le_bytes());
    record.extend(&response.v2);
}

fn read(file: &File, at: u64) -> io::Result<(Spooled, u64)> {
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, at)?;
    let mut rest = head.as_slice();
    let script = u32::from_le_bytes(take(&mut rest));
    let start_us = i64::from_le_bytes(take(&mut rest));
    let length_us = u64::from_le_bytes(take(&mut rest));
    let count = u64::from_le_bytes(take(&mut rest));
    let sum_ns = u128::from_le_bytes(take(&mut rest));
    let sum_squares = f64::from_le_bytes(take(&mut rest));
    let extremes = [u64::from_le_bytes(take(&mut rest)), u64::from_le_bytes(take(&mut rest))];
    let [min_ns, max_ns] = extremes.map(|ns| (count > 0).then_some(ns));
    let mut v2 = vec![0; u64::from_le_bytes(take(&mut rest)) as usize];
    file.read_exact_at(&mut v2, at + HEAD as u64)?;
    let next = at + (HEAD + v2.len()) as u64;
    let response = Encoded { v2, count, sum_ns, sum_squares, min_ns, max_ns };
    Ok((Spooled { script, start_us, length_us, response }, next))
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, behind) = rest.split_first_chunk().expect("a whole head was read");
    *rest = behind;
    *taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|ns| histogram.record(*ns));
        histogram
    }

    fn all(spool: &Spool) -> io::Result<Vec<Spooled>> {
        let mut seen = Vec::new();
        spool.each(|spooled| {
            seen.push(spooled.clone());
            Ok::<(), io::Error>(())
        })?;
        Ok(seen)
    }

    #[test]
    fn what_goes_in_comes_out_in_order_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SpoolWriter::near(Some(&folder.path().join("r.sqlite"))).unwrap();
        let given = [(0, 0, &[][..]), (1, 0, &[1_000, 2_000_000]), (0, 1_000_000, &[70, 80, 90])];
        for (script, start_us, values) in given {
            writer.push(script, start_us, 1_000_000, &histogram(values));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let seen = all(&writer.finish()).unwrap();
        for (spooled, (script, start_us, values)) in seen.iter().zip(given) {
            let wanted = histogram(values).encoded();
            let wanted = Spooled { script, start_us, length_us: 1_000_000, response: wanted };
            assert_eq!(*spooled, wanted);
            assert_eq!(spooled.response.decode().unwrap().count(), values.len() as u64);
        }
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn without_results_nothing_is_kept() {
        let mut writer = SpoolWriter::near(None).unwrap();
        writer.push(0, 0, 1, &histogram(&[100]));
        assert_eq!(all(&writer.finish()).unwrap(), []);
    }

    #[test]
    fn a_spool_that_could_not_be_written_says_so_when_it_is_read() {
        let mut writer = SpoolWriter::near(None).unwrap();
        writer.file = Some(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        writer.push(0, 0, 1, &histogram(&[100]));
        let error = all(&writer.finish()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(SpoolWriter::near(Some(Path::new("/no/such/folder/r.sqlite"))).is_err());
    }
}
