//! Sources of scripts: built in, in files, or given as text.

use std::io::Read;
use std::path::{Path, PathBuf};

use script::{Builtin, Weighted};
use spec::{Error, TextKind, given};

use crate::error;
use crate::workload::RequestText;
use protocol::nearest;

/// One script of a run, in the requested order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSource {
    /// A built-in script by name (or a prefix of it), optionally with a weight after `@`.
    Builtin(String),
    /// A file; `shown` is the name in reports.
    File {
        path: PathBuf,
        /// As the user gave it.
        shown: String,
        /// Relative frequency.
        weight: u32,
    },
    /// A text without a file, such as standard input.
    Text {
        name: String,
        text: Vec<u8>,
        /// Relative frequency.
        weight: u32,
    },
}

pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) text: Vec<u8>,
    pub(super) weight: u32,
    pub(super) builtin: bool,
}

impl Loaded {
    pub(super) fn asked(self) -> RequestText {
        let kind = if self.builtin { TextKind::Builtin } else { TextKind::File };
        RequestText { name: self.name, kind, text: self.text }
    }

    /// Reads it; in a drop-in as pgbench does, with its messages.
    pub(super) fn read(source: &ScriptSource, drop_in: bool) -> Result<Self, Error> {
        let loaded = Self::read_any(source, drop_in)?;
        // The protocol ends a text there: the rest would not be sent.
        match !drop_in && loaded.text.contains(&0) {
            true => {
                Err(error::file_error(Path::new(&loaded.name), "has a NUL byte, where its text would end"))
            }
            false => Ok(loaded),
        }
    }

    fn read_any(source: &ScriptSource, drop_in: bool) -> Result<Self, Error> {
        Ok(match source {
            ScriptSource::Builtin(word) => {
                let (builtin, weight) = find_builtin(word, drop_in)?;
                Self {
                    name: builtin.description.to_owned(),
                    text: builtin.text.as_bytes().to_vec(),
                    weight,
                    builtin: true,
                }
            }
            ScriptSource::File { path, shown, weight } => {
                let text = if drop_in { read_anything(path, shown)? } else { read_file(path)? };
                Self { name: shown.clone(), text, weight: *weight, builtin: false }
            }
            ScriptSource::Text { name, text, weight } => {
                Self { name: name.clone(), text: text.clone(), weight: *weight, builtin: false }
            }
        })
    }
}

/// A name with its weight after the last `@`.
pub(super) fn weighted(key: &str, word: &str) -> Result<Weighted, Error> {
    Weighted::parse(word)
        .map_err(|error| error::option(format!("pgbench.{key}"), format!("{error} (in \"{word}\")")))
}

/// A built-in script by name or prefix, with its weight; in a drop-in with pgbench's messages.
pub(super) fn find_builtin(word: &str, drop_in: bool) -> Result<(&'static Builtin, u32), Error> {
    if drop_in {
        let weighted = Weighted::parse(word).map_err(error::script)?;
        let found = Builtin::find(&weighted.name).map_err(error::script)?;
        return Ok((found, weighted.weight));
    }
    let weighted = weighted("builtin", word)?;
    let found = Builtin::find(&weighted.name).map_err(|error| {
        let names: Vec<_> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let hint = match nearest(&weighted.name, names.iter().copied()) {
            Some(right) => format!("{error}; did you mean \"{right}\"?"),
            None => format!("{error}; there are {}", names.join(", ")),
        };
        error::option("pgbench.builtin", hint)
    })?;
    Ok((found, weighted.weight))
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    given::read(path).map_err(|error| error::file_error(path, format!("cannot be read: {error}")))
}

/// Reads anything, even a pipe, as pgbench does, with its messages.
fn read_anything(path: &Path, shown: &str) -> Result<Vec<u8>, Error> {
    let failed = |what: &str, error: &std::io::Error| {
        error::script(format!("could not {what} file \"{shown}\": {}", protocol::wording::system(error)))
    };
    let mut file = std::fs::File::open(path).map_err(|error| failed("open", &error))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|error| failed("read", &error))?;
    Ok(text)
}
