//! How many files a process may open: thousands of clients need as many, here and in every program that is started.

use crate::Missing;

/// Files a client or a server needs besides its connections.
const OTHERS: u64 = 64;

/// Lets this process and those it starts open as many files as the hard limit allows.
pub(crate) fn raise_open_files() {
    if let Some(limit) = open_files() {
        let limit = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        // What stays low is told by `need_open_files`.
        // SAFETY: the pointer is valid during the call.
        let _ = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}

/// Checks that so many connections can be open in one process.
///
/// # Errors
/// [`Missing`] when the limit is lower.
pub(crate) fn need_open_files(connections: u32) -> Result<(), Missing> {
    let needed = u64::from(connections) + OTHERS;
    match open_files() {
        #[allow(clippy::unnecessary_cast, reason = "the type differs from system to system")]
        Some(limit) if (limit.rlim_cur as u64) < needed => Err(Missing(format!(
            "{connections} clients need {needed} open files, and the limit is {}",
            limit.rlim_cur
        ))),
        _ => Ok(()),
    }
}

fn open_files() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid during the call.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (answer == 0).then_some(limit)
}
