//! A set of CPUs, in the notation of Linux's tools.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Class, Error};

/// Upper bound on CPU numbers; no supported system has more.
const MOST: usize = 1024;

/// A set of CPU numbers, not empty; written `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct Cpus(BTreeSet<usize>);

impl Cpus {
    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Whether the set contains this CPU.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// The number of CPUs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether the two sets are disjoint.
    #[must_use]
    pub fn is_apart_from(&self, others: &Self) -> bool {
        self.0.is_disjoint(&others.0)
    }
}

impl FromIterator<usize> for Cpus {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl TryFrom<Vec<usize>> for Cpus {
    type Error = String;

    fn try_from(cpus: Vec<usize>) -> Result<Self, String> {
        match cpus.iter().find(|cpu| **cpu >= MOST) {
            Some(cpu) => Err(format!("there is no CPU {cpu}")),
            None if cpus.is_empty() => Err("at least one CPU must be named".to_owned()),
            None => Ok(cpus.into_iter().collect()),
        }
    }
}

impl From<Cpus> for Vec<usize> {
    fn from(cpus: Cpus) -> Self {
        cpus.0.into_iter().collect()
    }
}

impl FromStr for Cpus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last && last < MOST).then_some(first..=last)
        };
        let parts: Option<Vec<_>> = text.split(',').map(part).collect();
        parts
            .map(|parts| parts.into_iter().flatten().collect())
            .ok_or_else(|| Error::new(Class::Usage, format!("{text:?} names no CPUs; write them as 0,2-3")))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut between = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(f, "{between}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            between = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_as_read() {
        for (text, numbers, written) in [
            ("0", vec![0], "0"),
            ("3,0-1", vec![0, 1, 3], "0-1,3"),
            ("1, 2,3", vec![1, 2, 3], "1-3"),
            ("0-3,8", vec![0, 1, 2, 3, 8], "0-3,8"),
        ] {
            let cpus: Cpus = text.parse().unwrap();
            assert_eq!(Vec::from(cpus.clone()), numbers, "{text}");
            assert_eq!(cpus.to_string(), written);
            assert_eq!(serde_json::from_str::<Cpus>(&serde_json::to_string(&cpus).unwrap()).unwrap(), cpus);
        }
        for wrong in ["", "a", "2-1", "1,,2", "-1", "0-99999999999"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
        for wrong in ["[]", "[5000]", "[-1]", "3"] {
            assert!(serde_json::from_str::<Cpus>(wrong).is_err(), "{wrong}");
        }
    }
}
