//! The drop-in's command line: pgbench 18's, to the letter, with pgbench 19's `--continue-on-error` and options of
//! our own beside it.
//!
//! As in pgbench, options are taken one after another, and the first mistake ends it: scripts are read and checked
//! where `-f` names them, and whatever can be said about several options together is said after the last one.

mod checks;
mod env;
mod gather;
mod help;
mod numbers;
mod options;
mod own;
mod scripts;
mod settings;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use std::ffi::OsString;

use script::Builtin;

pub(crate) use env::{Env, Process};
pub(crate) use help::{VERSION, help, version};
pub(crate) use settings::{
    Connection, Format, Group, HostPolicy, InitSettings, Length, LogAsked, Origin, ProgressAsked,
    RunSettings, ScriptAsked, ScriptText, Vacuum,
};

use self::gather::Gathered;
use self::tokens::{Token, Tokens};
use super::talk::{Level, NAME};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// `--help`: [`help()`], on standard output.
    Help,
    /// `--version`: [`version`], on standard output.
    Version,
    /// `-b list`: [`list_text`], on standard error.
    ListScripts,
    /// `--show-script`: [`show_text`], on standard error.
    ShowScript(&'static Builtin),
    /// `-i`
    Initialize(Box<InitSettings>),
    /// A run.
    Run(Box<RunSettings>),
}

/// A message and its kind.
pub(crate) type Line = (Level, String);

/// A command line that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// What is to be said first, in this order.
    pub(crate) said: Vec<Line>,
    /// What is to be done then.
    pub(crate) ask: Ask,
}

/// A command line that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is to be said, in this order.
    pub(crate) lines: Vec<Line>,
    /// Exit code.
    pub(crate) exit: u8,
}

impl Fault {
    /// An error.
    fn error(text: impl Into<String>) -> Self {
        Self { lines: vec![(Level::Error, text.into())], exit: 1 }
    }

    /// The same with one more line.
    fn and(mut self, level: Level, text: impl Into<String>) -> Self {
        self.lines.push((level, text.into()));
        self
    }

    /// The same with the advice to look at the help.
    fn and_see_help(self) -> Self {
        self.and(Level::Hint, format!("Try \"{NAME} --help\" for more information."))
    }
}

/// Reads a command line, without the program's name.
///
/// # Errors
/// It is wrong: with pgbench's messages and exit code.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>, env: &dyn Env) -> Result<Asked, Fault> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some("--help" | "-?") => return Ok(Asked { said: Vec::new(), ask: Ask::Help }),
        Some("--version" | "-V") => return Ok(Asked { said: Vec::new(), ask: Ask::Version }),
        _ => {}
    }
    let mut gathered = Gathered::default();
    match read(arguments, &mut gathered, env) {
        Ok(ask) => Ok(Asked { said: gathered.said, ask }),
        Err(mut fault) => {
            fault.lines.splice(0..0, gathered.said);
            Err(fault)
        }
    }
}

fn read(arguments: Vec<OsString>, gathered: &mut Gathered, env: &dyn Env) -> Result<Ask, Fault> {
    gathered.seed_from_environment(env)?;
    let mut tokens = Tokens::new(arguments, env.variable("POSIXLY_CORRECT").is_some());
    while let Some(token) = tokens.next() {
        match token {
            Token::Option(spec, value) => {
                if let Some(ask) = gathered.take(spec, &value, env)? {
                    return Ok(ask);
                }
            }
            Token::Wrong(text) => {
                let complaint = (Level::Plain, format!("{}: {text}", env.called()));
                return Err(Fault { lines: vec![complaint], exit: 1 }.and_see_help());
            }
        }
    }
    checks::finish(gathered, tokens.others(), env)
}

/// What `-b list` prints.
pub(crate) fn list_text() -> String {
    format!("{}\n", Builtin::list())
}

/// What `--show-script` prints.
pub(crate) fn show_text(builtin: &Builtin) -> String {
    format!("{builtin}\n")
}
