//! Where what is done is kept: in the MBTiles file with the tiles, in a file of its own, or nowhere.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use spec::{Class, Error, given};
use tile::Tile;

use super::mbtiles::{Mbtiles, MbtilesFacts};
use super::options::OnceOptions;
use super::progress::Progress;
use crate::error;

pub(super) struct Kept {
    mbtiles: Option<Mbtiles>,
    progress: Option<PathBuf>,
}

impl Kept {
    /// Opens the files, relative to `folder`; with the progress of an interrupted run, if there is one.
    ///
    /// # Errors
    /// A file of other tiles, or one that cannot be written.
    pub(super) fn open(
        options: &OnceOptions,
        folder: &Path,
        new: Progress,
    ) -> Result<(Self, Progress), Error> {
        if let Some(path) = &options.mbtiles {
            let (mbtiles, known) = Mbtiles::open(&folder.join(path), &new)?;
            return Ok((Self { mbtiles: Some(mbtiles), progress: None }, known.unwrap_or(new)));
        }
        let Some(path) = options.progress.as_ref().map(|path| folder.join(path)) else {
            return Ok((Self { mbtiles: None, progress: None }, new));
        };
        let known = match given::read(&path) {
            Ok(text) => Some(of_text(&text, &path, &new)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error::file_error(&path, error)),
        };
        let kept = Self { mbtiles: None, progress: Some(path) };
        Ok((kept, known.unwrap_or(new)))
    }

    /// Whether tiles are written.
    pub(super) fn takes_tiles(&self) -> bool {
        self.mbtiles.is_some()
    }

    /// Keeps a tile with the next commit: as received, and as it is stored.
    pub(super) fn put(&mut self, tile: Tile, (content, packed): (&[u8], &[u8])) -> Result<(), Error> {
        self.mbtiles.as_mut().map_or(Ok(()), |mbtiles| mbtiles.put(tile, content, packed))
    }

    pub(super) fn commit(&mut self, progress: &Progress) -> Result<(), Error> {
        if let Some(mbtiles) = &mut self.mbtiles {
            mbtiles.commit(progress)?;
        }
        match &self.progress {
            Some(path) => replace(path, progress),
            None => Ok(()),
        }
    }

    /// All tiles were asked for.
    pub(super) fn finish(self, facts: &MbtilesFacts) -> Result<Option<String>, Error> {
        if let Some(path) = &self.progress {
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("removing", path, error));
                }
                _ => {}
            }
        }
        self.mbtiles.map(|mbtiles| mbtiles.finish(facts)).transpose()
    }
}

fn of_text(text: &[u8], path: &Path, new: &Progress) -> Result<Progress, Error> {
    let known: Progress = serde_json::from_slice(text)
        .map_err(|error| error::file_error(path, format!("is not a progress of pgdyno: {error}")))?;
    known.must_be_of(new, path)?;
    Ok(known)
}

/// Never leaves a half-written file.
fn replace(path: &Path, progress: &Progress) -> Result<(), Error> {
    let text =
        serde_json::to_vec(progress).map_err(|error| Error::new(Class::Internal, error.to_string()))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let io = |error| Error::io("writing", path, error);
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&new).or_else(|error| {
        // The rest of a killed run.
        if error.kind() != std::io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        fs::remove_file(&new)?;
        fs::OpenOptions::new().write(true).create_new(true).open(&new)
    });
    let file = file.as_mut().map_err(|error| {
        Error::io("writing", folder, std::io::Error::new(error.kind(), error.to_string()))
    })?;
    file.write_all(&text).map_err(io)?;
    fs::rename(&new, path).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::super::area::Area;
    use super::super::progress::tests::asked;
    use super::*;

    #[test]
    fn an_interrupted_run_is_gone_on_with_and_a_finished_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let options = OnceOptions { progress: Some("p.json".into()), ..OnceOptions::default() };
        let area = Area::of_list((0..3).map(|x| Tile { z: 3, x, y: 0 }));
        let new = || Progress::new("roads".to_owned(), &area);
        let (mut kept, mut progress) = Kept::open(&options, folder.path(), new()).unwrap();
        progress.add(0, &asked(0, 10, Ok(5)));
        kept.commit(&progress).unwrap();
        kept.commit(&progress).unwrap();
        drop(kept);
        let other = Progress::new("rivers".to_owned(), &area);
        let refused = Kept::open(&options, folder.path(), other).map(drop).unwrap_err().to_string();
        assert!(refused.contains("begun for other tiles"), "{refused}");
        let (kept, again) = Kept::open(&options, folder.path(), new()).unwrap();
        assert_eq!((again.done(), again.zooms[0].bytes), (1, 5));
        kept.finish(&MbtilesFacts::default()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
