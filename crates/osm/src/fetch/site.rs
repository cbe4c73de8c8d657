//! Addresses of Geofabrik, or of the same files on a mirror.

use spec::Error;

use super::error;

/// Where Geofabrik's files are.
const GEOFABRIK: &str = "https://download.geofabrik.de";
/// The list of extracts, without their outlines.
const INDEX: &str = "/index-v1-nogeom.json";

/// A server with Geofabrik's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DownloadSite {
    /// Replaces Geofabrik's address; without a slash at its end.
    mirror: Option<String>,
}

impl DownloadSite {
    pub(super) fn new(mirror: Option<&str>) -> Result<Self, Error> {
        let Some(mirror) = mirror else { return Ok(Self { mirror: None }) };
        let host = split_url(mirror).map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
        if host.is_empty() || mirror.contains(char::is_whitespace) {
            return Err(error::address(&shown(mirror)));
        }
        Ok(Self { mirror: Some(mirror.trim_end_matches('/').to_owned()) })
    }

    /// Whether the server is local, so that no proxy is needed.
    pub(super) fn is_on_this_machine(&self) -> bool {
        let mirror = self.mirror.as_deref().map(shown);
        let host = mirror.as_deref().and_then(split_url).map_or("", |(_, rest)| rest);
        ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
    }

    pub(super) fn index(&self) -> String {
        format!("{}{INDEX}", self.mirror.as_deref().unwrap_or(GEOFABRIK))
    }

    /// Address of the file with this URL at Geofabrik.
    pub(super) fn of(&self, url: &str) -> String {
        match (&self.mirror, split_url(url)) {
            (Some(mirror), Some((_, rest))) => {
                format!("{mirror}{}", rest.find('/').map_or("", |slash| &rest[slash..]))
            }
            _ => url.to_owned(),
        }
    }
}

/// Scheme and rest of a web address.
fn split_url(url: &str) -> Option<(&str, &str)> {
    url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
}

/// Scheme, host and port of a web address.
pub(super) fn origin(url: &str) -> String {
    let shown = shown(url);
    match split_url(&shown) {
        Some((scheme, rest)) => {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            let usual = if scheme == "https" { ":443" } else { ":80" };
            format!("{scheme}://{}", host.strip_suffix(usual).unwrap_or(&host))
        }
        None => shown,
    }
}

/// A URL without user and password.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_stands_in_place_of_geofabrik() {
        let malta = "https://download.geofabrik.de/europe/malta-latest.osm.pbf";
        let own = DownloadSite::new(None).unwrap();
        assert_eq!(own.index(), "https://download.geofabrik.de/index-v1-nogeom.json");
        assert_eq!(own.of(malta), malta);
        for mirror in ["http://localhost:8080/osm", "http://localhost:8080/osm/"] {
            let mirror = DownloadSite::new(Some(mirror)).unwrap();
            assert_eq!(mirror.index(), "http://localhost:8080/osm/index-v1-nogeom.json");
            assert_eq!(mirror.of(malta), "http://localhost:8080/osm/europe/malta-latest.osm.pbf");
        }
        let is_here = |mirror: &str| DownloadSite::new(Some(mirror)).unwrap().is_on_this_machine();
        assert!(
            is_here("http://me:x@localhost:80")
                && is_here("http://127.0.0.1")
                && is_here("https://[::1]:80/x")
        );
        assert!(!is_here("https://example.org/localhost") && !own.is_on_this_machine());
        for wrong in ["localhost:8080", "ftp://x/", "http://", "http:///x", "/srv/osm", "http://a b/"] {
            assert!(DownloadSite::new(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (url, wanted) in [
            ("https://me:secret@Maps.example:443/a/b", "https://maps.example"),
            ("http://maps.example:8080?x", "http://maps.example:8080"),
            ("http://[::1]:80/x", "http://[::1]"),
        ] {
            assert_eq!(origin(url), wanted);
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(shown("https://me:secret@host/a@b"), "https://host/a@b");
        assert_eq!(shown("https://me:se@cret@host"), "https://host");
        assert_eq!(shown("https://host/x"), "https://host/x");
    }
}
