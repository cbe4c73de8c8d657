//! Synthetic extracts stored in a folder: made once per scale, seed and version of the generator.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ExtractScale, SynthError, SynthOptions, SynthProgress, WrittenExtract, write};

/// Version of the generator: increased when it draws other objects from a scale and a seed.
pub const VERSION: u32 = 2;

/// The default seed.
pub const USUAL_SEED: u64 = 1;

/// How often to check whether another process has finished the same extract.
const LOOK: Duration = Duration::from_millis(100);

/// A synthetic extract: everything its content depends on, except [`VERSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    pub scale: ExtractScale,
    pub seed: u64,
}

/// An extract that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct KeepError {
    pub path: PathBuf,
    #[source]
    pub source: SynthError,
}

impl Synthetic {
    /// A unique name: `synthetic-0.1-seed-1-v2.osm.pbf`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("synthetic-{}-seed-{}-v{VERSION}.osm.pbf", self.scale, self.seed)
    }

    /// `synthetic extract of scale 0.1, seed 1`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("synthetic extract of scale {}, seed {}", self.scale, self.seed)
    }

    /// Its path in a folder, whether it exists or not.
    #[must_use]
    pub fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(self.file_name())
    }

    /// Makes it in a folder, unless it exists; returns what was made. It is written under another name and
    /// renamed when complete. If another process is making the same extract, waits for it.
    ///
    /// # Errors
    /// [`KeepError`]; no file is left then.
    pub fn keep(
        &self,
        folder: &Path,
        threads: NonZeroUsize,
        progress: &mut dyn FnMut(SynthProgress),
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<WrittenExtract>, KeepError> {
        let path = self.path_in(folder);
        let made = self.make(&path, threads, progress, stop);
        made.map_err(|source| KeepError { path, source })
    }

    fn make(
        &self,
        path: &Path,
        threads: NonZeroUsize,
        progress: &mut dyn FnMut(SynthProgress),
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<WrittenExtract>, SynthError> {
        if path.is_file() {
            return Ok(None);
        }
        let part = path.with_file_name(format!("{}.part", self.file_name()));
        let Some(file) = locked(&part, path, stop)? else { return Ok(None) };
        let options = SynthOptions { scale: self.scale, seed: self.seed, threads };
        let written = write_extract(&options, &file, progress, stop).and_then(|made| {
            std::fs::rename(&part, path)?;
            Ok(made)
        });
        if written.is_err() {
            // It is still locked, so nobody else starts before it is gone.
            let _ = std::fs::remove_file(&part);
        }
        written.map(Some)
    }
}

/// Writes the whole extract to the disk.
fn write_extract(
    options: &SynthOptions,
    file: &File,
    progress: &mut dyn FnMut(SynthProgress),
    stop: &dyn Fn() -> bool,
) -> Result<WrittenExtract, SynthError> {
    file.set_len(0)?;
    // Another account may load it.
    file.set_permissions(PermissionsExt::from_mode(0o644))?;
    let mut out = BufWriter::new(file);
    let made = write(options, &mut out, progress, stop)?;
    out.flush()?;
    drop(out);
    file.sync_all()?;
    Ok(made)
}

/// A link would redirect the data to another place.
#[expect(clippy::cast_possible_wrap, reason = "the bits are the system's own int")]
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// The locked unfinished file; `None` once another process finished it.
fn locked(part: &Path, path: &Path, stop: &dyn Fn() -> bool) -> Result<Option<File>, SynthError> {
    loop {
        let mut how = OpenOptions::new();
        let file = how.create(true).truncate(false).write(true).custom_flags(NO_LINK).open(part)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if stop() => return Err(SynthError::Stopped),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(LOOK);
                continue;
            }
            // A file system without locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // Since it was opened it may have been renamed, or removed after a failure.
        let is_it = |at: &Path| -> io::Result<bool> {
            let (ours, there) = (file.metadata()?, std::fs::metadata(at));
            Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
        };
        let still = is_it(part)?;
        if path.is_file() {
            if still {
                std::fs::remove_file(part)?;
            }
            return Ok(None);
        }
        if still {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "0.001";

    fn synthetic(seed: u64) -> Synthetic {
        Synthetic { scale: SMALL.parse().unwrap(), seed }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Several processes make one extract, and the remains of a killed one do not matter.
    #[test]
    fn an_extract_is_made_once_whoever_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let name = synthetic(1).file_name();
        std::fs::write(folder.path().join(format!("{name}.part")), vec![7; 1 << 20]).unwrap();
        let made: Vec<Option<WrittenExtract>> = std::thread::scope(|scope| {
            let keep =
                || synthetic(1).keep(folder.path(), NonZeroUsize::MIN, &mut |_| (), &|| false).unwrap();
            let all: Vec<_> = (0..4).map(|_| scope.spawn(keep)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let made: Vec<WrittenExtract> = made.into_iter().flatten().collect();
        assert_eq!((made.len(), names(folder.path())), (1, vec![name]));
        let path = synthetic(1).path_in(folder.path());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), made[0].bytes);
        crate::extract::check(&path).unwrap();
    }

    #[test]
    fn what_fails_or_is_stopped_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let keep = |folder: &Path, stop| synthetic(1).keep(folder, NonZeroUsize::MIN, &mut |_| (), &|| stop);
        let stopped = keep(folder.path(), true).unwrap_err();
        assert!(matches!(stopped.source, SynthError::Stopped), "{stopped}");
        assert!(names(folder.path()).is_empty());
        let nowhere = keep(&folder.path().join("nowhere"), false).unwrap_err();
        assert!(nowhere.to_string().contains("synthetic-0.001-seed-1-v2.osm.pbf"), "{nowhere}");
    }
}
