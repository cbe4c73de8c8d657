//! Errors of finding and fetching extracts. URLs in them contain no passwords.

use std::fmt::Display;
use std::io;
use std::path::Path;

use spec::{Class, Error};

const GOES_ON: &str = "the same command goes on from there";
const SEE_NETWORK: &str = "see whether this machine reaches that address (HTTPS_PROXY names a proxy), or name a mirror with \
     --mirror; --offline takes what was fetched before";
const SEE_MIRROR: &str = "a mirror (--mirror) has Geofabrik's files with the paths that they have there";
pub(super) const SEE_LIST: &str = "pgdyno osm fetch --list PATTERN";

/// Attached to an error of the connection or the server: a retry a moment later may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    Unreachable,
    Broken,
}

/// Attached to the error of a name that no extract has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownExtract {
    pub name: String,
    /// Ids with a similar spelling, the nearest first.
    pub near: Vec<String>,
}

pub(super) fn address(url: &str) -> Error {
    Error::new(Class::Usage, format!("{url}: not an address of a web server"))
        .with_hint("write it as in https://mirror.example.org/geofabrik")
}

pub(super) fn unreachable(url: &str, why: &str) -> Error {
    Error::new(Class::Unreachable, format!("{url}: the server cannot be reached: {why}"))
        .with_hint(SEE_NETWORK)
        .attach(Passing::Unreachable)
}

pub(super) fn untrusted(url: &str, why: &str) -> Error {
    Error::new(Class::Unreachable, format!("{url}: the server is not trusted: {why}")).with_hint(
        "SSL_CERT_FILE names a file with the certificates that are to be trusted: that of a proxy between here and there, \
         perhaps",
    )
}

/// The connection broke off, or the server was silent.
pub(super) fn broken(url: &str, how: impl Display) -> Error {
    Error::new(Class::Unreachable, format!("{url}: {how}"))
        .with_hint("try again, or name a mirror with --mirror")
        .attach(Passing::Broken)
}

pub(super) fn cut(url: &str, why: &str) -> Error {
    broken(url, format_args!("the connection broke off: {why}"))
}

/// An HTTP status without a file.
pub(super) fn status(url: &str, status: u16) -> Error {
    let (class, words) = match status {
        404 | 410 => (Class::BadInput, "the server has no such file"),
        401 | 403 | 407 => (Class::Refused, "the server refuses it"),
        429 => (Class::Unreachable, "the server has had too many requests"),
        _ => {
            let error =
                Error::new(Class::Unreachable, format!("{url}: the server answered with status {status}"));
            return if matches!(status, 408 | 500..) { error.attach(Passing::Broken) } else { error };
        }
    };
    let error = Error::new(class, format!("{url}: {words} ({status})"));
    match status {
        404 => error.with_hint(SEE_MIRROR),
        429 => error.attach(Passing::Broken),
        _ => error,
    }
}

/// A page for people, most often from a portal or a proxy.
pub(super) fn page(url: &str, wanted: &str) -> Error {
    let what = format!("{url}: the server answered with a web page in place of {wanted}");
    Error::new(Class::Unreachable, what).with_hint(SEE_NETWORK)
}

/// A file that is not what the server should have.
pub(super) fn bad(url: &str, problem: impl Display) -> Error {
    Error::new(Class::BadInput, format!("{url}: {problem}"))
}

/// As [`bad`], where a mirror may lack Geofabrik's layout.
pub(super) fn not_geofabrik(url: &str, problem: impl Display) -> Error {
    bad(url, problem).with_hint(SEE_MIRROR)
}

/// More bytes than allowed.
pub(super) fn too_large(url: &str, most: u64, announced: bool) -> Error {
    let how = if announced { "its announced size is" } else { "it announces no size, and sends" };
    bad(url, format_args!("{how} more than the limit of {}; --max-size raises it", spec::bytes(most)))
}

pub(super) fn no_room(url: &str, folder: &Path, missing: u64, free: u64) -> Error {
    let (missing, free, folder) = (spec::bytes(missing), spec::bytes(free), folder.display());
    Error::new(Class::Io, format!("{url}: {missing} are still to come, and {folder} has {free} free"))
        .with_hint("make room, or name a file on another disk with --output")
}

pub(super) fn unknown(name: &str, near: Vec<String>) -> Error {
    let like = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    Error::new(Class::Usage, format!("no extract is called {name}{like}"))
        .with_hint(SEE_LIST)
        .attach(UnknownExtract { name: name.to_owned(), near })
}

pub(super) fn file_error(path: &Path, source: io::Error) -> Error {
    let hint = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room; the same command goes on where it ended"
        }
        io::ErrorKind::FileTooLarge => "raise the limit of the size of files (ulimit -f)",
        io::ErrorKind::NotFound => "make the folder first",
        _ => "",
    };
    Error::new(Class::Io, format!("{}: {source}", path.display())).with_hint(hint).because(source)
}

pub(super) fn busy(path: &Path) -> Error {
    Error::new(Class::Refused, format!("{}: another pgdyno is fetching this", path.display()))
        .with_hint("wait for its end")
}

/// Given up; the part is kept.
pub(super) fn incomplete(cause: Error, bytes: u64, total: Option<u64>, part: &Path) -> Error {
    let bytes = total.map_or_else(|| bytes.to_string(), |total| format!("{bytes} of {total}"));
    let what = format!("{cause}; {bytes} bytes are kept in {}", part.display());
    Error::new(Class::Unreachable, what).with_hint(GOES_ON).because(cause)
}

/// Stopped by the user; the part is kept.
pub(super) fn stopped(bytes: u64, part: &Path) -> Error {
    Error::new(Class::Interrupted, format!("stopped; {bytes} bytes are kept in {}", part.display()))
        .with_hint(GOES_ON)
}

/// Whether a retry a moment later may succeed.
pub(super) fn may_pass(error: &Error) -> bool {
    error.attached::<Passing>().is_some()
}
