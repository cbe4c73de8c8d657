//! Backslash commands: their words, checks and messages.

use crate::command::{Action, AssignmentTarget, ScriptCommand};
use crate::error::{ParseError, SyntaxError};
use crate::expression::{self, Expression};
use crate::lexer::Lexer;
use crate::number::leading_int;
use crate::render::Capture;
use crate::shell::Shell;
use crate::sleep::{Amount, Sleep, SleepUnit};
use crate::symbols::{Symbols, is_valid_name};

/// Most words of a backslash command, including its name.
const MAX_WORDS: usize = 256;

pub(crate) enum Meta {
    Command(Box<ScriptCommand>),
    /// `\gset` or `\aset`, which belongs to the statement before it; `line` counts from 1.
    Capture {
        capture: Capture,
        line: usize,
    },
}

/// Parses the command after the backslash at the lexer's position, including its line end. `None` for a
/// backslash alone.
pub(crate) fn parse(
    script: &str,
    lexer: &mut Lexer<'_>,
    symbols: &mut Symbols,
) -> Result<Option<Meta>, ParseError> {
    let start = lexer.position - 1;
    let line = lexer.line_of(start);
    let mut reader = Reader { script, lexer, symbols, start, line, words: Vec::new() };
    if !reader.word()? {
        return Ok(None);
    }
    let meta = reader.command()?;
    Ok(Some(meta))
}

struct Word<'t> {
    text: &'t [u8],
    offset: usize,
}

struct Reader<'a, 't> {
    script: &'a str,
    lexer: &'a mut Lexer<'t>,
    symbols: &'a mut Symbols,
    /// Position of the backslash.
    start: usize,
    line: usize,
    words: Vec<Word<'t>>,
}

