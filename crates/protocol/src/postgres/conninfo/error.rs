//! What can be wrong with the description of a connection.

use std::path::PathBuf;

/// A connection could not be described. No message quotes what was not understood: whoever forgets a quote, a slash or
/// an `@` puts a password where nobody looks for one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnInfoError {
    /// No connection option has this name.
    #[error("invalid connection option{}{}", place(.number), suggestion(.nearest))]
    UnknownKeyword {
        /// Which option of the string it is, from 1, where that is known.
        number: Option<usize>,
        /// The option it most resembles.
        nearest: Option<&'static str>,
    },
    /// A keyword without `=` and value.
    #[error("missing \"=\" after {after} in connection info string")]
    MissingEquals {
        /// The option, or the word's number when it may be part of a password.
        after: String,
    },
    /// A quoted value that does not end.
    #[error("unterminated quoted string in connection info string")]
    UnterminatedQuote,
    #[error("invalid connection URI: {0}")]
    Uri(UriError),
    /// A value that its option does not take.
    #[error("invalid {keyword} value (expected {expected})")]
    Value {
        keyword: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// A value that looks like a piece of a connection string, and so may hold a password.
    #[error("invalid {keyword} value: {}", misplaced(keyword))]
    Misplaced { keyword: &'static str },
    /// Two options that cannot go together.
    #[error("{0}")]
    Conflict(String),
    /// An option of libpq that pgdyno does not have.
    #[error("connection option \"{keyword}\" is not supported: {reason}")]
    Unsupported {
        keyword: &'static str,
        /// What it would need, or what to use instead.
        reason: &'static str,
    },
    /// Lists of different lengths.
    #[error("could not match {given} {what} to {count} {to}")]
    Unmatched {
        /// How many of these were given.
        given: usize,
        /// Port numbers, or host names.
        what: &'static str,
        /// How many they should be matched to.
        count: usize,
        /// What they should be matched to: hosts, or hostaddr values.
        to: &'static str,
    },
    /// Neither an option nor the system says who to log in as.
    #[error(
        "no PostgreSQL user name specified and the operating system user is unknown; give one with user="
    )]
    NoUser,
    /// A socket path that does not fit into an address.
    #[error("Unix-domain socket path \"{}\" is too long (maximum 107 bytes)", .0.display())]
    SocketPath(PathBuf),
    /// No service file defines this service.
    #[error("definition of service \"{0}\" not found")]
    ServiceNotFound(String),
    /// A line of the service file that is wrong.
    #[error("{what} in service file \"{}\", line {line}", .path.display())]
    ServiceLine {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file that is there, or was asked for, cannot be read.
    #[error("could not read {what} file \"{}\": {error}", .path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        /// What the system said.
        error: String,
    },
}

/// What is wrong with a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// `[` without `]`.
    #[error("end of string reached when looking for matching \"]\" in IPv6 host address")]
    UnclosedBracket,
    /// `[]`.
    #[error("IPv6 host address may not be empty")]
    EmptyBrackets,
    /// Something else than a port, another host, a database or options behind `]`.
    #[error("unexpected character behind IPv6 host address (expected ':', ',', '/' or '?')")]
    AfterBracket,
    /// The host holds an `@`, most likely part of a password.
    #[error("more than one \"@\" before the host; write an \"@\" in a user name or password as %40")]
    SecondAt,
    /// `%` without two hexadecimal digits.
    #[error("invalid percent-encoded token in {0}")]
    PercentToken(&'static str),
    /// `%00`.
    #[error("forbidden value %00 in {0}")]
    PercentZero(&'static str),
    /// Percent-encoded bytes that are not UTF-8.
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
    /// The same error, of this option of the string.
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
