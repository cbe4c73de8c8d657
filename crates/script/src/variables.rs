//! A client's variables.

use std::sync::Arc;

use crate::error::EvalError;
use crate::number::{self, IntFault};
use crate::symbols::{Slot, Symbols, is_valid_name};
use crate::value::Value;

/// The variables of one client: a slot for every name in its scripts.
///
/// Text (from `-D` or a row) is stored unchanged, and gets a type at its first use in an expression. Storing
/// numbers does not allocate; storing text reuses the slot's memory.
#[derive(Debug, Clone)]
pub struct Variables {
    symbols: Arc<Symbols>,
    slots: Vec<Variable>,
    /// Room for a prefixed column name.
    name: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
struct Variable {
    content: VariableContent,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum VariableContent {
    #[default]
    Unset,
    /// `text` is unused.
    Value(Value),
    /// `text`, not yet used in an expression.
    Untyped,
    /// `text` and its value.
    Typed(Value),
}

impl Variables {
    /// All variables unset.
    pub fn new(symbols: Arc<Symbols>) -> Self {
        let slots = vec![Variable::default(); symbols.len()];
        Self { symbols, slots, name: Vec::new() }
    }

    /// The names of the variables.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Whether the variable has a value (null is one).
    pub fn is_set(&self, slot: Slot) -> bool {
        self.slots[slot.index()].content != VariableContent::Unset
    }

    /// Stores a value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.slots[slot.index()].content = VariableContent::Value(value);
    }

    /// Stores a value unless the variable is set: `-D` takes precedence over the automatic variables.
    pub fn set_default(&mut self, slot: Slot, value: Value) {
        if !self.is_set(slot) {
            self.set(slot, value);
        }
    }

    /// Stores text unchanged.
    #[inline]
    pub fn set_text(&mut self, slot: Slot, text: &[u8]) {
        let variable = &mut self.slots[slot.index()];
        variable.content = VariableContent::Untyped;
        variable.text.clear();
        variable.text.extend_from_slice(text);
    }

    /// Stores text under a name given at run time, as in `-D NAME=VALUE`.
    ///
    /// # Errors
    /// [`EvalError::BadName`] for an invalid name; `context` is the word before the message.
    pub fn define(&mut self, context: &'static str, name: &[u8], text: &[u8]) -> Result<(), EvalError> {
        if !is_valid_name(name) {
            return Err(EvalError::BadName {
                context: context.into(),
                name: String::from_utf8_lossy(name).into_owned(),
            });
        }
        if let Some(slot) = self.symbols.find(name) {
            self.set_text(slot, text);
        }
        Ok(())
    }

    /// Stores one column of a row for `\gset` or `\aset` (`context`, without the backslash); SQL null becomes
    /// the empty text.
    ///
    /// # Errors
    /// [`EvalError::BadName`] when prefix and column do not make a valid name.
    pub fn store_column(
        &mut self,
        context: &'static str,
        prefix: &[u8],
        column: &[u8],
        text: Option<&[u8]>,
    ) -> Result<(), EvalError> {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        name.extend_from_slice(prefix);
        name.extend_from_slice(column);
        let stored = self.define(context, &name, text.unwrap_or_default());
        self.name = name;
        stored
    }

    /// Appends the variable's text, as received or from its value. `false`, with nothing appended, when it is
    /// unset (SQL null as a parameter, unchanged in substituted SQL).
    #[inline]
    pub fn append_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let variable = &self.slots[slot.index()];
        match variable.content {
            VariableContent::Unset => return false,
            VariableContent::Value(value) => value.append_text(out),
            VariableContent::Untyped | VariableContent::Typed(_) => out.extend_from_slice(&variable.text),
        }
        true
    }

    /// The variable's value; its text gets a type if this is the first use.
    ///
    /// # Errors
    /// The variable is unset, or its text has no type.
    #[inline]
    pub fn value(&mut self, slot: Slot) -> Result<Value, EvalError> {
        match self.slots[slot.index()].content {
            VariableContent::Value(value) | VariableContent::Typed(value) => Ok(value),
            VariableContent::Unset => {
                Err(EvalError::UndefinedVariable { name: self.symbols.display_name(slot) })
            }
            VariableContent::Untyped => self.type_text(slot),
        }
    }

    #[cold]
    fn type_text(&mut self, slot: Slot) -> Result<Value, EvalError> {
        let variable = &mut self.slots[slot.index()];
        let fault = match infer(&variable.text) {
            Ok(value) => {
                variable.content = VariableContent::Typed(value);
                return Ok(value);
            }
            Err(fault) => fault,
        };
        let value = String::from_utf8_lossy(&variable.text).into_owned();
        Err(match fault {
            Untypable::Empty => EvalError::EmptyVariable { name: self.symbols.display_name(slot) },
            Untypable::Int(IntFault::Range) => EvalError::BigintRange { value },
            Untypable::Int(IntFault::Syntax) => EvalError::BigintSyntax { value },
            Untypable::Malformed => {
                EvalError::MalformedVariable { name: self.symbols.display_name(slot), value }
            }
        })
    }
}

/// Why a text has no type.
#[derive(Debug, PartialEq)]
enum Untypable {
    Empty,
    Int(IntFault),
    Malformed,
}

/// The value of a text: null, a boolean word or a prefix of one (not `o`), an integer, otherwise a double.
fn infer(text: &[u8]) -> Result<Value, Untypable> {
    if text.is_empty() {
        return Err(Untypable::Empty);
    }
    if text.eq_ignore_ascii_case(b"null") {
        return Ok(Value::Null);
    }
    if is_prefix(text, b"true") || is_prefix(text, b"yes") || text.eq_ignore_ascii_case(b"on") {
        return Ok(Value::Bool(true));
    }
    let is_off = text.eq_ignore_ascii_case(b"off") || text.eq_ignore_ascii_case(b"of");
    if is_prefix(text, b"false") || is_prefix(text, b"no") || is_off {
        return Ok(Value::Bool(false));
    }
    if looks_like_int(text) {
        return number::parse_int(text).map(Value::Int).map_err(Untypable::Int);
    }
    number::parse_double(text).map(Value::Double).ok_or(Untypable::Malformed)
}

fn is_prefix(text: &[u8], word: &[u8]) -> bool {
    word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// Blanks, a sign and digits only; a single sign passes too, and then fails as an integer.
fn looks_like_int(text: &[u8]) -> bool {
    let text = number::skip_spaces(text);
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    digits.iter().all(u8::is_ascii_digit)
}
