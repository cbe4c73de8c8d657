//! `pgdyno report`: the HTML page of an experiment, or one of its charts.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use report::{ChartFile, ReportData, visible};
use results::{Store, Table};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use spec::written;
use workloads::probe::Probed;

use super::load;
use crate::exit::{BAD_INPUT, CommandFailure, ExitResult, INPUT_OUTPUT, INTERNAL, SAME_OR_BETTER, USAGE};
use crate::options::{OutputFormat, Selection};
use crate::print;

/// The value of `--chart` without a name.
const LIST: &str = "?";

/// `pgdyno report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File to write; `-` for standard output [default: pgdyno-report.html, with --chart: what is named there]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// One chart alone, as SVG or PNG: for a mail. Without a name: which charts there are
    #[arg(long, value_name = "NAME.svg|png", num_args = 0..=1, default_missing_value = LIST)]
    chart: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// How the names of the charts are printed
    #[arg(long, value_enum, default_value_t, requires = "chart")]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    match &args.chart {
        None => page(args),
        Some(asked) if asked.as_os_str() == LIST => list(args),
        Some(asked) => chart(args, asked),
    }
}

fn page(args: &Args) -> ExitResult {
    let output = args.output.as_deref().unwrap_or(Path::new("pgdyno-report.html"));
    let printed = output.as_os_str() == "-";
    if !printed {
        check_writable(output)?;
    }
    let data = load(&args.selection)?;
    let data = data.with_tiles(&Store::open_read_only(&args.selection.results.path())?)?;
    is_no_probe(&data)?;
    if printed {
        print::data(&report::html::page(&data))?;
    } else {
        write(output, &data)?;
        print::talk(&format!("report: {}", output.display()));
    }
    Ok(SAME_OR_BETTER)
}

/// Refuses a probe: it compares nothing and has no rounds.
fn is_no_probe(data: &ReportData) -> anyhow::Result<()> {
    match !data.runs.is_empty() && data.runs.iter().all(|run| Probed::of(run).is_some()) {
        true => {
            let hint = "pgdyno probe --compare shows what is stored, with --format md for a page of yours"
                .to_owned();
            Err(CommandFailure::with_code(BAD_INPUT, "a probe has no report", Some(hint)))
        }
        false => Ok(()),
    }
}

fn list(args: &Args) -> ExitResult {
    let charts = report::charts(&load(&args.selection)?).into_iter().map(|chart| [chart.name, chart.title]);
    if args.format == OutputFormat::Text {
        print::data(&whole_lines(&charts.collect::<Vec<_>>()))?;
        return Ok(SAME_OR_BETTER);
    }
    let mut table = Table::new(["chart", "shows"]);
    charts.for_each(|chart| table.push(chart.map(Into::into).to_vec()));
    super::print(&table, args.format)?;
    Ok(SAME_OR_BETTER)
}

/// One line per chart, unwrapped: names are copied.
fn whole_lines(charts: &[[String; 2]]) -> String {
    let width = charts.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
    let line = |[name, title]: &[String; 2]| format!("{name:<width$}  {title}\n");
    charts.iter().map(|chart| line(&chart.each_ref().map(|text| visible::line(text).into_owned()))).collect()
}

enum PictureKind {
    Svg,
    Png,
}

fn chart(args: &Args, asked: &Path) -> ExitResult {
    let kind = match asked.extension().and_then(OsStr::to_str) {
        Some("svg") => PictureKind::Svg,
        Some("png") => PictureKind::Png,
        _ => {
            let what = "--chart: a name ends in .svg or .png, which says how it is written";
            return Err(CommandFailure::with_code(
                USAGE,
                what,
                Some("pgdyno report --chart (names them)".into()),
            ));
        }
    };
    let output = args.output.as_deref().unwrap_or(asked);
    let printed = output.as_os_str() == "-";
    if !printed {
        check_writable(output)?;
    }
    let all = report::charts(&load(&args.selection)?);
    let name = asked.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
    let chart = named(&all, &name)?;
    let bytes = match kind {
        PictureKind::Svg => chart.svg.clone().into_bytes(),
        PictureKind::Png => picture(chart)?,
    };
    if printed {
        print::bytes(&bytes)?;
    } else {
        written::replace(output, &bytes)
            .map_err(|error| refused(output, &error.to_string(), "name another file with -o".into()))?;
        print::talk(&format!("chart: {}", output.display()));
    }
    Ok(SAME_OR_BETTER)
}

