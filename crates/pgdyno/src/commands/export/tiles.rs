//! `pgdyno export tiles`: single tiles and their times as a GeoPackage.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use report::ReportData;
use results::Store;
use tempfile::NamedTempFile;

use super::super::chosen;
use crate::exit::{BAD_INPUT, Failure, INPUT_OUTPUT, INTERNAL, Outcome, SAME_OR_BETTER, USAGE};
use crate::options::Results;
use crate::print::talk;

/// How its name ends; programs that open it insist on that.
const END: &str = "gpkg";

/// `pgdyno export tiles`.
#[derive(Debug, clap::Args)]
pub(crate) struct Tiles {
    /// Which one [see: pgdyno table experiments]
    #[arg(value_name = "NUMBER|NAME")]
    experiment: String,
    /// File to write, a new one: a polygon (EPSG:3857) for each tile, cell and arm, with requests, mean_ms, max_ms, bytes, and where arms
    /// are compared the base's mean and the change
    #[arg(value_name = "FILE.gpkg")]
    file: PathBuf,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: &Tiles) -> Outcome {
    let file = args.file.as_path();
    if file.extension().is_none_or(|end| !end.eq_ignore_ascii_case(END)) {
        let what = format!("{}: the name of a GeoPackage ends in .{END}", file.display());
        let hint = format!("name it {}", file.with_extension(END).display());
        return Err(Failure::with_code(USAGE, what, Some(hint)));
    }
    if file.symlink_metadata().is_ok() {
        return Err(unwritable(file, "it is there already", "name one that is not there"));
    }
    let store = Store::open_read_only(&args.results.path())?;
    let data = ReportData::load(&store, chosen(&store, Some(&args.experiment))?)?.with_tiles(&store)?;
    let found = report::geopackage(&data).map_err(|error| {
        Failure::with_code(INTERNAL, error.to_string(), Some("try with more memory".into()))
    })?;
    let Some(package) = found else {
        let what = format!("experiment {} has no single tiles", data.called());
        let hint = "workloads of tiles keep them: docs/schema.md, table tile".to_owned();
        return Err(Failure::with_code(BAD_INPUT, what, Some(hint)));
    };
    write(file, &package.bytes).map_err(|error| match error.kind() {
        ErrorKind::NotFound => unwritable(file, "there is no such folder", "make its folder first"),
        ErrorKind::AlreadyExists => unwritable(file, "it is there already", "name one that is not there"),
        ErrorKind::StorageFull => {
            unwritable(file, &error.to_string(), "make room, or name a file on another disk")
        }
        _ => unwritable(file, &error.to_string(), "name a file in a folder you may write to"),
    })?;
    let noun = if package.tiles == 1 { "tile" } else { "tiles" };
    talk(&format!("wrote {}: {} {noun}", file.display(), package.tiles));
    Ok(SAME_OR_BETTER)
}

/// Whole or not at all, for its owner only, and never over what came to be there meanwhile.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = NamedTempFile::new_in(folder)?;
    // Not by way of its name, which would stand in every error.
    part.as_file_mut().write_all(bytes)?;
    part.as_file().sync_all()?;
    part.persist_noclobber(file).map_err(|error| error.error)?;
    Ok(())
}

fn unwritable(file: &Path, why: &str, hint: &str) -> anyhow::Error {
    let what = format!("{} cannot be written: {why}", file.display());
    Failure::with_code(INPUT_OUTPUT, what, Some(hint.to_owned()))
}
