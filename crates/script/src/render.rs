//! SQL statements and the substitution of variables.

use std::ops::Range;

use crate::error::{MAX_PARAMETERS, ParseError};
use crate::lexer::{Lexer, Token};
use crate::symbols::{Slot, Symbols, name_len};
use crate::variables::Variables;

/// What happens to a statement's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    None,
    /// `\gset`: the last statement must give exactly one row, stored under this prefix.
    Gset(Box<[u8]>),
    /// `\aset`: every statement's last row, if any, is stored under this prefix.
    Aset(Box<[u8]>),
}

/// One message of SQL: a statement, or several joined by `\;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    text: Vec<u8>,
    /// Every `:name` in `text`, in order.
    uses: Vec<Use>,
    extended: Vec<u8>,
    parameters: Vec<Slot>,
    /// Number of statements that `\;` joins, including empty ones; at least 1.
    pub parts: usize,
    pub capture: Capture,
    /// Index among all SQL commands of the run's scripts; the prepared statement is named `P_<number>`.
    pub number: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    range: Range<usize>,
    slot: Slot,
}

impl Statement {
    pub(crate) fn new(text: Vec<u8>, parts: usize, symbols: &mut Symbols) -> Self {
        let uses = find_uses(&text, symbols);
        let extended = numbered(&text, &uses);
        let parameters = uses.iter().map(|found| found.slot).collect();
        Self { text, uses, extended, parameters, parts, capture: Capture::None, number: 0 }
    }

    /// The statement as written, without leading blanks and comments.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The statement with `$1`, `$2`... for its variables, a separate number for each use.
    pub fn extended_text(&self) -> &[u8] {
        &self.extended
    }

    /// The variables for `$1`, `$2`...
    pub fn parameters(&self) -> &[Slot] {
        &self.parameters
    }

    /// Checks that the extended protocol can send the statement.
    ///
    /// # Errors
    /// It uses more variables than pgbench allows there.
    pub fn check_parameters(&self) -> Result<(), ParseError> {
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(ParseError::TooManyVariables {
                statement: String::from_utf8_lossy(&self.text).into_owned(),
            });
        }
        Ok(())
    }

    /// The first variable in quotes or in a comment, if any.
    pub(crate) fn hidden_use(&self) -> Option<HiddenUse> {
        let mut lexer = Lexer::new(&self.text);
        while let Some((token, range)) = lexer.token() {
            let within = match token {
                Token::String => "quotes",
                Token::LineComment | Token::Comment => "a comment",
                Token::Other if self.text[range.start] == b'"' => "quotes",
                _ => continue,
            };
            if let Some(found) = self.uses.iter().find(|found| range.contains(&found.range.start)) {
                let line = self.text[..found.range.start].iter().filter(|byte| **byte == b'\n').count();
                return Some(HiddenUse { line, slot: found.slot, within });
            }
        }
        None
    }

    /// Appends the statement with its variables replaced by their text; unset ones stay as written.
    #[inline]
    pub fn append_simple(&self, variables: &Variables, out: &mut Vec<u8>) {
        let mut copied = 0;
        for found in &self.uses {
            out.extend_from_slice(&self.text[copied..found.range.start]);
            copied = found.range.end;
            if !variables.append_text(found.slot, out) {
                out.extend_from_slice(&self.text[found.range.clone()]);
            }
        }
        out.extend_from_slice(&self.text[copied..]);
    }
}

/// A variable where the server sees no parameter.
pub(crate) struct HiddenUse {
    /// Line in the statement, counted from 0.
    pub(crate) line: usize,
    pub(crate) slot: Slot,
    pub(crate) within: &'static str,
}

/// Every `:name` of a text, even inside quotes and comments. After a colon that starts no name, directly
/// following colons are skipped, so that `::type` is unchanged.
fn find_uses(text: &[u8], symbols: &mut Symbols) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|&byte| byte == b':') {
        let colon = at + found;
        let len = name_len(&text[colon + 1..]);
        if len == 0 {
            at = colon + text[colon..].iter().take_while(|&&byte| byte == b':').count();
        } else {
            at = colon + 1 + len;
            uses.push(Use { range: colon..at, slot: symbols.intern(&text[colon + 1..at]) });
        }
    }
    uses
}

fn numbered(text: &[u8], uses: &[Use]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    for (index, found) in uses.iter().enumerate() {
        out.extend_from_slice(&text[copied..found.range.start]);
        out.push(b'$');
        crate::number::append_int(index as i64 + 1, &mut out);
        copied = found.range.end;
    }
    out.extend_from_slice(&text[copied..]);
    out
}
