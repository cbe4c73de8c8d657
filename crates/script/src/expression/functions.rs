//! The functions and operators, and what each does with its arguments.

use crate::error::EvalError;
use crate::hash::{fnv1a, murmur2, permute};
use crate::random::Random;
use crate::value::Value;

/// Boxed, so that a result is no larger than a value.
pub(super) type BoxedEvalError = Box<EvalError>;

const MIN_GAUSSIAN: f64 = 2.0;
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// A function, or an operator that always evaluates its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Pow,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// Number of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// This many arguments, of which the last, a seed, is optional.
    SeedOptional(usize),
}

/// The functions that scripts can name.
const NAMED: [(&str, Function, Arity); 21] = [
    ("abs", Function::Abs, Arity::Exactly(1)),
    ("debug", Function::Debug, Arity::Exactly(1)),
    ("double", Function::Double, Arity::Exactly(1)),
    ("exp", Function::Exp, Arity::Exactly(1)),
    ("greatest", Function::Greatest, Arity::AtLeastOne),
    ("hash", Function::HashMurmur2, Arity::SeedOptional(2)),
    ("hash_fnv1a", Function::HashFnv1a, Arity::SeedOptional(2)),
    ("hash_murmur2", Function::HashMurmur2, Arity::SeedOptional(2)),
    ("int", Function::Int, Arity::Exactly(1)),
    ("least", Function::Least, Arity::AtLeastOne),
    ("ln", Function::Ln, Arity::Exactly(1)),
    ("mod", Function::Mod, Arity::Exactly(2)),
    ("permute", Function::Permute, Arity::SeedOptional(3)),
    ("pi", Function::Pi, Arity::Exactly(0)),
    ("pow", Function::Pow, Arity::Exactly(2)),
    ("power", Function::Pow, Arity::Exactly(2)),
    ("random", Function::Random, Arity::Exactly(2)),
    ("random_exponential", Function::RandomExponential, Arity::Exactly(3)),
    ("random_gaussian", Function::RandomGaussian, Arity::Exactly(3)),
    ("random_zipfian", Function::RandomZipfian, Arity::Exactly(3)),
    ("sqrt", Function::Sqrt, Arity::Exactly(1)),
];

impl Function {
    /// The function with this name, ignoring case, and the name in messages.
    pub(super) fn find(name: &[u8]) -> Option<(&'static str, Self, Arity)> {
        NAMED.into_iter().find(|(known, ..)| known.as_bytes().eq_ignore_ascii_case(name))
    }

