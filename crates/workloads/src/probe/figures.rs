//! The figures of a probe: an SQL file for each, with a header.
//!
//! The header is TOML in comments: the fields of [`Figure`], and `as`, another figure whose header and
//! statements are the defaults. After a blank line follow the statements, with variables as in psql.
//! Statements before `-- each shot:` are sent once.

use std::sync::LazyLock;

use serde::Deserialize;

/// One figure of a probe.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// The stored name, ending with its unit.
    #[serde(skip)]
    pub name: &'static str,
    /// Without its unit.
    pub title: String,
    pub unit: Unit,
    pub better: Better,
    /// In one line, for people who choose or watch a server.
    pub meaning: String,
    /// What is being done, in words; figures with the same words are shown together.
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

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Us,
    RowsPerS,
    PagesPerS,
    BytesPerS,
}

impl Unit {
    /// As the suffix of a name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::RowsPerS => "rows_per_s",
            Self::PagesPerS => "pages_per_s",
            Self::BytesPerS => "bytes_per_s",
        }
    }
}

/// Which of two values is the better machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Higher,
    Lower,
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

/// Figures that others are judged by.
pub(super) const CPU_ONE: &str = "cpu_one_rows_per_s";
pub(super) const CPU_ALL: &str = "cpu_all_rows_per_s";
pub(super) const COMMIT: &str = "commit_us";
pub(super) const COMMIT_ASYNC: &str = "commit_async_us";

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("sql/", $name, ".sql")))),*] };
}

/// Writing comes last: its disk traffic would disturb the others.
const FILES: [(&str, &str); 13] = files![
    "round_trip_us",
    "select_1_us",
    "cpu_one_rows_per_s",
    "cpu_all_rows_per_s",
    "memory_one_bytes_per_s",
    "memory_all_bytes_per_s",
    "commit_us",
    "commit_async_us",
    "index_build_rows_per_s",
    "seq_read_cached_pages_per_s",
    "seq_read_beyond_bytes_per_s",
    "random_read_cached_us",
    "random_read_beyond_us",
];

/// All figures, in the order they are measured and shown.
pub static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| FILES.into_iter().map(read).collect());

/// The figure of this name.
#[must_use]
pub fn figure(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

fn read((name, text): (&'static str, &'static str)) -> Figure {
    let (mut header, mut statements) = parts_of(text);
    if let Some(base) = header.remove("as") {
        let base = FILES.into_iter().find(|(name, _)| base.as_str() == Some(name)).expect("a figure");
        let (more, others) = parts_of(base.1);
        for (key, value) in more {
            header.entry(key).or_insert(value);
        }
        statements = if statements.is_empty() { others } else { statements };
    }
    let figure: Figure = header.try_into().unwrap_or_else(|error| panic!("{name}.sql: {error}"));
    let (before, statements) = statements.split_once("-- each shot:\n").unwrap_or(("", statements));
    Figure { name, before, statements, ..figure }
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
    fn names_end_with_their_units_and_are_told_apart() {
        for (number, figure) in FIGURES.iter().enumerate() {
            assert!(figure.name.ends_with(figure.unit.name()), "{}", figure.name);
            assert!(figure.meaning.len() <= 78, "{}: one line", figure.name);
            assert!(!figure.statements.is_empty(), "{}", figure.name);
            assert_eq!(FIGURES.iter().position(|other| other.name == figure.name), Some(number));
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
