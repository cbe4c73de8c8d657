//! Scripts read and parsed, once per experiment and the same for every arm.

use script::{Action, Scripts};

use super::keyed;
use super::manner::{HostPolicy, Manner};
use super::options::{Mode, Options};
use super::source::{Loaded, ScriptSource};
use super::writes::writes;
use crate::error::WorkloadError;
use crate::hash::sha256_hex;
use crate::workload::{Asked, Prepared, ScriptInfo, StatementInfo};

/// Parsed scripts and how they are to be run; shared by all clients.
#[derive(Debug)]
pub(super) struct Program {
    /// Those that are measured, and behind them the startup script, if there is one.
    pub(super) scripts: Scripts,
    /// Index of the startup script.
    pub(super) startup: Option<usize>,
    /// By script: whether it goes to a standby.
    pub(super) reads: Vec<bool>,
    /// As a drop-in for pgbench does it; an experiment otherwise.
    pub(super) drop_in: bool,
    pub(super) manner: Manner,
    pub(super) options: Options,
    /// By [`script::Statement::number`]: what the extended protocol sends.
    pub(super) texts: Vec<Vec<u8>>,
    /// For each script the number of its first command over all scripts; behind the last one that of all commands.
    pub(super) first_command: Vec<usize>,
    /// SHA-256 of each script's text.
    pub(super) hashes: Vec<String>,
    /// The scripts as they were read, the startup script too.
    pub(super) sources: Vec<Asked>,
    /// Whether a built-in script is among them: they need pgbench's tables.
    pub(super) builtin: bool,
    /// By [`script::Statement::number`]: whether it reads or writes by key.
    pub(super) by_key: Vec<bool>,
}

impl Program {
    /// Whether a script begins transactions of several statements.
    pub(super) fn begins_transactions(&self) -> bool {
        let begins = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).trim_start().to_ascii_lowercase();
            text.starts_with("begin") || text.starts_with("start transaction")
        };
        self.texts.iter().any(|text| begins(text))
    }

    /// Whether a script changes data, as far as its text says.
    pub(super) fn writes(&self) -> bool {
        self.texts.iter().any(|text| writes(&String::from_utf8_lossy(text)))
    }

    /// Reads and parses `sources` for an experiment; relative files are looked up from `folder` by whoever made the
    /// sources.
    pub(super) fn load(options: &Options, sources: &[ScriptSource]) -> Result<Self, WorkloadError> {
        let program = Self::new(options, sources, Manner::default(), false)?;
        refuse_shell(&program.scripts)?;
        Ok(program)
    }

    /// Whether a script is built in, or names the table that the built-in ones write their history into.
    pub(super) fn writes_history(&self) -> bool {
        let names = |source: &Asked| String::from_utf8_lossy(&source.text).contains("pgbench_history");
        self.builtin || self.sources.iter().any(names)
    }

    /// Whether a script uses `:scale` on pgbench's tables, and nobody defined it otherwise.
    pub(super) fn uses_scale_of_tables(&self) -> bool {
        let measured = self.sources.iter().map(|source| String::from_utf8_lossy(&source.text));
        !self.options.define.contains_key("scale")
            && measured.into_iter().any(|text| text.contains(":scale") && text.contains("pgbench_"))
    }

    /// Reads and parses `sources` for a drop-in, whose messages are pgbench's.
    pub(super) fn drop_in(
        options: &Options,
        sources: &[ScriptSource],
        manner: Manner,
    ) -> Result<Self, WorkloadError> {
        let program = Self::new(options, sources, manner, true)?;
        if program.manner.shell.is_none() {
            refuse_shell(&program.scripts)?;
        }
        Ok(program)
    }

    fn new(
        options: &Options,
        sources: &[ScriptSource],
        manner: Manner,
        drop_in: bool,
    ) -> Result<Self, WorkloadError> {
        options.validate()?;
        manner.validate(sources.len())?;
        let mut scripts = Scripts::new();
        let (mut hashes, mut texts, mut builtin) = (Vec::new(), Vec::new(), false);
        for source in sources {
            let loaded = Loaded::read(source, drop_in)?;
            if !drop_in && std::str::from_utf8(&loaded.text).is_err() {
                // The guard's connection takes text only.
                let problem = format!("script \"{}\" is not UTF-8 text; convert it first", loaded.name);
                return Err(WorkloadError::Script(problem));
            }
            builtin |= loaded.builtin;
            hashes.push(sha256_hex(&loaded.text));
            scripts.add(&loaded.name, &loaded.text, loaded.weight).map_err(wrong)?;
            texts.push(loaded.asked());
        }
        let startup = manner.startup.is_some().then_some(sources.len());
        if let Some(source) = &manner.startup {
            let loaded = Loaded::read(source, drop_in)?;
            scripts.add_aside(&loaded.name, &loaded.text).map_err(wrong)?;
            texts.push(loaded.asked());
        }
        scripts.check(options.mode != Mode::Simple).map_err(wrong)?;
        check_names(options, drop_in)?;
        let reads: &[usize] = match &manner.hosts {
            HostPolicy::ReadWrite { reads } => reads,
            _ => &[],
        };
        Ok(Self {
            texts: statement_texts(&scripts),
            by_key: keyed::statements(&scripts),
            first_command: first_commands(&scripts),
            reads: (0..sources.len()).map(|script| reads.contains(&script)).collect(),
            startup,
            drop_in,
            manner,
            scripts,
            hashes,
            sources: texts,
            builtin,
            options: options.clone(),
        })
    }

    /// Commands over all scripts.
    pub(super) fn commands(&self) -> usize {
        self.first_command.last().copied().unwrap_or_default()
    }

    /// Where a command is written: `file.sql, line 3: SELECT …`; `statement` counts over all scripts.
    pub(super) fn place(&self, statement: usize) -> Option<String> {
        let index = self.first_command.partition_point(|first| *first <= statement).checked_sub(1)?;
        let script = self.scripts.scripts().get(index)?;
        let command = script.commands.get(statement - self.first_command[index])?;
        Some(format!("{}, line {}: {}", script.name, command.line, command.summary))
    }

    /// How many scripts are measured.
    pub(super) fn measured(&self) -> usize {
        self.startup.unwrap_or(self.scripts.scripts().len())
    }

    pub(super) fn infos(&self) -> Vec<ScriptInfo> {
        // The hashes are those of the measured scripts.
        let scripts = self.scripts.scripts().iter().zip(&self.hashes).zip(self.scripts.weights());
        scripts
            .map(|((script, hash), weight)| ScriptInfo {
                name: script.name.clone(),
                text_hash: hash.clone(),
                weight: *weight,
                part: None,
            })
            .collect()
    }

    pub(super) fn statements(&self) -> Vec<StatementInfo> {
        let scripts = self.scripts.scripts().iter().take(self.measured()).enumerate();
        scripts
            .flat_map(|(index, script)| script.commands.iter().map(move |command| (index, command)))
            .map(|(script, command)| StatementInfo { script, text: command.summary.clone() })
            .collect()
    }

    /// The scripts as plain data.
    pub(super) fn prepared(&self) -> Prepared {
        let infos = self.infos();
        let list: Vec<_> = infos
            .iter()
            .map(|info| serde_json::json!({"name": info.name, "hash": info.text_hash, "weight": info.weight}))
            .collect();
        let json = serde_json::json!({"scripts": list, "mode": self.options.mode.name()}).to_string();
        let names: Vec<_> = infos.iter().map(|info| info.name.as_str()).collect();
        Prepared { hash: sha256_hex(json.as_bytes()), json, summary: names.join(", ") }
    }
}

