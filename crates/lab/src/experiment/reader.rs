//! Walking a TOML file so that everything wrong with it is found at once, each with its place.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use super::problem::{Problem, suggestion};
use super::values;

/// The text of a file, what is wrong with it so far, and the variables it may name.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) variables: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the files that it names are looked at too.
    pub(super) look: bool,
    problems: RefCell<Vec<(usize, Problem)>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, variables: &'a dyn Fn(&str) -> Option<String>, look: bool) -> Self {
        Self { text, variables, look, problems: RefCell::default() }
    }

    /// Line of a byte of the text, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    /// Notes a problem; the same one is noted once.
    pub(super) fn problem(&self, span: &Range<usize>, message: String, hint: Option<String>) {
        let problem = Problem::at(self.text, span, message, hint);
        let mut problems = self.problems.borrow_mut();
        if !problems.iter().any(|(_, known)| *known == problem) {
            problems.push((span.start, problem));
        }
    }

    /// All problems in the order of the file.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|(start, _)| *start);
        problems.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// A table of the file, with what `[full]` puts over it.
#[derive(Clone)]
pub(super) struct Section<'a> {
    pub(super) source: &'a Source<'a>,
    /// Dotted path from the root; empty for the root.
    pub(super) path: String,
    pub(super) span: Range<usize>,
    table: &'a DeTable<'a>,
    over: Option<&'a DeTable<'a>>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn root(source: &'a Source<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self { source, path: String::new(), span: 0..0, table: table.get_ref(), over: None }
    }

    /// The same section with entries of `over` in place of its own.
    pub(super) fn under(mut self, over: Option<&Section<'a>>) -> Self {
        self.over = over.map(|section| section.table);
        self
    }

    /// The field of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let found =
            self.over.and_then(|over| over.get_key_value(key)).or_else(|| self.table.get_key_value(key));
        found.map(|(name, value)| self.field(name, value))
    }

    /// The field of a key that must be there.
    pub(super) fn required(&self, key: &str, hint: &str) -> Option<Field<'a>> {
        let field = self.get(key);
        if field.is_none() {
            let place = if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) };
            self.source.problem(&self.span, format!("`{key}` is missing{place}"), Some(hint.to_owned()));
        }
        field
    }

    /// A table below this one.
    pub(super) fn section(&self, key: &str) -> Option<Section<'a>> {
        self.get(key)?.section()
    }

    /// All fields in the order of the file.
    pub(super) fn fields(&self) -> Vec<Field<'a>> {
        let mut fields: Vec<_> = self.table.iter().map(|(name, value)| self.field(name, value)).collect();
        fields.sort_by_key(|field| field.key_span.start);
        fields
    }

    /// Notes names that nobody could read in a table: empty ones, or nothing but blanks.
    pub(super) fn check_names(&self, of_what: &str) {
        for field in self.fields().iter().filter(|field| field.key.trim().is_empty()) {
            let message = format!("{of_what} needs a name, not `[{}.\"{}\"]`", self.path, field.key);
            self.source.problem(&field.key_span, message, None);
        }
    }

    /// Notes every key that [`keys::KEYS`] does not list here.
    pub(super) fn check_keys(&self) {
        let known = keys::below(&self.path);
        for field in self.fields() {
            if !known.contains(&field.key.as_str()) {
                let place = if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) };
                let message = format!("unknown key `{}`{place}", field.key);
                self.source.problem(&field.key_span, message, suggestion(&field.key, &known));
            }
        }
    }

    /// Notes that two keys cannot stand together.
    pub(super) fn exclusive(&self, one: &str, other: &str, why: &str) {
        if let (Some(_), Some(second)) = (self.get(one), self.get(other)) {
            second.wrong(format!("`{one}` and `{other}` cannot stand together: {why}"), None);
        }
    }

    fn field(&self, name: &Spanned<toml::de::DeString<'a>>, value: &'a Spanned<DeValue<'a>>) -> Field<'a> {
        let key = name.get_ref().to_string();
        let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
        Field { source: self.source, key, path, key_span: name.span(), value }
    }
}

