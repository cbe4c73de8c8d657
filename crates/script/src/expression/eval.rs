//! The stack machine.

use smallvec::SmallVec;

use super::functions::{BoxedEvalError, to_bool};
use super::{Expression, Op};
use crate::error::EvalError;
use crate::random::Random;
use crate::value::Value;
use crate::variables::Variables;

/// Intermediate values; only unusual expressions allocate.
type Stack = SmallVec<[Value; 16]>;

impl Expression {
    /// Evaluates the expression.
    ///
    /// Variables that hold text get a type at their first use. Random functions draw from `random`. Arguments
    /// of `debug()` are passed to `debug` in order, even if the evaluation fails later.
    ///
    /// # Errors
    /// See [`EvalError`]. Random numbers drawn before the error are not restored.
    #[inline]
    pub fn eval(
        &self,
        variables: &mut Variables,
        random: &mut Random,
        debug: &mut dyn FnMut(Value),
    ) -> Result<Value, EvalError> {
        match *self.code {
            [Op::Constant(value)] => Ok(value),
            [Op::Variable(slot)] => variables.value(slot),
            _ => self.run(variables, random, debug).map_err(|fault| *fault),
        }
    }

    fn run(
        &self,
        variables: &mut Variables,
        random: &mut Random,
        debug: &mut dyn FnMut(Value),
    ) -> Result<Value, BoxedEvalError> {
        let mut stack = Stack::new();
        let mut at = 0;
        while let Some(op) = self.code.get(at) {
            at += 1;
            match *op {
                Op::Constant(value) => stack.push(value),
                Op::Variable(slot) => stack.push(variables.value(slot)?),
                Op::Call(function, count) => {
                    let first = stack.len() - usize::from(count);
                    let value = function.apply(&stack[first..], random, debug)?;
                    stack.truncate(first);
                    stack.push(value);
                }
                Op::TooMany(_) => return Err(EvalError::TooManyArguments.into()),
                Op::AndThen(skip) => at += skip_unless(&mut stack, true, skip)?,
                Op::OrElse(skip) => at += skip_unless(&mut stack, false, skip)?,
                Op::Logical => check_logical(top(&stack))?,
                Op::Unless(skip) => {
                    if !stack.pop().is_some_and(Value::truth) {
                        at += skip;
                    }
                }
                Op::Skip(skip) => at += skip,
            }
        }
        Ok(top(&stack))
    }
}

/// The left side of AND and OR: drops it and continues if it is `undecided`, otherwise keeps it as the
/// result. Null decides, too.
fn skip_unless(stack: &mut Stack, undecided: bool, skip: usize) -> Result<usize, BoxedEvalError> {
    let left = top(stack);
    if left == Value::Null || to_bool(left)? != undecided {
        return Ok(skip);
    }
    stack.pop();
    Ok(0)
}

fn check_logical(right: Value) -> Result<(), BoxedEvalError> {
    if right == Value::Null { Ok(()) } else { to_bool(right).map(drop) }
}

fn top(stack: &[Value]) -> Value {
    stack.last().copied().unwrap_or(Value::Null)
}
