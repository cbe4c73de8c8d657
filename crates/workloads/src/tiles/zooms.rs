//! Which zooms are asked for, and how often.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The highest zoom of the grid.
pub(super) const HIGHEST: u8 = 22;

/// `[12, 16]`, or `{ 12 = 1, 14 = 6, 16 = 3 }`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Zooms {
    /// Lowest and highest; all between are asked for equally often.
    Range([u8; 2]),
    /// Zooms with their relative frequency.
    Mix(BTreeMap<u8, f64>),
}

impl Zooms {
    /// Each zoom with its relative frequency, from the lowest.
    #[must_use]
    pub fn weighted(&self) -> Vec<(u8, f64)> {
        match self {
            Self::Range([low, high]) => (*low..=*high).map(|z| (z, 1.0)).collect(),
            Self::Mix(mix) => mix.iter().map(|(z, weight)| (*z, *weight)).collect(),
        }
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
                Some(format!("[{low}, {high}] is no range within 0..{HIGHEST}, lowest first"))
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

impl<'de> Deserialize<'de> for Zooms {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Zooms;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("[lowest, highest] or { zoom = frequency, … }")
            }

            /// Exactly two numbers: a list of three would be taken by its first two.
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
