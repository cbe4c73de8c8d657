//! Errors of finding and fetching extracts.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spec::{Class, Error};

/// Why an extract could not be found or fetched. URLs in it contain no passwords.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{url}: not an address of a web server")]
    Address { url: String },
    #[error("{url}: the server cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url}: the server is not trusted: {why}")]
    Untrusted { url: String, why: String },
    #[error("{url}: the connection broke off: {why}")]
    Cut { url: String, why: String },
    #[error("{url}: the server was silent for {} s", waited.as_secs_f64())]
    Silent { url: String, waited: Duration },
    /// An HTTP status without a file.
    #[error("{url}: {}", status_words(*status))]
    Status { url: String, status: u16 },
    /// A page for people, most often from a portal or a proxy.
    #[error("{url}: the server answered with a web page in place of {wanted}")]
    Page { url: String, wanted: &'static str },
    /// More bytes than such a file can have.
    #[error("{url}: more than {most} bytes, too many for {wanted}")]
    TooLong { url: String, wanted: &'static str, most: usize },
    /// More bytes than allowed; the part is removed.
    #[error(
        "{url}: {} more than the limit of {}; --max-size raises it",
        if *announced { "its announced size is" } else { "it announces no size, and sends" },
        spec::bytes(*most)
    )]
    TooLarge { url: String, most: u64, announced: bool },
    #[error("{url}: {} are still to come, and {} has {} free", spec::bytes(*missing), folder.display(), spec::bytes(*free))]
    NoRoom { url: String, folder: PathBuf, missing: u64, free: u64 },
    /// A redirect from https to http.
    #[error("{url}: the server redirects to {to}, which is not encrypted")]
    Downgrade { url: String, to: String },
    #[error("{url}: not Geofabrik's index: {why}")]
    NotIndex { url: String, why: String },
    #[error("{url}: it contains no MD5 sum")]
    NoChecksum { url: String },
    #[error("no extract is called {name}{}", or_near(near))]
    Unknown {
        name: String,
        /// Ids with a similar spelling, the nearest first.
        near: Vec<String>,
    },
    #[error("{name} can be any of {}", ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    /// The file does not match the server's checksum; it was removed.
    #[error("{url}: what came is damaged (MD5 {found}, the server's is {wanted}); it was removed")]
    Checksum { url: String, wanted: String, found: String },
    /// The server's file is not an extract; it was removed.
    #[error("{url}: what came {problem}; it was removed")]
    NotExtract { url: String, problem: String },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: another pgdyno is fetching this", path.display())]
    Busy { path: PathBuf },
    /// Given up; the part is kept.
    #[error("{cause}; {} kept in {}", of_total(*bytes, *total), part.display())]
    Incomplete { cause: Box<FetchError>, bytes: u64, total: Option<u64>, part: PathBuf },
    /// [`super::Watch::stops`] returned true.
    #[error("stopped{}", kept.as_ref().map(|(bytes, part)| format!("; {bytes} bytes are kept in {}", part.display())).unwrap_or_default())]
    Stopped {
        /// Bytes of the part, and its path.
        kept: Option<(u64, PathBuf)>,
    },
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Self {
        let hint = error.hint().unwrap_or_default();
        Self::new(error.class(), error.to_string()).with_hint(hint).because(error)
    }
}

impl FetchError {
    /// The exit class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Address { .. } | Self::Unknown { .. } | Self::Ambiguous { .. } => Class::Usage,
            Self::Status { status: 401 | 403 | 407, .. } | Self::Busy { .. } => Class::Refused,
            Self::Status { status: 404 | 410, .. }
            | Self::TooLong { .. }
            | Self::TooLarge { .. }
            | Self::Downgrade { .. }
            | Self::NotIndex { .. }
            | Self::NoChecksum { .. }
            | Self::Checksum { .. }
            | Self::NotExtract { .. } => Class::BadInput,
            Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::Cut { .. }
            | Self::Silent { .. }
            | Self::Status { .. }
            | Self::Page { .. }
            | Self::Incomplete { .. } => Class::Unreachable,
            Self::File { .. } | Self::NoRoom { .. } => Class::Io,
            Self::Stopped { .. } => Class::Interrupted,
        }
    }

    /// What to try.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Address { .. } => "write it as in https://mirror.example.org/geofabrik",
            Self::Unreachable { .. } | Self::Page { .. } => {
                "see whether this machine reaches that address (HTTPS_PROXY names a proxy), or name a mirror with --mirror; \
                 --offline takes what was fetched before"
            }
            Self::Untrusted { .. } => {
                "SSL_CERT_FILE names a file with the certificates that are to be trusted: that of a proxy between here \
                 and there, perhaps"
            }
            Self::Incomplete { .. } => "the same command goes on from there",
            Self::Stopped { kept: Some(_) } => "the same command goes on from there",
            Self::Cut { .. } | Self::Silent { .. } => "try again, or name a mirror with --mirror",
            Self::Status { status: 404, .. } | Self::NotIndex { .. } | Self::NoChecksum { .. } => {
                "a mirror (--mirror) has Geofabrik's files with the paths that they have there"
            }
            Self::Unknown { .. } | Self::Ambiguous { .. } => "pgdyno osm fetch --list PATTERN",
            Self::Checksum { .. } => "the same command fetches it again",
            Self::Busy { .. } => "wait for its end",
            Self::NoRoom { .. } => "make room, or name a file on another disk with --output",
            Self::Downgrade { .. } => {
                "name the http:// address with --mirror if you trust the network; --allow-http follows such a redirect"
            }
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room; the same command goes on where it ended"
                }
                io::ErrorKind::FileTooLarge => "raise the limit of the size of files (ulimit -f)",
                io::ErrorKind::NotFound => "make the folder first",
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Whether a retry a moment later may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } | Self::Silent { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500..),
            _ => false,
        }
    }

    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

fn status_words(status: u16) -> String {
    match status {
        404 | 410 => format!("the server has no such file ({status})"),
        401 | 403 | 407 => format!("the server refuses it ({status})"),
        429 => format!("the server has had too many requests ({status})"),
        _ => format!("the server answered with status {status}"),
    }
}

fn or_near(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

fn of_total(bytes: u64, total: Option<u64>) -> String {
    match total {
        Some(total) => format!("{bytes} of {total} bytes are"),
        None => format!("{bytes} bytes are"),
    }
}
