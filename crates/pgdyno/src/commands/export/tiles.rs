//! `pgdyno export tiles`: single tiles and their times as a GeoPackage.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use report::ReportData;
use results::Store;
use results::data::Wanted;
use spec::shell;
use tempfile::NamedTempFile;

use super::super::chosen;
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult, INPUT_OUTPUT, INTERNAL, SAME_OR_BETTER, USAGE};
use crate::options::Selection;
use crate::print::talk;

/// The extension that GIS programs require.
const END: &str = "gpkg";

/// `pgdyno export tiles`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "pgdyno export tiles [OPTIONS] [NUMBER|NAME] <FILE.gpkg>")]
pub(crate) struct ExportTiles {
    /// Which experiment [default: the newest one; see: pgdyno table experiments]
    #[arg(value_name = "NUMBER|NAME")]
    which: Option<PathBuf>,
    /// New file to write: a polygon (EPSG:3857) for each tile, cell and arm, with requests, mean_ms, max_ms, bytes and,
    /// in comparisons, the base's mean and the change; and a view with a QGIS style for each arm and zoom
    #[arg(value_name = "FILE.gpkg")]
    file: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
}

impl ExportTiles {
    /// The experiment, if named, and the file. A single argument is the file; clap can only determine this if
    /// no option is between two arguments.
    fn asked(&self) -> anyhow::Result<(Option<String>, &Path)> {
        let refused = |what: &str, hint: &str| CommandFailure::with_code(USAGE, what, Some(hint.to_owned()));
        match (&self.which, &self.file, &self.selection.experiment) {
            (Some(file), None, wanted) => Ok((wanted.clone(), file.as_path())),
            (Some(which), Some(file), None) => {
                Ok((Some(which.to_string_lossy().into_owned()), file.as_path()))
            }
            (Some(_), Some(_), Some(_)) => Err(refused(
                "the experiment is named twice, before the file and by -e",
                "leave one of them out",
            )),
            (None, ..) => Err(refused("no file to write is named", "pgdyno export tiles tiles.gpkg")),
        }
    }

    /// Advice for a file name with another extension: it may be an experiment's name.
    fn name_it(&self, file: &Path) -> String {
        let named = file.with_extension(END);
        match self.file {
            Some(_) => format!("name it {}", named.display()),
            None => format!(
                "name it {}; of experiment {} it is pgdyno export tiles {} FILE.{END}",
                named.display(),
                file.display(),
                shell::word(&file.to_string_lossy())
            ),
        }
    }
}

pub(super) fn run(args: &ExportTiles) -> ExitResult {
    let (wanted, file) = args.asked()?;
    if file.extension().is_none_or(|end| !end.eq_ignore_ascii_case(END)) {
        let what = format!("{}: the name of a GeoPackage ends in .{END}", file.display());
        return Err(CommandFailure::with_code(USAGE, what, Some(args.name_it(file))));
    }
    if file.symlink_metadata().is_ok() {
        return Err(unwritable(file, "it exists already", "name another file"));
    }
    let store = Store::open_read_only(&args.selection.results.path())?;
    let data =
        ReportData::load(&store, chosen(&store, wanted.as_deref())?, Wanted::ALL)?.with_tiles(&store)?;
    let found = report::geopackage(&data).map_err(|error| {
        CommandFailure::with_code(INTERNAL, error.to_string(), Some("try with more memory".into()))
    })?;
    let Some(package) = found else {
        let what = format!("experiment {} has no single tiles", data.called());
        let hint = "workloads of tiles keep them: docs/reference/results-file.md, table tile".to_owned();
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some(hint)));
    };
    write(file, &package.bytes).map_err(|error| match error.kind() {
        ErrorKind::NotFound => unwritable(file, "there is no such folder", "make its folder first"),
        ErrorKind::AlreadyExists => unwritable(file, "it exists already", "name another file"),
        ErrorKind::StorageFull => {
            unwritable(file, &error.to_string(), "make room, or name a file on another disk")
        }
        _ => unwritable(file, &error.to_string(), "name a file in a folder you may write to"),
    })?;
    talk(&format!(
        "wrote {}: {} of experiment {}, in {} with a style for QGIS, one for each arm and zoom",
        file.display(),
        spec::count(package.tiles as u64, "tile"),
        data.called(),
        spec::count(package.views as u64, "view")
    ));
    Ok(SAME_OR_BETTER)
}

/// Writes a new file completely or not at all, readable only by its owner.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = NamedTempFile::new_in(folder)?;
    // Write to the handle: errors of a path-based write would contain the temporary name.
    part.as_file_mut().write_all(bytes)?;
    part.as_file().sync_all()?;
    part.persist_noclobber(file).map_err(|error| error.error)?;
    Ok(())
}

fn unwritable(file: &Path, why: &str, hint: &str) -> anyhow::Error {
    let what = format!("{} cannot be written: {why}", file.display());
    CommandFailure::with_code(INPUT_OUTPUT, what, Some(hint.to_owned()))
}
