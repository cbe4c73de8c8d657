//! The delays of a sink.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The delay between a request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delay {
    #[default]
    None,
    Constant(Duration),
    /// Mostly `fast`, every `every`-th time `slow`.
    Bimodal {
        fast: Duration,
        slow: Duration,
        /// At least 1.
        every: u32,
    },
    /// `base`, but no reply leaves during the first `length` of every `every`, counted from the sink's start;
    /// the first stall comes after one `every`.
    Stalls {
        base: Duration,
        /// Time between the starts of two stalls.
        every: Duration,
        length: Duration,
    },
}

impl Delay {
    /// When the reply to request `number` (from 1) leaves, which arrived at `now`; ns since the sink's start.
    #[must_use]
    pub(super) fn due(&self, number: u64, now: u64) -> u64 {
        let ns = |duration: Duration| duration.as_nanos() as u64;
        match *self {
            Self::None => now,
            Self::Constant(delay) => now + ns(delay),
            Self::Bimodal { slow, every, .. } if number.is_multiple_of(u64::from(every.max(1))) => {
                now + ns(slow)
            }
            Self::Bimodal { fast, .. } => now + ns(fast),
            Self::Stalls { base, every, length } => {
                let (due, every) = (now + ns(base), ns(every).max(1));
                let into = due % every;
                if due >= every && into < ns(length) { due - into + ns(length) } else { due }
            }
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |duration: &Duration| duration.as_micros();
        match self {
            Self::None => formatter.write_str("none"),
            Self::Constant(delay) => write!(formatter, "constant:{}", us(delay)),
            Self::Bimodal { fast, slow, every } => {
                write!(formatter, "bimodal:{}:{}:{every}", us(fast), us(slow))
            }
            Self::Stalls { base, every, length } => {
                write!(formatter, "stalls:{}:{}:{}", us(base), us(every), us(length))
            }
        }
    }
}

impl FromStr for Delay {
    type Err = String;

    /// The format of `Display`; times in µs.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("no delay: \"{text}\"");
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let numbers: Vec<u64> = rest
            .split(':')
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let us = Duration::from_micros;
        Ok(match (kind, numbers.as_slice()) {
            ("none", []) => Self::None,
            ("constant", [delay]) => Self::Constant(us(*delay)),
            ("bimodal", [fast, slow, every]) => Self::Bimodal {
                fast: us(*fast),
                slow: us(*slow),
                every: u32::try_from(*every).map_err(|_| wrong())?,
            },
            ("stalls", [base, every, length]) => {
                Self::Stalls { base: us(*base), every: us(*every), length: us(*length) }
            }
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn delays_are_known_and_survive_being_written() {
        let ms = Duration::from_millis;
        let stalls = Delay::Stalls { base: ms(1), every: ms(100), length: ms(10) };
        let bimodal = Delay::Bimodal { fast: ms(1), slow: ms(20), every: 10 };
        let cases = [
            (Delay::None, 1, 5 * MS, 5 * MS),
            (Delay::Constant(ms(3)), 1, 5 * MS, 8 * MS),
            (bimodal, 9, 0, MS),
            (bimodal, 10, 0, 20 * MS),
            (stalls, 1, 5 * MS, 6 * MS),
            (stalls, 1, 99 * MS, 110 * MS),
            (stalls, 1, 104 * MS, 110 * MS),
            (stalls, 1, 109 * MS, 110 * MS),
            (stalls, 1, 150 * MS, 151 * MS),
        ];
        for (delay, number, now, due) in cases {
            assert_eq!(delay.due(number, now), due, "{delay} at {now}");
            assert_eq!(delay.to_string().parse(), Ok(delay));
        }
        for wrong in ["", "constant", "constant:x", "bimodal:1:2", "none:1", "stalls:1:2:3:4"] {
            assert!(wrong.parse::<Delay>().is_err(), "{wrong}");
        }
    }
}
