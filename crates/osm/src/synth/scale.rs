//! The size of a synthetic extract.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Cells of a scale of 1.
const CELLS: u64 = 125;

/// The size of an extract: 1 is a region of 1,400 square kilometres with about a million nodes, 10 is ten
/// times as large. 0.001 to 10,000, with at most three decimals. It is rounded up to whole municipalities of
/// 0.008.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtractScale {
    thousandths: u32,
}

/// An invalid scale.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scale {given}: give 0.001 to 10000, with at most three decimals; 1 is about a million nodes")]
pub struct ScaleError {
    pub given: String,
}

impl ExtractScale {
    /// A scale of 1.
    pub const ONE: Self = Self { thousandths: 1000 };
    const MOST: u32 = 10_000_000;

    /// A scale in thousandths, 1 to 10,000,000.
    ///
    /// # Errors
    /// [`ScaleError`] outside that range.
    pub fn from_thousandths(thousandths: u32) -> Result<Self, ScaleError> {
        if (1..=Self::MOST).contains(&thousandths) {
            Ok(Self { thousandths })
        } else {
            Err(ScaleError { given: format!("{thousandths}/1000") })
        }
    }

    /// Number of municipalities.
    pub(super) fn cells(self) -> u64 {
        (u64::from(self.thousandths) * CELLS).div_ceil(1000)
    }
}

impl FromStr for ExtractScale {
    type Err = ScaleError;

    fn from_str(given: &str) -> Result<Self, ScaleError> {
        let wrong = || ScaleError { given: given.to_owned() };
        let (whole, decimals) = given.split_once('.').unwrap_or((given, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
            return Err(wrong());
        }
        let decimals: u32 = format!("{decimals:0<3}").parse().map_err(|_| wrong())?;
        let whole: u32 = whole.parse().map_err(|_| wrong())?;
        let thousandths = whole.checked_mul(1000).and_then(|whole| whole.checked_add(decimals));
        Self::from_thousandths(thousandths.ok_or_else(wrong)?).map_err(|_| wrong())
    }
}

impl fmt::Display for ExtractScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.thousandths / 1000, self.thousandths % 1000);
        if decimals == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{decimals:03}").trim_end_matches('0'))
    }
}

impl Serialize for ExtractScale {
    /// As a number.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.thousandths % 1000 {
            0 => to.serialize_u32(self.thousandths / 1000),
            _ => to.serialize_f64(f64::from(self.thousandths) / 1000.0),
        }
    }
}

impl<'de> Deserialize<'de> for ExtractScale {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = ExtractScale;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0.001 to 10000")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ExtractScale, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ExtractScale, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<ExtractScale, E> {
                number.to_string().parse().map_err(E::custom)
            }
        }

        source.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_read_and_shown() {
        for (given, shown, cells) in [
            ("1", "1", 125),
            ("0.01", "0.01", 2),
            ("0.001", "0.001", 1),
            ("0.017", "0.017", 3),
            ("2.50", "2.5", 313),
            ("10000", "10000", 1_250_000),
        ] {
            let scale: ExtractScale = given.parse().unwrap();
            assert_eq!((scale.to_string().as_str(), scale.cells()), (shown, cells));
        }
        for given in
            ["", "0", "0.0", "-1", "+1", "1.", ".5", "1e3", "0.0001", "10000.001", "99999999999", "½"]
        {
            let error = given.parse::<ExtractScale>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("scale {given}:")), "{error}");
        }
    }

    #[test]
    fn scales_are_numbers_in_files() {
        for (written, shown) in
            [("1", "1"), ("1.0", "1"), ("0.1", "0.1"), ("2.505", "2.505"), ("1e4", "10000")]
        {
            let scale: ExtractScale = serde_json::from_str(written).unwrap();
            assert_eq!(scale.to_string(), shown);
            assert_eq!(serde_json::to_string(&scale).unwrap(), shown);
        }
        for written in ["0", "-1", "0.0001", "1e300", "10001", "\"1\""] {
            serde_json::from_str::<ExtractScale>(written).expect_err(written);
        }
    }
}
