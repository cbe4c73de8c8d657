//! Carries out the steps of a change, after ending whatever still works on an earlier step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::sql::{ResultSet, Sql, SqlError, long, quote_literal};
use spec::plan::change::{Change, ChangePart, ChangeStep};
use spec::{Class, Error, short_sql};

use super::environment::MARK;
use super::error::{self, ChangeFailure, ChangeFailureKind};
use super::{Environment, statements};
use crate::child::Watchdog;
use crate::control::Control;
use crate::host::proc;
use crate::stop::Stop;

const CONNECT_BOUND: Duration = Duration::from_secs(10);
/// Waits for a server process that still works on the change: first for it alone, then after a cancel
/// request, then after a terminate request.
const TIMEOUTS: [Duration; 3] =
    [Duration::from_millis(1000), Duration::from_millis(1500), Duration::from_millis(1500)];
/// How long processes of a command may take to end before they are killed.
const TERM_BOUND: Duration = Duration::from_secs(2);
/// How long to wait for killed processes.
const KILL_BOUND: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(20);

/// The result of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeResult {
    /// The last 64 KB of a command's output, or the server's notices; may be empty.
    pub output: String,
    /// From the start of the do to the end of the check.
    pub took: Duration,
}

/// Carries out the steps of one change.
pub(crate) struct Executor<'a> {
    id: &'a str,
    /// Its connections carry the name of the change.
    place: Place,
    environment: &'a Environment,
    watchdog: &'a Watchdog,
    bound: Duration,
}

/// `application_name` of every connection for a change.
fn name(id: &str) -> String {
    format!("pgdyno change {id}")
}

/// The processes of an undo have another mark than those of the do, which may belong to the change itself.
fn mark(id: &str, part: ChangePart) -> String {
    format!("{id}-{part}")
}

impl<'a> Executor<'a> {
    /// For the change `id` in a database of the server at `place`; each command has the timeout `bound`.
    pub(crate) fn new(
        id: &'a str,
        place: &Place,
        database: &str,
        environment: &'a Environment,
        watchdog: &'a Watchdog,
        bound: Duration,
    ) -> Self {
        let mut login = (*place.login).clone();
        database.clone_into(&mut login.dbname);
        login.parameters.retain(|(parameter, _)| parameter != "application_name");
        login.parameters.push(("application_name".to_owned(), name(id)));
        let place = Place { login: Arc::new(login), ..place.clone() };
        Self { id, place, environment, watchdog, bound }
    }

    /// Runs the do and the check.
    pub(crate) fn make(&self, change: &Change) -> Result<ChangeResult, Error> {
        let start = Instant::now();
        let output = match &change.do_ {
            Some(step) => self.carry_out(ChangePart::Do, step)?,
            None => String::new(),
        };
        if let Some(check) = &change.check {
            see(&self.place, check)?;
        }
        Ok(ChangeResult { output, took: start.elapsed() })
    }

    /// Whether a failed [`Self::make`] changed nothing: the server refused the do, which takes effect as a whole
    /// or not at all.
    pub(crate) fn changed_nothing(change: &Change, failed: &Error) -> bool {
        let of_do = failed.attached().is_some_and(|failure: &ChangeFailure| {
            failure.part == Some(ChangePart::Do) && failure.kind == ChangeFailureKind::Sql
        });
        let is_refused = failed.cause().is_some_and(|error: &SqlError| error.sqlstate.is_some());
        let sql = change.do_.as_ref().and_then(|step| match step {
            ChangeStep::Sql(sql) => Some(sql),
            ChangeStep::Command(_) => None,
        });
        of_do && is_refused && sql.is_some_and(|sql| statements::fail_together(sql))
    }