    /// As a call, or as an infix operator.
    pub(super) fn spelling(self) -> Spelling {
        let operator = match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "#",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Is => "IS",
            Self::Not => return Spelling::Prefix("NOT"),
            _ => {
                let name =
                    NAMED.iter().find(|(_, function, _)| *function == self).map_or("", |(name, ..)| name);
                return Spelling::Call(name);
            }
        };
        Spelling::Infix(operator)
    }

    /// Applies it to the right number of arguments. Null arguments make the result null (except for IS and
    /// debug).
    #[inline]
    pub(super) fn apply(
        self,
        arguments: &[Value],
        random: &mut Random,
        debug: &mut dyn FnMut(Value),
    ) -> Result<Value, BoxedEvalError> {
        match *arguments {
            // The most common case.
            [Value::Int(left), Value::Int(right)] => self.of_two_integers(left, right, random),
            _ => self.of_any(arguments, random, debug),
        }
    }

    #[inline]
    fn of_two_integers(self, left: i64, right: i64, random: &mut Random) -> Result<Value, BoxedEvalError> {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div => self.int_arithmetic(left, right).map(Value::Int),
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual => {
                Ok(Value::Bool(self.compare(left, right)))
            }
            Self::Is => Ok(Value::Bool(left == right)),
            Self::Least => Ok(Value::Int(left.min(right))),
            Self::Greatest => Ok(Value::Int(left.max(right))),
            Self::Pow => Ok(Value::Double((left as f64).powf(right as f64))),
            _ => self.on_integers(left, right, random).map(Value::Int),
        }
    }

    fn of_any(
        self,
        arguments: &[Value],
        random: &mut Random,
        debug: &mut dyn FnMut(Value),
    ) -> Result<Value, BoxedEvalError> {
        match (self, arguments) {
            (Self::Debug, &[value]) => {
                debug(value);
                return Ok(value);
            }
            (Self::Is, &[left, right]) => return Ok(Value::Bool(left == right)),
            _ => {}
        }
        if arguments.iter().any(|argument| matches!(argument, Value::Null)) {
            return Ok(Value::Null);
        }
        match *arguments {
            [] => Ok(Value::Double(std::f64::consts::PI)),
            [first] => self.unary(first),
            [first, second] => self.binary(first, second, random),
            [first, second, third] if self.is_ternary() => self.ternary(first, second, third, random),
            _ => self.extreme(arguments),
        }
    }

    fn is_ternary(self) -> bool {
        !matches!(self, Self::Least | Self::Greatest)
    }

    fn unary(self, value: Value) -> Result<Value, BoxedEvalError> {
        Ok(match self {
            Self::Not => Value::Bool(!to_bool(value)?),
            Self::Abs => match value {
                Value::Int(value) => Value::Int(value.wrapping_abs()),
                value => Value::Double(to_double(value)?.abs()),
            },
            Self::Int => Value::Int(to_int(value)?),
            Self::Double => Value::Double(to_double(value)?),
            Self::Sqrt => Value::Double(to_double(value)?.sqrt()),
            Self::Ln => Value::Double(to_double(value)?.ln()),
            Self::Exp => Value::Double(to_double(value)?.exp()),
            _ => return self.extreme(&[value]),
        })
    }

    fn binary(self, left: Value, right: Value, random: &mut Random) -> Result<Value, BoxedEvalError> {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div => self.arithmetic(left, right),
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual => self.comparison(left, right),
            Self::Least | Self::Greatest => self.extreme(&[left, right]),
            Self::Pow => Ok(Value::Double(to_double(left)?.powf(to_double(right)?))),
            _ => self.on_integers(to_int(left)?, to_int(right)?, random).map(Value::Int),
        }
    }

    fn arithmetic(self, left: Value, right: Value) -> Result<Value, BoxedEvalError> {
        if !is_double(left) && !is_double(right) {
            return self.int_arithmetic(to_int(left)?, to_int(right)?).map(Value::Int);
        }
        let (left, right) = (to_double(left)?, to_double(right)?);
        Ok(Value::Double(match self {
            Self::Add => left + right,
            Self::Sub => left - right,
            Self::Mul => left * right,
            _ => left / right,
        }))
    }

    #[inline]
    fn int_arithmetic(self, left: i64, right: i64) -> Result<i64, BoxedEvalError> {
        let (result, operation) = match self {
            Self::Add => (left.checked_add(right), "add"),
            Self::Sub => (left.checked_sub(right), "sub"),
            Self::Mul => (left.checked_mul(right), "mul"),
            _ if right == 0 => return Err(EvalError::DivisionByZero.into()),
            _ => (left.checked_div(right), "div"),
        };
        result.ok_or_else(|| EvalError::BigintOverflow { operation }.into())
    }

    fn comparison(self, left: Value, right: Value) -> Result<Value, BoxedEvalError> {
        if is_double(left) || is_double(right) {
            Ok(Value::Bool(self.compare(to_double(left)?, to_double(right)?)))
        } else {
            Ok(Value::Bool(self.compare(to_int(left)?, to_int(right)?)))
        }
    }

    fn compare<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            _ => left <= right,
        }
    }

    /// Applies a function of two integers.
    #[inline]
    fn on_integers(self, left: i64, right: i64, random: &mut Random) -> Result<i64, BoxedEvalError> {
        Ok(match self {
            Self::Mod if right == 0 => return Err(EvalError::DivisionByZero.into()),
            Self::Mod => left.wrapping_rem(right),
            Self::BitAnd => left & right,
            Self::BitOr => left | right,
            Self::BitXor => left ^ right,
            // Shift counts are taken modulo 64, as the processor does.
            Self::ShiftLeft => left.wrapping_shl(right as u32),
            Self::ShiftRight => left.wrapping_shr(right as u32),
            Self::HashFnv1a => fnv1a(left, right),
            Self::HashMurmur2 => murmur2(left, right),
            _ => {
                check_range(left, right)?;
                random.uniform(left, right)
            }
        })
    }

    fn ternary(
        self,
        first: Value,
        second: Value,
        third: Value,
        random: &mut Random,
    ) -> Result<Value, BoxedEvalError> {
        let (low, high) = (to_int(first)?, to_int(second)?);
        if self == Self::Permute {
            let seed = to_int(third)?;
            return if high > 0 {
                Ok(Value::Int(permute(low, high, seed)))
            } else {
                Err(EvalError::PermuteSize.into())
            };
        }
        check_range(low, high)?;
        let parameter = to_double(third)?;
        Ok(Value::Int(match self {
            Self::RandomGaussian if parameter < MIN_GAUSSIAN => {
                return Err(EvalError::GaussianParameter { parameter }.into());
            }
            Self::RandomGaussian => random.gaussian(low, high, parameter),
            // pgbench never returns when the parameter is not a number.
            Self::RandomZipfian if !ZIPFIAN.contains(&parameter) => {
                return Err(EvalError::ZipfianParameter { parameter }.into());
            }
            Self::RandomZipfian => random.zipfian(low, high, parameter),
            _ if parameter <= 0.0 => return Err(EvalError::ExponentialParameter { parameter }.into()),
            _ => random.exponential(low, high, parameter),
        }))
    }

    /// The least or greatest argument; a double if any is one.
    fn extreme(self, arguments: &[Value]) -> Result<Value, BoxedEvalError> {
        if arguments.iter().copied().any(is_double) {
            self.extreme_of(arguments, to_double).map(Value::Double)
        } else {
            self.extreme_of(arguments, to_int).map(Value::Int)
        }
    }

    fn extreme_of<T: PartialOrd + Default>(
        self,
        arguments: &[Value],
        convert: fn(Value) -> Result<T, BoxedEvalError>,
    ) -> Result<T, BoxedEvalError> {
        let Some((&first, rest)) = arguments.split_first() else {
            return Ok(T::default());
        };
        rest.iter().try_fold(convert(first)?, |extreme, &value| {
            let value = convert(value)?;
            let keep = if self == Self::Least { extreme < value } else { extreme > value };
            Ok(if keep { extreme } else { value })
        })
    }
}

