//! Tokens of expressions.

use crate::number::{parse_double, parse_int};
use crate::symbols::{is_name_part, is_name_start};

/// An error in an expression, and its position in the script.
#[derive(Debug)]
pub(crate) struct ExpressionFault {
    pub(crate) message: &'static str,
    pub(crate) detail: Option<Box<[u8]>>,
    /// The last byte of the token at which it was found.
    pub(crate) offset: usize,
}

/// A token; names borrow from the script.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// 2^63, which only a minus sign makes an integer.
    MaxIntPlusOne,
    Double(f64),
    Variable(&'t [u8]),
    /// A name that is not a keyword.
    Function(&'t [u8]),
    Or,
    And,
    Not,
    Is,
    IsNull,
    NotNull,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Pipe,
    Hash,
    Ampersand,
    ShiftLeft,
    ShiftRight,
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Open,
    Close,
    Comma,
    Case,
    When,
    Then,
    Else,
    End,
    /// The line's end, consumed, or the text's.
    Finish,
}

#[derive(Debug)]
pub(super) struct Tokens<'t> {
    text: &'t [u8],
    pub(super) position: usize,
    finished: bool,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t [u8], position: usize) -> Self {
        Self { text, position, finished: false }
    }

    pub(super) fn next(&mut self) -> Result<Token<'t>, ExpressionFault> {
        self.read().map_err(|fault| self.last_fault(fault))
    }

    /// A fault at the last token's end.
    pub(super) fn fault(&mut self, message: &'static str, detail: Option<&[u8]>) -> ExpressionFault {
        let fault = self.fault_here(message, detail);
        self.last_fault(fault)
    }

    /// Consumes the rest of the command, which pgbench shows with the error. An invalid token in it is
    /// reported instead, as in pgbench.
    fn last_fault(&mut self, mut fault: ExpressionFault) -> ExpressionFault {
        while !self.finished {
            if let Err(later) = self.read() {
                fault = later;
            }
        }
        fault
    }

    fn fault_here(&self, message: &'static str, detail: Option<&[u8]>) -> ExpressionFault {
        ExpressionFault { message, detail: detail.map(Box::from), offset: self.position.saturating_sub(1) }
    }

    fn read(&mut self) -> Result<Token<'t>, ExpressionFault> {
        self.skip_blanks();
        let Some(&first) = self.text.get(self.position) else {
            self.finished = true;
            return Ok(Token::Finish);
        };
        let start = self.position;
        if is_name_start(first) {
            return Ok(word(self.take(start, is_name_part)));
        }
        if first.is_ascii_digit() || (first == b'.' && self.byte(1).is_some_and(|byte| byte.is_ascii_digit()))
        {
            return self.number();
        }
        if first == b':' && self.byte(1).is_some_and(is_name_part) {
            self.position += 1;
            return Ok(Token::Variable(self.take(self.position, is_name_part)));
        }
        if let Some(token) = self.byte(1).and_then(|second| pair([first, second])) {
            self.position += 2;
            return Ok(token);
        }
        self.position += 1;
        if first == b'\n' {
            self.finished = true;
            return Ok(Token::Finish);
        }
        single(first).ok_or_else(|| self.fault_here("unexpected character", Some(&[first])))
    }

    fn number(&mut self) -> Result<Token<'t>, ExpressionFault> {
        let start = self.position;
        let whole = self.take(start, |byte| byte.is_ascii_digit());
        let mut is_double = whole.is_empty();
        if self.byte(0) == Some(b'.') {
            is_double = true;
            self.take(self.position + 1, |byte| byte.is_ascii_digit());
        }
        is_double |= self.take_exponent();
        let text = &self.text[start..self.position];
        if is_double {
            return parse_double(text)
                .map(Token::Double)
                .ok_or_else(|| self.fault_here("double constant overflow", Some(text)));
        }
        if text == b"9223372036854775808" {
            return Ok(Token::MaxIntPlusOne);
        }
        parse_int(text).map(Token::Int).map_err(|_| self.fault_here("bigint constant overflow", Some(text)))
    }

    /// Takes `e`, a sign and digits, if they are next.
    fn take_exponent(&mut self) -> bool {
        if !matches!(self.byte(0), Some(b'e' | b'E')) {
            return false;
        }
        let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
        if !self.byte(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
            return false;
        }
        self.take(self.position + 1 + sign, |byte| byte.is_ascii_digit());
        true
    }

    fn skip_blanks(&mut self) {
        loop {
            if self.byte(0).is_some_and(is_blank) {
                self.position += 1;
                continue;
            }
            match self.text.get(self.position..).map_or(0, continuation_len) {
                0 => return,
                len => self.position += len,
            }
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.position + ahead).copied()
    }

    /// Takes the bytes from `start` that belong.
    fn take(&mut self, start: usize, belongs: impl Fn(u8) -> bool) -> &'t [u8] {
        let len = self.text[start..].iter().take_while(|byte| belongs(**byte)).count();
        self.position = start + len;
        &self.text[start..self.position]
    }
}

/// Blanks between words of a backslash command.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}

/// Length of a backslash and a line end at the start of the text; 0 if there are none.
pub(crate) fn continuation_len(text: &[u8]) -> usize {
    if text.starts_with(b"\\\n") {
        2
    } else if text.starts_with(b"\\\r\n") {
        3
    } else {
        0
    }
}

fn word(name: &[u8]) -> Token<'_> {
    const KEYWORDS: [(&[u8], Token<'static>); 14] = [
        (b"null", Token::Null),
        (b"true", Token::Bool(true)),
        (b"false", Token::Bool(false)),
        (b"and", Token::And),
        (b"or", Token::Or),
        (b"not", Token::Not),
        (b"is", Token::Is),
        (b"isnull", Token::IsNull),
        (b"notnull", Token::NotNull),
        (b"case", Token::Case),
        (b"when", Token::When),
        (b"then", Token::Then),
        (b"else", Token::Else),
        (b"end", Token::End),
    ];
    KEYWORDS
        .iter()
        .find_map(|(keyword, token)| keyword.eq_ignore_ascii_case(name).then_some(*token))
        .unwrap_or(Token::Function(name))
}

fn pair(bytes: [u8; 2]) -> Option<Token<'static>> {
    Some(match &bytes {
        b"<>" | b"!=" => Token::NotEqual,
        b"<=" => Token::LessEqual,
        b">=" => Token::GreaterEqual,
        b"<<" => Token::ShiftLeft,
        b">>" => Token::ShiftRight,
        _ => return None,
    })
}

fn single(byte: u8) -> Option<Token<'static>> {
    Some(match byte {
        b'<' => Token::Less,
        b'>' => Token::Greater,
        b'=' => Token::Equal,
        b'|' => Token::Pipe,
        b'#' => Token::Hash,
        b'&' => Token::Ampersand,
        b'~' => Token::Tilde,
        b'+' => Token::Plus,
        b'-' => Token::Minus,
        b'*' => Token::Star,
        b'/' => Token::Slash,
        b'%' => Token::Percent,
        b'(' => Token::Open,
        b')' => Token::Close,
        b',' => Token::Comma,
        _ => return None,
    })
}
