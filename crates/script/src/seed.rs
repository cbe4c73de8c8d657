//! The values of `--random-seed` and `PGBENCH_RANDOM_SEED`.

/// The source of a run's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seed {
    /// The clock, read by the caller.
    #[default]
    Time,
    /// A strong source of randomness, read by the caller.
    Strong,
    Value(u64),
}

/// The seed is neither a known word nor a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized random seed option \"{given}\"")]
pub struct SeedError {
    pub given: String,
}

impl SeedError {
    /// The `detail:` line after the message.
    pub const DETAIL: &'static str = "Expecting an unsigned integer, \"time\" or \"rand\".";
}

impl Seed {
    /// Parses `time`, `rand` or an unsigned integer. As in C, a minus sign counts from 2^64 down.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, SeedError> {
        match text {
            "time" => return Ok(Self::Time),
            "rand" => return Ok(Self::Strong),
            _ => {}
        }
        let number = text.trim_start_matches([' ', '\t', '\n', '\x0B', '\x0C', '\r']);
        let (negative, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SeedError { given: text.into() });
        }
        // Only too large a number can still fail; C uses the largest one.
        Ok(Self::Value(match digits.parse::<u64>() {
            Ok(value) if negative => value.wrapping_neg(),
            Ok(value) => value,
            Err(_) => u64::MAX,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds() {
        let cases = [
            ("time", Some(Seed::Time)),
            ("rand", Some(Seed::Strong)),
            ("0", Some(Seed::Value(0))),
            (" +5432", Some(Seed::Value(5432))),
            ("18446744073709551615", Some(Seed::Value(u64::MAX))),
            ("-1", Some(Seed::Value(u64::MAX))),
            ("99999999999999999999", Some(Seed::Value(u64::MAX))),
            ("one", None),
            ("", None),
            ("+-1", None),
            ("12x", None),
            ("12 ", None),
            ("Time", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Seed::parse(text).ok(), expected, "{text}");
        }
        let error = Seed::parse("one").map_err(|error| error.to_string());
        assert_eq!(error, Err("unrecognized random seed option \"one\"".into()));
    }
}
