//! `pgdyno report`: the HTML page of an experiment.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use report::ReportData;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::load_to_judge;
use crate::exit::{Failure, INPUT_OUTPUT, Outcome, SAME_OR_BETTER};
use crate::options::Selection;
use crate::print;

/// `pgdyno report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File to write; `-` for standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "pgdyno-report.html")]
    output: PathBuf,
    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let printed = args.output.as_os_str() == "-";
    if !printed {
        check_writable(&args.output)?;
    }
    let data = load_to_judge(&args.selection)?;
    if printed {
        print::data(&report::html::page(&data))?;
    } else {
        write(&args.output, &data)?;
        print::talk(&format!("report: {}", args.output.display()));
    }
    Ok(SAME_OR_BETTER)
}

/// Whether a page can be written to this file, as far as that can be seen without touching anything: asked before the
/// work whose result it is to show.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    if is_written_through(path) {
        return Ok(());
    }
    let place = place(path);
    let path = place.as_path();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let refused = |why: &str, hint: String| Err(refused(path, why, hint));
    if path.is_dir() {
        return refused("it is a folder", "name a file in it".to_owned());
    }
    match std::fs::metadata(folder) {
        Err(error) => {
            let missing = error.kind() == io::ErrorKind::NotFound;
            let why = if missing { "there is no such folder".to_owned() } else { error.to_string() };
            return refused(
                &why,
                format!("make the folder {} first, or name another file", folder.display()),
            );
        }
        Ok(found) if !found.is_dir() => {
            return refused(
                "what it is to be in is no folder",
                format!("{} is a file; name another place", folder.display()),
            );
        }
        Ok(_) => {}
    }
    match accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(()),
        Err(error) => refused(
            &io::Error::from(error).to_string(),
            format!("name a file in a folder you may write to; {} is none", folder.display()),
        ),
    }
}

fn refused(path: &Path, why: &str, hint: String) -> anyhow::Error {
    let what = format!("the report {} cannot be written: {why}", path.display());
    Failure::with_code(INPUT_OUTPUT, what, Some(hint))
}

/// Writes the page to a file: whole or not at all. It is for its owner only, like the results it shows; a file that is
/// there keeps the rights it was given.
pub(crate) fn write(path: &Path, data: &ReportData) -> anyhow::Result<()> {
    let page = report::html::page(data);
    let written =
        if is_written_through(path) { std::fs::write(path, page) } else { replace(&place(path), &page) };
    written.map_err(|error| {
        let hint = "what was measured is stored; try: pgdyno report -o FILE".to_owned();
        refused(path, &error.to_string(), hint)
    })
}

/// Whether it is a pipe or a device: that is written to, and nothing is put in its place.
fn is_written_through(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Where a link leads; a file that is not there yet stays what it is.
fn place(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn replace(path: &Path, page: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    let written = write_part(part, path, page).and_then(|()| std::fs::rename(part, path));
    written.inspect_err(|_| drop(std::fs::remove_file(part)))
}

fn write_part(part: &Path, path: &Path, page: &str) -> std::io::Result<()> {
    match std::fs::remove_file(part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
    if let Ok(there) = std::fs::metadata(path)
        && there.is_file()
    {
        file.set_permissions(there.permissions())?;
    }
    file.write_all(page.as_bytes())
}
