//! The download itself: on from what is there, again where it breaks off.

use super::error::FetchError;
use super::http::{Answer, Client};
use super::partial::Partial;
use super::tries::Tries;
use super::watch::{Anew, Event, Watch};

/// What a page for people stands in place of.
const WANTED: &str = "an extract";

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    /// As the user asked.
    pub(super) most: Option<u64>,
}

impl Sizes {
    /// Most bytes of a file whose size the server announces; the whole planet has less than half of it.
    const ANNOUNCED: u64 = 256 << 30;
    /// Most bytes of a file that may be without end.
    const NOT_ANNOUNCED: u64 = 1 << 30;
    /// So few bytes are fetched as far as there is room; the same command goes on later.
    const TRIED: u64 = 1 << 20;

    /// The bytes that the file may have, if there is room for it.
    fn check(self, url: &str, partial: &Partial) -> Result<u64, FetchError> {
        let url = || super::site::shown(url);
        let free = partial.free()?;
        let Some(total) = partial.state().total else {
            let most = self.most.unwrap_or(Self::NOT_ANNOUNCED);
            return Ok(most.min(partial.length().saturating_add(free)));
        };
        let most = self.most.unwrap_or(Self::ANNOUNCED);
        if total > most {
            return Err(FetchError::TooLarge { url: url(), most, announced: true });
        }
        let missing = total.saturating_sub(partial.length());
        if missing > free.max(Self::TRIED) {
            let folder = partial.folder().to_owned();
            return Err(FetchError::NoRoom { url: url(), folder, missing, free });
        }
        Ok(total)
    }
}

/// Fetches what is missing of a file.
///
/// # Errors
/// When the server does not have it, or it broke off too often ([`FetchError::Incomplete`]); what came stays.
pub(super) fn download(
    client: &Client,
    url: &str,
    partial: &mut Partial,
    sizes: Sizes,
    watch: &mut dyn Watch,
) -> Result<(), FetchError> {
    if partial.outdated {
        watch.told(Event::Anew(Anew::Changed));
    }
    let mut tries = Tries::new(&client.patience, partial.length());
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

/// Asks once for what is missing, and takes what comes.
fn attempt(
    client: &Client,
    url: &str,
    partial: &mut Partial,
    sizes: Sizes,
    watch: &mut dyn Watch,
) -> Result<(), FetchError> {
    let resume = partial.resumable();
    let headers = match &resume {
        Some((from, validator)) => {
            vec![("range", format!("bytes={from}-")), ("if-range", validator.clone())]
        }
        None => Vec::new(),
    };
    let answer = client.get(url, headers, watch)?;
    if answer.head.status == 416 {
        // There is nothing behind what is here, and this is not all: it cannot be a part of the server's file.
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
                watch.told(Event::Anew(if same { Anew::NoRanges } else { Anew::Changed }));
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

/// Takes all that comes, as long as the file has no more than `most` bytes.
fn take(
    answer: &Answer<'_>,
    partial: &mut Partial,
    most: u64,
    watch: &mut dyn Watch,
) -> Result<(), FetchError> {
    let total = partial.state().total;
    watch.told(Event::Begins { from: partial.length(), total });
    while let Some(bytes) = answer.next(watch)? {
        let missing = bytes.len() as u64;
        if partial.length() + missing > most {
            let (url, free, folder) = (answer.url(), partial.free()?, partial.folder().to_owned());
            return Err(match free < missing {
                true => FetchError::NoRoom { url, folder, missing, free },
                false => FetchError::TooLarge { url, most, announced: false },
            });
        }
        partial.append(&bytes)?;
        watch.told(Event::Received(partial.length()));
    }
    Ok(())
}

fn broken(url: &str, why: &str) -> FetchError {
    FetchError::Cut { url: super::site::shown(url), why: why.to_owned() }
}

/// An error with what is kept in spite of it.
fn kept(error: FetchError, partial: &Partial) -> FetchError {
    let (bytes, part) = (partial.length(), partial.path().to_owned());
    match error {
        FetchError::Stopped { .. } if bytes > 0 => FetchError::Stopped { kept: Some((bytes, part)) },
        error if error.may_pass() && bytes > 0 => {
            FetchError::Incomplete { cause: Box::new(error), bytes, total: partial.state().total, part }
        }
        error @ FetchError::TooLarge { announced: false, .. } => {
            let _ = partial.discard();
            error
        }
        error => {
            // An empty file is of no use to anybody; that it stays is no harm either.
            let _ = if bytes == 0 { partial.discard() } else { Ok(()) };
            error
        }
    }
}
