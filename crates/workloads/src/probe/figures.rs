//! What a probe measures: for each of its figures in the table of figures a file of SQL, whose header says how.
//!
//! The header is TOML in comments: the fields of [`ProbeFigure`], and `as`, another figure whose header and
//! statements are the defaults. After a blank line follow the statements, with variables as in psql.
//! Statements before `-- each shot:` are sent once.

use std::sync::LazyLock;

use serde::Deserialize;
use spec::figures::{self, FigureRow};

/// One figure of a probe.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProbeFigure {
    /// Its line of the table of figures: name, label, unit, which way is better, meaning.
    #[serde(deserialize_with = "row_of_name")]
    pub row: &'static FigureRow,
    /// What is being done, in words; figures with the same words stand next to each other.
    pub(super) part: String,
    /// Share of the whole time, 0..1.
    pub(super) share: f64,
    #[serde(default)]
    pub(super) needs: Needs,
    /// Whether all backends work at once.
    #[serde(default)]
    pub(super) all_backends: bool,
    #[serde(default)]
    pub(super) data: Data,
    /// Units of a shot [default: 1].
    #[serde(default)]
    pub(super) work: Option<String>,
    /// The required result of each shot.
    #[serde(default)]
    pub(super) gives: Option<String>,
    /// Most shots, if the statements are sent repeatedly (in turn with other figures of the part) and not
    /// once.
    #[serde(default)]
    pub(super) most: Option<usize>,
    /// First shots, which do not count.
    #[serde(default)]
    pub(super) warm_up: usize,
    /// A shot is the time of a message by the client's clock; otherwise see [`super::shots`].
    #[serde(default)]
    pub(super) client_clock: bool,
    /// What exactly is measured.
    #[serde(default)]
    pub(super) detail: String,
    /// Sent once, before the shots; may be empty.
    #[serde(skip)]
    pub(super) before: &'static str,
    #[serde(skip)]
    pub(super) statements: &'static str,
}

/// What must be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Needs {
    #[default]
    Nothing,
    Temporary,
    Schema,
}

/// Data made for a figure beforehand, with variables for their location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Data {
    #[default]
    None,
    Texts,
    CachedPages,
    PagesBeyond,
}

/// Names of figures that others are judged by.
pub(super) const CPU_ONE: &str = figures::CPU_ONE_ROWS_PER_S.row().name;
pub(super) const CPU_ALL: &str = figures::CPU_ALL_ROWS_PER_S.row().name;
pub(super) const COMMIT: &str = figures::COMMIT_US.row().name;
pub(super) const COMMIT_ASYNC: &str = figures::COMMIT_ASYNC_US.row().name;

macro_rules! files {
    ($($of:ident $path:literal),* $(,)?) => { [$((figures::$of.row(), include_str!($path))),*] };
}

/// What writes comes last: its way to the disk would disturb the others.
const FILES: [(&FigureRow, &str); 13] = files![
    ROUND_TRIP_US "sql/round_trip_us.sql",
    SELECT_1_US "sql/select_1_us.sql",
    CPU_ONE_ROWS_PER_S "sql/cpu_one_rows_per_s.sql",
    CPU_ALL_ROWS_PER_S "sql/cpu_all_rows_per_s.sql",
    MEMORY_ONE_BYTES_PER_S "sql/memory_one_bytes_per_s.sql",
    MEMORY_ALL_BYTES_PER_S "sql/memory_all_bytes_per_s.sql",
    COMMIT_US "sql/commit_us.sql",
    COMMIT_ASYNC_US "sql/commit_async_us.sql",
    INDEX_BUILD_ROWS_PER_S "sql/index_build_rows_per_s.sql",
    SEQ_READ_CACHED_PAGES_PER_S "sql/seq_read_cached_pages_per_s.sql",
    SEQ_READ_BEYOND_BYTES_PER_S "sql/seq_read_beyond_bytes_per_s.sql",
    RANDOM_READ_CACHED_US "sql/random_read_cached_us.sql",
    RANDOM_READ_BEYOND_US "sql/random_read_beyond_us.sql",
];

/// All figures, in the order they are measured and shown.
pub static FIGURES: LazyLock<Vec<ProbeFigure>> = LazyLock::new(|| FILES.into_iter().map(read).collect());

fn read((row, text): (&'static FigureRow, &'static str)) -> ProbeFigure {
    let (mut header, mut statements) = parts_of(text);
    header.insert("row".to_owned(), row.name.into());
    if let Some(base) = header.remove("as") {
        let base = FILES.into_iter().find(|(row, _)| base.as_str() == Some(row.name)).expect("a figure");
        let (more, others) = parts_of(base.1);
        for (key, value) in more {
            header.entry(key).or_insert(value);
        }
        statements = if statements.is_empty() { others } else { statements };
    }
    let figure: ProbeFigure = header.try_into().unwrap_or_else(|error| panic!("{}.sql: {error}", row.name));
    let (before, statements) = statements.split_once("-- each shot:\n").unwrap_or(("", statements));
    ProbeFigure { before, statements, ..figure }
}

fn row_of_name<'de, D: serde::Deserializer<'de>>(name: D) -> Result<&'static FigureRow, D::Error> {
    let name = String::deserialize(name)?;
    figures::row(&name).ok_or_else(|| serde::de::Error::custom(format!("no figure {name}")))
}

/// The figure of this name.
#[cfg(test)]
pub(super) fn figure(name: &str) -> &'static ProbeFigure {
    FIGURES.iter().find(|figure| figure.row.name == name).expect("a figure")
}

/// Header and statements.
fn parts_of(text: &'static str) -> (toml::Table, &'static str) {
    let (header, statements) = text.split_once("\n\n").unwrap_or((text, ""));
    let header: Vec<&str> = header.lines().map(|line| line.trim_start_matches("-- ")).collect();
    (header.join("\n").parse().unwrap_or_else(|error| panic!("{error}: {text}")), statements.trim_end())
}

/// Values of a file's variables.
pub(super) type Values = Vec<(&'static str, String)>;

/// Substitutes variables: `:name`, but not the `::name` of a cast.
pub(super) fn fill(text: &str, values: &Values) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(':') {
        let (before, from) = rest.split_at(at);
        let colons = from.len() - from.trim_start_matches(':').len();
        let is_of_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let name = from[colons..].split(|c| !is_of_name(c)).next().unwrap_or_default();
        let value = values.iter().find(|(own, _)| colons == 1 && *own == name);
        filled += before;
        filled += value.map_or(&from[..colons + name.len()], |(_, value)| value);
        rest = &from[colons + name.len()..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_table_has_its_statements() {
        let of_table: Vec<&FigureRow> =
            figures::table().filter(|row| row.source == figures::Source::Probe).collect();
        assert_eq!(FIGURES.iter().map(|figure| figure.row).collect::<Vec<_>>(), of_table);
        for figure in FIGURES.iter() {
            assert!(figure.row.meaning.len() <= 78, "{}: one line", figure.row.name);
            assert!(!figure.statements.is_empty(), "{}", figure.row.name);
        }
    }

    #[test]
    fn variables_are_filled_in_and_casts_stay() {
        let values = vec![("piece", "512".to_owned()), ("time_ms", "20".to_owned())];
        let cases = [
            ("(:piece)::tid, :pieces", "(512)::tid, :pieces"),
            ("interval ':time_ms ms'; a::piece", "interval '20 ms'; a::piece"),
            ("no variables: none", "no variables: none"),
        ];
        for (text, wanted) in cases {
            assert_eq!(fill(text, &values), wanted);
        }
    }
}
