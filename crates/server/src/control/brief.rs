//! Waits for what servers other than PostgreSQL answer at once: bounded, and ended by whoever gives up.

use std::io;
use std::time::{Duration, Instant};

use protocol::wording;

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits as long as something should be answered at once, and no one gives up.
pub(crate) fn watch(given_up: &dyn Fn() -> bool) -> impl FnMut() -> io::Result<()> + '_ {
    let start = Instant::now();
    move || match () {
        () if given_up() => Err(io::Error::other("stopped")),
        () if start.elapsed() >= PATIENCE => Err(io::ErrorKind::TimedOut.into()),
        () => Ok(()),
    }
}

/// Why such a wait ended without an answer.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        io::ErrorKind::TimedOut if error.raw_os_error().is_none() => {
            format!("no answer within {} s", PATIENCE.as_secs())
        }
        _ => wording::system(error),
    }
}
