//! Errors of workloads: class, text and what to try.

use std::fmt::Display;
use std::path::Path;

use protocol::nearest;
use protocol::postgres::sql::SqlError;
use spec::plan::topology::LoadTarget;
use spec::{Class, Error};

/// Attached to the error of a wrong option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongOption {
    /// The key as written in the experiment file, e.g. `tiles.zooms`.
    pub key: String,
    /// The problem, and valid values.
    pub problem: String,
}

/// An option that is out of range.
pub(crate) fn option(key: impl Into<String>, problem: impl Into<String>) -> Error {
    let wrong = WrongOption { key: key.into(), problem: problem.into() };
    Error::new(Class::BadInput, format!("{}: {}", wrong.key, wrong.problem)).attach(wrong)
}

/// A script that cannot be parsed or run. The line in question, which is the second of the text, is no advice.
pub(crate) fn script(problem: impl Display) -> Error {
    let text = problem.to_string();
    Error::new(Class::BadInput, text.lines().take(2).collect::<Vec<_>>().join(": "))
}

/// A user's file that cannot be used: the problem, and what to try.
pub(crate) fn file_error(path: &Path, problem: impl Display) -> Error {
    Error::new(Class::BadInput, format!("{}: {problem}", path.display()))
}

/// Adds to a server's error what was attempted.
pub(crate) fn sql_error(doing: impl Display) -> impl FnOnce(SqlError) -> Error {
    move |error| {
        let what = format!("while {doing}: {error}");
        Error::of_server(error.sqlstate.as_deref(), what).because(error)
    }
}

/// An error of a connection to a web server.
pub(crate) fn http(error: protocol::http::ControlError) -> Error {
    Error::new(Class::Unreachable, format!("while {}: {}", error.doing, error.problem))
}

/// A web server's unexpected answer: what, where, and what to try.
pub(crate) fn http_answer(what: impl Display, hint: &str) -> Error {
    Error::new(Class::Guard, format!("{what}; {hint}"))
}

/// Something missing on the target, and what to try.
pub(crate) fn missing_error(what: impl Display, hint: impl Display) -> Error {
    Error::new(Class::Missing, format!("{what}; {hint}"))
}

/// A statement returned another answer than expected.
pub(crate) fn answer(doing: impl Display, wanted: impl Display, got: impl Display) -> Error {
    let what = format!("while {doing}: the server answered {got} where it must be {wanted}");
    Error::new(Class::BadInput, what)
}

/// Redis could not be reached or answered with an error.
pub(crate) fn redis(error: protocol::redis::ControlError) -> Error {
    redis_answer(error.doing, error.problem)
}

/// Redis gave an unexpected answer.
pub(crate) fn redis_answer(doing: impl Display, problem: impl Display) -> Error {
    Error::new(Class::Unreachable, format!("Redis, while {doing}: {problem}"))
}

/// Redis has no memory left for the keys of a workload: its limit, and what to try.
pub(crate) fn redis_full(problem: impl Display, hint: &str) -> Error {
    Error::new(Class::Guard, format!("Redis is full: {problem}; {hint}"))
}

/// A program could not be run or failed: its last output, or the system's error.
pub(crate) fn program(program: impl Display, problem: impl Display) -> Error {
    Error::new(Class::Child, format!("{program} failed: {problem}"))
}

/// The target has no server of the kind the workload needs, `PostgreSQL` or `Redis`.
pub(crate) fn no_server(kind: &str) -> Error {
    let what = format!("this workload needs a {kind} server, and the target has none; name one in [target]");
    Error::new(Class::Missing, what)
}

/// The run has no server of the kind that a script names.
pub(crate) fn no_target(target: LoadTarget) -> Error {
    let (what, hint) = match target {
        LoadTarget::Primary => {
            ("a script goes to the primary, and it cannot be reached without a pooler", "")
        }
        LoadTarget::Replica => (
            "a script goes to a replica, and the target has none",
            "write replicas = 1 in [target], or in [factors]",
        ),
        LoadTarget::Pooler => (
            "a script goes to the pooler, and clients of this run connect without one",
            "describe a pooler in [pooler.NAME], and write connection = \"NAME\" in [factors]",
        ),
    };
    Error::new(Class::BadInput, what).with_hint(hint)
}

pub(crate) fn no_tile_server(name: &str) -> Error {
    let what = format!(
        "the workload goes through {name}, and the target has none; write tile_servers = [\"{name}\"] in [target]"
    );
    Error::new(Class::BadInput, what)
}

/// The geometry's coordinate system makes tile queries silently return nothing.
pub(crate) fn wrong_srid(table: &str, column: &str, srid: i64) -> Error {
    let what = format!(
        "column {column} of table {table} has SRID {srid}, tiles need 3857 (with another one a tile query finds nothing, \
         without an error); load with osm2pgsql's default projection, or transform the column"
    );
    Error::new(Class::Guard, what)
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