pub(super) enum Spelling {
    Infix(&'static str),
    Prefix(&'static str),
    Call(&'static str),
}

/// Whether random integers of [`low`, `high`] can be drawn.
#[inline]
fn check_range(low: i64, high: i64) -> Result<(), BoxedEvalError> {
    if low > high {
        return Err(EvalError::EmptyRange.into());
    }
    match high.checked_sub(low).and_then(|distance| distance.checked_add(1)) {
        Some(_) => Ok(()),
        None => Err(EvalError::RangeTooLarge.into()),
    }
}

fn is_double(value: Value) -> bool {
    matches!(value, Value::Double(_))
}

/// The value as a boolean; other types are an error.
pub(super) fn to_bool(value: Value) -> Result<bool, BoxedEvalError> {
    match value {
        Value::Bool(value) => Ok(value),
        other => Err(EvalError::Coercion { from: other.type_name(), to: "boolean" }.into()),
    }
}

/// The value as an integer; doubles are rounded, halves to even.
fn to_int(value: Value) -> Result<i64, BoxedEvalError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Int(value) => Ok(value),
        Value::Double(value) => {
            let value = value.round_ties_even();
            if (-LIMIT..LIMIT).contains(&value) {
                Ok(value as i64)
            } else {
                Err(EvalError::DoubleToInt { value }.into())
            }
        }
        other => Err(EvalError::Coercion { from: other.type_name(), to: "int" }.into()),
    }
}

fn to_double(value: Value) -> Result<f64, BoxedEvalError> {
    match value {
        Value::Double(value) => Ok(value),
        Value::Int(value) => Ok(value as f64),
        other => Err(EvalError::Coercion { from: other.type_name(), to: "double" }.into()),
    }
}
