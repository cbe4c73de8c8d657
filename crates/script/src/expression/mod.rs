//! Expressions of `\set`, `\if` and `\elif`.
//!
//! An expression is compiled to code for a stack machine. Evaluation follows no pointers, and neither long
//! chains of operators nor dropping it can overflow the thread's stack.

mod eval;
mod functions;
mod parse;
mod print;
mod token;

pub(crate) use parse::parse;
pub(crate) use token::{continuation_len, is_blank};

use functions::Function;

use crate::symbols::Slot;
use crate::value::Value;

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    code: Vec<Op>,
}

/// One step. Each leaves one more value on the stack than it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Constant(Value),
    Variable(Slot),
    Call(Function, u8),
    /// The call has too many arguments: fails after the first 16 have been evaluated.
    TooMany(Function),
    /// The left side of AND: unless it is true it is the result, and the right side (this many steps) is
    /// skipped.
    AndThen(usize),
    /// The left side of OR: unless it is false it is the result, and the right side is skipped.
    OrElse(usize),
    /// The right side of AND and OR must be boolean or null.
    Logical,
    /// A condition of CASE: unless it holds, skips its value.
    Unless(usize),
    /// After a value of CASE: skips the rest of it.
    Skip(usize),
}
