//! An experiment file as TOML with positions, read by serde into our own types with all mistakes found at
//! once.
//!
//! serde stops at the first mistake, and its variant that continues (eserde) needs its own derive on every
//! type and has no positions. So each mistake is noted, the value around it is removed, and the rest is read
//! again.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::kept;
use super::problem::{Problem, Wrong};
use super::wording;

/// The path to a value: keys, and elements of lists as `[0]`.
pub(super) type Steps = Vec<String>;

pub(super) struct Document<'a> {
    text: &'a str,
    written: Spanned<DeValue<'a>>,
    /// Without removed mistakes; with `[full]` merged over the rest when that is read.
    left: Spanned<DeValue<'a>>,
    wrong: Vec<Steps>,
    noted: Vec<Noted>,
    /// Whether there were more mistakes than are noted.
    is_cut: bool,
}

/// Most mistakes that are noted: each costs another reading of the file.
const MOST: usize = 100;

#[derive(Debug, PartialEq)]
struct Noted {
    span: Range<usize>,
    wrong: Wrong,
}

impl<'a> Document<'a> {
    /// Parses a text. Most syntax errors after the first only follow from it, so the document is then empty.
    pub(super) fn parse(text: &'a str) -> Self {
        let (table, mistakes) = DeTable::parse_recoverable(text);
        let whole = |table| Spanned::new(0..0, DeValue::Table(table));
        let written = whole(table.into_inner());
        let mut document = Self {
            text,
            left: written.clone(),
            written,
            wrong: Vec::new(),
            noted: Vec::new(),
            is_cut: false,
        };
        if let Some(mistake) = mistakes.first() {
            let span = mistake.span().unwrap_or(0..0);
            let hint = document.first_of(&span);
            let wrong = Wrong { said: mistake.message().to_owned(), hint, ..Wrong::default() };
            document.note(span, wrong);
            document.left = whole(DeTable::new());
        }
        document
    }

    fn first_of(&self, second: &Range<usize>) -> Option<String> {
        let name = self.text.get(second.clone())?.trim_matches(['"', '\'']);
        let lines: Vec<&str> = self.text.lines().take(self.line(second.start)).collect();
        let (line, before) = lines.split_last()?;
        let key = |line: &str| line.split(['=', '#']).next().map(str::trim).unwrap_or_default().to_owned();
        let first = before.iter().rposition(|other| key(other) == key(line))?;
        Some(format!("the first `{name}` is in line {}", first + 1))
    }

    /// The stored text: without the credentials of addresses.
    pub(super) fn kept_text(&self) -> String {
        kept::text(self.text, &self.written)
    }

    /// Whether the syntax is valid, so that anything can be read.
    pub(super) fn is_toml(&self) -> bool {
        self.noted.is_empty()
    }

    /// The whole file by its types; mistakes are noted and left out.
    pub(super) fn read<T: DeserializeOwned + Default>(&mut self) -> T {
        self.read_at(&[]).unwrap_or_default()
    }

