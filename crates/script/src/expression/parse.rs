//! Compiles tokens to code, by operator precedence.

use super::functions::{Arity, Function};
use super::token::{ExpressionFault, Token, Tokens};
use super::{Expression, Op};
use crate::error::MAX_ARGUMENTS;
use crate::symbols::Symbols;
use crate::value::Value;

/// Deepest nesting of parentheses, calls, CASE and operators. pgbench's parser stops at 10,000 entries of its
/// stack, with the same message.
const MAX_DEPTH: usize = 500;

/// Operator precedence, from loose to tight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bitwise,
    Additive,
    Multiplicative,
    Unary,
}

impl Precedence {
    fn tighter(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Is,
            Self::Is => Self::Comparison,
            Self::Comparison => Self::Bitwise,
            Self::Bitwise => Self::Additive,
            Self::Additive => Self::Multiplicative,
            Self::Multiplicative | Self::Unary => Self::Unary,
        }
    }
}

/// Parses an expression from `*position` to the end of its command, which is consumed even after an error.
pub(crate) fn parse(
    text: &[u8],
    position: &mut usize,
    symbols: &mut Symbols,
) -> Result<Expression, ExpressionFault> {
    let mut parser =
        Parser { tokens: Tokens::new(text, *position), peeked: None, symbols, code: Vec::new(), depth: 0 };
    let result = parser.expression(Precedence::Or).and_then(|()| parser.expect(Token::Finish));
    *position = parser.tokens.position;
    let Parser { code, .. } = parser;
    result.map(|()| Expression { code })
}

struct Parser<'t, 's> {
    tokens: Tokens<'t>,
    peeked: Option<Token<'t>>,
    symbols: &'s mut Symbols,
    code: Vec<Op>,
    depth: usize,
}

