//! The scripts of a command line, read and checked where they are named.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use script::{Builtin, ParseError, Scripts, Weighted};

use super::env::ReadFault;
use super::settings::{Origin, ScriptAsked, ScriptText};
use super::{Env, Fault, Level};

/// Scripts in the order they were asked for.
#[derive(Debug, Default)]
pub(super) struct ScriptsAsked {
    asked: Vec<ScriptAsked>,
    parsed: Scripts,
}

impl ScriptsAsked {
    /// `-b`: a builtin script by a prefix of its name, perhaps with a weight.
    pub(super) fn add_builtin(&mut self, text: &str) -> Result<(), Fault> {
        let Weighted { name, weight } =
            Weighted::parse(text).map_err(|error| Fault::error(error.to_string()))?;
        let builtin = builtin(&name)?;
        self.parsed.add_builtin(builtin, weight).map_err(wrong)?;
        self.asked.push(ScriptAsked { origin: Origin::Builtin(builtin), weight });
        Ok(())
    }

    /// `-f`: a file, perhaps with a weight.
    pub(super) fn add_file(&mut self, value: &OsStr, env: &dyn Env) -> Result<(), Fault> {
        let weighted = Weighted::parse(&value.to_string_lossy());
        let Weighted { name, weight } = weighted.map_err(|error| Fault::error(error.to_string()))?;
        let text = read(&path(value), &name, env)?;
        self.parsed.add(&name, &text, weight).map_err(wrong)?;
        self.asked.push(ScriptAsked { origin: Origin::File(ScriptText { name, text }), weight });
        Ok(())
    }

    /// tpcb-like, if no script was asked for.
    pub(super) fn or_default(&mut self) -> Result<(), Fault> {
        if self.asked.is_empty() { self.add_builtin("tpcb-like") } else { Ok(()) }
    }

    /// What can only be said of all together; `extended` when variables travel as parameters.
    pub(super) fn check(&self, extended: bool) -> Result<(), Fault> {
        self.parsed.check(extended).map_err(wrong)
    }

    /// The scripts so far.
    pub(super) fn all(&self) -> &[ScriptAsked] {
        &self.asked
    }

    /// Hands the scripts over.
    pub(super) fn take(&mut self) -> Vec<ScriptAsked> {
        std::mem::take(&mut self.asked)
    }
}

/// A builtin script by a prefix of its name.
pub(super) fn builtin(name: &str) -> Result<&'static Builtin, Fault> {
    Builtin::find(name).map_err(|error| Fault::error(error.to_string()).and(Level::Plain, super::list_text()))
}

/// `--startup-script`: a file, checked as a script of its own.
pub(super) fn startup(value: &OsStr, env: &dyn Env) -> Result<ScriptText, Fault> {
    let name = value.to_string_lossy().into_owned();
    let text = read(value, &name, env)?;
    Scripts::new().add(&name, &text, 1).map_err(wrong)?;
    Ok(ScriptText { name, text })
}

fn wrong(error: ParseError) -> Fault {
    Fault::error(error.to_string())
}

/// The name without its weight, with bytes that are no UTF-8 as they are.
fn path(value: &OsStr) -> OsString {
    let bytes = value.as_bytes();
    let end = bytes.iter().rposition(|&byte| byte == b'@').unwrap_or(bytes.len());
    OsString::from_vec(bytes[..end].to_vec())
}

fn read(path: &OsStr, name: &str, env: &dyn Env) -> Result<Vec<u8>, Fault> {
    env.read(path).map_err(|fault| {
        Fault::error(match fault {
            ReadFault::Open(error) => format!("could not open file \"{name}\": {}", system_text(&error)),
            ReadFault::Read(error) => format!("could not read file \"{name}\": {}", system_text(&error)),
        })
    })
}

/// The system's words for an error, as C prints them: without the number that Rust adds.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