    /// The value at a place, by its type; mistakes are noted and left out. `None` if nothing remains.
    pub(super) fn read_at<T: DeserializeOwned>(&mut self, place: &[&str]) -> Option<T> {
        loop {
            if self.is_cut {
                return None;
            }
            let (_, value) = find(&self.left, place)?;
            let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(read) => return Some(read),
                Err(error) => error,
            };
            let span = error.span().unwrap_or(0..0);
            let Some(path) = path_at(&self.left, &span) else {
                self.note(span, Wrong { said: error.message().to_owned(), ..Wrong::default() });
                return None;
            };
            // A key that a table lacks because a mistake was removed is not a second mistake.
            if !self.wrong.iter().any(|wrong| wrong.starts_with(&path)) {
                let wrong = wording::of(error.message(), self.as_written(&span));
                self.note(span, wrong);
            }
            self.take_out(path);
        }
    }

    fn take_out(&mut self, path: Steps) {
        take_out(self.left.get_mut(), &path);
        self.wrong.push(path);
    }

    /// The position in the file, also when `[full]` is merged over the rest.
    fn as_written(&self, span: &Range<usize>) -> Steps {
        path_at(&self.written, span).unwrap_or_default()
    }

    pub(super) fn named(&self, path: &[&str]) -> String {
        self.place(path).map_or_else(|| path.join("."), |(key, _)| wording::dotted(&self.as_written(&key)))
    }

    /// Removes what serde would read as a table although it is not one: a list, by its order, or a date.
    pub(super) fn must_be_table(&mut self, path: &[&str]) {
        if matches!(self.value(path), Some(DeValue::Array(_) | DeValue::Datetime(_))) {
            self.wrong(path, format!("`{}` must be a table, such as {{ … }}", self.named(path)), None);
            self.take_out(steps(path));
        }
    }

    /// Merges the tables of `[full]` over the tables of the same name.
    pub(super) fn put_full_over(&mut self) {
        self.left = self.written.clone();
        self.wrong.clear();
        let DeValue::Table(root) = self.left.get_mut() else { return };
        let Some(DeValue::Table(full)) = root.remove("full").map(Spanned::into_inner) else { return };
        for (name, over) in
            full.into_iter().filter(|(name, _)| ["factors", "measure"].contains(&&**name.get_ref()))
        {
            let (DeValue::Table(over), span) = (over.get_ref().clone(), over.span()) else { continue };
            let below = root.entry(name).or_insert(Spanned::new(span, DeValue::Table(DeTable::new())));
            let DeValue::Table(below) = below.get_mut() else { continue };
            // A fixed length in [full] overrides a budget in the rest of the file.
            if over.get("duration").is_some_and(|length| !length.get_ref().is_table()) {
                below.remove("budget");
            }
            for (key, value) in over {
                below.remove(&**key.get_ref());
                below.insert(key, value);
            }
        }
    }

    /// Replaces the folder of the sources of each build from git: `source` of `[version.NAME]` with `git`.
    pub(super) fn put_source(&mut self, folder: &str) {
        for whole in [&mut self.written, &mut self.left] {
            let DeValue::Table(root) = whole.get_mut() else { continue };
            let Some(DeValue::Table(versions)) = root.get_mut("version").map(Spanned::get_mut) else {
                continue;
            };
            for (name, version) in versions.iter_mut() {
                let DeValue::Table(version) = version.get_mut() else { continue };
                if version.contains_key("git") {
                    let span = version.get("source").map_or_else(|| name.span(), Spanned::span);
                    version.remove("source");
                    let key = Spanned::new(span.clone(), "source".into());
                    version.insert(key, Spanned::new(span, DeValue::String(folder.to_owned().into())));
                }
            }
        }
    }

    pub(super) fn is_wrong(&self, path: &[&str]) -> bool {
        self.wrong
            .iter()
            .any(|wrong| wrong.len() >= path.len() && wrong.iter().zip(path).all(|(step, key)| step == key))
    }

    /// The path of a factor, whose name may be in quotes.
    pub(super) fn factor<'n>(&self, dotted: &'n str) -> Vec<&'n str> {
        let in_quotes = vec!["factors", dotted];
        match self.value(&in_quotes) {
            Some(_) => in_quotes,
            None => ["factors"].into_iter().chain(dotted.split('.')).collect(),
        }
    }

    pub(super) fn value(&self, path: &[&str]) -> Option<&DeValue<'a>> {
        find(&self.left, path).map(|(_, value)| value.get_ref())
    }

    /// Names of a table's keys in the order of the file, with or without mistakes.
    pub(super) fn names(&self, path: &[&str]) -> Vec<String> {
        let table = find(&self.written, path).and_then(|(_, value)| value.get_ref().as_table());
        let mut keys: Vec<_> = table.map(|table| table.keys().collect()).unwrap_or_default();
        keys.sort_by_key(|key| key.span().start);
        keys.iter().map(|key| key.get_ref().to_string()).collect()
    }

    /// The texts in a list, or the single one instead of a list, as written, including `[full]`.
    pub(super) fn texts_in_all(&self, path: &[&str]) -> Vec<String> {
        let in_full = [&["full"], path].concat();
        let lists = [path, &in_full].map(|path| find(&self.written, path).map(|(_, value)| value.get_ref()));
        let texts = |list: &DeValue<'_>| match list {
            DeValue::Array(list) => {
                list.iter().filter_map(|one| one.get_ref().as_str().map(str::to_owned)).collect()
            }
            one => one.as_str().map(str::to_owned).into_iter().collect::<Vec<_>>(),
        };
        lists.into_iter().flatten().flat_map(texts).collect()
    }

    pub(super) fn start(&self, path: &[&str]) -> Option<usize> {
        find(&self.left, path).map(|(key, _)| key.start)
    }

    /// Line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    pub(super) fn wrong(&mut self, path: &[&str], message: String, hint: Option<&str>) {
        self.wrong_value(path, None, message, hint);
    }

    pub(super) fn wrong_value(
        &mut self,
        path: &[&str],
        key: Option<String>,
        said: String,
        hint: Option<&str>,
    ) {
        let span = self.place(path).map_or(0..0, |(_, value)| value.span());
        self.note_at(path, span, key, said, hint);
    }

    /// Notes a problem with a key, or at the head of the file if the key is missing.
    pub(super) fn wrong_key(&mut self, path: &[&str], message: String, hint: Option<&str>) {
        let span = self.place(path).map_or(0..0, |(key, _)| key);
        self.note_at(path, span, None, message, hint);
    }

    fn place(&self, path: &[&str]) -> Option<(Range<usize>, &Spanned<DeValue<'a>>)> {
        find(&self.left, path).or_else(|| find(&self.written, path))
    }

    fn note_at(
        &mut self,
        path: &[&str],
        span: Range<usize>,
        key: Option<String>,
        said: String,
        hint: Option<&str>,
    ) {
        self.wrong.push(steps(path));
        self.note(span, Wrong { path: steps(path), key, said, hint: hint.map(str::to_owned) });
    }

    pub(super) fn missing(&mut self, table: &[&str], key: &str) {
        if !self.is_wrong(&[table, &[key]].concat()) {
            let (message, hint) = wording::missing(&table.join("."), key);
            self.wrong_key(table, message, hint.as_deref());
        }
    }

    pub(super) fn exclusive(&mut self, table: &str, keys: [&str; 2], why: &str) {
        self.exclusive_in(&[table], keys, why);
    }

    /// The same in a table within others.
    pub(super) fn exclusive_in(&mut self, table: &[&str], [one, other]: [&str; 2], why: &str) {
        let [first, second] = [one, other].map(|key| [table, &[key]].concat());
        if self.value(&first).is_some() && self.value(&second).is_some() {
            self.wrong(&second, format!("`{one}` and `{other}` cannot be combined: {why}"), None);
        }
    }

    fn note(&mut self, span: Range<usize>, wrong: Wrong) {
        let noted = Noted { span, wrong };
        if self.noted.contains(&noted) {
            return;
        }
        match self.noted.len() < MOST {
            true => self.noted.push(noted),
            false => self.is_cut = true,
        }
    }

    /// The noted mistakes in the order of the file, and whether there were more.
    pub(super) fn into_problems(mut self) -> (Vec<Problem>, bool) {
        self.noted.sort_by_key(|noted| noted.span.start);
        let problems = self.noted.into_iter().map(|noted| Problem::at(self.text, &noted.span, noted.wrong));
        (problems.collect(), self.is_cut)
    }
}

