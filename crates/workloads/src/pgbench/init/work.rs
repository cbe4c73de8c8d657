//! The steps, one after the other.

use spec::Error;

use super::error::{DatabaseState, UnfinishedStep, explain};
use super::event::Listener;
use super::event::{InitEvent, Summary};
use super::fault::InitFault;
use super::options::{InitOptions, Loading};
use super::source::run as run_statement;
use super::steps::InitStep;
use super::tables;
use crate::jobs::{BoxedSql, Runtime};
use crate::jobs::{JobReport, PhaseTimer};
use protocol::postgres::sql::Sql;

pub(super) struct InitWork<'a> {
    pub(super) options: &'a InitOptions,
    pub(super) loading: &'a Loading,
    /// The first one runs all statements; there are others only while accounts are loaded.
    pub(super) connections: Vec<BoxedSql>,
    pub(super) runtime: &'a dyn Runtime,
    pub(super) listener: &'a mut dyn Listener,
    /// The state of the current step.
    pub(super) part: UnfinishedStep,
}

/// Makes and fills pgbench's tables, over a connection that is not in a transaction.
///
/// # Errors
/// Why a step failed; [`remarks`](super::remarks) describes the state of the tables.
pub fn run(
    options: &InitOptions,
    loading: &Loading,
    connection: BoxedSql,
    runtime: &dyn Runtime,
    listener: &mut dyn Listener,
) -> Result<JobReport, Error> {
    options.validate().and_then(|()| loading.validate())?;
    let steps = options.all_steps();
    let mut clock = || runtime.now_us();
    let mut timer = PhaseTimer::new(&mut clock);
    let mut work = InitWork {
        options,
        loading,
        connections: vec![connection],
        runtime,
        listener,
        part: UnfinishedStep::Nothing,
    };
    let mut summary = Summary::default();
    for (number, step) in steps.iter().enumerate() {
        let start_us = timer.now_us();
        let rows = work.run_step(*step).map_err(|fault| work.explain(fault, &steps, number))?;
        let duration_us = timer.end(step.name(), "", start_us, rows);
        summary.steps.push((*step, duration_us as f64 / 1e6));
    }
    work.listener.event(&InitEvent::Done(summary));
    Ok(timer.finish())
}

impl InitWork<'_> {
    /// Runs one step; returns the number of rows it made, if it makes rows.
    fn run_step(&mut self, step: InitStep) -> Result<Option<u64>, InitFault> {
        self.listener.event(&InitEvent::Begun(step));
        self.part = if step.generates() || step == InitStep::Drop {
            UnfinishedStep::Nothing
        } else {
            UnfinishedStep::Statements
        };
        match step {
            InitStep::Drop => self.statement(tables::DROP)?,
            InitStep::CreateTables => self.create()?,
            InitStep::Generate => return self.generate(false).map(Some),
            InitStep::GenerateOnServer => return self.generate(true).map(Some),
            InitStep::Vacuum => tables::VACUUM.iter().try_for_each(|text| self.statement(text))?,
            InitStep::PrimaryKeys => self.add_keys(&tables::primary_keys(self.options))?,
            InitStep::ForeignKeys => self.add_keys(&tables::foreign_keys())?,
        }
        Ok(None)
    }

    fn create(&mut self) -> Result<(), InitFault> {
        tables::create(self.options).iter().try_for_each(|text| self.statement(text))?;
        if self.options.partitions > 0 {
            self.listener.event(&InitEvent::Partitions(self.options.partitions));
        }
        tables::create_partitions(self.options).iter().try_for_each(|text| self.statement(text))
    }

    fn add_keys(&mut self, keys: &[String]) -> Result<(), InitFault> {
        keys.iter().try_for_each(|statement| self.statement(statement))
    }

    pub(super) fn sql(&mut self) -> &mut dyn Sql {
        &mut *self.connections[0]
    }

    /// Runs one statement, and passes on the notices of the server.
    pub(super) fn statement(&mut self, text: &str) -> Result<(), InitFault> {
        let runtime = self.runtime;
        let result = run_statement(self.sql(), text, runtime);
        self.pass_on_notices();
        result
    }

    /// Passes on the notices of the server.
    pub(super) fn pass_on_notices(&mut self) {
        for connection in &mut self.connections {
            for notice in connection.take_notices() {
                self.listener.event(&InitEvent::Notice(notice));
            }
        }
    }

    /// A fault with what it left behind.
    fn explain(&self, fault: InitFault, steps: &[InitStep], number: usize) -> Error {
        let (done, ahead) = steps.split_at(number.min(steps.len()));
        let (during, ahead) = match ahead.split_first() {
            Some((during, ahead)) => (*during, ahead.to_vec()),
            None => (InitStep::Drop, Vec::new()),
        };
        explain(fault, &DatabaseState { done: done.to_vec(), during, ahead, part: self.part })
    }
}
