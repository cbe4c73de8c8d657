//! `\shell` and `\setshell`: their command line and result. The caller runs the command.

use crate::error::EvalError;
use crate::number::{leading_int, skip_spaces};
use crate::symbols::Slot;
use crate::variables::Variables;

/// Size of pgbench's buffer; a command line must leave two bytes of it free.
const BUFFER_LEN: usize = 256;
/// Length of a result that pgbench reads.
const RESULT_LEN: usize = 63;

/// The words of a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Literal(Box<[u8]>),
    Variable(Slot),
}

impl Shell {
    /// Splits the words: `:v` is a variable, `::x` means `:x`, anything else is literal. There must be a
    /// word.
    pub(crate) fn new(words: &[&[u8]], mut slot_of: impl FnMut(&[u8]) -> Slot) -> Self {
        let words = words.iter().map(|word| match word {
            [b':', rest @ ..] if rest.first() == Some(&b':') => Word::Literal(rest.into()),
            [b':', name @ ..] => Word::Variable(slot_of(name)),
            word => Word::Literal((*word).into()),
        });
        Self { words: words.collect() }
    }

    /// Appends the command line for `sh -c`: the words joined by blanks, with variables replaced by their
    /// text.
    ///
    /// # Errors
    /// A variable is unset, or the line is longer than 254 bytes.
    pub fn append_command(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<(), EvalError> {
        let start = out.len();
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            match word {
                Word::Literal(text) => out.extend_from_slice(text),
                Word::Variable(slot) => {
                    if !variables.append_text(*slot, out) {
                        let name = format!(":{}", variables.symbols().display_name(*slot));
                        return Err(EvalError::UndefinedArgument { command: self.name(variables), name });
                    }
                }
            }
            if out.len() - start >= BUFFER_LEN - 1 {
                return Err(EvalError::ShellTooLong { command: self.name(variables) });
            }
        }
        Ok(())
    }

    /// The first word as written, the command's name in messages.
    pub fn name(&self, variables: &Variables) -> String {
        match self.words.first() {
            None => String::new(),
            Some(Word::Variable(slot)) => format!(":{}", variables.symbols().display_name(*slot)),
            // A literal colon at the start was written as two.
            Some(Word::Literal(text)) => {
                let colon = if text.first() == Some(&b':') { ":" } else { "" };
                format!("{colon}{}", String::from_utf8_lossy(text))
            }
        }
    }
}

/// The result of a `\setshell` command: the first line of its output, a 32-bit number and blanks.
///
/// # Errors
/// [`EvalError::ShellNotInteger`]; `command` is [`Shell::name`].
pub fn shell_result(command: &str, output: &[u8]) -> Result<i32, EvalError> {
    let line_len = output.iter().position(|&byte| byte == b'\n').map_or(output.len(), |end| end + 1);
    let line = &output[..line_len.min(RESULT_LEN)];
    let number = skip_spaces(line);
    let unsigned = number.strip_prefix(b"-").or_else(|| number.strip_prefix(b"+")).unwrap_or(number);
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // strtol reads a blank line as 0, but a missing line is an error.
    let blank = number.is_empty() && !line.is_empty();
    if (digits == 0 && !blank) || !skip_spaces(&unsigned[digits..]).is_empty() {
        let output = String::from_utf8_lossy(line).into_owned();
        return Err(EvalError::ShellNotInteger { command: command.into(), output });
    }
    // Like the C cast, this keeps the low 32 bits.
    Ok(leading_int(line) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results() {
        let cases: [(&[u8], Option<i32>); 8] = [
            (b"42\n", Some(42)),
            (b" -7 \nmore", Some(-7)),
            (b"4294967297\n", Some(1)),
            (b"one", None),
            (b"\n", Some(0)),
            (b"", None),
            (b"1 2", None),
            (b"+", None),
        ];
        for (output, expected) in cases {
            assert_eq!(shell_result("echo", output).ok(), expected, "{}", String::from_utf8_lossy(output));
        }
        let error = shell_result("echo", b"one").map_err(|error| error.to_string());
        assert_eq!(error, Err("echo: shell command must return an integer (not \"one\")".into()));
    }
}