/// A value, with the position of its key. A value instead of a list is its own first element.
fn find<'v, 'a>(
    root: &'v Spanned<DeValue<'a>>,
    path: &[&str],
) -> Option<(Range<usize>, &'v Spanned<DeValue<'a>>)> {
    path.iter().try_fold((0..0, root), |(key, value), step| match (value.get_ref(), element(step)) {
        (DeValue::Table(table), index) => {
            let below = table.get_key_value(*step).map(|(key, value)| (key.span(), value));
            below.or_else(|| (index == Some(0)).then_some((key, value)))
        }
        (DeValue::Array(list), Some(index)) => list.get(index).map(|value| (value.span(), value)),
        (_, Some(0)) => Some((key, value)),
        _ => None,
    })
}

fn path_at(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<Steps> {
    let through = |step: String, key: Range<usize>, value: &Spanned<DeValue<'_>>| {
        let below =
            path_at(value, span).or_else(|| (key == *span || value.span() == *span).then(Vec::new))?;
        Some([vec![step], below].concat())
    };
    match value.get_ref() {
        DeValue::Table(table) => {
            table.iter().find_map(|(key, value)| through(key.get_ref().to_string(), key.span(), value))
        }
        DeValue::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, value)| through(format!("[{index}]"), value.span(), value)),
        _ => None,
    }
}

/// Removes a value; a list that becomes empty is removed as a whole.
fn take_out(value: &mut DeValue<'_>, path: &[String]) {
    let [step, rest @ ..] = path else { return };
    match value {
        DeValue::Table(table) => {
            let below = table.get_mut(step.as_str()).filter(|_| !rest.is_empty()).map(Spanned::get_mut);
            let kept = below.is_some_and(|below| {
                take_out(below, rest);
                below.as_array().is_none_or(|list| !list.is_empty())
            });
            if !kept {
                table.remove(step.as_str());
            }
        }
        DeValue::Array(list) => {
            let index = element(step);
            match list.iter_mut().enumerate().find(|(place, _)| Some(*place) == index) {
                Some((_, below)) if !rest.is_empty() => take_out(below.get_mut(), rest),
                _ => {
                    let kept =
                        list.clone().into_iter().enumerate().filter(|(place, _)| Some(*place) != index);
                    *list = kept.map(|(_, element)| element).collect();
                }
            }
        }
        _ => {}
    }
}

fn element(step: &str) -> Option<usize> {
    step.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

fn steps(path: &[&str]) -> Steps {
    path.iter().map(|step| (*step).to_owned()).collect()
}
