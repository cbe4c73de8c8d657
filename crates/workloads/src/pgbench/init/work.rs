//! The steps, one after the other.

use super::error::{InitError, Part, Standing};
use super::event::Listener;
use super::event::{Event, Summary};
use super::fault::Fault;
use super::options::{InitOptions, Loading};
use super::resume::{Found, Survey};
use super::source::run as run_statement;
use super::steps::Step;
use super::stretch::Stretch;
use super::tables::{self, Key};
use crate::jobs::{Connection, Runtime};
use crate::jobs::{JobReport, PhaseTimer};
use protocol::postgres::sql::Sql;

pub(super) struct Work<'a> {
    pub(super) options: &'a InitOptions,
    pub(super) loading: &'a Loading,
    /// The first one runs all statements; there are others only while accounts are brought in.
    pub(super) connections: Vec<Connection>,
    pub(super) runtime: &'a dyn Runtime,
    pub(super) listener: &'a mut dyn Listener,
    /// Accounts that an interrupted run left missing.
    pub(super) missing: Option<Vec<Stretch>>,
    /// What an interrupted run left is kept.
    pub(super) keep: bool,
    /// What is there of the step that runs.
    pub(super) part: Part,
}

/// Makes and fills pgbench's tables, over a connection that is not in a transaction.
///
/// # Errors
/// [`InitError`], which says in what state the tables are.
pub fn run(
    options: &InitOptions,
    loading: &Loading,
    connection: Connection,
    runtime: &dyn Runtime,
    listener: &mut dyn Listener,
) -> Result<JobReport, InitError> {
    options.validate().and_then(|()| loading.validate()).map_err(InitError::Options)?;
    let steps = options.all_steps();
    let mut clock = || runtime.now_us();
    let mut timer = PhaseTimer::new(&mut clock);
    let mut work = Work {
        options,
        loading,
        connections: vec![connection],
        runtime,
        listener,
        missing: None,
        keep: false,
        part: Part::Nothing,
    };
    if loading.resume {
        work.resume(&steps).map_err(|fault| work.explain(fault, &steps, 0))?;
    }
    let mut summary = Summary::default();
    for (number, step) in steps.iter().enumerate() {
        if work.keep && matches!(step, Step::Drop | Step::CreateTables) {
            continue;
        }
        let start_us = timer.now_us();
        let rows = work.step(*step).map_err(|fault| work.explain(fault, &steps, number))?;
        let duration_us = timer.end(step.name(), "", start_us, rows);
        summary.steps.push((*step, duration_us as f64 / 1e6));
    }
    work.listener.event(&Event::Done(summary));
    Ok(timer.finish())
}

impl Work<'_> {
    /// Runs one step; gives the rows it made, where it makes rows.
    fn step(&mut self, step: Step) -> Result<Option<u64>, Fault> {
        self.listener.event(&Event::Begun(step));
        self.part = if step.generates() || step == Step::Drop { Part::Nothing } else { Part::Statements };
        match step {
            Step::Drop => self.statement(tables::DROP)?,
            Step::CreateTables => self.create()?,
            Step::Generate => return self.generate(false).map(Some),
            Step::GenerateOnServer => return self.generate(true).map(Some),
            Step::Vacuum => tables::VACUUM.iter().try_for_each(|text| self.statement(text))?,
            Step::PrimaryKeys => self.keys(&tables::primary_keys(self.options), true)?,
            Step::ForeignKeys => self.keys(&tables::foreign_keys(), false)?,
        }
        Ok(None)
    }

    fn create(&mut self) -> Result<(), Fault> {
        tables::create(self.options).iter().try_for_each(|text| self.statement(text))?;
        if self.options.partitions > 0 {
            self.listener.event(&Event::Partitions(self.options.partitions));
        }
        tables::create_partitions(self.options).iter().try_for_each(|text| self.statement(text))
    }

    fn keys(&mut self, keys: &[Key], primary: bool) -> Result<(), Fault> {
        for key in keys {
            if !(self.keep && self.survey().has_key(key, primary)?) {
                self.statement(&key.statement)?;
            }
        }
        Ok(())
    }

    /// Finds out what an interrupted run left.
    fn resume(&mut self, steps: &[Step]) -> Result<(), Fault> {
        self.keep = true;
        let generating = steps.iter().filter(|step| step.generates()).count();
        if generating > 1 {
            let reason = "the steps make the rows more than once";
            return Err(Fault::CannotResume(reason.to_owned()));
        }
        if generating == 0 {
            return Ok(());
        }
        match self.survey().look()? {
            Found::Nothing => {
                self.keep = false;
                self.listener.event(&Event::Fresh);
            }
            Found::Rows(missing) => {
                let total = u64::from(self.options.scale) * super::ACCOUNTS;
                let there = total - missing.iter().map(|stretch| stretch.rows()).sum::<u64>();
                self.listener.event(&Event::Resumed { there, total });
                self.missing = Some(missing);
            }
        }
        Ok(())
    }

    pub(super) fn sql(&mut self) -> &mut dyn Sql {
        &mut *self.connections[0]
    }

    /// Runs one statement, and hears what the server remarks.
    pub(super) fn statement(&mut self, text: &str) -> Result<(), Fault> {
        let runtime = self.runtime;
        let result = run_statement(self.sql(), text, runtime);
        self.hear();
        result
    }

    /// What is in the database.
    fn survey(&mut self) -> Survey<'_> {
        Survey { options: self.options, sql: &mut *self.connections[0], runtime: self.runtime }
    }

    /// Passes on what the server remarked.
    pub(super) fn hear(&mut self) {
        for connection in &mut self.connections {
            for notice in connection.take_notices() {
                self.listener.event(&Event::Notice(notice));
            }
        }
    }

    /// A fault with what it left behind.
    fn explain(&self, fault: Fault, steps: &[Step], number: usize) -> InitError {
        let (done, ahead) = steps.split_at(number.min(steps.len()));
        let (during, ahead) = match ahead.split_first() {
            Some((during, ahead)) => (*during, ahead.to_vec()),
            None => (Step::Drop, Vec::new()),
        };
        let standing = Box::new(Standing { done: done.to_vec(), during, ahead, part: self.part });
        match fault {
            Fault::Stopped => InitError::Stopped(standing),
            Fault::Query { sql, error } => InitError::Query { sql, error, standing },
            Fault::Connect(error) => InitError::Connect { error, standing },
            Fault::CannotResume(reason) => InitError::CannotResume(reason),
        }
    }
}
