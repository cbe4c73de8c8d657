//! Connection options before defaults are filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::error::ConnInfoError;
use super::{keywords, secret};

/// Where an option's value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A connection string, or an option of the program.
    Argument,
    Service(PathBuf),
    Environment,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct ParameterValue {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// The options given for a connection. Names are checked here, values in [`Parameters::resolve`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<&'static str, ParameterValue>,
}

impl Parameters {
    /// Sets an option, replacing an earlier value.
    ///
    /// # Errors
    /// When libpq does not know it, pgdyno does not support it, or the value looks like a misplaced password.
    pub fn set(&mut self, keyword: &str, value: &str) -> Result<(), ConnInfoError> {
        let keyword = keywords::find(keyword)?;
        keyword.check(value)?;
        secret::check(keyword.name, value)?;
        self.values.insert(keyword.name, ParameterValue { text: value.to_owned(), origin: Origin::Argument });
        Ok(())
    }

    /// Sets an option to an unquoted value.
    pub(super) fn set_bare(&mut self, keyword: &str, value: &str) -> Result<(), ConnInfoError> {
        secret::check_bare(keywords::find(keyword)?.name, value)?;
        self.set(keyword, value)
    }

    /// Sets an option unless it is set already or `value` is empty. PostgreSQL's programs merge `-h`, `-p`
    /// and `-U` with a connection string in this way: the string takes precedence.
    ///
    /// # Errors
    /// When libpq does not know it or pgdyno does not support it.
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
            self.values.insert(keyword.name, ParameterValue { text: value.to_owned(), origin });
        }
        Ok(())
    }

    pub(super) fn value(&self, keyword: &str) -> Option<&ParameterValue> {
        self.values.get(keyword)
    }

    /// The value of an option, even a password; empty counts as not given.
    #[must_use]
    pub fn get(&self, keyword: &str) -> Option<&str> {
        self.value(keyword).map(|value| value.text.as_str()).filter(|text| !text.is_empty())
    }
}

impl fmt::Debug for Parameters {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(&name, value): (&&'static str, &ParameterValue)| match name {
            "password" => (name, "(hidden)".to_owned()),
            _ => (name, value.text.clone()),
        };
        f.debug_map().entries(self.values.iter().map(shown)).finish()
    }
}
