//! Values of a run by figure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::row::Id;

/// Values by figure, sorted by stored name. Names that the table does not have are kept, so that the results
/// file of a newer version loses nothing.
#[derive(Clone, Default, PartialEq)]
pub struct Values<T>(Vec<(Cow<'static, str>, T)>);

/// Single figures of a run.
pub type Figures = Values<f64>;
/// Counters of a run or of a script.
pub type Counters = Values<u64>;

impl<T: Copy> Values<T> {
    /// The value of a figure; `None` if unknown.
    #[must_use]
    pub fn get(&self, of: Id<T>) -> Option<T> {
        self.named(of.name)
    }

    /// Mutable access to a value.
    pub fn get_mut(&mut self, of: Id<T>) -> Option<&mut T> {
        let at = self.place(of.name).ok()?;
        Some(&mut self.0[at].1)
    }

    /// Sets the value of a figure.
    pub fn set(&mut self, of: Id<T>, value: T) {
        self.set_named(of.row().name, value);
    }

    /// Removes and returns the value of a figure.
    pub fn remove(&mut self, of: Id<T>) -> Option<T> {
        self.place(of.name).ok().map(|at| self.0.remove(at).1)
    }

    /// Sets a value by its stored name.
    pub fn set_named(&mut self, name: impl Into<Cow<'static, str>>, value: T) {
        let name = name.into();
        // Stored values come in order.
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            return self.0.push((name, value));
        }
        match self.place(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// The value by its stored name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<T> {
        self.place(name).ok().map(|at| self.0[at].1)
    }

    /// Adds or replaces all values from another set.
    pub fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|(name, value)| self.set_named(name, value));
    }

    /// Stored names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a name is, or belongs.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(name))
    }
}

impl Counters {
    /// A counter, 0 if it was not counted.
    #[must_use]
    pub fn count(&self, of: Id<u64>) -> u64 {
        self.get(of).unwrap_or(0)
    }

    /// Adds to a counter.
    pub fn add(&mut self, of: Id<u64>, count: u64) {
        self.set(of, self.count(of) + count);
    }
}

impl<T: Copy + Serialize> Serialize for Values<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for Values<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = BTreeMap::<String, T>::deserialize(deserializer)?;
        Ok(values.into_iter().collect())
    }
}

impl<T: fmt::Debug> fmt::Debug for Values<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.0.iter().map(|(name, value)| (name, value))).finish()
    }
}

impl<T: Copy> Index<Id<T>> for Values<T> {
    type Output = T;

    fn index(&self, of: Id<T>) -> &T {
        let at = self.place(of.name).unwrap_or_else(|_| panic!("{} is not known", of.name));
        &self.0[at].1
    }
}

impl<T: Copy> Extend<(Id<T>, T)> for Values<T> {
    fn extend<I: IntoIterator<Item = (Id<T>, T)>>(&mut self, values: I) {
        values.into_iter().for_each(|(of, value)| self.set(of, value));
    }
}

impl<T: Copy> FromIterator<(Id<T>, T)> for Values<T> {
    fn from_iter<I: IntoIterator<Item = (Id<T>, T)>>(values: I) -> Self {
        let mut all = Self(Vec::new());
        all.extend(values);
        all
    }
}

impl<T: Copy, const N: usize> From<[(Id<T>, T); N]> for Values<T> {
    fn from(values: [(Id<T>, T); N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T: Copy> FromIterator<(String, T)> for Values<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        let mut all = Self(Vec::new());
        values.into_iter().for_each(|(name, value)| all.set_named(name, value));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OK, WAL_BYTES};
    use super::*;

    #[test]
    fn a_name_that_the_table_does_not_have_is_kept() {
        let stored = [("of_a_newer_version_s", 2.0), (WAL_BYTES.name, 1.0)];
        let mut figures: Figures = stored.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        figures.set(WAL_BYTES, 3.0);
        assert_eq!(figures.iter().collect::<Vec<_>>(), [("of_a_newer_version_s", 2.0), ("wal_bytes", 3.0)]);
        assert_eq!((figures[WAL_BYTES], figures.named("of_a_newer_version_s")), (3.0, Some(2.0)));
    }

    #[test]
    fn a_counter_that_was_not_counted_is_none_and_counts_as_0() {
        let mut counters = Counters::default();
        assert_eq!((counters.get(OK), counters.count(OK)), (None, 0));
        counters.add(OK, 2);
        counters.add(OK, 3);
        assert_eq!(counters, [(OK, 5)].into());
    }
}
