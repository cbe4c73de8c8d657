//! Where what is done is kept: in the MBTiles file with the tiles, in a file of pgdyno's home, or nowhere.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use spec::{Class, Error, given};
use tile::Tile;

use super::area::Area;
use super::mbtiles::{Mbtiles, MbtilesFacts};
use super::options::OnceOptions;
use super::progress::Progress;
use crate::error;

#[derive(Debug)]
pub(super) enum Kept {
    Mbtiles(Mbtiles),
    Progress(ProgressFile),
    Nowhere,
}

/// A file in pgdyno's home, and a lock: two runs of the same tiles would mix their times.
#[derive(Debug)]
pub(super) struct ProgressFile {
    path: PathBuf,
    lock: PathBuf,
    _locked: File,
}

/// Folders for files: of the experiment, and of what is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folders<'a> {
    pub(super) own: &'a Path,
    pub(super) kept: &'a Path,
}

impl Kept {
    /// Opens the files; with the progress of an interrupted run, if there is one.
    ///
    /// # Errors
    /// A file of other tiles, one that cannot be written, or one that another pgdyno uses.
    pub(super) fn open(
        options: &OnceOptions,
        folders: Folders<'_>,
        new: Progress,
        area: &Area,
    ) -> Result<(Self, Progress), Error> {
        let (kept, known) = if let Some(path) = &options.mbtiles {
            let (mbtiles, known) = Mbtiles::open(&folders.own.join(path), &new, area)?;
            (Self::Mbtiles(mbtiles), known)
        } else if options.resume {
            let (file, known) = ProgressFile::open(folders.kept, &new, area)?;
            (Self::Progress(file), known)
        } else {
            (Self::Nowhere, None)
        };
        Ok((kept, known.unwrap_or(new)))
    }

    /// Whether tiles are written.
    pub(super) fn takes_tiles(&self) -> bool {
        matches!(self, Self::Mbtiles(_))
    }

    /// Keeps a tile with the next commit, as it is stored.
    pub(super) fn put(&mut self, tile: Tile, packed: &[u8]) -> Result<(), Error> {
        match self {
            Self::Mbtiles(mbtiles) => mbtiles.put(tile, packed),
            Self::Progress(_) | Self::Nowhere => Ok(()),
        }
    }

    pub(super) fn commit(&mut self, progress: &Progress) -> Result<(), Error> {
        match self {
            Self::Mbtiles(mbtiles) => mbtiles.commit(progress),
            Self::Progress(file) => file.replace(progress),
            Self::Nowhere => Ok(()),
        }
    }

    /// All tiles were asked for; what is said of the file with them. The progress is still kept.
    pub(super) fn complete(&mut self, facts: &MbtilesFacts) -> Result<Option<String>, Error> {
        match self {
            Self::Mbtiles(mbtiles) => mbtiles.complete(facts).map(Some),
            Self::Progress(_) | Self::Nowhere => Ok(None),
        }
    }

    /// The run is stored, and no tile is left: the progress is not needed any more.
    pub(super) fn forget(self) -> Result<(), Error> {
        match self {
            Self::Mbtiles(mbtiles) => mbtiles.forget(),
            Self::Progress(file) => file.forget(),
            Self::Nowhere => Ok(()),
        }
    }
}

impl ProgressFile {
    fn open(folder: &Path, new: &Progress, area: &Area) -> Result<(Self, Option<Progress>), Error> {
        let path = folder.join(format!("{}.json", &new.of[..new.of.len().min(24)]));
        let lock = path.with_extension("lock");
        let io = |error| Error::io("writing", &lock, error);
        let file = File::options().write(true).create(true).truncate(false).open(&lock).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what =
                    "another pgdyno asks for the same tiles now, and both would go on with each other's";
                return Err(Error::new(Class::Io, what).with_hint("wait for it, or ask for other tiles"));
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let known = match given::read(&path) {
            // What cannot be read is begun again: nobody else can have the tiles.
            Ok(text) => serde_json::from_slice(&text)
                .ok()
                .filter(|known: &Progress| known.of == new.of && known.fits(area)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error::file_error(&path, error)),
        };
        Ok((Self { path, lock, _locked: file }, known))
    }

    /// Never leaves a half-written file.
    fn replace(&self, progress: &Progress) -> Result<(), Error> {
        let text =
            serde_json::to_vec(progress).map_err(|error| Error::new(Class::Internal, error.to_string()))?;
        let new = self.path.with_extension("new");
        let written = File::create(&new).and_then(|mut file| file.write_all(&text));
        written.and_then(|()| fs::rename(&new, &self.path)).map_err(|error| {
            let _ = fs::remove_file(&new);
            Error::io("write", &self.path, error)
        })
    }

    fn forget(self) -> Result<(), Error> {
        for path in [&self.path, &self.lock] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::progress::tests::asked;
    use super::*;

    fn area() -> Area {
        Area::of_list((0..3).map(|x| Tile { z: 3, x, y: 0 }))
    }

    fn open(folder: &Path, of: &str) -> Result<(Kept, Progress), Error> {
        let options = OnceOptions { resume: true, ..OnceOptions::default() };
        let folders = Folders { own: folder, kept: folder };
        Kept::open(&options, folders, Progress::new(of.to_owned(), &area()), &area())
    }

    #[test]
    fn an_interrupted_run_is_gone_on_with_and_a_stored_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut kept, mut progress) = open(folder.path(), "roads").unwrap();
        progress.add(0, &asked(0, 10, Ok(5)));
        kept.commit(&progress).unwrap();
        kept.commit(&progress).unwrap();
        // The same tiles at the same time.
        let refused = open(folder.path(), "roads").map(drop).unwrap_err().to_string();
        assert!(refused.starts_with("another pgdyno asks for the same tiles"), "{refused}");
        drop(kept);
        assert_eq!(open(folder.path(), "rivers").unwrap().1.done(), 0, "other tiles have their own");
        let (kept, again) = open(folder.path(), "roads").unwrap();
        assert_eq!((again.done(), again.zooms[0].bytes), (1, 5));
        // The run ended, and could not be stored.
        drop(kept);
        let (kept, again) = open(folder.path(), "roads").unwrap();
        assert_eq!(again.done(), 1);
        kept.forget().unwrap();
        open(folder.path(), "rivers").unwrap().0.forget().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_progress_of_somebody_else_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["{", r#"{"of":"roads","zooms":[],"failed":[],"slowest":[],"connections":{}}"#] {
            std::fs::write(folder.path().join("roads.json"), text).unwrap();
            assert_eq!(open(folder.path(), "roads").unwrap().1.done(), 0);
        }
    }
}
