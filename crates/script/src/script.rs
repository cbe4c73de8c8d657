//! Parses a script's text to commands.

use crate::command::{Action, ScriptCommand};
use crate::error::{ConditionProblem, ParseError, SyntaxError};
use crate::lexer::{Lexer, ScanResult};
use crate::meta::{self, Meta};
use crate::render::{Capture, Statement};
use crate::symbols::Symbols;

/// Longest text of a statement shown in reports, in bytes.
const FIRST_LINE_LEN: usize = 127;

/// A parsed script: at least one command, with matching conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The file as given, or a builtin's description.
    pub name: String,
    /// `\gset` and `\aset` belong to the statement before them.
    pub commands: Vec<ScriptCommand>,
}

impl Script {
    /// Parses a script. Its variables are numbered in `symbols`, which all scripts of a run share.
    ///
    /// # Errors
    /// A backslash command is invalid, conditions do not match, or there is no command. SQL is not checked.
    pub fn parse(name: &str, text: &[u8], symbols: &mut Symbols) -> Result<Self, ParseError> {
        // pgbench works on C strings.
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut commands = parse_commands(name, text, symbols)?;
        if commands.is_empty() {
            return Err(ParseError::Empty { script: name.into() });
        }
        link_conditions(name, &mut commands)?;
        Ok(Self { name: name.into(), commands })
    }
}

fn parse_commands(name: &str, text: &[u8], symbols: &mut Symbols) -> Result<Vec<ScriptCommand>, ParseError> {
    let mut lexer = Lexer::new(text);
    let mut commands: Vec<ScriptCommand> = Vec::new();
    loop {
        let raw = lexer.statement();
        let stop = raw.stop;
        if !raw.text.is_empty() {
            commands.push(ScriptCommand {
                line: lexer.line_of(raw.start),
                summary: first_line(&raw.text),
                words: Vec::new(),
                action: Action::Sql(Statement::new(raw.text, raw.parts, symbols)),
            });
        }
        match stop {
            ScanResult::Semicolon => {}
            ScanResult::End => return Ok(commands),
            ScanResult::Backslash => match meta::parse(name, &mut lexer, symbols)? {
                None => {}
                Some(Meta::Command(command)) => commands.push(*command),
                Some(Meta::Capture { capture, line }) => attach(name, commands.last_mut(), capture, line)?,
            },
        }
    }
}

/// Adds a capture to the last command, which must be a statement without one.
fn attach(
    script: &str,
    last: Option<&mut ScriptCommand>,
    capture: Capture,
    line: usize,
) -> Result<(), ParseError> {
    let detail = match last {
        Some(ScriptCommand { action: Action::Sql(statement), .. }) if statement.capture == Capture::None => {
            statement.capture = capture;
            return Ok(());
        }
        Some(command) if !matches!(command.action, Action::Sql(_)) => Some(command.summary.clone()),
        _ => None,
    };
    let message = "\\gset must follow an SQL command";
    Err(SyntaxError { script: script.into(), line, message, detail, command: None, text: None, column: None }
        .into())
}

fn first_line(text: &[u8]) -> String {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    String::from_utf8_lossy(&line[..line.len().min(FIRST_LINE_LEN)]).into_owned()
}

/// An `\if` without its `\endif` so far.
struct OpenCondition {
    /// The `\if` or `\elif` that still needs the command to jump to.
    untested: Option<usize>,
    /// `\elif`s and the `\else` that jump after the `\endif`.
    to_end: Vec<usize>,
    has_else: bool,
}

/// Checks that conditions match, and fills in their jumps.
fn link_conditions(script: &str, commands: &mut [ScriptCommand]) -> Result<(), ParseError> {
    let mut open: Vec<OpenCondition> = Vec::new();
    for index in 0..commands.len() {
        let condition_error =
            |problem| ParseError::Condition { script: script.into(), command: index + 1, problem };
        match commands[index].action {
            Action::If { .. } => {
                open.push(OpenCondition { untested: Some(index), to_end: Vec::new(), has_else: false })
            }
            Action::Elif { .. } => {
                let top = open.last_mut().ok_or_else(|| condition_error(ConditionProblem::ElifWithoutIf))?;
                if top.has_else {
                    return Err(condition_error(ConditionProblem::ElifAfterElse));
                }
                set_otherwise(commands, top.untested.replace(index), index);
                top.to_end.push(index);
            }
            Action::Else { .. } => {
                let top = open.last_mut().ok_or_else(|| condition_error(ConditionProblem::ElseWithoutIf))?;
                if top.has_else {
                    return Err(condition_error(ConditionProblem::ElseAfterElse));
                }
                top.has_else = true;
                set_otherwise(commands, top.untested.take(), index + 1);
                top.to_end.push(index);
            }
            Action::Endif => {
                let top = open.pop().ok_or_else(|| condition_error(ConditionProblem::EndifWithoutIf))?;
                set_otherwise(commands, top.untested, index + 1);
                for from in top.to_end {
                    set_end(&mut commands[from].action, index + 1);
                }
            }
            _ => {}
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let problem = ConditionProblem::IfWithoutEndif;
    Err(ParseError::Condition { script: script.into(), command: commands.len() + 1, problem })
}

fn set_otherwise(commands: &mut [ScriptCommand], from: Option<usize>, to: usize) {
    if let Some(Action::If { otherwise, .. } | Action::Elif { otherwise, .. }) =
        from.map(|index| &mut commands[index].action)
    {
        *otherwise = to;
    }
}

fn set_end(action: &mut Action, to: usize) {
    if let Action::Elif { end, .. } | Action::Else { end } = action {
        *end = to;
    }
}