/// The chart of this name, or the only one with this prefix.
fn named<'a>(all: &'a [ChartFile], name: &str) -> anyhow::Result<&'a ChartFile> {
    if let Some(exact) = all.iter().find(|chart| chart.name == name) {
        return Ok(exact);
    }
    let mut beginning = all.iter().filter(|chart| chart.name.starts_with(name) && !name.is_empty());
    if let (Some(only), None) = (beginning.next(), beginning.next()) {
        return Ok(only);
    }
    let several = all.iter().filter(|chart| chart.name.starts_with(name)).count() > 1;
    let why = if several { "several charts begin so" } else { "there is no chart of that name" };
    let names: Vec<&str> = all.iter().map(|chart| chart.name.as_str()).collect();
    let hint = match names.is_empty() {
        true => "this experiment has no charts".to_owned(),
        false => format!("one of\n{}", names.join("\n")),
    };
    Err(CommandFailure::with_code(USAGE, format!("--chart: {why}"), Some(hint)))
}

fn picture(chart: &ChartFile) -> anyhow::Result<Vec<u8>> {
    let picture = chart.picture().map_err(|error| {
        CommandFailure::with_code(
            INTERNAL,
            error.to_string(),
            Some("--chart NAME.svg needs no picture".into()),
        )
    })?;
    if !picture.missing.is_empty() {
        print::warning(&format!(
            "no font here has {}: empty boxes stand for them; NAME.svg is drawn with the reader's fonts",
            picture.missing
        ));
    }
    Ok(picture.png)
}

/// Checks whether a page can be written to this file, without changing anything. Called before the work that
/// it reports on.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    let place = written::resolve(path).map_err(|error| {
        refused(path, &error.to_string(), "name another file with -o or --report".to_owned())
    })?;
    if written::is_written_through(&place) {
        return Ok(());
    }
    let folder = match path.parent() {
        _ if path.is_symlink() => place.parent().unwrap_or(Path::new("/")),
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
    let chart = path.extension().is_some_and(|end| end == "svg" || end == "png");
    let noun = if chart { "chart" } else { "report" };
    let what = format!("the {noun} {} cannot be written: {why}", path.display());
    CommandFailure::with_code(INPUT_OUTPUT, what, Some(hint))
}

/// Writes the page completely or not at all. A new file is readable only by its owner, like the results; an
/// existing file keeps its permissions.
pub(crate) fn write(path: &Path, data: &ReportData) -> anyhow::Result<()> {
    let page = report::html::page(data);
    written::replace(path, page.as_bytes()).map_err(|error| {
        let hint = "what was measured is stored; try: pgdyno report -o FILE".to_owned();
        refused(path, &error.to_string(), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines were wrapped at 80 columns, even into a pipe, and could not be copied.
    #[test]
    fn names_of_charts_stand_whole_on_a_line_each() {
        let long =
            "the-reporting-query-with-every-join-that-there-is-against-stock-change-of-throughput".to_owned();
        let charts = [
            ["osm-phases".to_owned(), "Phases".to_owned()],
            [long.clone(), "Change of throughput".to_owned()],
        ];
        let text = whole_lines(&charts);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[1], format!("{long}  Change of throughput"));
        assert!(lines[0].starts_with("osm-phases  ") && lines[0].ends_with("  Phases"), "{text}");
    }
}
