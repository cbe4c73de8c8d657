//! Downloads a file: resumes a part of it, and retries when the connection breaks.

use spec::Error;

use super::error::{self, may_pass};
use super::http::{DownloadClient, FetchAnswer};
use super::partial::Partial;
use super::tries::Tries;
use super::watch::{FetchEvent, FetchObserver, Restart};

/// What was expected, in the error about a page for people.
const WANTED: &str = "an extract";

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DownloadSizes {
    /// As the user asked.
    pub(super) most: Option<u64>,
}

impl DownloadSizes {
    /// Most bytes of a file with an announced size; the whole planet has less than half of it.
    const ANNOUNCED: u64 = 256 << 30;
    /// Most bytes of a file without an announced size.
    const NOT_ANNOUNCED: u64 = 1 << 30;
    /// A file up to this size is fetched even without enough room; the same command resumes it later.
    const TRIED: u64 = 1 << 20;

    /// The allowed size of the file, if there is room for it.
    fn check(self, url: &str, partial: &Partial) -> Result<u64, Error> {
        let url = || super::site::shown(url);
        let free = partial.free()?;
        let Some(total) = partial.state().total else {
            let most = self.most.unwrap_or(Self::NOT_ANNOUNCED);
            return Ok(most.min(partial.length().saturating_add(free)));
        };
        let most = self.most.unwrap_or(Self::ANNOUNCED);
        if total > most {
            return Err(error::too_large(&url(), most, true));
        }
        let missing = total.saturating_sub(partial.length());
        if missing > free.max(Self::TRIED) {
            return Err(error::no_room(&url(), partial.folder(), missing, free));
        }
        Ok(total)
    }
}

/// Fetches the missing rest of a file.
///
/// # Errors
/// When the server does not have it, or the connection broke too often; the part
/// is kept.
pub(super) fn download(
    client: &DownloadClient,
    url: &str,
    partial: &mut Partial,
    sizes: DownloadSizes,
    watch: &mut dyn FetchObserver,
) -> Result<(), Error> {
    if partial.outdated {
        watch.event(FetchEvent::Restart(Restart::Changed));
    }
    let mut tries = Tries::new(&client.timeouts, partial.length());
    while !partial.is_whole() {
        match attempt(client, url, partial, sizes, watch) {
            Ok(()) => break,
            Err(error) => {
                tries.again(error, partial.length(), watch).map_err(|error| kept(error, partial))?;
            }
        }
    }
    Ok(())
}

/// Requests the missing rest once, and stores what arrives.
fn attempt(
    client: &DownloadClient,
    url: &str,
    partial: &mut Partial,
    sizes: DownloadSizes,
    watch: &mut dyn FetchObserver,
) -> Result<(), Error> {
    let resume = partial.resumable();
    let headers = match &resume {
        Some((from, validator)) => {
            vec![("range", format!("bytes={from}-")), ("if-range", validator.clone())]
        }
        None => Vec::new(),
    };
    let answer = client.get(url, headers, watch)?;
    if answer.head.status == 416 {
        // The server has no bytes after ours, and ours are not the whole file: they are not part of the
        // server's file.
        partial.truncate()?;
        return Err(broken(url, "the server's file is shorter than what is here"));
    }
    answer.is_file(WANTED)?;
    match answer.head.status {
        206 if resume.is_some() && partial.is_continued_by(&answer.head) => {}
        206 => {
            partial.truncate()?;
            return Err(broken(url, "the server sent another part than was asked for"));
        }
        _ => {
            if resume.is_some() {
                let same = partial.is_of(&answer.head);
                watch.event(FetchEvent::Restart(if same { Restart::NoRanges } else { Restart::Changed }));
            }
            partial.begin(&answer.head)?;
        }
    }
    let most = sizes.check(url, partial)?;
    take(&answer, partial, most, watch)?;
    match partial.state().total {
        Some(total) if total != partial.length() => {
            Err(broken(url, &format!("{} of {total} bytes came", partial.length())))
        }
        _ => Ok(()),
    }
}

/// Stores what arrives, up to `most` bytes of the file.
fn take(
    answer: &FetchAnswer<'_>,
    partial: &mut Partial,
    most: u64,
    watch: &mut dyn FetchObserver,
) -> Result<(), Error> {
    let total = partial.state().total;
    watch.event(FetchEvent::Begins { from: partial.length(), total });
    while let Some(bytes) = answer.next(watch)? {
        let missing = bytes.len() as u64;
        if partial.length() + missing > most {
            let (url, free) = (answer.url(), partial.free()?);
            if free < missing {
                return Err(error::no_room(&url, partial.folder(), missing, free));
            }
            let _ = partial.discard();
            return Err(error::too_large(&url, most, false));
        }
        partial.append(&bytes)?;
        watch.event(FetchEvent::Received(partial.length()));
    }
    Ok(())
}

fn broken(url: &str, why: &str) -> Error {
    error::cut(&super::site::shown(url), why)
}

/// Adds to an error what is kept despite it.
fn kept(error: Error, partial: &Partial) -> Error {
    let (bytes, part) = (partial.length(), partial.path());
    if bytes == 0 {
        // An empty file is useless; failing to remove it is harmless.
        let _ = partial.discard();
        error
    } else if error.is_stopped() {
        error::stopped(bytes, part)
    } else if may_pass(&error) {
        error::incomplete(error, bytes, partial.state().total, part)
    } else {
        error
    }
}
