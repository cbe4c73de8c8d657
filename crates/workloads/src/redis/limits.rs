//! The memory limit of Redis, and what it does when the memory is full.

use std::fmt;

use protocol::redis::{Limits, RedisAnswer, RedisConnection};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use spec::Error;

use crate::error;
use crate::error::unknown_word;

const MB: u64 = 1 << 20;
const UNITS: [(&str, u64); 5] = [("TB", MB << 20), ("GB", MB << 10), ("MB", MB), ("kB", 1 << 10), ("B", 1)];
/// Less than its own memory is not a limit, and more than any machine has is a mistake.
const LEAST: u64 = MB;
const MOST: u64 = 64 * (MB << 20);

/// `64MB`: units of 1024, as in PostgreSQL and Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory(u64);

impl Memory {
    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// The error gives the accepted form.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid size of memory \"{text}\"; write e.g. \"64MB\" or \"2GB\"");
        let word = text.trim();
        let at = word.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = word.split_at(at);
        let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()));
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let bytes = unit.and_then(|(_, of)| number.checked_mul(*of)).ok_or_else(wrong)?;
        match bytes {
            LEAST..=MOST => Ok(Self(bytes)),
            _ => Err(format!("\"{text}\" is not within 1MB..64TB")),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, of) = UNITS.iter().find(|(_, of)| self.0.is_multiple_of(*of)).unwrap_or(&UNITS[4]);
        write!(formatter, "{}{name}", self.0 / of)
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(source)?).map_err(serde::de::Error::custom)
    }
}

/// Redis' `maxmemory-policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eviction {
    /// Refuse commands that need more.
    #[default]
    NoEviction,
    AllKeysLru,
    AllKeysLfu,
    AllKeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
}

impl Eviction {
    const ALL: [Self; 8] = [
        Self::NoEviction,
        Self::AllKeysLru,
        Self::AllKeysLfu,
        Self::AllKeysRandom,
        Self::VolatileLru,
        Self::VolatileLfu,
        Self::VolatileRandom,
        Self::VolatileTtl,
    ];

    /// Redis' name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoEviction => "noeviction",
            Self::AllKeysLru => "allkeys-lru",
            Self::AllKeysLfu => "allkeys-lfu",
            Self::AllKeysRandom => "allkeys-random",
            Self::VolatileLru => "volatile-lru",
            Self::VolatileLfu => "volatile-lfu",
            Self::VolatileRandom => "volatile-random",
            Self::VolatileTtl => "volatile-ttl",
        }
    }

    /// Whether only keys that expire are evicted.
    pub(super) fn is_of_volatile(self) -> bool {
        self.name().starts_with("volatile-")
    }
}

impl Serialize for Eviction {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Eviction {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let word = String::deserialize(source)?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|policy| policy.name() == word).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            serde::de::Error::custom(unknown_word("policy of eviction", &word, &names))
        })
    }
}

/// Sets the limits if they differ, and reads them back; returns whether they differed.
///
/// # Errors
/// When Redis refuses, or other limits are in force.
pub(crate) fn set(control: &mut dyn RedisConnection, wanted: &Limits) -> Result<bool, Error> {
    if Limits::of(&control.info().map_err(error::redis)?).as_ref() == Some(wanted) {
        return Ok(false);
    }
    let bytes = wanted.memory_bytes.to_string();
    for (name, value) in [("maxmemory-policy", wanted.policy.as_str()), ("maxmemory", bytes.as_str())] {
        let doing = format!("CONFIG SET {name} {value}");
        match control.one(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()]).map_err(error::redis)? {
            RedisAnswer::Done(_) => {}
            RedisAnswer::Error(problem) => return Err(error::redis_answer(doing, problem)),
            _ => return Err(error::redis_answer(doing, "no answer to it")),
        }
    }
    let found = Limits::of(&control.info().map_err(error::redis)?);
    if found.as_ref() == Some(wanted) {
        return Ok(true);
    }
    let doing = format!("setting {}", words(wanted));
    let found = found.as_ref().map_or_else(|| "unknown".to_owned(), words);
    Err(error::redis_answer(doing, format!("read back, it is {found}")))
}

fn words(limits: &Limits) -> String {
    format!("maxmemory {} with {}", limits.memory_bytes, limits.policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory_are_read_and_written() {
        for (text, bytes, written) in [
            ("64MB", 64 << 20, "64MB"),
            ("64mb", 64 << 20, "64MB"),
            ("2 GB", 2 << 30, "2GB"),
            ("1024kB", 1 << 20, "1MB"),
            ("1500000B", 1_500_000, "1500000B"),
        ] {
            let memory = Memory::parse(text).unwrap();
            assert_eq!((memory.bytes(), memory.to_string().as_str()), (bytes, written), "{text}");
        }
        for text in ["", "64", "MB", "64 apples", "-1MB", "1kB", "65TB", "99999999999999999999GB"] {
            assert!(Memory::parse(text).is_err(), "{text}");
        }
    }
}
