//! Fetches extracts from Geofabrik, or from a mirror: looks the name up in its index, resumes an interrupted
//! download, compares the server's MD5 sum, checks that it is an extract, and stores it.
//!
//! A partial file is stored with a note that identifies its data. Only a complete file gets its final name.
//! Every wait has a timeout, and ends when [`FetchObserver::stops`] returns true. Nothing here prints:
//! [`FetchObserver::event`] receives what happens.

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
pub use error::UnknownExtract;
pub use index::{Index, IndexEntry};
pub use tries::FetchTimeouts;
pub use watch::{FetchEvent, FetchObserver, Restart};

use self::cache::CacheNote;
use self::download::DownloadSizes;
use self::http::DownloadClient;
use self::partial::Partial;
use self::site::DownloadSite;
use spec::Error;

use crate::extract;

/// Must be shown wherever the data are shown (<https://www.openstreetmap.org/copyright>).
pub const ATTRIBUTION: &str = "© OpenStreetMap contributors, ODbL 1.0; extract by Geofabrik";

/// Most bytes of an index; Geofabrik's has half a megabyte.
const LONGEST_INDEX: usize = 64 << 20;
const LONGEST_CHECKSUM: usize = 64 << 10;

/// Where extracts come from.
#[derive(Debug)]
pub struct ExtractSource {
    site: DownloadSite,
    client: DownloadClient,
    sizes: DownloadSizes,
}

/// Where an extract is stored.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// Among other stored extracts, named by id and date.
    Cache(&'a Cache),
    File(&'a Path),
}

/// A complete local extract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub entry: IndexEntry,
    /// Where it came from, after redirects; without a password.
    pub url: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub md5: String,
    /// The server's modification time, RFC 3339 in UTC, if known.
    pub last_modified: Option<String>,
    /// Whether nothing had to be downloaded.
    pub there_already: bool,
    /// Why it may be incomplete, though the server has the same ([`extract::Extract::doubt`]).
    pub doubt: Option<String>,
}

impl ExtractSource {
    /// Geofabrik, or a mirror: a URL with Geofabrik's files below it, at the same paths.
    ///
    /// # Errors
    /// When the mirror is not an `http://` or `https://` URL.
    pub fn new(mirror: Option<&str>, timeouts: FetchTimeouts) -> Result<Self, Error> {
        let site = DownloadSite::new(mirror)?;
        let client = DownloadClient::new(timeouts, !site.is_on_this_machine());
        Ok(Self { site, client, sizes: DownloadSizes::default() })
    }

    /// Limits extracts to this many bytes. The default is 256 GB, and 1 GB where the server announces no
    /// size.
    #[must_use]
    pub fn with_max_size(mut self, bytes: u64) -> Self {
        self.sizes.most = Some(bytes);
        self
    }

    /// Allows redirects from `https://` to `http://`.
    #[must_use]
    pub fn with_http_allowed(mut self) -> Self {
        self.client.allow_http = true;
        self
    }

    /// The index of all extracts.
    ///
    /// # Errors
    /// When it cannot be fetched, or is not such an index.
    pub fn index(&self, watch: &mut dyn FetchObserver) -> Result<Index, Error> {
        let url = self.site.index();
        let bytes = self.client.small(&url, "Geofabrik's index", LONGEST_INDEX, watch)?;
        Index::parse(&site::shown(&url), &bytes)
    }

    /// Fetches an extract, unless the local file has the server's MD5 sum.
    ///
    /// # Errors
    /// When it cannot be fetched, does not match the server's MD5 sum, or is not an extract. A partial file
    /// is kept, and the next call resumes it, unless its checksum was wrong.
    pub fn fetch(
        &self,
        entry: &IndexEntry,
        to: Destination<'_>,
        watch: &mut dyn FetchObserver,
    ) -> Result<Fetched, Error> {
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

    /// The server's MD5 sum of a file.
    fn md5(&self, url: &str, watch: &mut dyn FetchObserver) -> Result<String, Error> {
        let url = format!("{url}.md5");
        let bytes = self.client.small(&url, "an MD5 sum", LONGEST_CHECKSUM, watch)?;
        checksum::parse(&bytes)
            .ok_or_else(|| error::not_geofabrik(&site::shown(&url), "it contains no MD5 sum"))
    }

    /// The checksum of the file, if it is the server's: the one requested before, or the current one, since
    /// the server's file may have been replaced meanwhile. A file with another checksum is removed.
    fn verified(
        &self,
        partial: &Partial,
        url: &str,
        wanted: String,
        watch: &mut dyn FetchObserver,
    ) -> Result<String, Error> {
        watch.event(FetchEvent::Verifying);
        let found = checksum::of_file(partial.path(), watch)?;
        if found == wanted || self.md5(url, watch)? == found {
            return Ok(found);
        }
        partial.discard()?;
        let what = format!("what came is damaged (MD5 {found}, the server's is {wanted}); it was removed");
        Err(error::bad(&site::shown(url), what).with_hint("the same command fetches it again"))
    }

    /// Gives a complete file its name, after checking that it is an extract.
    fn keep(
        &self,
        entry: &IndexEntry,
        to: Destination<'_>,
        partial: Partial,
        md5: String,
    ) -> Result<Fetched, Error> {
        let state = partial.state().clone();
        let bad =
            |problem: String| error::bad(&state.from, format_args!("what came {problem}; it was removed"));
        let doubtful = match extract::examine(partial.path()) {
            Ok(extract) => extract.doubt.is_some(),
            Err(problem) => {
                partial.discard()?;
                return Err(bad(problem));
            }
        };
        let last_modified = state.last_modified.as_deref().and_then(http::time);
        let path = match to {
            Destination::Cache(cache) => cache.path(entry, last_modified),
            Destination::File(path) => path.to_owned(),
        };
        let bytes = partial.finish(&path)?;
        let doubt = match doubtful {
            true => extract::examine(&path).map_err(bad)?.doubt,
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
            cache.note(&CacheNote::of(&fetched)?, &fetched.path)?;
        }
        Ok(fetched)
    }
}

/// The local file, if it equals the server's.
fn there(
    entry: &IndexEntry,
    to: Destination<'_>,
    url: &str,
    md5: &str,
    watch: &mut dyn FetchObserver,
) -> Result<Option<Fetched>, Error> {
    let path = match to {
        Destination::Cache(cache) => return cache.with_sum(entry, md5, watch),
        Destination::File(path) => path,
    };
    if !path.is_file() || checksum::of_file(path, watch)? != md5 {
        return Ok(None);
    }
    let bytes = std::fs::metadata(path).map_err(|error| error::file_error(path, error))?.len();
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
