//! `pgdyno report`: the HTML page of an experiment, a mail about it, or one of its charts.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use report::{ChartFile, ReportData, visible};
use results::data::Wanted;
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
    /// File to write; `-` for standard output [default: pgdyno-report.html; with --chart its name; with --format mail
    /// standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// One chart alone, as SVG or PNG. Without a name: lists the charts
    #[arg(long, value_name = "NAME.svg|png", num_args = 0..=1, default_missing_value = LIST)]
    chart: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Format of the report or, with --chart alone, of the list of charts [default: html; with --chart: text]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
}

/// How a report is written, or the names of its charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// One page for a browser
    Html,
    /// Plain text of 78 columns for a mailing list; with -o FILE.txt also the figures of all runs, as FILE.csv
    Mail,
    /// Names of charts: a table for people
    Text,
    /// Names of charts: an array of objects
    Json,
    /// Names of charts: comma-separated
    Csv,
    /// Names of charts: the same without apostrophes before formulas
    CsvFormulas,
    /// Names of charts: a Markdown table
    Md,
}

impl ReportFormat {
    /// As a table of names; `None` for a report.
    fn of_names(self) -> Option<OutputFormat> {
        match self {
            Self::Html | Self::Mail => None,
            Self::Text => Some(OutputFormat::Text),
            Self::Json => Some(OutputFormat::Json),
            Self::Csv => Some(OutputFormat::Csv),
            Self::CsvFormulas => Some(OutputFormat::CsvFormulas),
            Self::Md => Some(OutputFormat::Md),
        }
    }
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let unsuited = |what: &str, hint: &str| {
        Err(CommandFailure::with_code(USAGE, format!("--format: {what}"), Some(hint.to_owned())))
    };
    match (&args.chart, args.format) {
        (None, None | Some(ReportFormat::Html)) => page(args),
        (None, Some(ReportFormat::Mail)) => mail(args),
        (None, Some(_)) => unsuited(
            "a report is html or mail",
            "pgdyno table and pgdyno compare print tables, with --format",
        ),
        (Some(asked), format) if asked.as_os_str() == LIST => {
            match format.map_or(Some(OutputFormat::Text), ReportFormat::of_names) {
                Some(format) => list(args, format),
                None => {
                    unsuited("names of charts are text, json, csv or md", "leave out --chart for a report")
                }
            }
        }
        (Some(asked), None) => chart(args, asked),
        (Some(_), Some(_)) => unsuited("a chart is SVG or PNG, by the end of its name", "leave out --format"),
    }
}

/// The mail, and next to it its attachment.
fn mail(args: &Args) -> ExitResult {
    let output = args.output.as_deref().filter(|output| output.as_os_str() != "-");
    let attachment = output.map(attachment_of).transpose()?;
    if let (Some(output), Some(attachment)) = (output, &attachment) {
        check_writable(output)?;
        check_writable(attachment)?;
        is_replaceable(attachment)?;
    }
    let data = load(&args.selection, Wanted::ALL)?;
    is_no_probe(&data)?;
    let Some((output, attachment)) = output.zip(attachment) else {
        print::data(&report::mail::text(&data, None))?;
        return Ok(SAME_OR_BETTER);
    };
    let name = attachment.file_name().unwrap_or_default().to_string_lossy();
    let parts = [
        (attachment.as_path(), report::mail::attachment(&data)),
        (output, report::mail::text(&data, Some(&name))),
    ];
    for (path, text) in parts {
        written::replace(path, text.as_bytes())
            .map_err(|error| refused(path, &error.to_string(), "name another file with -o".into()))?;
    }
    print::talk(&format!(
        "report: {}, with the figures of all runs in {}",
        output.display(),
        attachment.display()
    ));
    Ok(SAME_OR_BETTER)
}

/// The file next to a mail: the same name with `.csv` at its end.
fn attachment_of(output: &Path) -> anyhow::Result<PathBuf> {
    let attachment = output.with_extension("csv");
    if attachment == output {
        let what = format!("the mail {} would replace its own attachment", output.display());
        let hint = format!("name it {}", output.with_extension("txt").display());
        return Err(CommandFailure::with_code(USAGE, what, Some(hint)));
    }
    Ok(attachment)
}

/// Refuses to replace a CSV file that is not the attachment of a mail: nobody named it.
fn is_replaceable(attachment: &Path) -> anyhow::Result<()> {
    let begins_alike = |mut file: std::fs::File| -> io::Result<bool> {
        let mut head = [0; report::mail::ATTACHMENT.len()];
        file.read_exact(&mut head)?;
        Ok(head == *report::mail::ATTACHMENT.as_bytes())
    };
    match std::fs::File::open(attachment).and_then(begins_alike) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(false) | Err(_) => {
            let what = format!("{} exists, and is not the attachment of a mail", attachment.display());
            Err(CommandFailure::with_code(INPUT_OUTPUT, what, Some("name another file with -o".to_owned())))
        }
    }
}

fn page(args: &Args) -> ExitResult {
    let output = args.output.as_deref().unwrap_or(Path::new("pgdyno-report.html"));
    let printed = output.as_os_str() == "-";
    if !printed {
        check_writable(output)?;
    }
    let data = load(&args.selection, Wanted::ALL)?;
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

fn list(args: &Args, format: OutputFormat) -> ExitResult {
    let charts = report::charts(&load(&args.selection, Wanted::ALL)?)
        .into_iter()
        .map(|chart| [chart.name, chart.title]);
    if format == OutputFormat::Text {
        print::data(&whole_lines(&charts.collect::<Vec<_>>()))?;
        return Ok(SAME_OR_BETTER);
    }
    let mut table = Table::new(["chart", "shows"]);
    charts.for_each(|chart| table.push(chart.map(Into::into).to_vec()));
    super::print(&table, format)?;
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
    let all = report::charts(&load(&args.selection, Wanted::ALL)?);
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
    let why = if several { "several charts begin so" } else { "no chart has that name" };
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
                "its parent is not a folder",
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

    #[test]
    fn an_attachment_is_next_to_its_mail_and_replaces_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for (mail, wanted) in [("x.txt", "x.csv"), ("x", "x.csv"), ("a.b.mail", "a.b.csv")] {
            assert_eq!(attachment_of(&folder.path().join(mail)).unwrap(), folder.path().join(wanted));
        }
        assert!(attachment_of(Path::new("x.csv")).is_err());
        let path = folder.path().join("x.csv");
        is_replaceable(&path).unwrap();
        for (text, is_ours) in [
            (format!("{},tps\r\n", report::mail::ATTACHMENT), true),
            ("name,price\n".into(), false),
            (String::new(), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(is_replaceable(&path).is_ok(), is_ours, "{text}");
        }
    }

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
