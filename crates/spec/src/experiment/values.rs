//! Values of an experiment file beyond TOML's types: bounds, lengths of time, shares, levels.
//!
//! The error of a reader says what the value must be; advice is on a separate line.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

use super::value::{time, whole_number};

/// Elements of a list. A list of one is written as that value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueList(pub Vec<Value>);

impl ValueList {
    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Into<Value>> FromIterator<V> for ValueList {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        Self(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for ValueList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] if !one.is_array() => one.serialize(to),
            several => several.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ValueList {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match Value::deserialize(source)? {
            Value::Array(list) if list.is_empty() => Err(D::Error::custom("must not be empty")),
            Value::Array(list) => Ok(Self(list)),
            one => Ok(Self(vec![one])),
        }
    }
}

/// A whole number; bounds are checked when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Whole<const LEAST: u64, const MOST: u64>(pub u64);

impl<const LEAST: u64, const MOST: u64> Whole<LEAST, MOST> {
    /// Does not check the bounds.
    #[must_use]
    pub fn new(number: impl Into<u64>) -> Self {
        Self(number.into())
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        whole_number(&Value::deserialize(source)?, LEAST, MOST).map(Self).map_err(D::Error::custom)
    }
}

/// A length of time; bounds in µs are checked when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedDuration<const LEAST: u64, const MOST: u64>(pub Duration);

/// More seconds than any length of time may have.
const TOO_LONG_S: u64 = 1 << 40;

impl<const LEAST: u64, const MOST: u64> BoundedDuration<LEAST, MOST> {
    /// From seconds, to the microsecond. A negative number is always out of bounds, as is a time that is too
    /// long.
    #[must_use]
    pub fn seconds(seconds: f64) -> Self {
        Self(match seconds < 0.0 || seconds >= TOO_LONG_S as f64 {
            true => Duration::from_secs(TOO_LONG_S),
            false => Duration::from_micros((seconds * 1e6).round() as u64),
        })
    }
}

impl<const LEAST: u64, const MOST: u64> Serialize for BoundedDuration<LEAST, MOST> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        written(self.0).serialize(to)
    }
}

fn written(time: Duration) -> String {
    match time.as_micros() {
        us if us < 1_000_000 => format!("{}ms", us as f64 / 1e3),
        us => format!("{}s", us as f64 / 1e6),
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for BoundedDuration<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        time(&Value::deserialize(source)?, LEAST, MOST).map(Self).map_err(D::Error::custom)
    }
}

/// A share, written as `"3%"`; must be between 0 and 1, which is checked when it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl Share {
    /// The share of this many percent.
    #[must_use]
    pub fn percent(percent: f64) -> Self {
        Self(percent / 100.0)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // The shortest percentage that gives the same share when read.
        let exact = self.0 * 100.0;
        let rounded = (exact * 1e9).round() / 1e9;
        let percent = if rounded / 100.0 == self.0 { rounded } else { exact };
        format!("{percent}%").serialize(to)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
        percent.map(Self::percent).ok_or_else(|| {
            D::Error::custom(format!(
                "invalid share \"{text}\": it must be above 0% and below 100%\nwrite a share such as \"3%\""
            ))
        })
    }
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
