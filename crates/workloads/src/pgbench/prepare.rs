//! Scripts read and parsed, once per experiment and the same for every arm.

use std::path::Path;

use engine::Time;
use script::{Action, Builtin, Scripts, Weighted};

use super::options::{Mode, Options, ScriptSource};
use crate::error::WorkloadError;
use crate::hash::sha256_hex;
use crate::words::nearest;
use crate::workload::{Prepared, ScriptInfo, StatementInfo};

/// Longest script file that is read.
const LONGEST: u64 = 64 << 20;

/// Parsed scripts and how they are to be run; shared by all clients.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) scripts: Scripts,
    /// By [`script::Statement::number`].
    pub(super) texts: Vec<StatementText>,
    /// For each script the number of its first command over all scripts.
    pub(super) first_command: Vec<u16>,
    /// SHA-256 of each script's text.
    pub(super) hashes: Vec<String>,
    /// Whether a built-in script is among them: they need pgbench's tables.
    pub(super) builtin: bool,
    pub(super) mode: Mode,
    pub(super) define: Vec<(String, String)>,
    pub(super) max_tries: u32,
    pub(super) latency_limit: Option<Time>,
    pub(super) reconnect: bool,
    pub(super) continue_on_error: bool,
}

/// A statement as the extended protocol sends it.
#[derive(Debug)]
pub(super) struct StatementText {
    /// `P_<number>`.
    pub(super) name: String,
    pub(super) text: String,
}

impl Program {
    /// Reads and parses `sources`; relative files are looked up from `folder` by whoever made the sources.
    pub(super) fn load(options: &Options, sources: &[ScriptSource]) -> Result<Self, WorkloadError> {
        options.validate()?;
        let mut scripts = Scripts::new();
        let (mut hashes, mut builtin) = (Vec::new(), false);
        for source in sources {
            let loaded = Loaded::read(source)?;
            builtin |= loaded.builtin;
            hashes.push(sha256_hex(&loaded.text));
            scripts
                .add(&loaded.name, &loaded.text, loaded.weight)
                .map_err(|error| WorkloadError::Script(error.to_string()))?;
        }
        scripts
            .check(options.mode != Mode::Simple)
            .map_err(|error| WorkloadError::Script(error.to_string()))?;
        refuse_shell(&scripts)?;
        Ok(Self {
            texts: statement_texts(&scripts),
            first_command: first_commands(&scripts)?,
            scripts,
            hashes,
            builtin,
            mode: options.mode,
            define: defined(options)?,
            max_tries: options.max_tries,
            latency_limit: options.latency_limit_ms.map(|limit| (limit * 1e6) as Time),
            reconnect: options.reconnect,
            continue_on_error: options.continue_on_error,
        })
    }

    pub(super) fn infos(&self) -> Vec<ScriptInfo> {
        let scripts = self.scripts.scripts().iter().zip(&self.hashes).zip(self.scripts.weights());
        scripts
            .map(|((script, hash), weight)| ScriptInfo {
                name: script.name.clone(),
                text_hash: hash.clone(),
                weight: *weight,
            })
            .collect()
    }

    pub(super) fn statements(&self) -> Vec<StatementInfo> {
        let scripts = self.scripts.scripts().iter().enumerate();
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
        let json = serde_json::json!({"scripts": list, "mode": self.mode.name()}).to_string();
        let names: Vec<_> = infos.iter().map(|info| info.name.as_str()).collect();
        Prepared { hash: sha256_hex(json.as_bytes()), json, summary: names.join(", ") }
    }
}

/// A script's text, wherever it came from.
struct Loaded {
    name: String,
    text: Vec<u8>,
    weight: u32,
    builtin: bool,
}

impl Loaded {
    fn read(source: &ScriptSource) -> Result<Self, WorkloadError> {
        let loaded = match source {
            ScriptSource::Builtin(word) => {
                let weighted = weighted("builtin", word)?;
                let builtin = find_builtin(&weighted.name)?;
                Self {
                    name: builtin.description.to_owned(),
                    text: builtin.text.as_bytes().to_vec(),
                    weight: weighted.weight,
                    builtin: true,
                }
            }
            ScriptSource::File { path, shown, weight } => {
                Self { name: shown.clone(), text: read_file(path)?, weight: *weight, builtin: false }
            }
            ScriptSource::Text { name, text, weight } => {
                Self { name: name.clone(), text: text.clone(), weight: *weight, builtin: false }
            }
        };
        if std::str::from_utf8(&loaded.text).is_err() {
            let problem = format!("script \"{}\" is not UTF-8 text; convert it first", loaded.name);
            return Err(WorkloadError::Script(problem));
        }
        Ok(loaded)
    }
}

/// A name with its weight after the last `@`.
pub(super) fn weighted(key: &str, word: &str) -> Result<Weighted, WorkloadError> {
    Weighted::parse(word)
        .map_err(|error| WorkloadError::option(format!("pgbench.{key}"), format!("{error} (in \"{word}\")")))
}

fn find_builtin(name: &str) -> Result<&'static Builtin, WorkloadError> {
    Builtin::find(name).map_err(|error| {
        let names: Vec<_> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let hint = match nearest(name, &names) {
            Some(right) => format!("{error}; did you mean \"{right}\"?"),
            None => format!("{error}; there are {}", names.join(", ")),
        };
        WorkloadError::option("pgbench.builtin", hint)
    })
}

fn read_file(path: &Path) -> Result<Vec<u8>, WorkloadError> {
    let wrong = |problem: String| WorkloadError::File { path: path.to_owned(), problem };
    let data = std::fs::metadata(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if !data.is_file() {
        return Err(wrong("is not a file".to_owned()));
    }
    if data.len() > LONGEST {
        return Err(wrong(format!("is too long for a script ({} bytes, at most {LONGEST})", data.len())));
    }
    std::fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))
}

/// Shell commands would run on the thread that drives the load; they are named, not silently left out.
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

fn statement_texts(scripts: &Scripts) -> Vec<StatementText> {
    let commands = scripts.scripts().iter().flat_map(|script| &script.commands);
    let statements = commands.filter_map(|command| match &command.action {
        Action::Sql(statement) => Some(statement),
        _ => None,
    });
    statements
        .map(|statement| StatementText {
            name: format!("P_{}", statement.number),
            text: String::from_utf8_lossy(statement.extended_text()).into_owned(),
        })
        .collect()
}

fn first_commands(scripts: &Scripts) -> Result<Vec<u16>, WorkloadError> {
    let mut next = 0_usize;
    let mut firsts = Vec::new();
    for script in scripts.scripts() {
        firsts.push(u16::try_from(next).unwrap_or(u16::MAX));
        next += script.commands.len();
    }
    if next > usize::from(u16::MAX) {
        let problem = format!("the scripts have {next} commands together, more than {}", u16::MAX);
        return Err(WorkloadError::Script(problem));
    }
    Ok(firsts)
}

fn defined(options: &Options) -> Result<Vec<(String, String)>, WorkloadError> {
    let plain = |name: &str| {
        let mut bytes = name.bytes();
        let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
        bytes.next().is_some_and(letter) && bytes.all(|byte| letter(byte) || byte.is_ascii_digit())
    };
    if let Some(name) = options.define.keys().find(|name| !plain(name)) {
        let problem = format!("invalid variable name: \"{name}\"; use letters, digits and _");
        return Err(WorkloadError::option("pgbench.define", problem));
    }
    Ok(options.define.clone().into_iter().collect())
}
