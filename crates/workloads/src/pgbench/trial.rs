//! Executes a script once without load, command by command, without its pauses.

use std::sync::Arc;

use script::{
    Action, AssignmentTarget, Capture, Cursor, Random, Script, ScriptCommand, Statement, Streams, Variables,
};

use super::prepare::PreparedScripts;
use super::prepare::{Automatic, default_seed_given, starting};
use super::row_turns;
use crate::answers::TransactionAnswer;
use crate::error;
use protocol::postgres::sql::{ResultSet, Sql, SqlError, long};
use spec::{Class, Error};

/// Runs the statements of a trial, in the script's order.
pub(super) trait Asking {
    /// Runs a statement; returns as much of its results as the script needs.
    fn ask(
        &mut self,
        sql: &mut dyn Sql,
        statement: &Statement,
        variables: &Variables,
        line: usize,
    ) -> Result<Vec<ResultSet>, SqlError>;
}

/// By the simple protocol, unchanged.
pub(super) struct AsWritten;

impl Asking for AsWritten {
    fn ask(
        &mut self,
        sql: &mut dyn Sql,
        statement: &Statement,
        variables: &Variables,
        _line: usize,
    ) -> Result<Vec<ResultSet>, SqlError> {
        long(sql).query(&pasted(statement, variables))
    }
}

pub(super) fn pasted(statement: &Statement, variables: &Variables) -> String {
    let mut text = Vec::new();
    statement.append_simple(variables, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

enum Problem {
    Script {
        text: String,
        sqlstate: Option<String>,
    },
    /// The connection was lost, which is not the script's fault.
    Lost(SqlError),
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Script { text, sqlstate: None }
    }
}

impl From<SqlError> for Problem {
    fn from(error: SqlError) -> Self {
        match error.sqlstate {
            None => Self::Lost(error),
            sqlstate => Self::Script { text: error.text, sqlstate },
        }
    }
}

/// Attached to the error of a script's command that failed.
#[derive(Debug, Clone)]
pub(super) struct FailedCommand {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) problem: String,
    /// First line of its text.
    pub(super) statement: String,
    /// If it was the server's error.
    pub(super) sqlstate: Option<String>,
}

/// One script, executed once.
pub(super) struct Trial {
    variables: Variables,
    random: Random,
    /// Statements that should return rows.
    pub(super) queries: u64,
    pub(super) answer: TransactionAnswer,
}

impl Trial {
    /// The `draw`th of several with one seed: each has separate random numbers and a row of variables.
    pub(super) fn new(program: &PreparedScripts, scale: u64, (seed, draw): (u64, u64)) -> Self {
        let symbols = Arc::new(program.scripts.symbols().clone());
        let seed_of_draw = seed.wrapping_add(draw);
        let streams = Streams::new(seed_of_draw, 1, 1, default_seed_given(program));
        let default_seed = streams.default_seed;
        let automatic = Automatic { client: 0, scale, seed: seed_of_draw, default_seed };
        let mut variables = starting(program, &symbols, automatic);
        if let Some((rows, options)) = program.rows() {
            rows.store(
                row_turns::sampled(rows, options, (seed, draw)),
                &rows.columns(&symbols),
                &mut variables,
            );
        }
        Self {
            variables,
            random: streams.clients[0].clone(),
            queries: 0,
            answer: TransactionAnswer::default(),
        }
    }

    /// From its first command to its last.
    ///
    /// # Errors
    /// An error with a [`FailedCommand`]; without one when the connection was lost.
    pub(super) fn run(
        &mut self,
        script: &Script,
        sql: &mut dyn Sql,
        asking: &mut dyn Asking,
    ) -> Result<(), Error> {
        let mut cursor = Cursor::start();
        while let Some(command) = script.commands.get(cursor.command()) {
            let outcome = self.command((cursor, script, command), sql, asking);
            let truth = outcome.map_err(|problem| failed(script, command, problem))?;
            cursor = cursor.next(script, truth);
        }
        Ok(())
    }

    /// Runs a command; returns the truth of its condition, if it is one.
    fn command(
        &mut self,
        (cursor, script, command): (Cursor, &Script, &ScriptCommand),
        sql: &mut dyn Sql,
        asking: &mut dyn Asking,
    ) -> Result<bool, Problem> {
        if let Some(condition) = cursor.condition(script) {
            let value = condition.eval(&mut self.variables, &mut self.random, &mut |_| ());
            return value.map(|value| value.truth()).map_err(|error| error.to_string().into());
        }
        match &command.action {
            Action::Sql(statement) => self.statement((statement, command.line), sql, asking)?,
            Action::Set { target, expression } => {
                let value = expression.eval(&mut self.variables, &mut self.random, &mut |_| ());
                let value = value.map_err(|error| error.to_string())?;
                match target {
                    AssignmentTarget::Variable(slot) => self.variables.set(*slot, value),
                    AssignmentTarget::BadName(name) => {
                        let stored = self.variables.define("set", name.as_bytes(), b"");
                        stored.map_err(|error| error.to_string())?;
                    }
                }
            }
            Action::Sleep(sleep) => {
                sleep.duration(&self.variables).map_err(|error| error.to_string())?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn statement(
        &mut self,
        (statement, line): (&Statement, usize),
        sql: &mut dyn Sql,
        asking: &mut dyn Asking,
    ) -> Result<(), Problem> {
        let results = asking.ask(sql, statement, &self.variables, line)?;
        for result in &results {
            self.queries += u64::from(!result.columns.is_empty());
            let types = result.types.iter().copied().chain(std::iter::repeat(0));
            let first = self.answer.open(result.columns.iter().map(String::as_str).zip(types));
            for row in &result.rows {
                self.answer.add(first, row.iter().map(Option::as_deref));
            }
        }
        match &statement.capture {
            Capture::None => Ok(()),
            Capture::Gset(prefix) => {
                let last = results.last().cloned().unwrap_or_default();
                match last.rows.len() {
                    1 => Ok(self.store("gset", prefix, &last)?),
                    count => Err(format!("expected one row, got {count}").into()),
                }
            }
            Capture::Aset(prefix) => {
                Ok(results.iter().try_for_each(|result| self.store("aset", prefix, result))?)
            }
        }
    }

    /// Stores the last row of a result, if it has one.
    fn store(&mut self, command: &'static str, prefix: &[u8], result: &ResultSet) -> Result<(), String> {
        let Some(row) = result.rows.last() else { return Ok(()) };
        for (column, value) in result.columns.iter().zip(row) {
            let value = value.as_ref().map(String::as_bytes);
            self.variables
                .store_column(command, prefix, column.as_bytes(), value)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn failed(script: &Script, command: &ScriptCommand, problem: Problem) -> Error {
    match problem {
        Problem::Script { text: problem, sqlstate } => {
            let (file, line) = (script.name.clone(), command.line);
            let what = format!(
                "{file}, line {line}: the first execution failed\n{problem}\nstatement: {}",
                command.summary
            );
            let class = match sqlstate.as_deref() {
                // protocol_violation: a pooler refuses what a server would accept.
                Some("08P01") => Class::Missing,
                _ => Class::BadInput,
            };
            Error::of_server(sqlstate.as_deref(), what).with_class(class).attach(FailedCommand {
                file,
                line,
                problem,
                statement: command.summary.clone(),
                sqlstate,
            })
        }
        Problem::Lost(error) => {
            let doing = format!("running {}, line {}, for the first time", script.name, command.line);
            error::sql_error(doing)(error)
        }
    }
}
