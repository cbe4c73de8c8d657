//! Options with a fixed set of values.

/// The names of an option's values; where two mean the same, the first is the one written.
#[derive(Debug)]
pub(crate) struct Choices<T: 'static> {
    /// All of them, as messages list them.
    pub(crate) expected: &'static str,
    pub(crate) values: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> Choices<T> {
    pub(crate) fn read(&self, name: &str) -> Option<T> {
        self.values.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// The name of a value on the list; empty for others.
    pub(crate) fn name(&self, value: T) -> &'static str {
        self.values.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
    }
}