    /// Runs the undo, once nothing works on the change any more. What a finished do (`done`) left running
    /// stays: the undo knows about it.
    pub(crate) fn undo(&self, undo: &ChangeStep, done: bool) -> Result<(), Error> {
        self.end_processes(ChangePart::Undo)?;
        if !done {
            self.end_processes(ChangePart::Do)?;
        }
        self.end_backends()?;
        match self.carry_out(ChangePart::Undo, undo) {
            // SQL takes effect as a whole or not at all: after a failed do there may be nothing to drop.
            Err(error) if !done && error.cause().is_some_and(is_absent) => Ok(()),
            undone => undone.map(drop),
        }
    }

    /// As [`Self::undo`] for a command, without a server.
    pub(crate) fn undo_command(&self, undo: &str, done: bool) -> Result<(), Error> {
        self.end_processes(ChangePart::Undo)?;
        if !done {
            self.end_processes(ChangePart::Do)?;
        }
        self.run_command(ChangePart::Undo, undo).map(drop)
    }

    fn carry_out(&self, part: ChangePart, step: &ChangeStep) -> Result<String, Error> {
        match step {
            ChangeStep::Sql(sql) => self.run_sql(part, sql),
            ChangeStep::Command(command) => self.run_command(part, command),
        }
    }

    fn run_sql(&self, part: ChangePart, sql: &str) -> Result<String, Error> {
        let mut control = connect(&self.place)?;
        long(&mut control).execute(sql).map_err(|error| failed(part, sql, error))?;
        if control.in_transaction() {
            let what = short_sql(sql);
            return Err(error::invalid(
                part,
                format!(
                    "{part} {what} leaves a transaction open, so its changes are lost; end it with COMMIT"
                ),
            ));
        }
        Ok(control.take_notices().join("\n"))
    }

    fn run_command(&self, part: ChangePart, command: &str) -> Result<String, Error> {
        let mut program = self.environment.shell(command, &mark(self.id, part));
        // A command comes from a file, and its undo from a journal: neither should run as root.
        program.account = self.environment.account()?;
        let (start, stop) = (Instant::now(), Stop::of_process());
        let too_long = || start.elapsed() >= self.bound;
        let kept = self.watchdog.run_captured(&program, &|| stop.ends_waits() || too_long())?;
        let what = ChangeStep::Command(command.to_owned()).words();
        let output = error::quoted(&kept.output);
        if kept.stopped {
            // Processes that ignored the request.
            self.end_processes(part)?;
            if !too_long() {
                return Err(error::stopped(part, &what));
            }
            let bound_s = self.bound.as_secs();
            let text = format!("{part} {what} was stopped, because it took longer than {bound_s} s{output}");
            return Err(ChangeFailureKind::CutShort.of(part, Class::Child, text));
        }
        match kept.ended {
            Some(end) if !end.success() => {
                let text = format!("{part} {what} ended with {end}{output}");
                Err(ChangeFailureKind::CommandFailed.of(part, Class::Child, text))
            }
            _ => Ok(kept.output),
        }
    }

    fn end_processes(&self, part: ChangePart) -> Result<(), Error> {
        let variable = format!("{MARK}={}", mark(self.id, part));
        let start = Instant::now();
        let mut left = proc::signal_with_variable(&variable, Some(rustix::process::Signal::TERM));
        while !left.is_empty() {
            if start.elapsed() >= TERM_BOUND + KILL_BOUND {
                return Err(error::still_running(format!(
                    "not undone, because processes of the change's command are still there (pid {}); end them, then try again",
                    list(&left)
                )));
            }
            std::thread::sleep(AGAIN);
            let kill = start.elapsed() >= TERM_BOUND;
            left = proc::signal_with_variable(&variable, kill.then_some(rustix::process::Signal::KILL));
        }
        Ok(())
    }

