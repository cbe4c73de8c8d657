//! The scripts of a run with their weights.

use crate::builtin::Builtin;
use crate::command::Action;
use crate::error::ParseError;
use crate::render::Statement;
use crate::script::Script;
use crate::streams::ScriptChooser;
use crate::symbols::Symbols;

/// Most scripts in a run of pgbench.
const PGBENCH_SCRIPTS: usize = 128;

/// The weighted scripts of a run, with a common numbering of variables and statements.
#[derive(Debug, Clone)]
pub struct Scripts {
    most: usize,
    scripts: Vec<Script>,
    weights: Vec<u32>,
    symbols: Symbols,
    statements: usize,
}

impl Default for Scripts {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripts {
    /// An empty list, for at most 128 scripts, as in pgbench.
    pub fn new() -> Self {
        Self::up_to(PGBENCH_SCRIPTS)
    }

    /// An empty list for at most `most` scripts.
    pub fn up_to(most: usize) -> Self {
        Self { most, scripts: Vec::new(), weights: Vec::new(), symbols: Symbols::default(), statements: 0 }
    }

    /// Parses a script and adds it with its weight (at most 2^31 - 1).
    ///
    /// # Errors
    /// The script is invalid, or there are too many.
    pub fn add(&mut self, name: &str, text: &[u8], weight: u32) -> Result<(), ParseError> {
        let script = Script::parse(name, text, &mut self.symbols)?;
        if self.scripts.len() >= self.most {
            return Err(ParseError::TooManyScripts { most: self.most });
        }
        self.push(script, weight);
        Ok(())
    }

    /// Parses a script that is never chosen, but run on another occasion: add it after all others. It does
    /// not count towards the limit on scripts.
    ///
    /// # Errors
    /// The script is invalid.
    pub fn add_aside(&mut self, name: &str, text: &[u8]) -> Result<(), ParseError> {
        let script = Script::parse(name, text, &mut self.symbols)?;
        self.push(script, 0);
        Ok(())
    }

    fn push(&mut self, mut script: Script, weight: u32) {
        for command in &mut script.commands {
            if let Action::Sql(statement) = &mut command.action {
                statement.number = self.statements;
                self.statements += 1;
            }
        }
        self.scripts.push(script);
        self.weights.push(weight);
    }

    /// Adds a builtin script under its description.
    ///
    /// # Errors
    /// There are too many scripts.
    pub fn add_builtin(&mut self, builtin: &Builtin, weight: u32) -> Result<(), ParseError> {
        self.add(builtin.description, builtin.text.as_bytes(), weight)
    }

    /// Checks what depends on all scripts; `extended` when variables are sent as parameters.
    ///
    /// # Errors
    /// A statement has too many variables, or all weights are 0.
    pub fn check(&self, extended: bool) -> Result<(), ParseError> {
        if extended {
            self.statements_of_all().try_for_each(|(_, _, statement)| statement.check_parameters())?;
        }
        if self.weights.iter().all(|&weight| weight == 0) {
            return Err(ParseError::ZeroWeight);
        }
        Ok(())
    }

    /// The first variable that the server cannot see when variables are sent as parameters. pgbench runs such
    /// a script, and each of its transactions fails.
    #[must_use]
    pub fn hidden_variable(&self) -> Option<ParseError> {
        self.statements_of_all().find_map(|(script, line, statement)| {
            let hidden = statement.hidden_use()?;
            Some(ParseError::HiddenVariable {
                script: script.name.clone(),
                line: line + hidden.line,
                name: self.symbols.display_name(hidden.slot),
                within: hidden.within,
            })
        })
    }

    /// All SQL statements, with their scripts and lines.
    fn statements_of_all(&self) -> impl Iterator<Item = (&Script, usize, &Statement)> {
        self.scripts.iter().flat_map(|script| {
            script.commands.iter().filter_map(move |command| match &command.action {
                Action::Sql(statement) => Some((script, command.line, statement)),
                _ => None,
            })
        })
    }

    /// The scripts in the order they were added.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// Their weights, in the same order.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// Sum of the weights.
    pub fn total_weight(&self) -> u64 {
        self.weights.iter().map(|&weight| u64::from(weight)).sum()
    }

    /// The names of all variables in the scripts.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Number of SQL commands over all scripts: an upper bound of statement numbers.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// A chooser by these weights.
    pub fn chooser(&self) -> ScriptChooser {
        ScriptChooser::new(self.weights.iter().copied())
    }
}
