//! The scripts of a command line, read and checked at their options, and the assignment of clients to scripts
//! and hosts.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use script::{Builtin, ParseError, Weighted};
use workloads::pgbench::{ClientGroup, HostPolicy, QueryProtocol};

use super::env::{Env, ReadFault};
use super::fault::ArgumentError;
use super::own::GroupOption;
use crate::commands::pgbench::talk::LogLevel;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scripts {
    /// In the order of `-f`, `-b`, `-S` and `-N`, 1 to 128; tpcb-like by default.
    pub(crate) all: Vec<ScriptArgument>,
    /// `--startup-script`
    pub(crate) startup: Option<ScriptText>,
    /// `--group`; empty: all clients choose among all scripts. Otherwise the groups cover all clients.
    pub(crate) groups: Vec<ClientGroup>,
    /// `--hosts` and `--read-script`
    pub(crate) hosts: HostPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptArgument {
    pub(crate) origin: Origin,
    /// 0..=2^31-1
    pub(crate) weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Builtin(&'static Builtin),
    /// A file or standard input, read and checked.
    File(ScriptText),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptText {
    /// As given.
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
}

impl ScriptArgument {
    pub(crate) fn name(&self) -> &str {
        match &self.origin {
            Origin::Builtin(builtin) => builtin.description,
            Origin::File(file) => &file.name,
        }
    }

    fn only_reads(&self) -> bool {
        matches!(&self.origin, Origin::Builtin(builtin) if builtin.name == "select-only")
    }
}

#[derive(Debug, Default)]
pub(super) struct ScriptOptions {
    all: Vec<ScriptArgument>,
    parsed: script::Scripts,
    pub(super) startup: Option<ScriptText>,
    pub(super) groups: Vec<GroupOption>,
    /// Still without the read-only scripts.
    pub(super) hosts: HostPolicy,
    /// `--read-script`: script numbers, from 1.
    pub(super) read_scripts: Vec<usize>,
}

impl ScriptOptions {
    /// `-b`: a built-in script by a prefix of its name, with an optional weight.
    pub(super) fn add_builtin(&mut self, text: &str) -> Result<(), ArgumentError> {
        let Weighted { name, weight } =
            Weighted::parse(text).map_err(|error| ArgumentError::error(error.to_string()))?;
        let builtin = builtin(&name)?;
        self.parsed.add_builtin(builtin, weight).map_err(wrong_script)?;
        self.all.push(ScriptArgument { origin: Origin::Builtin(builtin), weight });
        Ok(())
    }

    /// `-f`: a file, with an optional weight.
    pub(super) fn add_file(&mut self, value: &OsStr, env: &dyn Env) -> Result<(), ArgumentError> {
        let weighted = Weighted::parse(&value.to_string_lossy());
        let Weighted { name, weight } = weighted.map_err(|error| ArgumentError::error(error.to_string()))?;
        let text = read(&path(value), &name, env)?;
        self.parsed.add(&name, &text, weight).map_err(wrong_script)?;
        self.all.push(ScriptArgument { origin: Origin::File(ScriptText { name, text }), weight });
        Ok(())
    }

    /// Adds tpcb-like if no script was named; then checks the whole list.
    pub(super) fn complete(&mut self, mode: QueryProtocol) -> Result<(), ArgumentError> {
        if self.all.is_empty() {
            self.add_builtin("tpcb-like")?;
        }
        self.parsed.check(mode != QueryProtocol::Simple).map_err(wrong_script)
    }

    pub(super) fn groups(&self) -> Result<Vec<ClientGroup>, ArgumentError> {
        self.groups.iter().map(|group| self.group(group)).collect()
    }

    fn group(&self, group: &GroupOption) -> Result<ClientGroup, ArgumentError> {
        let mut chosen: Vec<(usize, u32)> = Vec::new();
        for &(number, weight) in &group.scripts {
            let index = self.index("--group", number)?;
            if chosen.iter().any(|&(other, _)| other == index) {
                return Err(ArgumentError::error(format!("--group names script {number} twice")));
            }
            chosen.push((index, weight.unwrap_or(self.all[index].weight)));
        }
        if chosen.iter().all(|&(_, weight)| weight == 0) {
            return Err(ArgumentError::error("total script weight of a group (--group) must not be zero"));
        }
        Ok(ClientGroup { clients: group.clients as usize, scripts: chosen })
    }

    fn index(&self, option: &str, number: usize) -> Result<usize, ArgumentError> {
        let count = self.all.len();
        if number <= count {
            return Ok(number - 1);
        }
        let (are, scripts) = if count == 1 { ("is", "script") } else { ("are", "scripts") };
        let text = format!("{option} names script {number}, but there {are} {count} {scripts}");
        let hint = "Scripts are numbered from 1 in the order of -f, -b, -S and -N.";
        Err(ArgumentError::error(text).and(LogLevel::Hint, hint))
    }

    pub(super) fn decide(self, groups: Vec<ClientGroup>) -> Result<Scripts, ArgumentError> {
        let hosts = match self.hosts {
            HostPolicy::ReadWrite { .. } => HostPolicy::ReadWrite { reads: self.reads()? },
            _ if !self.read_scripts.is_empty() => {
                return Err(ArgumentError::error("--read-script is allowed only with --hosts read-write"));
            }
            hosts => hosts,
        };
        Ok(Scripts { all: self.all, startup: self.startup, groups, hosts })
    }

    /// The read-only scripts, ascending: as given, else the known built-in ones.
    fn reads(&self) -> Result<Vec<usize>, ArgumentError> {
        let named = self.read_scripts.iter().map(|&number| self.index("--read-script", number));
        let mut chosen = named.collect::<Result<Vec<usize>, ArgumentError>>()?;
        if chosen.is_empty() {
            chosen = (0..self.all.len()).filter(|&index| self.all[index].only_reads()).collect();
        }
        if chosen.is_empty() {
            let hint = "Name them with --read-script; the builtin script select-only is known to.";
            return Err(ArgumentError::error("--hosts read-write needs to know which scripts only read")
                .and(LogLevel::Hint, hint));
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }
}

pub(super) fn builtin(name: &str) -> Result<&'static Builtin, ArgumentError> {
    Builtin::find(name)
        .map_err(|error| ArgumentError::error(error.to_string()).and(LogLevel::Plain, super::list_text()))
}

/// `--startup-script`: a file, checked as a separate script.
pub(super) fn startup(value: &OsStr, env: &dyn Env) -> Result<ScriptText, ArgumentError> {
    let name = value.to_string_lossy().into_owned();
    let text = read(value, &name, env)?;
    script::Scripts::new().add(&name, &text, 1).map_err(wrong_script)?;
    Ok(ScriptText { name, text })
}

fn wrong_script(error: ParseError) -> ArgumentError {
    ArgumentError::error(error.to_string())
}

/// The name without its weight; bytes that are not UTF-8 are kept.
fn path(value: &OsStr) -> OsString {
    let bytes = value.as_bytes();
    let end = bytes.iter().rposition(|&byte| byte == b'@').unwrap_or(bytes.len());
    OsString::from_vec(bytes[..end].to_vec())
}

fn read(path: &OsStr, name: &str, env: &dyn Env) -> Result<Vec<u8>, ArgumentError> {
    env.read(path).map_err(|fault| {
        let (doing, error) = match &fault {
            ReadFault::Open(error) => ("open", error),
            ReadFault::Read(error) => ("read", error),
        };
        ArgumentError::error(format!("could not {doing} file \"{name}\": {}", system_text(error)))
    })
}

/// The system's error text as C prints it, without the number that Rust adds.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
