//! Getting extracts from Geofabrik, or from a mirror of it: found by name in its index, resumed where a download was cut,
//! compared with the server's MD5 sum, checked for being an extract, kept.
//!
//! A partial file is kept beside its place with what identifies the data it is of; nothing gets its final
//! name that is not whole. No wait is without a bound, and every one ends when [`Watch::stops`] says so. Nothing here
//! prints: [`Watch::told`] learns what happens.

mod cache;
mod checksum;
mod download;
mod error;
mod http;
mod index;
mod partial;
mod site;
mod tries;
mod watch;

use std::path::{Path, PathBuf};

pub use cache::Cache;
pub use error::FetchError;
pub use index::{Entry, Index};
pub use tries::Patience;
pub use watch::{Anew, Event, Watch};

use self::cache::Kept;
use self::download::Sizes;
use self::http::Client;
use self::partial::Partial;
use self::site::Site;
use crate::extract;

/// What must be said wherever the data are shown (<https://www.openstreetmap.org/copyright>).
pub const ATTRIBUTION: &str = "© OpenStreetMap contributors, ODbL 1.0; extract by Geofabrik";

/// Most bytes of an index; Geofabrik's has half a megabyte.
const LONGEST_INDEX: usize = 64 << 20;
/// Most bytes of a checksum's file.
const LONGEST_CHECKSUM: usize = 64 << 10;

/// Where extracts come from.
#[derive(Debug)]
pub struct Source {
    site: Site,
    client: Client,
    sizes: Sizes,
}

/// Where an extract goes.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// Beside the others that are kept, under its name and date.
    Cache(&'a Cache),
    File(&'a Path),
}

/// An extract that is here, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub entry: Entry,
    /// Where it came from, redirects followed; without a password.
    pub url: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub md5: String,
    /// When the server's file was last changed, RFC 3339 in UTC, where it says so.
    pub last_modified: Option<String>,
    /// Whether nothing had to be downloaded.
    pub there_already: bool,
    /// Why it may not be all that it was, though it is what the server has ([`extract::Extract::doubt`]).
    pub doubt: Option<String>,
}

impl Source {
    /// Geofabrik, or a mirror: a URL below which its files are, with the paths that they have there.
    ///
    /// # Errors
    /// [`FetchError::Address`] for a mirror that is no `http://` or `https://` URL.
    pub fn new(mirror: Option<&str>, patience: Patience) -> Result<Self, FetchError> {
        let site = Site::new(mirror)?;
        let client = Client::new(patience, !site.is_on_this_machine());
        Ok(Self { site, client, sizes: Sizes::default() })
    }

    /// The same for extracts of so many bytes at most. The usual limit is 256 GB, and 1 GB where the server announces no size.
    #[must_use]
    pub fn with_max_size(mut self, bytes: u64) -> Self {
        self.sizes.most = Some(bytes);
        self
    }

    /// The same, also where a redirect leads from `https://` to `http://`.
    #[must_use]
    pub fn with_http_allowed(mut self) -> Self {
        self.client.allow_http = true;
        self
    }

    /// The list of all extracts.
    ///
    /// # Errors
    /// When it cannot be got, or is no such list.
    pub fn index(&self, watch: &mut dyn Watch) -> Result<Index, FetchError> {
        let url = self.site.index();
        let bytes = self.client.small(&url, "Geofabrik's index", LONGEST_INDEX, watch)?;
        Index::parse(&site::shown(&url), &bytes)
    }

    /// Gets an extract, unless what is there has the server's MD5 sum.
    ///
    /// # Errors
    /// When it cannot be got, is not what the server's MD5 sum says, or is no extract. A partial file stays, and the next
    /// call goes on, except for one whose sum is wrong.
    pub fn fetch(
        &self,
        entry: &Entry,
        to: Destination<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Fetched, FetchError> {
        let url = self.site.of(&entry.url);
        let md5 = self.md5(&url, watch)?;
        if let Some(kept) = there(entry, to, &url, &md5, watch)? {
            return Ok(kept);
        }
        let place = match to {
            Destination::Cache(cache) => cache.unfinished(entry)?,
            Destination::File(path) => path.to_owned(),
        };
        let mut partial = Partial::open(&place, &site::shown(&url), &md5)?;
        download::download(&self.client, &url, &mut partial, self.sizes, watch)?;
        let md5 = self.verified(&partial, &url, md5, watch)?;
        self.keep(entry, to, partial, md5)
    }

    /// The MD5 sum that the server says a file has.
    fn md5(&self, url: &str, watch: &mut dyn Watch) -> Result<String, FetchError> {
        let url = format!("{url}.md5");
        let bytes = self.client.small(&url, "an MD5 sum", LONGEST_CHECKSUM, watch)?;
        checksum::parse(&bytes).ok_or_else(|| FetchError::NoChecksum { url: site::shown(&url) })
    }

    /// The sum of what came, if it is the server's: the one that was asked for before, or the one it has now, since its file
    /// may have been replaced in between. A file with another sum is removed.
    fn verified(
        &self,
        partial: &Partial,
        url: &str,
        wanted: String,
        watch: &mut dyn Watch,
    ) -> Result<String, FetchError> {
        watch.told(Event::Verifying);
        let found = checksum::of_file(partial.path(), watch)?;
        if found == wanted || self.md5(url, watch)? == found {
            return Ok(found);
        }
        partial.discard()?;
        Err(FetchError::Checksum { url: site::shown(url), wanted, found })
    }

    /// Gives a whole file its name, once it is known to be an extract.
    fn keep(
        &self,
        entry: &Entry,
        to: Destination<'_>,
        partial: Partial,
        md5: String,
    ) -> Result<Fetched, FetchError> {
        let state = partial.state().clone();
        let bad = |problem: String| FetchError::NotExtract { url: state.from.clone(), problem };
        let doubtful = match extract::check(partial.path()) {
            Ok(extract) => extract.doubt.is_some(),
            Err(error) => {
                partial.discard()?;
                return Err(bad(error.problem));
            }
        };
        let last_modified = state.last_modified.as_deref().and_then(http::time);
        let path = match to {
            Destination::Cache(cache) => cache.path(entry, last_modified),
            Destination::File(path) => path.to_owned(),
        };
        let bytes = partial.finish(&path)?;
        let doubt = match doubtful {
            true => extract::check(&path).map_err(|error| bad(error.problem))?.doubt,
            false => None,
        };
        let fetched = Fetched {
            entry: entry.clone(),
            url: state.from,
            path,
            bytes,
            md5,
            last_modified: last_modified.map(|time| time.to_string()),
            there_already: false,
            doubt,
        };
        if let Destination::Cache(cache) = to {
            cache.note(&Kept::of(&fetched)?, &fetched.path)?;
        }
        Ok(fetched)
    }
}

/// What is there already and is what the server has.
fn there(
    entry: &Entry,
    to: Destination<'_>,
    url: &str,
    md5: &str,
    watch: &mut dyn Watch,
) -> Result<Option<Fetched>, FetchError> {
    let path = match to {
        Destination::Cache(cache) => return cache.with_sum(entry, md5, watch),
        Destination::File(path) => path,
    };
    if !path.is_file() || checksum::of_file(path, watch)? != md5 {
        return Ok(None);
    }
    let bytes = std::fs::metadata(path).map_err(|error| FetchError::file(path, error))?.len();
    Ok(Some(Fetched {
        entry: entry.clone(),
        url: site::shown(url),
        path: path.to_owned(),
        bytes,
        md5: md5.to_owned(),
        last_modified: None,
        there_already: true,
        doubt: None,
    }))
}

#[cfg(test)]
mod tests;
