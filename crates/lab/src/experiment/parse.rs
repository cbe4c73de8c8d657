//! From text to [`ExperimentFile`].

use std::ops::Range;
use std::path::Path;

use protocol::postgres::Env;
use protocol::postgres::conninfo::Shown;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::checks;
use super::hidden::Hidden;
use super::model::ExperimentFile;
use super::problem::{FileProblems, Problem};
use super::reader::{Section, Source};
use super::sections;

/// Reads a whole file. The `[full]` table is checked whether it is asked for or not.
pub(super) fn parse(
    path: &Path,
    text: &str,
    full: bool,
    variables: &dyn Fn(&str) -> Option<String>,
    look: bool,
) -> Result<ExperimentFile, FileProblems> {
    let source = Source::new(text, variables, look);
    let (table, mistakes) = DeTable::parse_recoverable(text);
    // After the first mistake in the grammar most others only follow from it.
    if let Some(mistake) = mistakes.first() {
        let span = mistake.span().unwrap_or(0..0);
        let hint = first_of(&source, table.get_ref(), &span);
        source.problem(&span, mistake.message().to_owned(), hint);
    }
    let mut file = None;
    if mistakes.is_empty() {
        let root = Section::root(&source, &table);
        file = assemble(path, &root, false);
        if let Some(overlay) = root.section("full") {
            let long = assemble(path, &root, true);
            if full {
                file = long;
            }
            overlay.check_keys();
        } else if full {
            source.problem(
                &(0..0),
                "--full was asked for, but the file has no [full] table".into(),
                Some("add one, with what is different: [full.measure] rounds = 8".into()),
            );
        }
    }
    let problems = source.into_problems();
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => Err(FileProblems { file: path.display().to_string(), problems: at_least_one(problems, text) }),
    }
}

/// Where the key that is given a second time stands first.
fn first_of(source: &Source<'_>, table: &DeTable<'_>, second: &Range<usize>) -> Option<String> {
    let plain = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    let name = plain(source.text.get(second.clone())?);
    let first = first_header(source.text, second.start).or_else(|| first_before(table, &name, second.start));
    let line = source.line(first?);
    Some(format!("the first `{name}` is in line {line}"))
}

/// The first place of the `[header]` that stands around `at` a second time.
fn first_header(text: &str, at: usize) -> Option<usize> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let header = |line: &str| Some(line.trim().strip_prefix('[')?.split(']').next()?.replace(' ', ""));
    let second = header(text[start..].lines().next()?)?;
    let mut place = 0;
    for line in text[..start].split_inclusive('\n') {
        if header(line).is_some_and(|first| first == second) {
            return Some(place);
        }
        place += line.len();
    }
    None
}

/// The last place before `at` where a key of this name stands.
fn first_before(table: &DeTable<'_>, name: &str, at: usize) -> Option<usize> {
    let of_entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let own = (key.get_ref() == name && key.span().start < at).then(|| key.span().start);
        let below = value.get_ref().as_table().and_then(|table| first_before(table, name, at));
        own.max(below)
    };
    table.iter().filter_map(of_entry).max()
}

/// The file as it is stored: without passwords.
fn kept_text(root: &Section<'_>) -> String {
    let url = root.section("target").and_then(|target| target.get("url"));
    let url = url.and_then(|url| url.value.get_ref().as_str().map(str::to_owned));
    // A name of a variable says nothing, what is in it may; the rest is shown as far as it holds no password.
    let shown = url.map(|url| {
        let variable = url.strip_prefix('$').is_some_and(|name| {
            name.trim_matches(['{', '}']).chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let shown = Shown::of(&url, &Env::process());
        match shown.dsn {
            _ if variable => url,
            Some(_) if shown.text == url => url,
            Some(dsn) => dsn,
            None => super::hidden::HIDDEN.to_owned(),
        }
    });
    Hidden::of(root.source.text).text(shown.as_deref())
}

/// A file that could not be read has a problem; if none was noted, that is our own mistake, said as such.
fn at_least_one(mut problems: Vec<Problem>, text: &str) -> Vec<Problem> {
    if problems.is_empty() {
        problems.push(Problem::at(
            text,
            &(0..0),
            "this file cannot be read, and pgdyno cannot say why".into(),
            None,
        ));
    }
    problems
}

fn assemble(path: &Path, root: &Section<'_>, full: bool) -> Option<ExperimentFile> {
    root.check_keys();
    let overlay = if full { root.section("full") } else { None };
    let folder = path.parent().unwrap_or(Path::new(""));
    let question = root
        .required("question", "say in one sentence what you want to know: question = \"…?\"")
        .and_then(|field| field.string());
    let target = sections::target(root);
    let prepare = sections::prepare(root, folder);
    let workloads = sections::workloads(root, folder);
    let arms = sections::arms(root);
    let compare = sections::compare(root, &arms);
    let load = sections::load(root);
    let factors = sections::factors(root, overlay.as_ref(), &workloads);
    let beside = sections::beside(root);
    let measure = sections::measure(root, overlay.as_ref());
    let taste = root.get("taste").and_then(|field| field.string()).filter(|_| !full);
    let seed = root.get("seed").and_then(|field| field.integer(0, i64::MAX as u64));
    let mut file = ExperimentFile {
        name: path
            .file_stem()
            .map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned()),
        path: path.to_owned(),
        text: kept_text(root),
        question: question?,
        taste,
        seed,
        target: target?,
        prepare,
        workloads,
        factors: factors?,
        beside,
        compare,
        arms,
        load: load?,
        measure: measure?,
    };
    checks::check(root, overlay.as_ref(), &file);
    if let Some(compare) = &file.compare {
        // The base is first everywhere, whatever the order in the file.
        file.arms.sort_by_key(|arm| arm.name != compare.base);
    }
    Some(file)
}
