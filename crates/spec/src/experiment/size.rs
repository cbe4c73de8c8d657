//! Sizes with their units: `"8k"`, `"256MB"`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

use super::value::described;

/// Bytes, with units of 1024; bounds are checked when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size<const LEAST: u64 = 0, const MOST: u64 = { u64::MAX }>(pub u64);

impl<const LEAST: u64, const MOST: u64> Serialize for Size<LEAST, MOST> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            bytes if bytes > 0 && bytes.is_multiple_of(1024) => words(bytes),
            bytes => format!("{bytes}b"),
        }
        .serialize(to)
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Size<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(source)?;
        let read = value.as_str().and_then(bytes).ok_or_else(|| {
            let what = described(&value);
            D::Error::custom(format!(
                "must be a size, not {what}\nwrite a number with its unit: \"8k\", \"4GB\""
            ))
        })?;
        match (LEAST..=MOST).contains(&read) {
            true => Ok(Self(read)),
            false => Err(D::Error::custom(format!("must be from {} to {}", words(LEAST), words(MOST)))),
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" if !unit.trim().is_empty() => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// With the largest unit that divides it.
pub(super) fn words(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "k")];
    let unit = units.into_iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        let cases = [("8k", Some(8192)), ("8 kB", Some(8192)), ("4GiB", Some(4 << 30)), ("512B", Some(512))];
        let wrong = ["8", "k", "8x", "-1k", "", "99999999999999999T"].map(|text| (text, None));
        for (text, wanted) in cases.into_iter().chain(wrong) {
            assert_eq!(bytes(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for size in [0, 1, 512, 1024, 1536, 300 << 20, 256 << 20, 3 << 40, u64::MAX] {
            let written = Value::try_from(Size::<0, { u64::MAX }>(size)).unwrap();
            assert_eq!(written.try_into(), Ok(Size::<0, { u64::MAX }>(size)));
        }
    }
}
