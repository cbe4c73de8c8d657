//! Geofabrik's index of extracts, and the look-up of names: <https://download.geofabrik.de/technical.html>.

use serde::{Deserialize, Serialize};
use spec::{Class, Error};

use super::error::{self, SEE_LIST};

/// Most suggestions for an unknown name.
const MOST_NEAR: usize = 3;

/// An extract in the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexEntry {
    /// `malta`, `us/delaware`.
    pub id: String,
    /// Id of the extract that contains it.
    pub parent: Option<String>,
    /// `Malta`.
    pub name: String,
    /// Of the `.osm.pbf` file at Geofabrik.
    pub url: String,
}

/// Extracts by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    entries: Vec<IndexEntry>,
}

/// The needed fields of the index, which is GeoJSON.
#[derive(Deserialize)]
struct Collection {
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    properties: Properties,
}

#[derive(Deserialize)]
struct Properties {
    id: String,
    parent: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    urls: Urls,
}

#[derive(Default, Deserialize)]
struct Urls {
    pbf: Option<String>,
}

impl Index {
    /// Parses Geofabrik's index, which came from `url`. Entries without `.osm.pbf` file are left out.
    ///
    /// # Errors
    /// When it is not such an index.
    pub fn parse(url: &str, bytes: &[u8]) -> Result<Self, Error> {
        let not = |why: String| error::not_geofabrik(url, format_args!("not Geofabrik's index: {why}"));
        let collection: Collection = serde_json::from_slice(bytes).map_err(|error| not(error.to_string()))?;
        let entry = |Feature { properties: Properties { id, parent, name, urls } }| {
            Some(IndexEntry { id, parent, name, url: urls.pbf? })
        };
        let index = Self::of(collection.features.into_iter().filter_map(entry));
        if index.entries.is_empty() {
            return Err(not("no extract is in it".to_owned()));
        }
        Ok(index)
    }

    /// An index with these entries.
    #[must_use]
    pub fn of(entries: impl IntoIterator<Item = IndexEntry>) -> Self {
        let mut entries: Vec<IndexEntry> = entries.into_iter().collect();
        entries.sort();
        entries.dedup_by(|one, other| one.id == other.id);
        Self { entries }
    }

    /// All, by id.
    #[must_use]
    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Entries with the pattern in their id, name or parent's id, ignoring case.
    pub fn matching(&self, pattern: &str) -> impl Iterator<Item = &IndexEntry> {
        let pattern = pattern.to_lowercase();
        self.entries.iter().filter(move |entry| {
            let parent = entry.parent.as_deref().unwrap_or_default();
            [entry.id.as_str(), &entry.name, parent].iter().any(|text| text.to_lowercase().contains(&pattern))
        })
    }

    /// The extract with a name: an id (`us/delaware`), the path of its file (`europe/malta`), or, if unique,
    /// the last part of an id (`delaware`) or a name (`Malta`). Case is ignored.
    ///
    /// # Errors
    /// An error with an [`UnknownExtract`](super::UnknownExtract), or one with the ids that fit.
    pub fn find(&self, name: &str) -> Result<&IndexEntry, Error> {
        let wanted = name.trim().to_lowercase();
        let is_id = |entry: &&IndexEntry| entry.id.to_lowercase() == wanted || entry.path() == wanted;
        if let Some(entry) = self.entries.iter().find(is_id) {
            return Ok(entry);
        }
        let is_called =
            |entry: &&IndexEntry| entry.last_part() == wanted || entry.name.to_lowercase() == wanted;
        let called: Vec<&IndexEntry> = self.entries.iter().filter(is_called).collect();
        match called.as_slice() {
            [entry] => Ok(entry),
            [] => Err(error::unknown(name, self.near(&wanted))),
            several => {
                let ids: Vec<&str> = several.iter().map(|entry| entry.id.as_str()).collect();
                let what = format!("{name} can be any of {}", ids.join(", "));
                Err(Error::new(Class::Usage, what).with_hint(SEE_LIST))
            }
        }
    }

    /// Ids with a similar spelling, the nearest first.
    fn near(&self, wanted: &str) -> Vec<String> {
        let distance = |entry: &IndexEntry| {
            let names = [entry.id.to_lowercase(), entry.last_part(), entry.name.to_lowercase()];
            let of = |name: &String| {
                let distance = strsim::damerau_levenshtein(wanted, name);
                let near = distance <= 1 + name.len().min(wanted.len()) / 4;
                let begins = wanted.len() > 2 && name.starts_with(wanted);
                (near || begins).then_some(distance)
            };
            names.iter().filter_map(of).min()
        };
        let mut near: Vec<(usize, &str)> =
            self.entries.iter().filter_map(|entry| Some((distance(entry)?, entry.id.as_str()))).collect();
        near.sort_unstable();
        near.into_iter().take(MOST_NEAR).map(|(_, id)| id.to_owned()).collect()
    }
}

impl IndexEntry {
    /// `delaware` of `us/delaware`, lower case.
    fn last_part(&self) -> String {
        self.id.rsplit('/').next().unwrap_or_default().to_lowercase()
    }

    /// Path of its file without the common suffix: `europe/malta`, lower case.
    fn path(&self) -> String {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        let path = path.strip_suffix(".osm.pbf").unwrap_or(path);
        path.strip_suffix("-latest").unwrap_or(path).to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        let bytes = include_bytes!("../../tests/data/geofabrik/index-v1-nogeom.json");
        Index::parse("test", bytes).unwrap()
    }

    #[test]
    fn names_are_found() {
        let index = index();
        for (name, id) in [
            ("malta", "malta"),
            ("Malta", "malta"),
            ("europe/malta", "malta"),
            ("us/delaware", "us/delaware"),
            ("north-america/us/delaware", "us/delaware"),
            ("delaware", "us/delaware"),
            (" DELAWARE", "us/delaware"),
            // An id takes precedence over another's last part.
            ("georgia", "georgia"),
        ] {
            assert_eq!(index.find(name).unwrap().id, id, "{name}");
        }
        let message = |name: &str| index.find(name).unwrap_err().to_string();
        assert_eq!(message("malat"), "no extract is called malat; did you mean malta?");
        assert_eq!(message("us/delawere"), "no extract is called us/delawere; did you mean us/delaware?");
        assert_eq!(message("atlantis"), "no extract is called atlantis");
        assert_eq!(message("punjab"), "punjab can be any of india/punjab, pakistan/punjab");
        // Without a file it is useless.
        assert!(index.find("no-file").is_err());
    }

    #[test]
    fn names_are_listed_by_pattern() {
        let ids = |pattern: &str| {
            index().matching(pattern).map(|entry| entry.id.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ids("DELA"), "us/delaware");
        assert_eq!(ids("europe"), "europe georgia malta");
        assert_eq!(ids("atlantis"), "");
        assert_eq!(index().entries().len(), ids("").split(' ').count());
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for (text, wanted) in [
            ("<html>", "expected value"),
            ("{}", "missing field `features`"),
            ("{\"features\": []}", "no extract is in it"),
        ] {
            let message = Index::parse("http://x/index", text.as_bytes()).unwrap_err().to_string();
            assert!(
                message.starts_with("http://x/index: not Geofabrik's index: ") && message.contains(wanted),
                "{message}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_survived(name in "\\PC{0,20}") {
            let _ = index().find(&name);
        }
    }
}
