//! Why a file cannot be imported: which file and line, what is wrong, what to try.

use std::path::Path;

use spec::{Class, Error};

pub(super) fn unreadable(file: &Path, source: std::io::Error) -> Error {
    let class = if source.kind() == std::io::ErrorKind::NotFound { Class::BadInput } else { Class::Io };
    Error::new(class, format!("{}: {source}", file.display())).because(source)
}

pub(super) fn at(file: &Path, line: u64, what: impl std::fmt::Display) -> Error {
    Error::new(Class::BadInput, format!("{}:{line}: {what}", file.display()))
}

pub(super) fn of_file(file: &Path, what: impl std::fmt::Display) -> Error {
    Error::new(Class::BadInput, format!("{}: {what}", file.display()))
}
