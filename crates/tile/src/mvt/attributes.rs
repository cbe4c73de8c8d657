//! Values of a feature's attributes.

use super::Broken;
use super::wire::{Field, each_field, zigzag};

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    /// Whole numbers of all three encodings.
    Whole(i128),
    /// Numbers of 32 and 64 bits with a fraction.
    Real(f64),
    Truth(bool),
    /// Of a kind that the specification does not name.
    Unknown,
}

impl Value {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Broken> {
        let mut value = Self::Unknown;
        each_field(bytes, |number, field| {
            value = match (number, field) {
                (1, Field::Bytes(text)) => Self::Text(String::from_utf8_lossy(text).into_owned()),
                (2, Field::Four(bytes)) => Self::Real(f64::from(f32::from_le_bytes(bytes))),
                (3, Field::Eight(bytes)) => Self::Real(f64::from_le_bytes(bytes)),
                (4, Field::Number(number)) => Self::Whole(i128::from(number as i64)),
                (5, Field::Number(number)) => Self::Whole(i128::from(number)),
                (6, Field::Number(number)) => Self::Whole(i128::from(zigzag(number))),
                (7, Field::Number(number)) => Self::Truth(number != 0),
                _ => return Ok(()),
            };
            Ok(())
        })?;
        Ok(value)
    }
}
