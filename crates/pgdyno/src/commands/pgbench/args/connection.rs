//! Where to connect.

use std::ffi::OsString;

use super::env::Env;
use super::fault::ArgumentError;

/// libpq's rules apply to fields that are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConnectionArgs {
    /// Name of the database, connection string or URI: the argument, else `PGDATABASE`, else `PGUSER`.
    /// `None`: the operating system's user name.
    pub(crate) database: Option<String>,
    /// `-h`
    pub(crate) host: Option<String>,
    /// `-p`
    pub(crate) port: Option<String>,
    /// `-U`
    pub(crate) user: Option<String>,
}

impl ConnectionArgs {
    /// The database: the option, else the argument, else the environment; a second argument is an error.
    pub(super) fn complete(&mut self, others: Vec<OsString>, env: &dyn Env) -> Result<(), ArgumentError> {
        let mut others = others.into_iter().map(|other| other.to_string_lossy().into_owned());
        if self.database.is_none() {
            let variable = |name| env.variable(name).filter(|value| !value.is_empty());
            let environment = || variable("PGDATABASE").or_else(|| variable("PGUSER"));
            self.database =
                others.next().or_else(|| environment().map(|value| value.to_string_lossy().into_owned()));
        }
        match others.next() {
            Some(other) => {
                let text = format!("too many command-line arguments (first is \"{other}\")");
                Err(ArgumentError::error(text).and_see_help())
            }
            None => Ok(()),
        }
    }
}
