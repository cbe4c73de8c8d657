//! Errors and notices of the server, and how libpq shows them.

use std::fmt;

use super::frame::{Broken, Reader};
use super::position;

/// The fields of an error or notice, borrowed from the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorFields<'a> {
    /// A kind byte and a C string for each field; checked when this is made.
    body: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    pub(crate) fn read(tag: u8, body: &'a [u8]) -> Result<Self, Broken> {
        let mut reader = Reader::new(tag, body);
        while reader.byte()? != 0 {
            reader.cstr()?;
        }
        Ok(ErrorFields { body })
    }

    /// The field of this kind (`b'M'` is the message), if sent.
    #[must_use]
    pub fn field(&self, kind: u8) -> Option<&'a [u8]> {
        self.iter().find(|&(k, _)| k == kind).map(|(_, value)| value)
    }

    /// The SQLSTATE, five characters; empty if the server sent none.
    #[must_use]
    pub fn code(&self) -> &'a str {
        self.field(b'C').and_then(|code| std::str::from_utf8(code).ok()).unwrap_or_default()
    }

    /// All fields as (kind, value).
    fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(b'E', self.body);
        std::iter::from_fn(move || match reader.byte() {
            Ok(kind) if kind != 0 => Some((kind, reader.cstr().ok()?)),
            _ => None,
        })
    }

    /// A copy that outlives the receive buffer.
    #[must_use]
    pub fn to_owned(&self) -> ServerError {
        let mut error = ServerError::default();
        for (kind, value) in self.iter() {
            let text = String::from_utf8_lossy(value).into_owned();
            match kind {
                b'S' => error.severity = text,
                b'V' => error.severity_code = Some(text),
                b'C' => error.code = text,
                b'M' => error.message = text,
                b'D' => error.detail = Some(text),
                b'H' => error.hint = Some(text),
                b'P' => error.position = text.parse().ok(),
                b'p' => error.internal_position = text.parse().ok(),
                b'q' => error.internal_query = Some(text),
                b'W' => error.context = Some(text),
                b's' => error.schema = Some(text),
                b't' => error.table = Some(text),
                b'c' => error.column = Some(text),
                b'd' => error.data_type = Some(text),
                b'n' => error.constraint = Some(text),
                b'F' => error.file = Some(text),
                b'L' => error.line = Some(text),
                b'R' => error.routine = Some(text),
                // The protocol asks to ignore kinds one does not know.
                _ => {}
            }
        }
        error
    }
}

/// An error or notice of the server with all its fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerError {
    /// ERROR, FATAL, PANIC, WARNING, NOTICE, DEBUG, INFO or LOG, possibly translated.
    pub severity: String,
    /// The same, never translated (servers from 9.6 on).
    pub severity_code: Option<String>,
    /// SQLSTATE, five characters.
    pub code: String,
    /// What happened, usually one line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the query, in characters from 1.
    pub position: Option<u32>,
    /// Where in `internal_query`, in characters from 1.
    pub internal_position: Option<u32>,
    /// The text of a failed command that the server made itself, e.g. inside a function.
    pub internal_query: Option<String>,
    /// The call stack, innermost first, a line each.
    pub context: Option<String>,
    /// Schema it is about.
    pub schema: Option<String>,
    /// Table it is about.
    pub table: Option<String>,
    /// Column it is about.
    pub column: Option<String>,
    /// Data type it is about.
    pub data_type: Option<String>,
    /// Constraint it is about.
    pub constraint: Option<String>,
    pub file: Option<String>,
    pub line: Option<String>,
    pub routine: Option<String>,
}

impl ServerError {
    /// True when the server closes the connection after it (FATAL, PANIC).
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.untranslated_severity(), "FATAL" | "PANIC")
    }

    /// The text libpq makes of it at its default verbosity, every line ended by a newline.
    ///
    /// `query` is the query that was sent; with it the position is shown as `LINE n:` and a caret, without it as
    /// a number.
    #[must_use]
    pub fn libpq_text(&self, query: Option<&str>) -> String {
        let mut text = if self.severity.is_empty() { String::new() } else { format!("{}:  ", self.severity) };
        text.push_str(&self.message);
        let shown = self
            .position
            .map(|at| (query, at))
            .or(self.internal_position.map(|at| (self.internal_query.as_deref(), at)));
        if let Some((None, at)) = shown {
            text.push_str(&format!(" at character {at}"));
        }
        text.push('\n');
        if let Some((Some(query), at)) = shown {
            text.push_str(&position::excerpt(query, at));
        }
        let context = self.context.as_ref().filter(|_| self.is_error());
        let lines = [
            ("DETAIL", &self.detail),
            ("HINT", &self.hint),
            ("QUERY", &self.internal_query),
            ("CONTEXT", &context.cloned()),
        ];
        for (label, value) in lines {
            if let Some(value) = value {
                text.push_str(&format!("{label}:  {value}\n"));
            }
        }
        text
    }

    /// libpq shows the context of errors only.
    fn is_error(&self) -> bool {
        matches!(self.untranslated_severity(), "ERROR" | "FATAL" | "PANIC")
    }

    fn untranslated_severity(&self) -> &str {
        self.severity_code.as_deref().unwrap_or(&self.severity)
    }
}

impl fmt::Display for ServerError {
    /// libpq's text without the query and without the last newline; where that is empty, that it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.libpq_text(None);
        match text.trim_end_matches('\n') {
            "" => f.write_str("the server sent an error without a message"),
            text => f.write_str(text),
        }
    }
}

impl std::error::Error for ServerError {}
