//! Rows and columns: results of queries and input of printers. The only table type.

use std::fmt::Display;

use serde::Serialize;

/// The content of a cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CellValue {
    #[default]
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
    /// Lists and objects: nested in JSON, elsewhere as text.
    Data(serde_json::Value),
    Marked(Marked),
}

/// A text with a separate style on a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marked {
    pub text: String,
    /// For colour, e.g. of a verdict. The text has the same meaning.
    pub class: &'static str,
    pub link: Option<String>,
    /// For programs, instead of the text.
    pub value: Option<Box<CellValue>>,
}

impl Serialize for Marked {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(&self.text),
        }
    }
}

impl CellValue {
    /// Any value as its text.
    pub fn shown(text: impl Display) -> Self {
        Self::Text(text.to_string())
    }

    /// A text with a class of the page's style sheet.
    pub fn marked(text: impl Display, class: &'static str) -> Self {
        Self::Marked(Marked { text: text.to_string(), class, ..Marked::default() })
    }

    /// A text that links to a place outside of the page.
    pub fn linked(text: impl Display, address: String) -> Self {
        Self::Marked(Marked { text: text.to_string(), link: Some(address), ..Marked::default() })
    }

    /// A value for programs with its text for people, which has a class of the page's style sheet.
    pub fn worded(value: impl Into<Self>, text: impl Display, class: &'static str) -> Self {
        let value = Some(Box::new(value.into()));
        Self::Marked(Marked { text: text.to_string(), class, value, ..Marked::default() })
    }

    /// The value for programs.
    #[must_use]
    pub fn raw(&self) -> &Self {
        match self {
            Self::Marked(Marked { value: Some(value), .. }) => value,
            other => other,
        }
    }
}

impl From<&String> for CellValue {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&str> for CellValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for CellValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for CellValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for CellValue {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Real(number as f64), Self::Int)
    }
}

impl From<u32> for CellValue {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<f64> for CellValue {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<T: Into<CellValue>> From<Option<T>> for CellValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Name and kind of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: ColumnKind,
    /// People need not see it if no row has a value but 0; programs always get it.
    pub optional: bool,
    /// People do not see it, unless it is selected.
    pub hidden: bool,
    /// The head for people, if not made from the name.
    pub head: Option<&'static str>,
}

/// How a column's head and values are written for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColumnKind {
    /// The name ends with the unit (`p99_us`): numbers get a suitable unit.
    #[default]
    Named,
    /// Head and texts unchanged.
    Text,
    Number,
}

/// Named columns and rows of as many values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<CellValue>>,
    /// On a phone each row is a block, for any number of rows.
    pub stacked: bool,
}

impl Table {
    /// An empty table with these columns, whose names end with their units.
    pub fn new<S: Display>(columns: impl IntoIterator<Item = S>) -> Self {
        Self::default().named(columns)
    }

    /// An empty table for people, with this caption.
    pub fn captioned(caption: impl Display) -> Self {
        Self { caption: caption.to_string(), ..Self::default() }
    }

    /// Adds columns whose names end with their units.
    #[must_use]
    pub fn named<S: Display>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.with(names, ColumnKind::Named)
    }

    /// Adds columns of text for people.
    #[must_use]
    pub fn text<S: Display>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.with(names, ColumnKind::Text)
    }

    /// Adds columns of formatted numbers for people.
    #[must_use]
    pub fn numbers<S: Display>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.with(names, ColumnKind::Number)
    }

    fn with<S: Display>(mut self, names: impl IntoIterator<Item = S>, kind: ColumnKind) -> Self {
        let column = |name: S| Column { name: name.to_string(), kind, ..Column::default() };
        self.columns.extend(names.into_iter().map(column));
        self
    }

    /// Makes columns optional.
    pub fn optional<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) {
        self.each(names, |column| column.optional = true);
    }

    /// Hides columns from people.
    pub fn hide<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) {
        self.each(names, |column| column.hidden = true);
    }

    fn each<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>, change: fn(&mut Column)) {
        for name in names {
            self.columns.iter_mut().filter(|column| column.name == name.as_ref()).for_each(change);
        }
    }

    /// Sets heads for people.
    #[must_use]
    pub fn with_heads(mut self, heads: &[(&str, &'static str)]) -> Self {
        for (name, head) in heads {
            self.columns
                .iter_mut()
                .filter(|column| column.name == *name)
                .for_each(|column| column.head = Some(head));
        }
        self
    }

    /// The columns of these names in this order, for people; names without a column are left out.
    #[must_use]
    pub fn select(self, names: &[&str]) -> Self {
        let places: Vec<usize> = names.iter().filter_map(|name| self.at(name)).collect();
        let column = |at: &usize| Column { hidden: false, ..self.columns[*at].clone() };
        let row = |row: &Vec<CellValue>| places.iter().map(|at| row[*at].clone()).collect();
        let (columns, rows) = (places.iter().map(column).collect(), self.rows.iter().map(row).collect());
        Self { columns, rows, ..self }
    }

    /// Adds a row; it must be as long as the columns.
    pub fn push(&mut self, row: impl IntoIterator<Item = CellValue>) {
        let row: Vec<CellValue> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a row has one value per column");
        self.rows.push(row);
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The place of a column.
    #[must_use]
    pub fn at(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Keeps only some columns, by their index.
    #[must_use]
    pub fn only(mut self, kept: impl Fn(&Self, usize) -> bool) -> Self {
        let kept: Vec<bool> = (0..self.columns.len()).map(|at| kept(&self, at)).collect();
        let mut keeps = kept.iter().copied();
        self.columns.retain(|_| keeps.next().unwrap_or_default());
        for row in &mut self.rows {
            let mut keeps = kept.iter().copied();
            row.retain(|_| keeps.next().unwrap_or_default());
        }
        self
    }
}
