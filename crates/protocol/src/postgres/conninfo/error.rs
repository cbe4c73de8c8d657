//! Why the description of a connection is invalid.

use std::path::PathBuf;

/// A connection could not be described. Messages never quote what was not understood: after a forgotten
/// quote, slash or `@` it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnInfoError {
    #[error("invalid connection option{}{}", place(.number), suggestion(.nearest))]
    UnknownKeyword {
        /// Number of the option in the string, from 1, if known.
        number: Option<usize>,
        nearest: Option<&'static str>,
    },
    #[error("missing \"=\" after {after} in connection info string")]
    MissingEquals {
        /// The option, or the word's number when the word may be part of a password.
        after: String,
    },
    #[error("unterminated quoted string in connection info string")]
    UnterminatedQuote,
    #[error("invalid connection URI: {0}")]
    Uri(UriError),
    #[error("invalid {keyword} value (expected {expected})")]
    Value { keyword: &'static str, expected: &'static str },
    /// A value that looks like a piece of a connection string and so may contain a password.
    #[error("invalid {keyword} value: {}", misplaced(keyword))]
    Misplaced { keyword: &'static str },
    #[error("{0}")]
    Conflict(String),
    #[error("connection option \"{keyword}\" is not supported: {reason}")]
    Unsupported {
        keyword: &'static str,
        /// What it would need, or an alternative.
        reason: &'static str,
    },
    #[error("could not match {given} {what} to {count} {to}")]
    Unmatched {
        given: usize,
        /// Port numbers, or host names.
        what: &'static str,
        /// Number of values expected.
        count: usize,
        /// The list that must match: hosts, or hostaddr values.
        to: &'static str,
    },
    #[error(
        "no PostgreSQL user name specified and the operating system user is unknown; give one with user="
    )]
    NoUser,
    /// A socket path that does not fit into an address.
    #[error("Unix-domain socket path \"{}\" is too long (maximum 107 bytes)", .0.display())]
    SocketPath(PathBuf),
    #[error("definition of service \"{0}\" not found")]
    ServiceNotFound(String),
    #[error("{what} in service file \"{}\", line {line}", .path.display())]
    ServiceLine { path: PathBuf, line: usize, what: String },
    /// A file that exists or was named, but cannot be read.
    #[error("could not read {what} file \"{}\": {error}", .path.display())]
    File { what: &'static str, path: PathBuf, error: String },
}

/// Why a URI is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    #[error("end of string reached when looking for matching \"]\" in IPv6 host address")]
    UnclosedBracket,
    /// `[]`.
    #[error("IPv6 host address may not be empty")]
    EmptyBrackets,
    /// Something other than a port, another host, a database or options after `]`.
    #[error("unexpected character behind IPv6 host address (expected ':', ',', '/' or '?')")]
    AfterBracket,
    /// The host contains an `@`, most likely part of a password.
    #[error("more than one \"@\" before the host; write an \"@\" in a user name or password as %40")]
    SecondAt,
    /// `%` without two hexadecimal digits.
    #[error("invalid percent-encoded token in {0}")]
    PercentToken(&'static str),
    /// `%00`.
    #[error("forbidden value %00 in {0}")]
    PercentZero(&'static str),
    #[error("{0} is not valid UTF-8")]
    NotUtf8(&'static str),
    /// An option without `=`; its name, or its number when it may be part of a password.
    #[error("missing key/value separator \"=\" in query parameter {0}")]
    MissingEquals(String),
    /// An option with more than one `=`; its name, or its number.
    #[error("extra key/value separator \"=\" in query parameter {0}; write it as %3D")]
    ExtraEquals(String),
}

fn place(number: &Option<usize>) -> String {
    number.map(|number| format!(" (number {number})")).unwrap_or_default()
}

fn misplaced(keyword: &str) -> &'static str {
    match keyword {
        "options" => "server options begin with \"-\", as in options='-c jit=off'",
        "user" | "host" | "dbname" => {
            "it looks like a piece of a connection string, and is not shown because it may hold a password \
             (a URI begins with postgres:// or postgresql://; in its parts \":\" is written %3A, \"/\" %2F, \"@\" %40; \
             in a connection string other characters than letters, digits and blanks need quotes: dbname='a@b')"
        }
        _ => "it looks like a connection string, and is not shown because it may hold a password",
    }
}

impl ConnInfoError {
    /// Adds the option's number in the string.
    pub(super) fn numbered(mut self, place: usize) -> Self {
        if let Self::UnknownKeyword { number, .. } = &mut self {
            *number = Some(place);
        }
        self
    }
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default()
}
