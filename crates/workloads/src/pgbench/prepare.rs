//! Reads and parses scripts, once per experiment and the same for every arm.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use script::{Action, Scripts, Symbols, Value, Variables, is_valid_name};
use spec::Error;

use super::drop_in::DropInOptions;
use super::keyed;
use super::options::{PgbenchOptions, QueryProtocol};
use super::routes::{Routes, refuse_writes, targets};
use super::row_options::RowOptions;
use super::rows::Rows;
use super::source::{Loaded, ScriptSource};
use super::writes::writes;
use crate::error;
use crate::hash::sha256_hex;
use crate::jobs::file_name;
use crate::workload::{Prepared, RequestText, ScriptInfo, StatementInfo};

/// Most scripts in a run of an experiment.
const SCRIPTS: usize = 1_000;

/// Parsed scripts with their options; shared by all clients.
#[derive(Debug)]
pub(super) struct PreparedScripts {
    /// The measured scripts, followed by the startup script, if there is one.
    pub(super) scripts: Scripts,
    pub(super) startup: Option<usize>,
    pub(super) routes: Routes,
    /// A drop-in for pgbench; otherwise an experiment.
    pub(super) drop_in: bool,
    pub(super) drop_in_options: DropInOptions,
    pub(super) options: PgbenchOptions,
    /// By [`script::Statement::number`]: the text for the extended protocol.
    pub(super) texts: Vec<Vec<u8>>,
    /// For each script the number of its first command over all scripts; then the number of all commands.
    pub(super) first_command: Vec<usize>,
    /// SHA-256 of each script's text.
    pub(super) hashes: Vec<String>,
    /// The scripts as read, including the startup script.
    pub(super) sources: Vec<RequestText>,
    /// Whether a built-in script is among them: they need pgbench's tables.
    pub(super) builtin: bool,
    /// By [`script::Statement::number`]: whether it reads or writes by key.
    pub(super) by_key: Vec<bool>,
    /// Rows of variables: read with the scripts, or asked for by `prepare`.
    rows: OnceLock<Arc<Rows>>,
}

impl PreparedScripts {
    /// Whether a script begins transactions of several statements.
    pub(super) fn begins_transactions(&self) -> bool {
        let begins = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).trim_start().to_ascii_lowercase();
            text.starts_with("begin") || text.starts_with("start transaction")
        };
        self.texts.iter().any(|text| begins(text))
    }

    /// Whether a script changes data, as far as its text shows.
    pub(super) fn writes(&self) -> bool {
        self.texts.iter().any(|text| writes(&String::from_utf8_lossy(text)))
    }

    /// Reads and parses `sources` for an experiment; their paths are complete.
    pub(super) fn load(options: &PgbenchOptions, sources: &[ScriptSource]) -> Result<Self, Error> {
        let program = Self::new(options, sources, DropInOptions::default(), false)?;
        refuse_shell(&program.scripts)?;
        Ok(program)
    }

    /// Whether a script is built in, or names the history table of the built-in ones.
    pub(super) fn writes_history(&self) -> bool {
        let names = |source: &RequestText| String::from_utf8_lossy(&source.text).contains("pgbench_history");
        self.builtin || self.sources.iter().any(names)
    }

    /// Whether a script uses `:scale` on pgbench's tables, without another definition.
    pub(super) fn uses_scale_of_tables(&self) -> bool {
        let measured = self.sources.iter().map(|source| String::from_utf8_lossy(&source.text));
        !self.options.define.contains_key("scale")
            && measured.into_iter().any(|text| text.contains(":scale") && text.contains("pgbench_"))
    }

    /// Reads and parses `sources` for a drop-in, with pgbench's messages.
    pub(super) fn drop_in(
        options: &PgbenchOptions,
        sources: &[ScriptSource],
        drop_in_options: DropInOptions,
    ) -> Result<Self, Error> {
        let program = Self::new(options, sources, drop_in_options, true)?;
        if program.drop_in_options.shell.is_none() {
            refuse_shell(&program.scripts)?;
        }
        Ok(program)
    }

    fn new(
        options: &PgbenchOptions,
        sources: &[ScriptSource],
        drop_in_options: DropInOptions,
        drop_in: bool,
    ) -> Result<Self, Error> {
        options.validate()?;
        drop_in_options.validate(sources.len())?;
        let mut scripts = if drop_in { Scripts::new() } else { Scripts::up_to(SCRIPTS) };
        let (mut hashes, mut texts, mut builtin) = (Vec::new(), Vec::new(), false);
        for source in sources {
            let loaded = Loaded::read(source, drop_in)?;
            if !drop_in && std::str::from_utf8(&loaded.text).is_err() {
                // The guard's connection takes text only.
                let problem = format!("script \"{}\" is not UTF-8 text; convert it first", loaded.name);
                return Err(error::script(problem));
            }
            builtin |= loaded.builtin;
            hashes.push(sha256_hex(&loaded.text));
            scripts.add(&loaded.name, &loaded.text, loaded.weight).map_err(error::script)?;
            texts.push(loaded.asked());
        }
        let startup = drop_in_options.startup.is_some().then_some(sources.len());
        if let Some(source) = &drop_in_options.startup {
            let loaded = Loaded::read(source, drop_in)?;
            scripts.add_aside(&loaded.name, &loaded.text).map_err(error::script)?;
            texts.push(loaded.asked());
        }
        let extended = options.mode != QueryProtocol::Simple;
        scripts.check(extended).map_err(error::script)?;
        if let Some(hidden) = scripts.hidden_variable().filter(|_| extended && !drop_in) {
            return Err(error::script(hidden));
        }
        check_names(options, drop_in)?;
        let routes = match drop_in {
            true => Routes::of_policy(&drop_in_options.hosts, sources.len()),
            false => Routes::of(targets(options, sources.len()).into_iter()),
        };
        refuse_writes(&scripts, &routes)?;
        Ok(Self {
            texts: statement_texts(&scripts),
            by_key: keyed::statements(&scripts),
            first_command: first_commands(&scripts),
            routes,
            startup,
            drop_in_options,
            drop_in,
            scripts,
            hashes,
            sources: texts,
            builtin,
            rows: OnceLock::new(),
            options: options.clone(),
        })
    }

    /// Number of commands over all scripts.
    pub(super) fn commands(&self) -> usize {
        self.first_command.last().copied().unwrap_or_default()
    }

    /// Position of a command: `file.sql, line 3: SELECT …`; `statement` counts over all scripts.
    pub(super) fn statement_position(&self, statement: usize) -> Option<String> {
        let index = self.first_command.partition_point(|first| *first <= statement).checked_sub(1)?;
        let script = self.scripts.scripts().get(index)?;
        let command = script.commands.get(statement - self.first_command[index])?;
        Some(format!("{}, line {}: {}", script.name, command.line, command.summary))
    }

    pub(super) fn measured(&self) -> usize {
        self.startup.unwrap_or(self.scripts.scripts().len())
    }

    pub(super) fn infos(&self) -> Vec<ScriptInfo> {
        // Only measured scripts have hashes.
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
        // Scripts are the same in another folder.
        let list: Vec<_> = infos
            .iter()
            .map(|info| {
                let name = file_name(Path::new(&info.name));
                serde_json::json!({"name": name, "hash": info.text_hash, "weight": info.weight})
            })
            .collect();
        let mut json = serde_json::json!({"scripts": list, "mode": self.options.mode.name()});
        let mut summary: Vec<_> = infos.iter().map(|info| info.name.clone()).collect();
        let rows = self.rows.get();
        if let Some(rows) = rows {
            json["variables"] = serde_json::json!({"rows": rows.count(), "hash": rows.hash()});
            summary.push(rows.summary());
        }
        let json = json.to_string();
        let hash = sha256_hex(json.as_bytes());
        Prepared { hash, json, summary: summary.join(", "), rows: rows.cloned() }
    }

    /// The rows of variables with their options; `None` without any, and before `prepare` asked for them.
    pub(super) fn rows(&self) -> Option<(&Arc<Rows>, &RowOptions)> {
        self.rows.get().zip(self.options.variables.as_ref())
    }

    /// The query that gives the rows, if one does.
    pub(super) fn query(&self) -> Option<&str> {
        self.options.variables.as_ref()?.query.as_deref()
    }

    /// Keeps the rows, unless there are some: they are read once.
    pub(super) fn set_rows(&self, rows: Arc<Rows>) {
        self.rows.get_or_init(|| rows);
    }
}