impl<'t> Reader<'_, 't> {
    fn command(&mut self) -> Result<Meta, ParseError> {
        let name = self.words[0].text.to_ascii_lowercase();
        let action = match &name[..] {
            b"set" => self.set()?,
            b"if" => Action::If { condition: self.expression()?, otherwise: 0 },
            b"elif" => Action::Elif { condition: self.expression()?, otherwise: 0, end: 0 },
            _ => {
                while self.word()? {}
                match &name[..] {
                    b"gset" => return self.capture(Capture::Gset),
                    b"aset" => return self.capture(Capture::Aset),
                    name => self.worded(name)?,
                }
            }
        };
        let words = self.words.iter().map(|word| lossy(word.text)).collect();
        Ok(Meta::Command(Box::new(ScriptCommand { line: self.line, summary: self.text(), words, action })))
    }

    /// Commands that consist of words, all of them read.
    fn worded(&mut self, name: &[u8]) -> Result<Action, ParseError> {
        match name {
            b"sleep" => self.sleep(),
            b"shell" => self.shell(),
            b"setshell" => self.set_shell(),
            b"else" => self.alone(Action::Else { end: 0 }),
            b"endif" => self.alone(Action::Endif),
            b"startpipeline" => self.alone(Action::StartPipeline),
            b"syncpipeline" => self.alone(Action::SyncPipeline),
            b"endpipeline" => self.alone(Action::EndPipeline),
            b"setrandom" => {
                let detail = format!("removed in 9.6; write {}", self.random_instead());
                Err(self.syntax_error("invalid command", Some(detail), Some(self.text()), None))
            }
            _ => Err(self.error("invalid command")),
        }
    }

    fn set(&mut self) -> Result<Action, ParseError> {
        if !self.word()? {
            return Err(self.early_error("missing argument"));
        }
        let target = self.target(1);
        Ok(Action::Set { target, expression: self.expression()? })
    }

    fn alone(&self, action: Action) -> Result<Action, ParseError> {
        if self.words.len() == 1 { Ok(action) } else { Err(self.error("unexpected argument")) }
    }

    fn capture(&self, capture: fn(Box<[u8]>) -> Capture) -> Result<Meta, ParseError> {
        if self.words.len() > 2 {
            return Err(self.error("too many arguments"));
        }
        let prefix = self.words.get(1).map_or(&b""[..], |word| word.text);
        Ok(Meta::Capture { capture: capture(prefix.into()), line: self.line })
    }

    fn shell(&mut self) -> Result<Action, ParseError> {
        if self.words.len() < 2 {
            return Err(self.error("missing command"));
        }
        Ok(Action::Shell(self.shell_words(1)))
    }

    fn set_shell(&mut self) -> Result<Action, ParseError> {
        if self.words.len() < 3 {
            return Err(self.error("missing argument"));
        }
        Ok(Action::SetShell { target: self.target(1), shell: self.shell_words(2) })
    }

    /// What to write for `\setrandom NAME MIN MAX [uniform | {gaussian | exponential} PARAMETER]`.
    fn random_instead(&self) -> String {
        let words: Vec<String> = self.words[1..].iter().map(|word| lossy(word.text)).collect();
        match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [name, min, max] | [name, min, max, "uniform"] => format!("\\set {name} random({min}, {max})"),
            [name, min, max, kind @ ("gaussian" | "exponential"), parameter] => {
                format!("\\set {name} random_{kind}({min}, {max}, {parameter})")
            }
            _ => "\\set NAME random(MIN, MAX)".to_owned(),
        }
    }

    fn shell_words(&mut self, from: usize) -> Shell {
        let words: Vec<&[u8]> = self.words[from..].iter().map(|word| word.text).collect();
        Shell::new(&words, |name| self.symbols.intern(name))
    }

    fn sleep(&mut self) -> Result<Action, ParseError> {
        if self.words.len() < 2 {
            return Err(self.error("missing argument"));
        }
        if let Some(third) = self.words.get(3) {
            return Err(self.error_at("too many arguments", None, third.offset));
        }
        let amount = &self.words[1];
        let (amount, glued) = match amount.text {
            [b':', name @ ..] => (Amount::Variable(self.symbols.intern(name)), None),
            text => {
                let unit = self.unit_behind_number(text)?;
                let number = Amount::Number(leading_int(text));
                (number, unit.map(|at| (&text[at..], amount.offset + at)))
            }
        };
        let unit = glued.or_else(|| self.words.get(2).map(|word| (word.text, word.offset)));
        let unit = match unit {
            None => SleepUnit::Seconds,
            Some((word, offset)) => SleepUnit::parse(word).ok_or_else(|| {
                self.error_at("unrecognized time unit, must be us, ms or s", Some(lossy(word)), offset)
            })?,
        };
        Ok(Action::Sleep(Sleep { command: lossy(self.words[0].text), amount, unit }))
    }

    /// Where a unit attached to `\sleep`'s number starts, if any.
    fn unit_behind_number(&self, text: &[u8]) -> Result<Option<usize>, ParseError> {
        let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
        let digits = text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if sign + digits == text.len() {
            return Ok(None);
        }
        if digits == 0 || self.words.len() > 2 {
            let message = "invalid sleep time, must be an integer";
            return Err(self.error_at(message, Some(lossy(text)), self.words[1].offset));
        }
        Ok(Some(sign + digits))
    }

    fn target(&mut self, word: usize) -> AssignmentTarget {
        let name = self.words[word].text;
        if is_valid_name(name) {
            AssignmentTarget::Variable(self.symbols.intern(name))
        } else {
            AssignmentTarget::BadName(lossy(name))
        }
    }

    fn expression(&mut self) -> Result<Expression, ParseError> {
        let text = self.lexer.text;
        match expression::parse(text, &mut self.lexer.position, self.symbols) {
            Ok(expression) => Ok(expression),
            Err(fault) => {
                Err(self.error_at(fault.message, fault.detail.map(|detail| lossy(&detail)), fault.offset))
            }
        }
    }

    /// Reads the next word; `false` at the command's end, which is consumed. A backslash before a line end
    /// continues the command on the next line.
    fn word(&mut self) -> Result<bool, ParseError> {
        let text = self.lexer.text;
        let at = &mut self.lexer.position;
        loop {
            match text.get(*at) {
                None => return Ok(false),
                Some(b'\n') => {
                    *at += 1;
                    return Ok(false);
                }
                Some(&byte) if expression::is_blank(byte) => *at += 1,
                Some(_) => match expression::continuation_len(&text[*at..]) {
                    0 => break,
                    len => *at += len,
                },
            }
        }
        let offset = *at;
        while text.get(*at).is_some_and(|&byte| byte != b'\n' && !expression::is_blank(byte))
            && (*at == offset || expression::continuation_len(&text[*at..]) == 0)
        {
            *at += 1;
        }
        let word = Word { text: &text[offset..*at], offset };
        *at += expression::continuation_len(&text[*at..]);
        if self.words.len() >= MAX_WORDS {
            return Err(self.early_error("too many arguments"));
        }
        self.words.push(word);
        Ok(true)
    }

    /// The command's text so far, including the backslash, without trailing line ends.
    fn text(&self) -> String {
        let text = &self.lexer.text[self.start..self.lexer.position];
        let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        lossy(&text[..end])
    }

    fn error_at(&self, message: &'static str, detail: Option<String>, offset: usize) -> ParseError {
        self.syntax_error(message, detail, Some(self.text()), Some(offset - self.start))
    }

    fn error(&self, message: &'static str) -> ParseError {
        self.syntax_error(message, None, Some(self.text()), None)
    }

    /// An error found before the whole command was read: pgbench does not show the command then.
    fn early_error(&self, message: &'static str) -> ParseError {
        self.syntax_error(message, None, None, None)
    }

    fn syntax_error(
        &self,
        message: &'static str,
        detail: Option<String>,
        text: Option<String>,
        column: Option<usize>,
    ) -> ParseError {
        let command = Some(lossy(self.words[0].text));
        SyntaxError { script: self.script.into(), line: self.line, message, detail, command, text, column }
            .into()
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
