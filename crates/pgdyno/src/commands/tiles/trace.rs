//! `--trace`: a file stays a path in the experiment; what comes through a pipe becomes part of it, since it can
//! be read only once.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use toml::Value;
use workloads::tiles::piped_list;

use super::args::Which;
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::values::toml_table;
use crate::exit::{BAD_INPUT, CommandFailure};
use crate::print::talk;

/// The workload's `picker`, if an option gives it.
///
/// # Errors
/// A pipe that cannot be read, or without a tile.
pub(super) fn picker(args: &Which, folder: &Folder) -> anyhow::Result<Option<Value>> {
    let Some(path) = &args.trace else { return Ok(args.picker.as_deref().map(Value::from)) };
    let (key, value) = match pipe(path)? {
        Some(pipe) => ("tiles", read(pipe, path, args.once)?),
        None => ("trace", folder.path(&path.to_string_lossy())),
    };
    Ok(Some(toml_table([(key, Some(value.into()))]).into()))
}

/// Standard input, or a pipe of this name.
fn pipe(path: &Path) -> anyhow::Result<Option<Box<dyn BufRead>>> {
    if path == Path::new("-") {
        return Ok(Some(Box::new(std::io::stdin().lock())));
    }
    // A device may never end.
    let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    match is_pipe.then(|| File::open(path)) {
        None => Ok(None),
        Some(Ok(pipe)) => Ok(Some(Box::new(BufReader::new(pipe)))),
        Some(Err(error)) => Err(failure(path, &error.to_string())),
    }
}

fn read(pipe: Box<dyn BufRead>, path: &Path, whole: bool) -> anyhow::Result<String> {
    let (text, remarks) = piped_list(pipe, whole).map_err(|problem| failure(path, &problem))?;
    for remark in remarks {
        talk(&remark);
    }
    Ok(text)
}

fn failure(path: &Path, problem: &str) -> anyhow::Error {
    CommandFailure::with_code(BAD_INPUT, format!("--trace {}: {problem}", path.display()), None)
}
