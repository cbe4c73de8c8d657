//! The requested zooms, and their frequencies.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The highest zoom of the grid.
pub(super) const HIGHEST: u8 = 22;

/// [`Zooms`] as they are written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the reader has its own form, for its messages")]
pub(super) enum ZoomsForm {
    Range([u8; 2]),
    Mix(BTreeMap<String, f64>),
}

/// `[12, 16]`, or `{ 12 = 1, 14 = 6, 16 = 3 }`.
#[derive(Debug, Clone, PartialEq)]
pub enum Zooms {
    /// Lowest and highest; all between are requested equally often.
    Range([u8; 2]),
    /// Zooms with their relative frequency.
    Mix(BTreeMap<u8, f64>),
}

impl Zooms {
    /// Each zoom with its relative frequency, ascending.
    #[must_use]
    pub fn weighted(&self) -> Vec<(u8, f64)> {
        match self {
            Self::Range([low, high]) => (*low..=*high).map(|z| (z, 1.0)).collect(),
            Self::Mix(mix) => mix.iter().map(|(z, weight)| (*z, *weight)).collect(),
        }
    }

    /// The frequency of a zoom as an integer relative to the others: 10 and 65 for 1 and 6.5.
    pub(super) fn weight_of(&self, zoom: u8) -> u32 {
        let Self::Mix(mix) = self else { return 1 };
        // Frequencies are between 0.001 and a million.
        let scaled = |weight: f64, scale: u32| weight * f64::from(scale);
        let is_whole = |weight: f64| (weight - weight.round()).abs() < 1e-6;
        let fits = |scale: &u32| mix.values().all(|weight| is_whole(scaled(*weight, *scale)));
        let scale = [1, 10, 100].into_iter().find(fits).unwrap_or(1000);
        mix.get(&zoom).map_or(1, |weight| scaled(*weight, scale).round().max(1.0) as u32)
    }

    /// Lowest and highest.
    #[must_use]
    pub fn ends(&self) -> [u8; 2] {
        match self {
            Self::Range(ends) => *ends,
            Self::Mix(mix) => {
                [mix.keys().next().copied().unwrap_or(0), mix.keys().next_back().copied().unwrap_or(0)]
            }
        }
    }

    /// What is wrong with them.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Range([low, high]) if low > high || *high > HIGHEST => {
                Some(format!("invalid range [{low}, {high}]; it must be within 0..{HIGHEST}, lowest first"))
            }
            Self::Range(_) => None,
            Self::Mix(mix) if mix.is_empty() => Some("{} names no zoom; try { 12 = 1, 14 = 6 }".to_owned()),
            Self::Mix(mix) => mix.iter().find_map(|(z, weight)| {
                if *z > HIGHEST {
                    Some(format!("zoom {z} is not within 0..{HIGHEST}"))
                } else if !(weight.is_finite() && (0.001..=1e6).contains(weight)) {
                    Some(format!("zoom {z} is asked for {weight} times as often; give 0.001 to 1000000"))
                } else {
                    None
                }
            }),
        }
    }
}

impl fmt::Display for Zooms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.ends();
        write!(formatter, "z{low}-z{high}")?;
        if let Self::Mix(mix) = self {
            let shares: Vec<_> = mix.iter().map(|(z, weight)| format!("z{z}: {weight}")).collect();
            write!(formatter, " ({})", shares.join(", "))?;
        }
        Ok(())
    }
}

impl Serialize for Zooms {
    /// The same form as for reading: keys of a mix are strings, since TOML, in which options are changed, has
    /// no others.
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Range(ends) => ends.serialize(sink),
            Self::Mix(mix) => sink.collect_map(mix.iter().map(|(zoom, weight)| (zoom.to_string(), weight))),
        }
    }
}

impl<'de> Deserialize<'de> for Zooms {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Zooms;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("[lowest, highest] or { zoom = frequency, … }")
            }

            /// Exactly two numbers: otherwise the first two of a list of three would be accepted.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Zooms, A::Error> {
                let mut zooms = Vec::new();
                while let Some(zoom) = list.next_element::<u8>()? {
                    zooms.push(zoom);
                }
                let count = zooms.len();
                let two = zooms
                    .try_into()
                    .map_err(|_| serde::de::Error::invalid_length(count, &"an array of length 2"))?;
                Ok(Zooms::Range(two))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Zooms, A::Error> {
                let mut mix = BTreeMap::new();
                while let Some((zoom, weight)) = table.next_entry::<String, f64>()? {
                    let zoom = zoom
                        .parse()
                        .map_err(|_| serde::de::Error::custom(format!("\"{zoom}\" is not a zoom")))?;
                    mix.insert(zoom, weight);
                }
                Ok(Zooms::Mix(mix))
            }
        }

        source.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All zooms of a mix had the weight 1.
    #[test]
    fn weights_are_those_of_the_mix() {
        let weights = |mix: &[(u8, f64)]| {
            let zooms = Zooms::Mix(mix.iter().copied().collect());
            mix.iter().map(|(zoom, _)| zooms.weight_of(*zoom)).collect::<Vec<_>>()
        };
        assert_eq!(weights(&[(12, 1.0), (14, 6.0)]), [1, 6]);
        assert_eq!(weights(&[(12, 1.0), (14, 6.5)]), [10, 65]);
        assert_eq!(weights(&[(12, 0.001), (14, 1e6)]), [1, 1_000_000_000]);
        assert_eq!(Zooms::Range([12, 14]).weight_of(13), 1);
    }

    /// Plans are recognised by this text.
    #[test]
    fn zooms_are_written_as_they_are_read() {
        for (zooms, wanted) in [
            (Zooms::Range([12, 14]), "[12,14]"),
            (Zooms::Mix([(9, 1.0), (12, 6.5)].into()), r#"{"9":1.0,"12":6.5}"#),
        ] {
            let written = serde_json::to_string(&zooms).unwrap();
            assert_eq!(written, wanted);
            assert_eq!(serde_json::from_str::<Zooms>(&written).unwrap(), zooms);
        }
    }
}
