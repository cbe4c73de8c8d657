//! The experiment file: what a user asks, in TOML, read with all its mistakes found at once.
//!
//! `docs/experiment.md` explains every key. Nothing is decided here that needs the target; that is for
//! [`crate::plan`] and [`crate::execute`].

mod checks;
mod hidden;
mod keys;
mod model;
mod parse;
mod problem;
mod reader;
mod sections;
mod values;
mod workload;

use std::io::ErrorKind;
use std::path::Path;

pub(crate) use hidden::{shown_value, without_secrets};
pub use keys::KEYS;
pub use model::{
    ArmSpec, Beside, CellOrder, Compare, DurationSpec, ExperimentFile, Factors, LoadKind, LoadSpec, Measure,
    NamedWorkload, TargetSpec,
};
pub use problem::{FileProblems, Problem};

use crate::error::{Class, LabError};

/// How a file is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Put the file's `[full]` table over the rest.
    pub full: bool,
    /// The OSM extract that `$PGDYNO_DATA` stands for, whatever the environment says.
    pub data: Option<String>,
}

/// Longest experiment file, bytes.
const LONGEST: u64 = 16 << 20;

/// The text of a file. What is no file (a folder, a pipe nobody writes to, a device without end) is not read.
fn read_text(path: &Path) -> std::io::Result<String> {
    let found = std::fs::metadata(path)?;
    let no = |why: &str| Err(std::io::Error::new(ErrorKind::InvalidInput, why));
    match found.len() {
        _ if !found.is_file() => no("it is a folder, a pipe or a device"),
        LONGEST.. => no("it is too long"),
        _ => std::fs::read_to_string(path),
    }
}

impl ExperimentFile {
    /// Reads a file, and sees that those it names can be read; variables in it come from the environment.
    ///
    /// # Errors
    /// When it cannot be read, and with all mistakes found in it.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Self, LabError> {
        let text = read_text(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                LabError::Io { doing: "read the experiment file", path: path.to_owned(), source }
            }
            _ => {
                let what = format!("{} is no experiment file: {source}", path.display());
                LabError::failed(Class::BadInput, what, "docs/experiment.md shows one")
            }
        })?;
        // What is given on the command line starts from where the user is, not from the file's folder.
        let data = options.data.as_ref().map(|data| {
            std::path::absolute(data)
                .map_or_else(|_| data.clone(), |path| path.to_string_lossy().into_owned())
        });
        let variables = |name: &str| match (name, &data) {
            ("PGDYNO_DATA", Some(data)) => Some(data.clone()),
            _ => std::env::var(name).ok(),
        };
        Ok(parse::parse(path, &text, options.full, &variables, true)?)
    }

    /// Reads a text as if it stood in the file `path`; the files that it names are not looked at.
    ///
    /// # Errors
    /// All mistakes found in it.
    pub fn parse(
        path: &Path,
        text: &str,
        full: bool,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, FileProblems> {
        parse::parse(path, text, full, variables, false)
    }

    /// The folder that relative paths in the file start from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Line of the file that a setting of an arm stands in, from 1.
    #[must_use]
    pub fn line_of(&self, arm: &str, setting: Option<&str>) -> Option<usize> {
        let arm = self.arms.iter().find(|known| known.name == arm)?;
        arm.lines.get(&setting?.to_ascii_lowercase()).copied()
    }

    /// The workload of a name; every name in the grid has one.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&NamedWorkload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }
}

#[cfg(test)]
mod tests;
