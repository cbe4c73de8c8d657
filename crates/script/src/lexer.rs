//! Finds the end of SQL statements and the start of backslash commands by psql's rules.
//!
//! Only constructs that can hide a semicolon or a backslash are parsed: quotes, comments, parentheses and the
//! bodies of `BEGIN ATOMIC ... END` functions. `standard_conforming_strings` is assumed to be on; bytes above
//! 127 are letters.

use std::ops::Range;

use crate::number::is_space;
use crate::symbols::{is_name_part, is_name_start};

/// Reads statements, up to each backslash command.
#[derive(Debug)]
pub(crate) struct Lexer<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) position: usize,
    parentheses: usize,
    function: FunctionBody,
    /// A position and its line.
    counted: (usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanResult {
    Semicolon,
    /// The position is after the backslash.
    Backslash,
    End,
}

/// A statement's text and its position.
#[derive(Debug)]
pub(crate) struct RawStatement {
    /// Empty for blanks and comments only.
    pub(crate) text: Vec<u8>,
    /// Position of its first byte.
    pub(crate) start: usize,
    /// Statements joined by `\;`.
    pub(crate) parts: usize,
    pub(crate) stop: ScanResult,
}

/// A piece of text, regardless of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// `'…'` or `$$…$$`, with its quotes and an `E` before them.
    String,
    Number,
    /// Without the line end.
    LineComment,
    /// `/* … */`.
    Comment,
    /// `\name`; the position is after the name.
    Command,
    /// A name, a variable, an operator, or blanks.
    Other,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self { text, position: 0, parentheses: 0, function: FunctionBody::default(), counted: (0, 1) }
    }

    /// The line of a position, counted from 1. Cheap while positions grow.
    pub(crate) fn line_of(&mut self, position: usize) -> usize {
        let (from, line) = if position < self.counted.0 { (0, 1) } else { self.counted };
        let lines = self.text[from..position].iter().filter(|&&byte| byte == b'\n').count();
        self.counted = (position, line + lines);
        line + lines
    }

    /// Reads to the end of a statement, or to a backslash command.
    pub(crate) fn statement(&mut self) -> RawStatement {
        let mut raw =
            RawStatement { text: Vec::new(), start: self.position, parts: 1, stop: ScanResult::End };
        while let Some(&byte) = self.text.get(self.position) {
            if self.at_blank(byte) {
                self.blank(&mut raw);
                continue;
            }
            if raw.text.is_empty() {
                raw.start = self.position;
            }
            if byte == b'\\' {
                if !self.forced(&mut raw) {
                    raw.stop = ScanResult::Backslash;
                    return raw;
                }
                continue;
            }
            let start = self.position;
            self.position = self.after_token(byte);
            raw.text.extend_from_slice(&self.text[start..self.position]);
            if byte == b';' && self.parentheses == 0 && !self.function.is_open() {
                self.function.forget_words();
                raw.stop = ScanResult::Semicolon;
                return raw;
            }
        }
        raw
    }

    /// The next token and its position.
    pub(crate) fn token(&mut self) -> Option<(Token, Range<usize>)> {
        let start = self.position;
        let first = *self.text.get(start)?;
        let token = match first {
            b'-' if self.at_blank(first) => Token::LineComment,
            b'/' if self.text.get(start + 1) == Some(&b'*') => Token::Comment,
            b'\\' => {
                let name = self.end_of(start + 1, |byte| byte.is_ascii_alphabetic());
                // `\;` and `\:` are parts of a statement.
                let is_command = name > start + 1;
                self.position = if is_command { name } else { start + 1 };
                return Some((if is_command { Token::Command } else { Token::Other }, start..self.position));
            }
            b'\'' => Token::String,
            b'e' | b'E' if self.text.get(start + 1) == Some(&b'\'') => Token::String,
            b'0'..=b'9' => Token::Number,
            b'.' if self.text.get(start + 1).is_some_and(u8::is_ascii_digit) => Token::Number,
            _ => Token::Other,
        };
        self.position = if self.at_blank(first) { self.after_blank() } else { self.after_token(first) };
        let is_dollar_quoted = first == b'$' && self.text[start + 1..self.position].contains(&b'$');
        Some((if is_dollar_quoted { Token::String } else { token }, start..self.position))
    }

    /// Skips the rest of a backslash command, up to a line end without a backslash before it; true if
    /// anything was skipped.
    pub(crate) fn skip_arguments(&mut self) -> bool {
        let start = self.position;
        while let Some(&byte) = self.text.get(self.position) {
            if byte == b'\n' && self.text[self.position - 1] != b'\\' {
                break;
            }
            self.position += 1;
        }
        !self.text[start..self.position].trim_ascii().is_empty()
    }

    /// Skips blanks or a line comment, which belong to a statement only after it has begun.
    fn blank(&mut self, raw: &mut RawStatement) {
        let start = self.position;
        self.position = self.after_blank();
        if !raw.text.is_empty() {
            raw.text.extend_from_slice(&self.text[start..self.position]);
        }
    }

    /// Skips a backslash with the semicolon or colon it escapes; `false` when it begins a command.
    fn forced(&mut self, raw: &mut RawStatement) -> bool {
        self.position += 1;
        let Some(&byte @ (b';' | b':')) = self.text.get(self.position) else {
            return false;
        };
        self.position += 1;
        raw.text.push(byte);
        if byte == b';' {
            raw.parts += 1;
            self.function.forget_words();
        }
        true
    }

    fn at_blank(&self, byte: u8) -> bool {
        is_space(byte) || self.text[self.position..].starts_with(b"--")
    }

    /// The position after the blanks or the line comment here.
    fn after_blank(&self) -> usize {
        if self.text[self.position] == b'-' {
            self.end_of(self.position, |byte| !matches!(byte, b'\n' | b'\r'))
        } else {
            self.end_of(self.position, is_space)
        }
    }

    /// The position after the token here, which is neither blank nor a backslash.
    fn after_token(&mut self, first: u8) -> usize {
        let at = self.position;
        match first {
            b'\'' => self.after_string(at + 1, false),
            b'"' => self.after_doubled(at + 1, b'"'),
            b'$' => self.after_dollar(),
            b'/' if self.text.get(at + 1) == Some(&b'*') => self.after_comment(),
            b'e' | b'E' if self.text.get(at + 1) == Some(&b'\'') => self.after_string(at + 2, true),
            // `b'`, `x'`, `n'` and `u&` are not separate words; this matters only for counting words.
            b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if self.text.get(at + 1) == Some(&b'\'') => at + 1,
            b'u' | b'U' if self.text.get(at + 1) == Some(&b'&') => at + 1,
            b'(' => {
                self.parentheses += 1;
                at + 1
            }
            b')' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                at + 1
            }
            b'.' if self.text.get(at + 1).is_some_and(u8::is_ascii_digit) => self.after_number(at + 1),
            b'0'..=b'9' => self.after_number(at),
            _ if is_name_start(first) => {
                let end = self.after_word(at);
                self.function.word(&self.text[at..end], self.parentheses);
                end
            }
            b':' if self.text.get(at + 1) == Some(&b':') => at + 2,
            // A variable's name is not a word either.
            b':' => self.end_of(at + 1, is_name_part),
            _ => at + 1,
        }
    }

    /// The end of a '...' string whose contents start here, including strings that continue it on later
    /// lines.
    fn after_string(&self, inside: usize, escapes: bool) -> usize {
        let mut at = inside;
        loop {
            match self.text.get(at) {
                None => return at,
                Some(b'\\') if escapes => at = (at + 2).min(self.text.len()),
                Some(b'\'') if self.text.get(at + 1) == Some(&b'\'') => at += 2,
                Some(b'\'') => match self.continued_string(at + 1) {
                    Some(inside) => at = inside,
                    None => return at + 1,
                },
                Some(_) => at += 1,
            }
        }
    }

    /// After a closing quote: the contents of a string that continues it, after blanks with a line end.
    fn continued_string(&self, after_quote: usize) -> Option<usize> {
        let mut at = after_quote;
        let mut has_line_end = false;
        loop {
            match self.text.get(at)? {
                b'\n' | b'\r' => {
                    has_line_end = true;
                    at += 1;
                }
                &byte if is_space(byte) => at += 1,
                b'-' if self.text[at..].starts_with(b"--") => {
                    at = self.end_of(at, |byte| !matches!(byte, b'\n' | b'\r'));
                }
                b'\'' if has_line_end => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// The end of a quoted identifier; a doubled quote belongs to it.
    fn after_doubled(&self, inside: usize, quote: u8) -> usize {
        let mut at = inside;
        loop {
            match self.text.get(at) {
                None => return at,
                Some(&byte) if byte == quote => {
                    if self.text.get(at + 1) != Some(&quote) {
                        return at + 1;
                    }
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
    }

    /// The end of a `$tag$...$tag$` string, or of a single dollar sign.
    fn after_dollar(&self) -> usize {
        let at = self.position;
        let tag_end = match self.text.get(at + 1) {
            Some(&byte) if is_name_start(byte) => self.end_of(at + 1, is_name_part),
            _ => at + 1,
        };
        if self.text.get(tag_end) != Some(&b'$') {
            // A parameter like $1, or nothing.
            let end = self.end_of(at + 1, |byte| byte.is_ascii_digit());
            return if end > at + 1 { self.after_word(end) } else { end };
        }
        let delimiter = &self.text[at..=tag_end];
        let inside = tag_end + 1;
        find(&self.text[inside..], delimiter)
            .map_or(self.text.len(), |found| inside + found + delimiter.len())
    }

    /// The end of a number. It includes a word directly after it, and the sign of an exponent without digits,
    /// which are not the prefix of a quote or a comment.
    fn after_number(&self, digits: usize) -> usize {
        let end_of_digits = |at| self.end_of(at, |byte| byte.is_ascii_digit());
        let mut at = end_of_digits(digits);
        if self.text.get(at) == Some(&b'.') && self.text.get(at + 1) != Some(&b'.') {
            at = end_of_digits(at + 1);
        }
        if let Some([b'e' | b'E', b'+' | b'-']) = self.text.get(at..at + 2) {
            let sign_end = at + 2;
            at = end_of_digits(sign_end);
            if at == sign_end {
                return at;
            }
        }
        self.after_word(at)
    }

    /// The end of the word that starts here; this position if none does.
    fn after_word(&self, at: usize) -> usize {
        match self.text.get(at) {
            Some(&byte) if is_name_start(byte) => self.end_of(at, |byte| is_name_part(byte) || byte == b'$'),
            _ => at,
        }
    }

    /// The end of a `/* */` comment, which may be nested.
    fn after_comment(&self) -> usize {
        let mut at = self.position + 2;
        let mut depth = 1;
        while depth > 0 {
            match self.text.get(at..at + 2) {
                Some(b"/*") => {
                    depth += 1;
                    at += 2;
                }
                Some(b"*/") => {
                    depth -= 1;
                    at += 2;
                }
                Some(_) => at += 1,
                None => return self.text.len(),
            }
        }
        at
    }

    fn end_of(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        start + self.text[start..].iter().take_while(|byte| belongs(**byte)).count()
    }
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

/// Tracks `CREATE [OR REPLACE] {FUNCTION | PROCEDURE} ... BEGIN ... END`, in which semicolons do not end the
/// statement.
#[derive(Debug, Default)]
struct FunctionBody {
    /// First letters of the statement's first words, as far as needed.
    start: [u8; 4],
    words: usize,
    /// Number of open `BEGIN`s and, inside them, `CASE`s.
    open: usize,
}

impl FunctionBody {
    fn is_open(&self) -> bool {
        self.open > 0
    }

    fn forget_words(&mut self) {
        self.words = 0;
    }

    fn word(&mut self, word: &[u8], parentheses: usize) {
        const OPENING: [&[u8]; 5] = [b"create", b"function", b"procedure", b"or", b"replace"];
        if self.words == 0 {
            self.start = [0; 4];
        }
        if self.words < self.start.len() && OPENING.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            self.start[self.words] = word[0].to_ascii_lowercase();
        }
        self.words += 1;
        if parentheses > 0 || !self.creates_function() {
            return;
        }
        let is_case = word.eq_ignore_ascii_case(b"case");
        if word.eq_ignore_ascii_case(b"begin") || (is_case && self.is_open()) {
            self.open += 1;
        } else if word.eq_ignore_ascii_case(b"end") {
            self.open = self.open.saturating_sub(1);
        }
    }

    fn creates_function(&self) -> bool {
        matches!(self.start, [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p'])
    }
}
