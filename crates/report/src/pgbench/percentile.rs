//! A requested percentile.

use std::fmt;
use std::str::FromStr;

use stats::Histogram;

/// A percentile from 1 to 100, to three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile {
    thousandths: u32,
}

/// The text is not a percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a percentile is a number from 1 to 100 with at most three decimals")]
pub struct PercentileError;

impl FromStr for Percentile {
    type Err = PercentileError;

    fn from_str(text: &str) -> Result<Self, PercentileError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str, most| {
            !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(fraction, 3) {
            return Err(PercentileError);
        }
        let thousandths: u32 = format!("{whole}{fraction:0<3}").parse().map_err(|_| PercentileError)?;
        match thousandths {
            1_000..=100_000 => Ok(Self { thousandths }),
            _ => Err(PercentileError),
        }
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", f64::from(self.thousandths) / 1000.0)
    }
}

impl Percentile {
    /// The value at it, ns; `None` if nothing was recorded.
    #[must_use]
    pub fn of(self, values: &Histogram) -> Option<u64> {
        values.quantile_ns(f64::from(self.thousandths) / 100_000.0)
    }

    /// Its name in machine formats: `p99_9`.
    #[must_use]
    pub fn key(self) -> String {
        format!("p{self}").replace('.', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (text, shown) in [
            ("50", "50"),
            ("99.9", "99.9"),
            ("99.990", "99.99"),
            ("1", "1"),
            ("100.000", "100"),
            ("05.5", "5.5"),
        ] {
            assert_eq!(
                text.parse::<Percentile>().map(|percentile| percentile.to_string()),
                Ok(shown.to_owned())
            );
        }
        for text in [
            "", "0", "0.999", "100.001", "101", "-5", "+5", "5.", ".5", "99.9999", "p50", "1e1", "5 ", "0050",
        ] {
            assert_eq!(text.parse::<Percentile>(), Err(PercentileError), "{text}");
        }
    }

    #[test]
    fn values() {
        let mut values = Histogram::new();
        (1..=1000).for_each(|value| values.record(value * 1_000_000));
        let at = |text: &str| text.parse::<Percentile>().ok().and_then(|percentile| percentile.of(&values));
        assert_eq!(at("100"), Some(1_000_000_000));
        assert!(at("50").is_some_and(|ns| (499_000_000..=501_000_000).contains(&ns)));
        assert_eq!("99.9".parse::<Percentile>().map(Percentile::key), Ok("p99_9".to_owned()));
        assert_eq!("50".parse::<Percentile>().ok().and_then(|p| p.of(&Histogram::new())), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_tried(text in "\\PC*") {
            let _ = text.parse::<Percentile>();
        }
    }
}
