//! Opens files: each is inspected once, and pipes stay open.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use spec::Error;

use super::sniff::{FileKind, HEAD, sniff};
use crate::import::error::{of_file, unreadable};

pub(super) type Input = Box<dyn Read>;

pub(super) struct ImportFile {
    /// Its name; `-` is standard input.
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    /// Last change, µs since 1970; the present time if it is not a file.
    pub(super) changed_us: i64,
    /// A pipe can be read once: its head, and the rest.
    pipe: Option<(Vec<u8>, Input)>,
}

impl ImportFile {
    /// Inspects a file.
    ///
    /// # Errors
    /// When it cannot be read, or can be neither a report nor a log.
    pub(super) fn look(path: &Path) -> Result<Self, Error> {
        let unreadable = |error| unreadable(path, error);
        let (mut input, changed, regular): (Input, _, _) = if path.as_os_str() == "-" {
            (Box::new(std::io::stdin()), SystemTime::now(), false)
        } else {
            let file = File::open(path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            if metadata.is_dir() {
                return Err(of_file(path, "a folder").with_hint("name the files in it: FOLDER/*"));
            }
            let changed = metadata.modified().unwrap_or_else(|_| SystemTime::now());
            (Box::new(file), changed, metadata.is_file())
        };
        let mut head = Vec::new();
        input.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
        let kind = sniff(&head).map_err(|(what, advice)| of_file(path, what).with_hint(advice))?;
        Ok(Self {
            path: path.to_owned(),
            kind,
            changed_us: changed
                .duration_since(SystemTime::UNIX_EPOCH)
                .ok()
                .and_then(|since| i64::try_from(since.as_micros()).ok())
                .unwrap_or(0),
            pipe: (!regular).then_some((head, input)),
        })
    }

    /// Opens it for reading from its beginning; `None` for a pipe that was already read.
    pub(super) fn open(&mut self) -> Result<Option<Input>, Error> {
        if let Some((head, rest)) = &mut self.pipe {
            let rest = std::mem::replace(rest, Box::new(std::io::empty()));
            let head = std::mem::take(head);
            return Ok((!head.is_empty()).then(|| Box::new(Cursor::new(head).chain(rest)) as Input));
        }
        let file = File::open(&self.path).map_err(|error| unreadable(&self.path, error))?;
        Ok(Some(Box::new(file)))
    }
}
