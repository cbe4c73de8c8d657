//! Sizes of values.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest value that Redis accepts by default.
const LONGEST: u64 = 512 << 20;

/// Lengths of values in bytes, equally likely: `32000`, or `[1000, 64000]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueSizes {
    least: u64,
    greatest: u64,
}

/// [`ValueSizes`] as they are written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the reader has its own form, for its messages")]
pub(super) enum Sizes {
    All(u64),
    Between([u64; 2]),
}

impl ValueSizes {
    /// All of one length.
    #[must_use]
    pub fn all(bytes: u64) -> Self {
        Self { least: bytes, greatest: bytes }
    }

    /// Between these two, inclusive.
    #[must_use]
    pub fn between(least: u64, greatest: u64) -> Self {
        Self { least, greatest }
    }

    /// From the smallest to the largest.
    #[must_use]
    pub fn range(self) -> RangeInclusive<u64> {
        self.least..=self.greatest
    }

    /// The largest length.
    #[must_use]
    pub fn greatest(self) -> u64 {
        self.greatest
    }

    /// Average bytes of this many values.
    pub(super) fn of(self, values: u64) -> u64 {
        let both = u128::from(self.least) + u128::from(self.greatest);
        u64::try_from(both * u128::from(values) / 2).unwrap_or(u64::MAX)
    }

    /// The length, if there is only one.
    pub(super) fn only(self) -> Option<u64> {
        (self.least == self.greatest).then_some(self.least)
    }

    /// What is wrong with them.
    pub(super) fn validate(self) -> Result<(), String> {
        let wrong = [self.least, self.greatest].into_iter().find(|size| !(1..=LONGEST).contains(size));
        match wrong {
            Some(size) => Err(format!("{size} is not within 1..{LONGEST}")),
            None if self.least > self.greatest => {
                Err(format!("invalid range [{}, {}]: the smallest comes first", self.least, self.greatest))
            }
            None => Ok(()),
        }
    }
}

impl Default for ValueSizes {
    fn default() -> Self {
        Self::all(32_000)
    }
}

impl fmt::Display for ValueSizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(bytes) => write!(formatter, "{bytes}"),
            None => write!(formatter, "{} to {}", self.least, self.greatest),
        }
    }
}

impl Serialize for ValueSizes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.only() {
            Some(bytes) => to.serialize_u64(bytes),
            None => [self.least, self.greatest].serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ValueSizes {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = ValueSizes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of bytes, or two: [least, greatest]")
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<ValueSizes, E> {
                Ok(ValueSizes::all(bytes))
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<ValueSizes, E> {
                let bytes = u64::try_from(bytes);
                bytes.map(ValueSizes::all).map_err(|_| E::custom("must be a number of bytes above 0"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ValueSizes, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = list.next_element()? {
                    sizes.push(size);
                }
                match sizes[..] {
                    [least, greatest] => Ok(ValueSizes { least, greatest }),
                    _ => Err(A::Error::invalid_length(sizes.len(), &self)),
                }
            }
        }

        source.deserialize_any(Either)
    }
}