/// Refuses shell commands by name where nothing runs them.
fn refuse_shell(scripts: &Scripts) -> Result<(), Error> {
    for script in scripts.scripts() {
        for command in &script.commands {
            if matches!(command.action, Action::Shell(_) | Action::SetShell { .. }) {
                let name = command.words.first().map_or("shell", String::as_str);
                return Err(error::script(format!(
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
fn check_names(options: &PgbenchOptions, drop_in: bool) -> Result<(), Error> {
    match options.define.keys().find(|name| !is_valid_name(name.as_bytes())) {
        None => Ok(()),
        Some(name) if drop_in => Err(error::script(format!("option: invalid variable name: \"{name}\""))),
        Some(name) => {
            let problem = format!("invalid variable name: \"{name}\"; use letters, digits and _");
            Err(error::option("pgbench.define", problem))
        }
    }
}

/// Values of the automatic variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Automatic {
    pub(super) client: usize,
    pub(super) scale: u64,
    pub(super) seed: u64,
    pub(super) default_seed: Option<i64>,
}

/// The variables of `-D`, and the automatic ones that it does not set.
pub(super) fn starting(program: &PreparedScripts, symbols: &Arc<Symbols>, automatic: Automatic) -> Variables {
    let mut variables = Variables::new(Arc::clone(symbols));
    for (name, value) in &program.options.define {
        // Names were checked when the options were read.
        let _ = variables.define("option", name.as_bytes(), value.as_bytes());
    }
    variables.set_default(Symbols::CLIENT_ID, Value::Int(automatic.client as i64));
    variables.set_default(Symbols::SCALE, Value::Int(automatic.scale as i64));
    variables.set_default(Symbols::RANDOM_SEED, Value::Int(automatic.seed as i64));
    if let Some(seed) = automatic.default_seed {
        variables.set_default(Symbols::DEFAULT_SEED, Value::Int(seed));
    }
    variables
}

/// Whether `-D` sets the seed of the hash functions, so that none is drawn.
pub(super) fn default_seed_given(program: &PreparedScripts) -> bool {
    program.options.define.contains_key("default_seed")
}
