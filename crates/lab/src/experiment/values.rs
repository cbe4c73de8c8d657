//! Values of an experiment file that are more than TOML knows: bounds, lengths of time, shares, levels.
//!
//! The error of a reader says what the value must be; advice follows on its own line.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Value;

pub(super) use crate::values::time;
use crate::values::whole;

/// Elements of a list, or the one value standing for a list of one.
#[derive(Debug, Default)]
pub(super) struct List(pub(super) Vec<Value>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match Value::deserialize(source)? {
            Value::Array(list) if list.is_empty() => Err(D::Error::custom("must not be empty")),
            Value::Array(list) => Ok(Self(list)),
            one => Ok(Self(vec![one])),
        }
    }
}

/// A whole number within bounds.
#[derive(Debug)]
pub(super) struct Whole<const LEAST: u64, const MOST: u64>(pub(super) u64);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        whole(&Value::deserialize(source)?, LEAST, MOST).map(Self).map_err(D::Error::custom)
    }
}

/// A length of time within bounds in µs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time<const LEAST: u64, const MOST: u64>(pub(super) Duration);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Time<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        time(&Value::deserialize(source)?, LEAST, MOST).map(Self).map_err(D::Error::custom)
    }
}

/// `"3%"`, where it may be left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share(pub(super) f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        share(source).map(Self)
    }
}

/// `"3%"`: a share between 0 and 1.
pub(super) fn share<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    let text = String::deserialize(source)?;
    let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        D::Error::custom(format!(
            "the text \"{text}\" is no share above 0% and below 100%\nwrite a share such as \"3%\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let cases = [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("2min", Some(120_000)),
            ("1.5h", Some(5_400_000)),
            (" 3 s ", Some(3_000)),
            ("4min 30s", Some(270_000)),
            ("4min30s", Some(270_000)),
            ("4min 30", None),
            ("10", None),
            ("10m", Some(600_000)),
            ("-1s", None),
            ("s", None),
            ("", None),
            ("1e30h", None),
            ("nans", None),
        ];
        for (text, wanted) in cases {
            let read = time(&Value::from(text), 0, u64::MAX).ok();
            assert_eq!(read, wanted.map(Duration::from_millis), "{text}");
        }
    }
}
