//! Why a workload cannot run.

use std::path::PathBuf;

use protocol::postgres::sql::SqlError;

/// Why a workload cannot run: what, where, and what to try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// An option of the workload is out of range or unknown.
    #[error("{key}: {problem}")]
    Option {
        /// The key as written in the experiment file, e.g. `tiles.zooms`.
        key: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A script does not parse or cannot be run.
    #[error("{0}")]
    Script(String),
    /// The first execution of a script failed.
    #[error("{file}, line {line}: the first execution failed\n{problem}\nstatement: {statement}")]
    FirstExecution {
        /// File or builtin script.
        file: String,
        /// Line of the command in it, from 1.
        line: usize,
        /// The statement or meta-command.
        statement: String,
        /// What the server (or the evaluation) said.
        problem: String,
        /// SQLSTATE, where it was the server.
        sqlstate: Option<String>,
    },
    /// Something the workload needs is not on the target.
    #[error("{what}; {hint}")]
    Missing {
        /// What is not there.
        what: String,
        /// What to try.
        hint: String,
    },
    /// Geometry is in a coordinate system in which tile queries silently return nothing.
    #[error(
        "column {column} of table {table} has SRID {srid}, tiles need 3857 (with another one a tile query finds \
         nothing, without an error); load with osm2pgsql's default projection, or transform the column"
    )]
    WrongSrid {
        table: String,
        /// Its geometry column.
        column: String,
        /// What it has.
        srid: i64,
    },
    /// A statement on the control connection failed.
    #[error("while {doing}: {error}")]
    Sql {
        /// What was being done.
        doing: String,
        /// What the server said.
        #[source]
        error: SqlError,
    },
    /// A statement whose answer is known gave another one.
    #[error("while {doing}: the server answered {got} where it must be {wanted}")]
    Answer {
        /// What was being done.
        doing: String,
        wanted: String,
        got: String,
    },
    /// Redis could not be reached or answered with an error.
    #[error("Redis, while {doing}: {problem}")]
    Redis {
        /// What was being done.
        doing: String,
        /// What it (or the system) said.
        problem: String,
    },
    /// Redis has no memory left for the keys of a workload.
    #[error("Redis is full: {problem}; {hint}")]
    RedisFull {
        /// How much memory there is, and how much the keys take.
        problem: String,
        /// What to try.
        hint: &'static str,
    },
    /// A web server could not be reached, or speaks something else.
    #[error("while {doing}: {problem}")]
    Http {
        /// What was being done, and where.
        doing: String,
        /// What it (or the system) said, and what to try.
        problem: String,
    },
    /// A web server gave something else than what was asked for.
    #[error("{what}; {hint}")]
    HttpAnswer {
        /// What, and where.
        what: String,
        /// What to try.
        hint: &'static str,
    },
    /// A file could not be read.
    #[error("{path}: {problem}", path = path.display())]
    File {
        path: PathBuf,
        /// What is wrong with it, and what to try.
        problem: String,
    },
    /// A program could not be run or failed.
    #[error("{program} failed: {problem}")]
    Program {
        program: String,
        /// Its own last words, or what the system said.
        problem: String,
    },
    /// The target has no server of the kind the workload asks.
    #[error("this workload needs a {kind} server, and the target has none; name one in [target]")]
    NoServer {
        /// `PostgreSQL` or `Redis`.
        kind: &'static str,
    },
    /// The target has no such tile server.
    #[error(
        "the workload goes through {name}, and the target has none; write tile_servers = [\"{name}\"] in [target]"
    )]
    NoTileServer {
        /// `tipg` or `martin`.
        name: String,
    },
}

impl From<protocol::redis::ControlError> for WorkloadError {
    fn from(error: protocol::redis::ControlError) -> Self {
        Self::Redis { doing: error.doing, problem: error.problem }
    }
}

impl From<osm::extract::FileError> for WorkloadError {
    fn from(error: osm::extract::FileError) -> Self {
        Self::File { path: error.path, problem: error.problem }
    }
}

impl WorkloadError {
    /// Wraps an error of the control connection.
    pub(crate) fn sql(doing: impl Into<String>) -> impl FnOnce(SqlError) -> Self {
        let doing = doing.into();
        move |error| Self::Sql { doing, error }
    }

    /// An error of a connection to a web server.
    pub(crate) fn http(error: protocol::http::ControlError) -> Self {
        Self::Http { doing: error.doing, problem: error.problem }
    }

    /// An option that is out of range.
    pub(crate) fn option(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Option { key: key.into(), problem: problem.into() }
    }
}