impl<'t> Parser<'t, '_> {
    /// An expression of operators that bind at least as tightly as `loosest`.
    fn expression(&mut self, loosest: Precedence) -> Result<(), ExpressionFault> {
        if self.depth >= MAX_DEPTH {
            self.peek()?;
            return Err(self.tokens.fault("memory exhausted", None));
        }
        self.depth += 1;
        let start = self.code.len();
        self.operand()?;
        loop {
            let token = self.peek()?;
            let Some(level) = infix_level(token) else { break };
            if level < loosest {
                break;
            }
            self.peeked = None;
            match level {
                Precedence::Is => self.is_test(token)?,
                Precedence::And | Precedence::Or => self.lazy(token, level)?,
                _ => self.infix(token, level, start)?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn infix(&mut self, token: Token<'t>, level: Precedence, start: usize) -> Result<(), ExpressionFault> {
        let right = self.code.len();
        self.expression(level.tighter())?;
        if matches!(token, Token::Greater | Token::GreaterEqual) {
            // `a > b` is `b < a`, including the order of evaluation.
            self.code[start..].rotate_left(right - start);
        }
        self.code.push(Op::Call(infix_function(token), 2));
        if level == Precedence::Comparison && infix_level(self.peek()?) == Some(Precedence::Comparison) {
            return Err(self.syntax_error());
        }
        Ok(())
    }

    fn lazy(&mut self, token: Token<'t>, level: Precedence) -> Result<(), ExpressionFault> {
        let left_end = self.code.len();
        self.code.push(Op::Logical);
        self.expression(level.tighter())?;
        self.code.push(Op::Logical);
        let skipped = self.code.len() - left_end - 1;
        self.code[left_end] = if token == Token::And { Op::AndThen(skipped) } else { Op::OrElse(skipped) };
        Ok(())
    }

    /// The operand of IS, or the one-word forms.
    fn is_test(&mut self, token: Token<'t>) -> Result<(), ExpressionFault> {
        let (negated, value) = match token {
            Token::IsNull => (false, Value::Null),
            Token::NotNull => (true, Value::Null),
            _ => {
                let mut next = self.take()?;
                let negated = next == Token::Not;
                if negated {
                    next = self.take()?;
                }
                match next {
                    Token::Null => (negated, Value::Null),
                    Token::Bool(value) => (negated, Value::Bool(value)),
                    _ => return Err(self.syntax_error()),
                }
            }
        };
        self.code.extend([Op::Constant(value), Op::Call(Function::Is, 2)]);
        if negated {
            self.code.push(Op::Call(Function::Not, 1));
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ExpressionFault> {
        match self.take()? {
            Token::Plus => self.expression(Precedence::Unary)?,
            Token::Minus => self.minus()?,
            Token::Tilde => {
                self.constant(Value::Int(-1));
                self.expression(Precedence::Bitwise.tighter())?;
                self.call(Function::BitXor, 2);
            }
            Token::Not => {
                self.expression(Precedence::Not.tighter())?;
                self.call(Function::Not, 1);
            }
            Token::Null => self.constant(Value::Null),
            Token::Bool(value) => self.constant(Value::Bool(value)),
            Token::Int(value) => self.constant(Value::Int(value)),
            Token::Double(value) => self.constant(Value::Double(value)),
            Token::Variable(name) => {
                let slot = self.symbols.intern(name);
                self.code.push(Op::Variable(slot));
            }
            Token::Open => {
                self.expression(Precedence::Or)?;
                return self.expect(Token::Close);
            }
            Token::Case => return self.case(),
            Token::Function(name) => return self.function(name),
            _ => return Err(self.syntax_error()),
        }
        Ok(())
    }

    fn minus(&mut self) -> Result<(), ExpressionFault> {
        if self.peek()? == Token::MaxIntPlusOne {
            self.peeked = None;
            self.constant(Value::Int(i64::MIN));
        } else {
            self.constant(Value::Int(0));
            self.expression(Precedence::Unary)?;
            self.call(Function::Sub, 2);
        }
        Ok(())
    }

    fn function(&mut self, name: &'t [u8]) -> Result<(), ExpressionFault> {
        let Some((canonical, function, arity)) = Function::find(name) else {
            return Err(self.tokens.fault("unexpected function name", Some(name)));
        };
        self.expect(Token::Open)?;
        let (mut count, within_limit) = self.arguments()?;
        if !arity.allows(count) {
            return Err(self.tokens.fault(arity.message(), Some(canonical.as_bytes())));
        }
        if arity.adds_seed(count) {
            self.code.push(Op::Variable(Symbols::DEFAULT_SEED));
            count += 1;
        }
        if count > MAX_ARGUMENTS {
            self.code.truncate(within_limit);
            self.code.push(Op::TooMany(function));
        } else {
            self.call(function, count as u8);
        }
        Ok(())
    }

    /// The arguments after an opening parenthesis, and the closing one: their number, and the code length of
    /// the first 16. As in pgbench's grammar, the first may be missing before a comma.
    fn arguments(&mut self) -> Result<(usize, usize), ExpressionFault> {
        let mut count = 0;
        let mut within_limit = self.code.len();
        if !matches!(self.peek()?, Token::Close | Token::Comma) {
            self.expression(Precedence::Or)?;
            count = 1;
            within_limit = self.code.len();
        }
        loop {
            match self.take()? {
                Token::Close => return Ok((count, within_limit)),
                Token::Comma => {
                    self.expression(Precedence::Or)?;
                    count += 1;
                    if count <= MAX_ARGUMENTS {
                        within_limit = self.code.len();
                    }
                }
                _ => return Err(self.syntax_error()),
            }
        }
    }

    /// The rest of a CASE, up to its END.
    fn case(&mut self) -> Result<(), ExpressionFault> {
        let mut exits = Vec::new();
        self.expect(Token::When)?;
        loop {
            self.expression(Precedence::Or)?;
            self.expect(Token::Then)?;
            let condition_end = self.placeholder();
            self.expression(Precedence::Or)?;
            exits.push(self.placeholder());
            self.code[condition_end] = Op::Unless(self.code.len() - condition_end - 1);
            match self.take()? {
                Token::When => {}
                Token::Else => {
                    self.expression(Precedence::Or)?;
                    self.expect(Token::End)?;
                    break;
                }
                Token::End => {
                    self.constant(Value::Null);
                    break;
                }
                _ => return Err(self.syntax_error()),
            }
        }
        for exit in exits {
            self.code[exit] = Op::Skip(self.code.len() - exit - 1);
        }
        Ok(())
    }

    /// A step whose distance is filled in later.
    fn placeholder(&mut self) -> usize {
        self.code.push(Op::Skip(0));
        self.code.len() - 1
    }

    fn constant(&mut self, value: Value) {
        self.code.push(Op::Constant(value));
    }

    fn call(&mut self, function: Function, arguments: u8) {
        self.code.push(Op::Call(function, arguments));
    }

    fn peek(&mut self) -> Result<Token<'t>, ExpressionFault> {
        match self.peeked {
            Some(token) => Ok(token),
            None => Ok(*self.peeked.insert(self.tokens.next()?)),
        }
    }

    fn take(&mut self) -> Result<Token<'t>, ExpressionFault> {
        let token = self.peek()?;
        self.peeked = None;
        Ok(token)
    }

    fn expect(&mut self, token: Token<'t>) -> Result<(), ExpressionFault> {
        if self.take()? == token { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// A syntax error at the last token.
    fn syntax_error(&mut self) -> ExpressionFault {
        self.tokens.fault("syntax error", None)
    }
}

fn infix_level(token: Token<'_>) -> Option<Precedence> {
    Some(match token {
        Token::Or => Precedence::Or,
        Token::And => Precedence::And,
        Token::Is | Token::IsNull | Token::NotNull => Precedence::Is,
        Token::Less
        | Token::LessEqual
        | Token::Greater
        | Token::GreaterEqual
        | Token::Equal
        | Token::NotEqual => Precedence::Comparison,
        Token::Pipe | Token::Hash | Token::Ampersand | Token::ShiftLeft | Token::ShiftRight => {
            Precedence::Bitwise
        }
        Token::Plus | Token::Minus => Precedence::Additive,
        Token::Star | Token::Slash | Token::Percent => Precedence::Multiplicative,
        _ => return None,
    })
}

/// The function of an operator that always evaluates both sides.
fn infix_function(token: Token<'_>) -> Function {
    match token {
        Token::Less | Token::Greater => Function::Less,
        Token::LessEqual | Token::GreaterEqual => Function::LessEqual,
        Token::NotEqual => Function::NotEqual,
        Token::Pipe => Function::BitOr,
        Token::Hash => Function::BitXor,
        Token::Ampersand => Function::BitAnd,
        Token::ShiftLeft => Function::ShiftLeft,
        Token::ShiftRight => Function::ShiftRight,
        Token::Plus => Function::Add,
        Token::Minus => Function::Sub,
        Token::Star => Function::Mul,
        Token::Slash => Function::Div,
        Token::Percent => Function::Mod,
        _ => Function::Equal,
    }
}

impl Arity {
    fn allows(self, count: usize) -> bool {
        match self {
            Self::Exactly(needed) => count == needed,
            Self::AtLeastOne => count >= 1,
            Self::SeedOptional(needed) => count == needed || count + 1 == needed,
        }
    }

    /// Whether the seed is missing.
    fn adds_seed(self, count: usize) -> bool {
        matches!(self, Self::SeedOptional(needed) if count + 1 == needed)
    }

    fn message(self) -> &'static str {
        match self {
            Self::AtLeastOne => "at least one argument expected",
            Self::Exactly(_) | Self::SeedOptional(_) => "unexpected number of arguments",
        }
    }
}
