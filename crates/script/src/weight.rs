//! `NAME@WEIGHT`, as `-b` and `-f` take it.

/// A script's name and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighted {
    /// Name of a file or a builtin script.
    pub name: String,
    /// Share of the choices, 0 to 2^31 - 1; 1 by default.
    pub weight: u32,
}

/// Why a weight cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightError {
    #[error("invalid weight specification: {given}")]
    Invalid {
        /// The text from the `@` on.
        given: String,
    },
    #[error("weight specification out of range (0 .. {}): {given}", i32::MAX)]
    OutOfRange { given: i64 },
}

impl Weighted {
    /// Splits at the last `@`; without one the weight is 1.
    pub fn parse(text: &str) -> Result<Self, WeightError> {
        let Some(at) = text.rfind('@') else {
            return Ok(Self { name: text.into(), weight: 1 });
        };
        let (name, given) = text.split_at(at);
        let number = given[1..].trim_start_matches([' ', '\t', '\n', '\x0B', '\x0C', '\r']);
        let number: i64 = number.parse().map_err(|_| WeightError::Invalid { given: given.into() })?;
        if !(0..=i64::from(i32::MAX)).contains(&number) {
            return Err(WeightError::OutOfRange { given: number });
        }
        Ok(Self { name: name.into(), weight: number as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights() {
        let ok = |name: &str, weight| Ok(Weighted { name: name.into(), weight });
        let invalid = |given: &str| Err(WeightError::Invalid { given: given.into() });
        let cases = [
            ("file.sql", ok("file.sql", 1)),
            ("file.sql@3", ok("file.sql", 3)),
            ("file.sql@0", ok("file.sql", 0)),
            ("me@home/file.sql@ +2", ok("me@home/file.sql", 2)),
            ("-@2147483647", ok("-", 2_147_483_647)),
            ("a@2147483648", Err(WeightError::OutOfRange { given: 2_147_483_648 })),
            ("a@-1", Err(WeightError::OutOfRange { given: -1 })),
            ("select-only@one", invalid("@one")),
            ("a@", invalid("@")),
            ("a@1 ", invalid("@1 ")),
            ("a@99999999999999999999", invalid("@99999999999999999999")),
        ];
        for (text, expected) in cases {
            assert_eq!(Weighted::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn messages() {
        let message = |text| Weighted::parse(text).map_err(|error| error.to_string());
        assert_eq!(message("a@one"), Err("invalid weight specification: @one".into()));
        assert_eq!(message("a@-1"), Err("weight specification out of range (0 .. 2147483647): -1".into()));
    }
}