/// A script that cannot be run.
fn wrong(error: script::ParseError) -> WorkloadError {
    WorkloadError::Script(error.to_string())
}

/// Where nothing runs them, shell commands are named, not silently left out.
fn refuse_shell(scripts: &Scripts) -> Result<(), WorkloadError> {
    for script in scripts.scripts() {
        for command in &script.commands {
            if matches!(command.action, Action::Shell(_) | Action::SetShell { .. }) {
                let name = command.words.first().map_or("shell", String::as_str);
                return Err(WorkloadError::Script(format!(
                    "{}:{}: \\{name} is not supported yet; take it out, or compute the value with \\set or \\gset",
                    script.name, command.line
                )));
            }
        }
    }
    Ok(())
}

fn statement_texts(scripts: &Scripts) -> Vec<Vec<u8>> {
    let commands = scripts.scripts().iter().flat_map(|script| &script.commands);
    let statements = commands.filter_map(|command| match &command.action {
        Action::Sql(statement) => Some(statement),
        _ => None,
    });
    statements.map(|statement| statement.extended_text().to_vec()).collect()
}

fn first_commands(scripts: &Scripts) -> Vec<usize> {
    let ends = scripts.scripts().iter().scan(0, |end, script| {
        *end += script.commands.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Checks the names of variables that are set before the first script.
fn check_names(options: &Options, drop_in: bool) -> Result<(), WorkloadError> {
    let plain = |name: &str| {
        let mut bytes = name.bytes();
        let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
        bytes.next().is_some_and(letter) && bytes.all(|byte| letter(byte) || byte.is_ascii_digit())
    };
    match options.define.keys().find(|name| !plain(name)) {
        None => Ok(()),
        Some(name) if drop_in => {
            Err(WorkloadError::Script(format!("option: invalid variable name: \"{name}\"")))
        }
        Some(name) => {
            let problem = format!("invalid variable name: \"{name}\"; use letters, digits and _");
            Err(WorkloadError::option("pgbench.define", problem))
        }
    }
}
