//! A request outside of the timed part, whose answer must be one that counts.

use protocol::http::{Control, Encoding, Get, Got, Url};

use super::accept::Accept;
use super::words::Seen;
use crate::error::WorkloadError;

/// Asks for a path.
///
/// # Errors
/// When the answer would be a failure of a run, or none comes.
pub(super) fn ask(
    (url, get, accept): (&Url, &Get, &Accept),
    path: &str,
    control: &mut dyn Control,
) -> Result<Got, WorkloadError> {
    let got = control.get(get, path).map_err(WorkloadError::http)?;
    let Some(fault) = accept.fault(got.status, got.content_type.as_bytes(), got.bytes) else {
        return Ok(got);
    };
    let seen = Seen {
        path,
        status: got.status,
        content_type: got.content_type.as_bytes(),
        location: got.location.as_bytes(),
        // The control connection has unpacked what it could.
        encoding: if got.encoding == Encoding::Other { Encoding::Other } else { Encoding::Identity },
        body: &got.body,
    };
    let what = format!("{}: {}", url, seen.in_words(fault));
    Err(WorkloadError::http_answer(what, seen.hint(fault)))
}
