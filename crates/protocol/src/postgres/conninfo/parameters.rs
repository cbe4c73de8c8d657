//! What is asked of a connection, before defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::error::ConnInfoError;
use super::{keywords, secret};

/// Where an option's value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The user wrote it: in a connection string, or as an option of the program.
    Argument,
    Service(PathBuf),
    Environment,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// The options given for a connection. They are checked by name here, by value when they are resolved.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<&'static str, Value>,
}

impl Parameters {
    /// Sets an option, also if it is set already.
    ///
    /// # Errors
    /// When libpq does not know it or pgdyno does not have it, or the value looks like a misplaced password.
    pub fn set(&mut self, keyword: &str, value: &str) -> Result<(), ConnInfoError> {
        let keyword = keywords::find(keyword)?;
        keyword.check(value)?;
        secret::check(keyword.name, value)?;
        self.values.insert(keyword.name, Value { text: value.to_owned(), origin: Origin::Argument });
        Ok(())
    }

    /// Sets an option to a value without quotes.
    pub(super) fn set_bare(&mut self, keyword: &str, value: &str) -> Result<(), ConnInfoError> {
        secret::check_bare(keywords::find(keyword)?.name, value)?;
        self.set(keyword, value)
    }

    /// Sets an option unless it is set already or `value` is empty. This is how programs of PostgreSQL merge `-h`, `-p` and
    /// `-U` with a connection string: what the string says wins.
    ///
    /// # Errors
    /// When libpq does not know it or pgdyno does not have it.
    pub fn set_default(&mut self, keyword: &str, value: &str) -> Result<(), ConnInfoError> {
        if value.is_empty() {
            keywords::find(keyword).map(|_| ())
        } else {
            self.fill(keyword, value, Origin::Argument)
        }
    }

    /// Sets an option that is not set yet.
    pub(super) fn fill(&mut self, keyword: &str, value: &str, origin: Origin) -> Result<(), ConnInfoError> {
        let keyword = keywords::find(keyword)?;
        if !self.values.contains_key(keyword.name) {
            keyword.check(value)?;
            secret::check(keyword.name, value)?;
            secret::check_bare(keyword.name, value)?;
            self.values.insert(keyword.name, Value { text: value.to_owned(), origin });
        }
        Ok(())
    }

    pub(super) fn value(&self, keyword: &str) -> Option<&Value> {
        self.values.get(keyword)
    }

    /// The value of an option, a password too; an empty one counts as not given.
    #[must_use]
    pub fn get(&self, keyword: &str) -> Option<&str> {
        self.value(keyword).map(|value| value.text.as_str()).filter(|text| !text.is_empty())
    }
}

impl fmt::Debug for Parameters {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(&name, value): (&&'static str, &Value)| match name {
            "password" => (name, "(hidden)".to_owned()),
            _ => (name, value.text.clone()),
        };
        f.debug_map().entries(self.values.iter().map(shown)).finish()
    }
}
