//! Tables by name, in the order of the file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by unique names, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables<T>(Vec<(String, T)>);

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Tables<T> {
    /// Adds a value at the end, or replaces the one with that name.
    pub fn insert(&mut self, name: &str, value: T) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(String, T)> {
        self.0.iter()
    }

    /// The same, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, T)> {
        self.0.iter_mut()
    }

    /// Sorts by a key of the name.
    pub fn sort_by_name<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.0.sort_by_key(|(name, _)| key(name));
    }
}

impl<T> IntoIterator for Tables<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T> FromIterator<(String, T)> for Tables<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        let mut tables = Self::default();
        values.into_iter().for_each(|(name, value)| tables.insert(&name, value));
        tables
    }
}

impl<T: Serialize> Serialize for Tables<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tables<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Tables<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tables<T>, A::Error> {
                let mut tables = Tables::default();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    tables.insert(&name, value);
                }
                Ok(tables)
            }
        }

        source.deserialize_map(InOrder(PhantomData))
    }
}
