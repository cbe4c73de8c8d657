//! Errors of all crates: kind, description, and advice.

use std::any::Any;
use std::error::Error as Source;
use std::fmt;
use std::io;
use std::path::Path;

/// Kind of an error, from which the program chooses its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// An invalid option or argument.
    Usage,
    /// A bad file: experiment, script, extract, results.
    BadInput,
    /// The server cannot be reached, or went away.
    Unreachable,
    /// The server refused: password, role, database, connections.
    Refused,
    /// Something is missing: an extension, a table, a program, a permission.
    Missing,
    /// A workload does nothing, or settings were not applied.
    Guard,
    /// A bug in pgdyno.
    Internal,
    /// A program that pgdyno started failed.
    Child,
    /// Reading or writing failed: disk full, no permission.
    Io,
    /// Stopped by the user; finished runs are kept.
    Interrupted,
}

impl Class {
    /// The class of an I/O error on one of pgdyno's files.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Io }
    }

    /// The class of a server's error by its SQLSTATE; without one, the connection failed.
    #[must_use]
    pub fn of_sqlstate(sqlstate: Option<&str>) -> Self {
        // Classes of SQLSTATE, PostgreSQL's appendix A.
        match sqlstate {
            None => Self::Unreachable,
            Some("53100") => Self::Io,
            Some("53300") => Self::Refused,
            Some("57P01" | "57P02" | "57P03" | "57P05") => Self::Unreachable,
            Some("42501" | "42P01" | "42883" | "42704" | "3F000" | "3D000" | "58P01" | "0A000") => {
                Self::Missing
            }
            Some(state) if state.starts_with("28") => Self::Refused,
            Some(state) if state.starts_with("08") => Self::Unreachable,
            Some(state) if state.starts_with("58") => Self::Io,
            Some(_) => Self::BadInput,
        }
    }
}

/// Whether a server's text of a lack of room is about POSIX shared memory (`/PostgreSQL.<number>`, in every
/// language), and not about a disk.
#[must_use]
pub fn is_of_shared_memory(text: &str) -> bool {
    text.contains("/PostgreSQL.")
}

/// Advice on an error of the server, by its SQLSTATE and text; empty if the server's message is enough.
#[must_use]
pub fn advice_on_sqlstate(sqlstate: &str, text: &str) -> &'static str {
    match sqlstate {
        "53100" if is_of_shared_memory(text) => {
            "the server's /dev/shm is too small, not its disk: make it larger (docker run --shm-size=1g), or set \
             max_parallel_workers_per_gather = 0"
        }
        "42501" => "connect as the owner of the object, or as a role with that privilege (GRANT)",
        "42P01" | "3F000" => "create it, or check the search_path",
        "42703" | "42883" | "42704" => "check that the script is written for this database",
        "42601" if text.contains("near \"\\\"") => {
            "lines that begin with \\ are commands of psql: remove them"
        }
        "25006" => "the server or session is read-only: connect to the primary",
        "53100" => "make room on the server's disk",
        "53300" => {
            "use fewer clients, or raise max_connections or the CONNECTION LIMIT of the role or database"
        }
        "57014" => "the server cancelled it: check statement_timeout and other sessions",
        "57P01" | "57P02" | "57P03" | "57P05" => "check the server's log for the reason",
        _ => "",
    }
}

/// What failed, and where. The advice is separate.
#[derive(Debug)]
pub struct Error {
    class: Class,
    what: String,
    hint: String,
    source: Option<Box<dyn Source + Send + Sync>>,
    attached: Option<Box<dyn Any + Send + Sync>>,
}

impl Error {
    /// An error without advice.
    #[must_use]
    pub fn new(class: Class, what: impl Into<String>) -> Self {
        Self { class, what: what.into(), hint: String::new(), source: None, attached: None }
    }

    /// Adds what to try, printed as "try: …".
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the cause. The text must already quote the cause if users should see it.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Source + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Attaches data for code that tells this error from others of its class.
    #[must_use]
    pub fn attach(mut self, data: impl Any + Send + Sync) -> Self {
        self.attached = Some(Box::new(data));
        self
    }

