//! Why a workload cannot run.

use std::fmt::Display;
use std::path::PathBuf;

use protocol::nearest;
use protocol::postgres::sql::SqlError;
use spec::{Class, Error, advice_on_sqlstate};

/// Why a workload cannot run: what, where, and what to try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    #[error("{key}: {problem}")]
    Option {
        /// The key as written in the experiment file, e.g. `tiles.zooms`.
        key: String,
        /// The problem, and valid values.
        problem: String,
    },
    /// A script cannot be parsed or run.
    #[error("{0}")]
    Script(String),
    /// The first execution of a script failed.
    #[error("{file}, line {line}: the first execution failed\n{problem}\nstatement: {statement}")]
    FirstExecution {
        file: String,
        line: usize,
        statement: String,
        problem: String,
        /// If it was the server's error.
        sqlstate: Option<String>,
    },
    /// A statement on the control connection failed.
    #[error("while {doing}: {error}")]
    Sql {
        doing: String,
        #[source]
        error: SqlError,
    },
    #[error("{path}: {problem}", path = path.display())]
    File {
        path: PathBuf,
        /// The problem, and what to try.
        problem: String,
    },
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<protocol::redis::ControlError> for WorkloadError {
    fn from(error: protocol::redis::ControlError) -> Self {
        Self::redis(error.doing, error.problem)
    }
}

impl From<osm::extract::FileError> for WorkloadError {
    fn from(error: osm::extract::FileError) -> Self {
        Self::File { path: error.path, problem: error.problem }
    }
}

impl From<WorkloadError> for Error {
    fn from(error: WorkloadError) -> Self {
        let sqlstate = match &error {
            WorkloadError::Sql { error, .. } => error.sqlstate.as_deref(),
            WorkloadError::FirstExecution { sqlstate, .. } => sqlstate.as_deref(),
            _ => None,
        };
        let hint = sqlstate.map_or("", advice_on_sqlstate);
        match error {
            WorkloadError::Other(error) => error,
            error => Self::new(error.class(), error.to_string()).with_hint(hint).because(error),
        }
    }
}

impl WorkloadError {
    /// The exit class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Sql { error, .. } => Class::of_sqlstate(error.sqlstate.as_deref()),
            Self::Other(error) => error.class(),
            // protocol_violation: a pooler refuses what a server would accept.
            Self::FirstExecution { sqlstate: Some(state), .. } if state == "08P01" => Class::Missing,
            Self::Option { .. } | Self::Script(_) | Self::FirstExecution { .. } | Self::File { .. } => {
                Class::BadInput
            }
        }
    }

    /// Wraps an error of the control connection.
    pub(crate) fn sql(doing: impl Into<String>) -> impl FnOnce(SqlError) -> Self {
        let doing = doing.into();
        move |error| Self::Sql { doing, error }
    }

    /// An error of a connection to a web server.
    pub(crate) fn http(error: protocol::http::ControlError) -> Self {
        let what = format!("while {}: {}", error.doing, error.problem);
        Error::new(Class::Unreachable, what).into()
    }

    /// A web server's unexpected answer: what, where, and what to try.
    pub(crate) fn http_answer(what: impl Display, hint: &str) -> Self {
        Error::new(Class::Guard, format!("{what}; {hint}")).into()
    }

    /// Something missing on the target, and what to try.
    pub(crate) fn missing(what: impl Display, hint: impl Display) -> Self {
        Error::new(Class::Missing, format!("{what}; {hint}")).into()
    }

    /// A statement returned another answer than expected.
    pub(crate) fn answer(doing: impl Display, wanted: impl Display, got: impl Display) -> Self {
        let what = format!("while {doing}: the server answered {got} where it must be {wanted}");
        Error::new(Class::BadInput, what).into()
    }

    /// Redis could not be reached or answered with an error.
    pub(crate) fn redis(doing: impl Display, problem: impl Display) -> Self {
        Error::new(Class::Unreachable, format!("Redis, while {doing}: {problem}")).into()
    }

    /// Redis has no memory left for the keys of a workload: its limit, and what to try.
    pub(crate) fn redis_full(problem: impl Display, hint: &str) -> Self {
        Error::new(Class::Guard, format!("Redis is full: {problem}; {hint}")).into()
    }

    /// A program could not be run or failed: its last output, or the system's error.
    pub(crate) fn program(program: impl Display, problem: impl Display) -> Self {
        Error::new(Class::Child, format!("{program} failed: {problem}")).into()
    }

    /// The target has no server of the kind the workload needs, `PostgreSQL` or `Redis`.
    pub(crate) fn no_server(kind: &str) -> Self {
        let what =
            format!("this workload needs a {kind} server, and the target has none; name one in [target]");
        Error::new(Class::Missing, what).into()
    }

    pub(crate) fn no_tile_server(name: &str) -> Self {
        let what = format!(
            "the workload goes through {name}, and the target has none; write tile_servers = [\"{name}\"] in [target]"
        );
        Error::new(Class::BadInput, what).into()
    }

    /// The geometry's coordinate system makes tile queries silently return nothing.
    pub(crate) fn wrong_srid(table: &str, column: &str, srid: i64) -> Self {
        let what = format!(
            "column {column} of table {table} has SRID {srid}, tiles need 3857 (with another one a tile query finds \
             nothing, without an error); load with osm2pgsql's default projection, or transform the column"
        );
        Error::new(Class::Guard, what).into()
    }

    /// An option that is out of range.
    pub(crate) fn option(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Option { key: key.into(), problem: problem.into() }
    }
}

/// `unknown builtin "tpcb"; did you mean "tpcb-like"? (there are tpcb-like, simple-update, select-only)`.
#[must_use]
pub fn unknown_word(kind: &str, word: &str, choices: &[&str]) -> String {
    let listed = choices.join(", ");
    match nearest(word, choices.iter().copied()) {
        Some(right) => format!("unknown {kind} \"{word}\"; did you mean \"{right}\"? (there are {listed})"),
        None => format!("unknown {kind} \"{word}\"; there are {listed}"),
    }
}