    /// Waits for server processes that still work for a connection of the change, and ends them if that takes
    /// long: they outlive their client until they have something to send.
    fn end_backends(&self) -> Result<(), Error> {
        let mut control = connect(&self.place)?;
        let mut ask = |answer: &str| -> Result<Vec<String>, Error> {
            let sql = format!(
                "SELECT pid, {answer} FROM pg_catalog.pg_stat_activity \
                 WHERE application_name = {} AND pid <> pg_catalog.pg_backend_pid()",
                quote_literal(&name(self.id))
            );
            let rows = control
                .rows(&sql)
                .map_err(|error| failed(ChangePart::Undo, "looking for the change", error))?;
            Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
        };
        let mut pids = Vec::new();
        let then =
            [Some("pg_catalog.pg_cancel_backend(pid)"), Some("pg_catalog.pg_terminate_backend(pid)"), None];
        for (timeout, then) in TIMEOUTS.into_iter().zip(then) {
            let start = Instant::now();
            while start.elapsed() < timeout {
                pids = ask("pid")?;
                if pids.is_empty() {
                    return Ok(());
                }
                std::thread::sleep(AGAIN);
            }
            if let Some(then) = then {
                ask(then)?;
            }
        }
        Err(error::still_running(format!(
            "not undone, because the server still does the change (pid {}); end that, then try again",
            pids.join(", ")
        )))
    }
}

/// Whether the error says that an object does not exist.
fn is_absent(error: &SqlError) -> bool {
    // undefined_object, undefined_table, undefined_function, undefined_column, invalid_schema_name.
    ["42704", "42P01", "42883", "42703", "3F000"].iter().any(|state| error.is(state))
}

/// Checks that a query returns true.
pub(crate) fn see(place: &Place, check: &str) -> Result<(), Error> {
    let mut control = connect(place)?;
    let sets = long(&mut control).query(check).map_err(|error| failed(ChangePart::Check, check, error))?;
    match sets.last().map(|set| set.rows.as_slice()) {
        Some([row]) if row.len() == 1 && row[0].as_deref() == Some("t") => Ok(()),
        _ => {
            let what = format!(
                "the check {} is to return true (one row, one column); it returned {}",
                short_sql(check),
                returned(sets.last())
            );
            Err(ChangeFailureKind::NotTrue.of(ChangePart::Check, Class::Guard, what))
        }
    }
}

fn connect(place: &Place) -> Result<Control, Error> {
    Control::open(place, Some(CONNECT_BOUND))
}

fn failed(part: ChangePart, sql: &str, error: SqlError) -> Error {
    if Stop::of_process().ends_waits() {
        return error::stopped(part, &short_sql(sql));
    }
    error::sql_error(part, &short_sql(sql), error)
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// The result instead of true.
fn returned(set: Option<&ResultSet>) -> String {
    let Some(set) = set.filter(|set| !set.columns.is_empty()) else { return "no rows at all".to_owned() };
    match set.rows.as_slice() {
        [] => "no row".to_owned(),
        [row] => row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(", "),
        rows => format!("{} rows", rows.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_true_is_quoted() {
        let set = |columns: usize, rows: &[&[Option<&str>]]| ResultSet {
            columns: vec!["c".to_owned(); columns],
            rows: rows.iter().map(|row| row.iter().map(|value| value.map(str::to_owned)).collect()).collect(),
            types: Vec::new(),
            tag: String::new(),
        };
        let cases = [
            (None, "no rows at all"),
            (Some(set(0, &[])), "no rows at all"),
            (Some(set(1, &[])), "no row"),
            (Some(set(1, &[&[None]])), "NULL"),
            (Some(set(2, &[&[Some("t"), Some("7")]])), "t, 7"),
            (Some(set(1, &[&[Some("t")], &[Some("t")]])), "2 rows"),
        ];
        for (set, wanted) in cases {
            assert_eq!(returned(set.as_ref()), wanted);
        }
    }

    #[test]
    fn an_undo_has_time_left_to_run_within_ten_seconds() {
        let ending: Duration = TIMEOUTS.iter().sum();
        assert!(ending + TERM_BOUND + KILL_BOUND <= Duration::from_secs(8), "{ending:?}");
    }
}