    /// `cannot DOING PATH: …`.
    #[must_use]
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let class = Class::of_io(&source);
        let hint = if is_disk_full(&source) { "make room there" } else { "" };
        Self::new(class, format!("cannot {doing} {}: {source}", path.display()))
            .with_hint(hint)
            .because(source)
    }

    /// A server's error, with the class and the advice of its SQLSTATE.
    #[must_use]
    pub fn of_server(sqlstate: Option<&str>, what: impl Into<String>) -> Self {
        let what = what.into();
        let advice = sqlstate.map_or("", |sqlstate| advice_on_sqlstate(sqlstate, &what));
        Self::new(Class::of_sqlstate(sqlstate), what).with_hint(advice)
    }

    /// The user asked to stop.
    #[must_use]
    pub fn stopped() -> Self {
        Self::new(Class::Interrupted, "stopped").with_hint("the same command begins again")
    }

    /// Replaces the text; kind and advice stay.
    #[must_use]
    pub fn in_words(self, what: impl Into<String>) -> Self {
        let (class, hint) = (self.class, self.hint.clone());
        Self::new(class, what).with_hint(hint).because(self)
    }

    /// Replaces the kind.
    #[must_use]
    pub fn with_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// The advice, if any.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        (!self.hint.is_empty()).then_some(self.hint.as_str())
    }

    /// Whether the user asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.class == Class::Interrupted
    }

    /// The data of this type that was attached to it or to one of its causes.
    #[must_use]
    pub fn attached<T: Any>(&self) -> Option<&T> {
        let here = self.attached.as_ref().and_then(|data| data.downcast_ref());
        here.or_else(|| self.cause::<Self>()?.attached())
    }

    /// The first error of this type among its causes.
    #[must_use]
    pub fn cause<E: Source + 'static>(&self) -> Option<&E> {
        let mut causes = std::iter::successors(self.source(), |error| (*error).source());
        causes.find_map(|error| error.downcast_ref())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Source for Error {
    fn source(&self) -> Option<&(dyn Source + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Whether the system reports that a disk, or a quota on it, is full.
#[must_use]
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_causes() {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let error = Error::io("read", Path::new("/x"), missing()).with_hint("look there").in_words("no data");
        assert_eq!((error.to_string().as_str(), error.class()), ("no data", Class::Missing));
        assert_eq!(error.hint(), Some("look there"));
        assert_eq!(error.cause::<io::Error>().map(io::Error::kind), Some(io::ErrorKind::NotFound));
        let error = Error::new(Class::Guard, "x").attach(7_u8).in_words("y");
        assert_eq!((error.attached::<u8>(), error.attached::<u16>()), (Some(&7), None));
        assert!(error.cause::<fmt::Error>().is_none() && !error.is_stopped());
        assert!(Error::stopped().because(missing()).is_stopped());
    }

    #[test]
    fn a_full_disk_is_named() {
        let full = Error::io("write", Path::new("/x"), io::ErrorKind::StorageFull.into());
        assert_eq!((full.class(), full.hint()), (Class::Io, Some("make room there")));
        let refused = Error::io("write", Path::new("/x"), io::ErrorKind::PermissionDenied.into());
        assert_eq!((refused.class(), refused.hint()), (Class::Io, None));
    }

    /// A small /dev/shm was called a full disk.
    #[test]
    fn shared_memory_is_no_disk() {
        let hint = |text: &str| Error::of_server(Some("53100"), text).hint().map(str::to_owned).unwrap();
        let shm = "FEHLER:  konnte Größe von Shared-Memory-Segment »/PostgreSQL.9« nicht auf 64 Bytes ändern";
        assert!(hint(shm).contains("/dev/shm"), "{}", hint(shm));
        assert!(hint("ERROR:  could not extend file \"base/5/7\"").contains("disk"));
    }

    /// "permission denied" came with the advice to create pgbench's tables.
    #[test]
    fn advice_goes_by_what_the_server_said() {
        let hint = |state| Error::of_server(Some(state), "ERROR:  any words").hint().map(str::to_owned);
        assert!(hint("42501").unwrap().contains("GRANT"));
        assert!(hint("42P01").unwrap().contains("search_path"));
        assert!(!hint("42501").unwrap().contains("bench -i"));
        assert_eq!(hint("XX000"), None);
        assert_eq!(Error::of_server(None, "no answer").class(), Class::Unreachable);
    }
}
