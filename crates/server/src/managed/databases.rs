//! Databases and extensions of a managed server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use protocol::Address;
use protocol::postgres::Place;
use protocol::postgres::conninfo::Env;
use protocol::postgres::sql::{Sql, long, quote_identifier, quote_literal};
use protocol::postgres::{Config, ConnInfoError, Login};
use spec::plan::storage::Holds;
use spec::{Class, Error, is_of_shared_memory};

use super::error::advice;
use super::log::disk_full_line;
use super::{Cluster, SUPERUSER};
use crate::control::Control;
use crate::error::sql_error;

/// Tablespace for databases that are stored elsewhere.
pub(super) const TABLESPACE: &str = "pgdyno";

/// Timeout of a connection to a server that reported to be ready.
const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// How to connect to a database of the managed server behind a socket.
pub(crate) fn place_of(socket: &Path, database: &str) -> Place {
    let mut login = Login::new(SUPERUSER, database);
    login.parameters.push(("application_name".to_owned(), "pgdyno".to_owned()));
    Place::new(Address::Unix(socket.to_owned()), Arc::new(login))
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

impl Cluster {
    /// How to connect to one of its databases: over the private socket, as the superuser, without a password.
    #[must_use]
    pub fn place(&self, database: &str) -> Place {
        place_of(&self.socket_folder.join(format!(".s.PGSQL.{}", self.marker.port)), database)
    }

    /// A connection to its database `postgres`.
    ///
    /// # Errors
    /// When a connection string cannot contain the socket's folder.
    pub(crate) fn config(&self) -> Result<Config, ConnInfoError> {
        let words = format!(
            "host={} port={} user={SUPERUSER} dbname=postgres application_name=pgdyno",
            quoted(&self.socket_folder.to_string_lossy()),
            self.marker.port
        );
        Config::parse(Some(&words), &Env::empty())
    }

    /// A control connection to one of its databases.
    pub fn connect(&self, database: &str) -> Result<Control, Error> {
        Control::open(&self.place(database), Some(CONNECT_BOUND))
    }

    /// Makes a database if it does not exist; true if it was made.
    pub fn ensure_database(&self, database: &str) -> Result<bool, Error> {
        let mut control = self.connect("postgres")?;
        let query =
            format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", quote_literal(database));
        let doing = || format!("creating database {database}");
        if control.scalar(&query).map_err(|error| self.sql_error(doing(), error))?.is_some() {
            return Ok(false);
        }
        let within = self.ensure_tablespace(&mut control)?;
        long(&mut control)
            .execute(&format!("CREATE DATABASE {}{within}", quote_identifier(database)))
            .map_err(|error| self.sql_error(doing(), error))?;
        Ok(true)
    }

    /// Makes the tablespace for databases, if it does not exist; returns the clause of CREATE DATABASE for
    /// it.
    fn ensure_tablespace(&self, control: &mut Control) -> Result<String, Error> {
        let Some(folder) =
            self.file_storage.as_ref().and_then(|file_storage| file_storage.part(Holds::Tablespace))
        else {
            return Ok(String::new());
        };
        let failed = |error| self.sql_error(format!("creating tablespace {TABLESPACE}"), error);
        let query = format!("SELECT 1 FROM pg_catalog.pg_tablespace WHERE spcname = '{TABLESPACE}'");
        if control.scalar(&query).map_err(failed)?.is_none() {
            let folder = quote_literal(&folder.to_string_lossy());
            let create = format!("CREATE TABLESPACE {TABLESPACE} LOCATION {folder}");
            long(control).execute(&create).map_err(failed)?;
        }
        Ok(format!(" TABLESPACE {TABLESPACE}"))
    }

    /// Makes an extension in a database if it does not exist.
    ///
    /// # Errors
    /// When it is not installed: the error names the package.
    pub fn ensure_extension(&self, database: &str, extension: &str) -> Result<(), Error> {
        let mut control = self.connect(database)?;
        let sql = format!("CREATE EXTENSION IF NOT EXISTS {} CASCADE", quote_identifier(extension));
        long(&mut control).execute(&sql).map_err(|error| {
            // Undefined file or feature not supported: the control file is missing (the code depends on the
            // version).
            if error.is("58P01") || error.is("0A000") {
                let major = self.installation.major;
                let advice = advice(extension, major);
                let what = format!("extension {extension} is not installed for PostgreSQL {major}; {advice}");
                Error::new(Class::Missing, what)
            } else {
                self.sql_error(format!("creating extension {extension}"), error)
            }
        })
    }

    /// An error of a statement; a full disk has a separate error.
    pub(super) fn sql_error(&self, doing: String, error: protocol::postgres::sql::SqlError) -> Error {
        let first = error.text.lines().next().map(str::to_owned);
        let line = disk_full_line(&error.text)
            .or_else(|| first.filter(|first| error.is("53100") && !is_of_shared_memory(first)));
        match line.or_else(|| if error.sqlstate.is_none() { self.disk_full() } else { None }) {
            Some(line) => self.is_full(&line),
            None => sql_error(doing, error),
        }
    }
}