/// A key with its value.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) key: String,
    pub(super) path: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Field<'a> {
    /// The key as it stands in the file.
    pub(super) fn name(&self) -> &'a str {
        self.source.text.get(self.key_span.clone()).map_or("", |key| key.trim_matches(['"', '\'']))
    }

    /// Notes that the value is wrong.
    pub(super) fn wrong(&self, message: String, hint: Option<String>) {
        self.source.problem(&self.value.span(), message, hint);
    }

    fn not_a(&self, wanted: &str) {
        let found = self.value.get_ref().type_str();
        self.wrong(format!("`{}` must be {wanted}, not {}", self.path, values::with_article(found)), None);
    }

    /// A text.
    pub(super) fn string(&self) -> Option<String> {
        let text = self.value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.not_a("a text in quotes");
        }
        text
    }

    /// A text in which `$NAME` stands for a variable's value.
    pub(super) fn expanded(&self) -> Option<String> {
        let text = self.string()?;
        match values::expand(&text, self.source.variables) {
            Ok(expanded) => Some(expanded),
            Err(name) => {
                // A dollar in a password looks like a variable.
                if self.path.starts_with("target")
                    && !text.contains(&format!("${{{name}}}"))
                    && text != format!("${name}")
                {
                    self.wrong(
                        format!("`{}` needs a variable that is not set", self.path),
                        Some("its name is not shown, since it may be part of a password; a plain dollar is written $$".into()),
                    );
                    return None;
                }
                let hint = match name.as_str() {
                    "PGDYNO_DATA" => "set it, or give --data FILE".to_owned(),
                    _ => format!("set it: export {name}=…; a plain dollar is written $$"),
                };
                self.wrong(
                    format!("`{}` needs the variable {name}, which is not set", self.path),
                    Some(hint),
                );
                None
            }
        }
    }

    /// One of some words.
    pub(super) fn word(&self, known: &[&str]) -> Option<String> {
        let word = self.string()?;
        if known.contains(&word.as_str()) {
            return Some(word);
        }
        self.wrong(format!("`{}` cannot be \"{word}\"", self.path), suggestion(&word, known));
        None
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self) -> Option<bool> {
        let value = self.value.get_ref().as_bool();
        if value.is_none() {
            self.not_a("true or false");
        }
        value
    }

    /// A whole number within bounds.
    pub(super) fn integer(&self, least: u64, most: u64) -> Option<u64> {
        let number = match self.value.get_ref() {
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number.and_then(|number| u64::try_from(number).ok()) {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ if number.is_some() => {
                self.wrong(format!("`{}` must be from {least} to {most}", self.path), None);
                None
            }
            _ => {
                self.not_a("a whole number");
                None
            }
        }
    }

    /// A number within bounds, whole or not.
    pub(super) fn number(&self, least: f64, most: f64) -> Option<f64> {
        let Some(number) = values::number(self.value.get_ref()) else {
            self.not_a("a number");
            return None;
        };
        if !(least..=most).contains(&number) {
            self.wrong(format!("`{}` must be from {least} to {most}", self.path), None);
            return None;
        }
        Some(number)
    }

    /// A length of time within bounds with its unit, e.g. "500ms".
    pub(super) fn duration(&self, least: Duration, most: Duration) -> Option<Duration> {
        let duration = self.any_duration()?;
        if !(least..=most).contains(&duration) {
            let [least, most] = [least, most].map(values::in_words);
            self.wrong(format!("`{}` must be from {least} to {most}", self.path), None);
            return None;
        }
        Some(duration)
    }

    fn any_duration(&self) -> Option<Duration> {
        let wanted = "write a number with its unit: \"500ms\", \"10s\", \"2min\", \"1h\"";
        let text = match self.value.get_ref().as_str() {
            Some(text) => text,
            None => {
                self.wrong(format!("`{}` must be a length of time", self.path), Some(wanted.into()));
                return None;
            }
        };
        let duration = values::duration(text);
        if duration.is_none() {
            self.wrong(format!("`{}`: \"{text}\" is not a length of time", self.path), Some(wanted.into()));
        }
        duration
    }

    /// The elements of a list, or the one value standing for a list of one.
    pub(super) fn elements(&self) -> Vec<Field<'a>> {
        let element = |value| Field { value, key: self.key.clone(), path: self.path.clone(), ..self.clone() };
        match self.value.get_ref() {
            DeValue::Array(values) => {
                let fields: Vec<_> = values.iter().map(element).collect();
                if fields.is_empty() {
                    self.wrong(format!("`{}` must not be empty", self.path), None);
                }
                fields
            }
            _ => vec![self.clone()],
        }
    }

    /// A table.
    pub(super) fn section(&self) -> Option<Section<'a>> {
        let DeValue::Table(table) = self.value.get_ref() else {
            self.not_a("a table");
            return None;
        };
        // The header or key is where a reader looks for what is missing in a table.
        let span = self.key_span.clone();
        Some(Section { source: self.source, path: self.path.clone(), span, table, over: None })
    }
}
