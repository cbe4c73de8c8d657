//! The steps, one after the other.

use spec::Error;

use super::error::{DatabaseState, Part, explain};
use super::event::Listener;
use super::event::{Event, Summary};
use super::fault::Fault;
use super::options::{InitOptions, Loading};
use super::source::run as run_statement;
use super::steps::Step;
use super::tables;
use crate::jobs::{Connection, Runtime};
use crate::jobs::{JobReport, PhaseTimer};
use protocol::postgres::sql::Sql;

pub(super) struct Work<'a> {
    pub(super) options: &'a InitOptions,
    pub(super) loading: &'a Loading,
    /// The first one runs all statements; there are others only while accounts are loaded.
    pub(super) connections: Vec<Connection>,
    pub(super) runtime: &'a dyn Runtime,
    pub(super) listener: &'a mut dyn Listener,
    /// The state of the current step.
    pub(super) part: Part,
}

/// Makes and fills pgbench's tables, over a connection that is not in a transaction.
///
/// # Errors
/// Why a step failed; [`remarks`](super::remarks) describes the state of the tables.
pub fn run(
    options: &InitOptions,
    loading: &Loading,
    connection: Connection,
    runtime: &dyn Runtime,
    listener: &mut dyn Listener,
) -> Result<JobReport, Error> {
    options.validate().and_then(|()| loading.validate())?;
    let steps = options.all_steps();
    let mut clock = || runtime.now_us();
    let mut timer = PhaseTimer::new(&mut clock);
    let mut work =
        Work { options, loading, connections: vec![connection], runtime, listener, part: Part::Nothing };
    let mut summary = Summary::default();
    for (number, step) in steps.iter().enumerate() {
        let start_us = timer.now_us();
        let rows = work.step(*step).map_err(|fault| work.explain(fault, &steps, number))?;
        let duration_us = timer.end(step.name(), "", start_us, rows);
        summary.steps.push((*step, duration_us as f64 / 1e6));
    }
    work.listener.event(&Event::Done(summary));
    Ok(timer.finish())
}

impl Work<'_> {
    /// Runs one step; returns the number of rows it made, if it makes rows.
    fn step(&mut self, step: Step) -> Result<Option<u64>, Fault> {
        self.listener.event(&Event::Begun(step));
        self.part = if step.generates() || step == Step::Drop { Part::Nothing } else { Part::Statements };
        match step {
            Step::Drop => self.statement(tables::DROP)?,
            Step::CreateTables => self.create()?,
            Step::Generate => return self.generate(false).map(Some),
            Step::GenerateOnServer => return self.generate(true).map(Some),
            Step::Vacuum => tables::VACUUM.iter().try_for_each(|text| self.statement(text))?,
            Step::PrimaryKeys => self.keys(&tables::primary_keys(self.options))?,
            Step::ForeignKeys => self.keys(&tables::foreign_keys())?,
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

    fn keys(&mut self, keys: &[String]) -> Result<(), Fault> {
        keys.iter().try_for_each(|statement| self.statement(statement))
    }

    pub(super) fn sql(&mut self) -> &mut dyn Sql {
        &mut *self.connections[0]
    }

    /// Runs one statement, and passes on the notices of the server.
    pub(super) fn statement(&mut self, text: &str) -> Result<(), Fault> {
        let runtime = self.runtime;
        let result = run_statement(self.sql(), text, runtime);
        self.pass_on_notices();
        result
    }

    /// Passes on the notices of the server.
    pub(super) fn pass_on_notices(&mut self) {
        for connection in &mut self.connections {
            for notice in connection.take_notices() {
                self.listener.event(&Event::Notice(notice));
            }
        }
    }

    /// A fault with what it left behind.
    fn explain(&self, fault: Fault, steps: &[Step], number: usize) -> Error {
        let (done, ahead) = steps.split_at(number.min(steps.len()));
        let (during, ahead) = match ahead.split_first() {
            Some((during, ahead)) => (*during, ahead.to_vec()),
            None => (Step::Drop, Vec::new()),
        };
        explain(fault, &DatabaseState { done: done.to_vec(), during, ahead, part: self.part })
    }
}
