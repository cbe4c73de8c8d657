//! `pgdyno report`: the HTML page of an experiment.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use report::ReportData;

use super::load;
use crate::cli;
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::print;

pub(crate) fn run(args: &cli::Report) -> Outcome {
    let data = load(&args.selection)?;
    if args.output.as_os_str() == "-" {
        print::data(&report::html::page(&data))?;
    } else {
        write(&args.output, &data)?;
        print::talk(&format!("report: {}", args.output.display()));
    }
    Ok(SAME_OR_BETTER)
}

/// Writes the page to a file: whole or not at all. It is for its owner only, like the results it shows; a file that is
/// there keeps the rights it was given.
pub(crate) fn write(path: &Path, data: &ReportData) -> anyhow::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    let written =
        write_part(part, path, &report::html::page(data)).and_then(|()| std::fs::rename(part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(part);
    }
    written.with_context(|| format!("the report {} cannot be written", path.display()))
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
