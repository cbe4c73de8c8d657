//! Writes code as text, with every operation in parentheses.

use super::functions::{Function, Spelling};
use super::{Expression, Op};
use crate::error::MAX_ARGUMENTS;
use crate::symbols::Symbols;
use crate::value::Value;

impl Expression {
    /// Text that parses to the same expression.
    pub fn to_text(&self, symbols: &Symbols) -> String {
        Printer { code: &self.code, symbols }.range(0, self.code.len())
    }
}

struct Printer<'a> {
    code: &'a [Op],
    symbols: &'a Symbols,
}

impl Printer<'_> {
    /// The text of the one value that the steps `start..end` leave.
    fn range(&self, start: usize, end: usize) -> String {
        let mut stack: Vec<String> = Vec::new();
        let mut at = start;
        while at < end {
            let op = self.code[at];
            at += 1;
            let text = match op {
                Op::Constant(value) => constant(value),
                Op::Variable(slot) => format!(":{}", self.symbols.display_name(slot)),
                Op::Call(function, count) => {
                    let arguments = stack.split_off(stack.len().saturating_sub(usize::from(count)));
                    call(function, &arguments)
                }
                Op::TooMany(function) => {
                    let mut arguments = stack.split_off(stack.len().saturating_sub(MAX_ARGUMENTS));
                    arguments.push("0".into());
                    call(function, &arguments)
                }
                Op::AndThen(skip) | Op::OrElse(skip) => {
                    let left = stack.pop().unwrap_or_default();
                    let right = self.range(at, at + skip - 1);
                    at += skip;
                    let operator = if matches!(op, Op::AndThen(_)) { "AND" } else { "OR" };
                    format!("({left} {operator} {right})")
                }
                Op::Unless(skip) => {
                    let first = stack.pop().unwrap_or_default();
                    let (text, behind) = self.case(first, at, skip);
                    at = behind;
                    text
                }
                Op::Logical | Op::Skip(_) => continue,
            };
            stack.push(text);
        }
        stack.pop().unwrap_or_default()
    }

    /// A CASE whose first condition has been printed, and the step after it.
    fn case(&self, first: String, at: usize, skip: usize) -> (String, usize) {
        let mut text = format!("CASE WHEN {first}");
        let (mut value, mut skip) = (at, skip);
        loop {
            let exit = value + skip - 1;
            text.push_str(&format!(" THEN {}", self.range(value, exit)));
            let Op::Skip(rest) = self.code[exit] else { return (text, exit) };
            let behind = exit + 1 + rest;
            match self.next_condition(exit + 1, behind) {
                Some((condition, next_skip)) => {
                    text.push_str(&format!(" WHEN {}", self.range(exit + 1, condition)));
                    (value, skip) = (condition + 1, next_skip);
                }
                None => {
                    text.push_str(&format!(" ELSE {} END", self.range(exit + 1, behind)));
                    return (text, behind);
                }
            }
        }
    }

    /// The step that ends the condition starting at `start`, if this CASE, which ends at `behind`, has
    /// another one. A jump to the end of the CASE follows its value.
    fn next_condition(&self, start: usize, behind: usize) -> Option<(usize, usize)> {
        let mut at = start;
        while at < behind {
            match self.code[at] {
                Op::Unless(skip) => {
                    let exit = at + skip;
                    match self.code[exit] {
                        Op::Skip(rest) if exit + 1 + rest == behind => return Some((at, skip)),
                        Op::Skip(rest) => at = exit + 1 + rest,
                        _ => return None,
                    }
                }
                Op::AndThen(skip) | Op::OrElse(skip) => at += 1 + skip,
                _ => at += 1,
            }
        }
        None
    }
}

fn call(function: Function, arguments: &[String]) -> String {
    match (function.spelling(), arguments) {
        // The expansion of `~x`; -1 cannot be written as a constant.
        (Spelling::Infix("#"), [left, right]) if left == "-1" => format!("(~ {right})"),
        (Spelling::Infix(operator), [left, right]) => format!("({left} {operator} {right})"),
        (Spelling::Prefix(operator), [operand]) => format!("({operator} {operand})"),
        (Spelling::Call(name) | Spelling::Infix(name) | Spelling::Prefix(name), arguments) => {
            format!("{name}({})", arguments.join(", "))
        }
    }
}

fn constant(value: Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(true) => "TRUE".into(),
        Value::Bool(false) => "FALSE".into(),
        Value::Int(-1) => "-1".into(),
        Value::Int(value) if value < 0 => format!("({value})"),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => format!("{value:e}"),
    }
}
