//! Values of expressions and variables.

use std::fmt;

use crate::number;

/// The result of an expression, or a variable's value with its type.
// All payloads at one place: the compiler then copies a value as two words, not bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u64)]
pub enum Value {
    /// Most functions return null for it.
    Null,
    /// Never converts to a number.
    Bool(bool),
    Int(i64),
    /// Double precision; may be infinite or not a number.
    Double(f64),
}

impl Value {
    /// The truth of a condition (`\if`, `CASE WHEN`): true, or a number other than zero.
    #[inline]
    pub fn truth(self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => value,
            Value::Int(value) => value != 0,
            Value::Double(value) => value != 0.0,
        }
    }

    /// The name of its type in messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Double(_) => "double",
        }
    }

    /// Appends the value's text for SQL or a parameter: `NULL`, `true`, digits, or `%.15g`.
    pub fn append_text(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(value) => number::append_int(value, out),
            Value::Double(value) => number::append_double(value, out),
        }
    }
}

/// A line printed by `debug(value)`, without its line end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DebugLine {
    pub script: usize,
    /// Index of the command in the script (the printed one counts from 1).
    pub command: usize,
    pub value: Value,
}

impl fmt::Display for DebugLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debug(script={},command={}): ", self.script, self.command + 1)?;
        match self.value {
            Value::Null => f.write_str("null"),
            value => {
                let mut text = Vec::with_capacity(32);
                value.append_text(&mut text);
                write!(f, "{} {}", value.type_name(), String::from_utf8_lossy(&text))
            }
        }
    }
}
