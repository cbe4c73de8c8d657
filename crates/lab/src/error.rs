//! Errors that several modules make. Their type is [`spec::Error`].

use std::io;
use std::path::Path;

use protocol::postgres::sql::SqlError;
use server::server_error;
use spec::{Class, Error, is_disk_full};

use crate::words;

/// The user asked to stop before anything was measured.
pub(crate) fn stopped() -> Error {
    interrupted(0, 0, false)
}

/// The user asked to stop; `again` if a finished experiment was being repeated, so that the next command
/// continues the repetition.
pub(crate) fn interrupted(kept: usize, planned: usize, again: bool) -> Error {
    let what = match planned {
        0 => "stopped".to_owned(),
        _ => format!("stopped; {kept} of {}", words::count_kept(planned)),
    };
    let hint = match again {
        _ if kept == 0 => "nothing was measured yet; the same command begins again",
        _ if kept >= planned => "",
        true => "the same command without --again goes on where it stopped",
        false => "the same command goes on where it stopped",
    };
    Error::new(Class::Interrupted, what).with_hint(hint)
}

/// The same for a calibration, which starts again from the beginning: the machine may have changed.
pub(crate) fn interrupted_calibration(kept: usize, planned: usize) -> Error {
    let are = if kept == 1 { "is" } else { "are" };
    Error::new(Class::Interrupted, format!("stopped; {kept} of {planned} measurements {are} kept"))
}

/// The server's error on one of our queries.
pub(crate) fn of_sql(error: SqlError) -> Error {
    server_error(error.to_string(), error)
}

/// A user's file that could not be read or written: `cannot DOING PATH: …`.
pub(crate) fn of_file(doing: &str, path: &Path, source: io::Error) -> Error {
    let missing = source.kind() == io::ErrorKind::NotFound;
    let full = is_disk_full(&source);
    let error = Error::io(doing, path, source);
    if missing {
        let tried = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        error.with_class(Class::BadInput).with_hint(format!("there is no {}", tried.display()))
    } else if full {
        error.with_hint("free some space; finished runs are kept, the same command goes on")
    } else {
        error
    }
}

/// If the user may have stopped the operation, the stop is the reason, whatever servers and programs report.
///
/// # Errors
/// The error of `result`, or that of [`stopped`].
pub(crate) fn explain<T>(stop: &server::Stop, result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(error) if stop.ends_waits() && is_of_others(error.class()) => Err(stopped()),
        other => other,
    }
}

/// Whether the error comes from a server or program, and not from a file or a mistake.
fn is_of_others(class: Class) -> bool {
    matches!(class, Class::Unreachable | Class::Refused | Class::Missing | Class::Guard | Class::Child)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They were flattened to texts.
    #[test]
    fn errors_keep_their_sources() {
        let said = SqlError { sqlstate: Some("42P01".to_owned()), text: "ERROR:  any words".into() };
        let error = server::sql_error("looking", said.clone()).in_words("in other words");
        let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let first = chain.last().and_then(|first| first.downcast_ref::<SqlError>());
        assert_eq!(first, Some(&said));
        assert_eq!((error.to_string().as_str(), error.class()), ("in other words", Class::Missing));
    }
}
