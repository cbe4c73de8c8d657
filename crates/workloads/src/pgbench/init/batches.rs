//! Loads accounts in separate transactions, and reconnects where a connection was lost.

use super::event::InitEvent;
use super::fault::InitFault;
use super::source::{Note, RowSource, run};
use super::stretch::{Queue, RowRange};
use crate::jobs::{BoxedSql, Runtime};

/// Tries to reconnect before giving up. With the pauses between them five minutes: a server that recovers
/// from a crash may need some.
const ATTEMPTS: u32 = 40;
const FIRST_WAIT_US: u64 = 250_000;
const LONGEST_WAIT_US: u64 = 8_000_000;

/// Loads batches over one connection.
pub(super) struct Batches<'a> {
    pub(super) source: &'a RowSource,
    pub(super) rows: u64,
    pub(super) runtime: &'a dyn Runtime,
}

impl Batches<'_> {
    /// Loads stretches from the queue until it is empty.
    pub(super) fn load(
        &self,
        sql: &mut BoxedSql,
        queue: &Queue,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        while let Some(stretch) = queue.take() {
            let mut rest = Some(stretch);
            while let Some(current) = rest {
                let (batch, after) = current.cut(self.rows);
                self.batch(sql, batch, note)?;
                note(Note::Committed(batch.rows()));
                rest = after;
            }
        }
        Ok(())
    }

    /// Loads one batch, exactly once.
    fn batch(
        &self,
        sql: &mut BoxedSql,
        batch: RowRange,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        let mut attempt = 0;
        loop {
            let mut transaction = None;
            let mut made = 0;
            let result = self.transaction(sql, batch, &mut transaction, &mut |report| {
                if let Note::Rows(rows) = report {
                    made += rows;
                }
                note(report);
            });
            let Err(fault) = result else { return Ok(()) };
            if !fault.is_passing() {
                return Err(fault);
            }
            if self.recover(sql, fault, transaction.as_deref(), &mut attempt, note)? {
                return Ok(());
            }
            note(Note::Rows(-made));
        }
    }

    /// One transaction; its number is known from its beginning on.
    fn transaction(
        &self,
        sql: &mut BoxedSql,
        batch: RowRange,
        number: &mut Option<String>,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        run(&mut **sql, "begin", self.runtime)?;
        let question = "select pg_catalog.txid_current()";
        *number = sql.scalar(question).map_err(|error| InitFault::query(question, error, self.runtime))?;
        let mut next = Some(batch);
        self.source.load(&mut **sql, &mut || next.take(), self.runtime, note)?;
        run(&mut **sql, "commit", self.runtime)
    }

    /// Reconnects; `true` if the transaction was committed after all.
    fn recover(
        &self,
        sql: &mut BoxedSql,
        mut fault: InitFault,
        transaction: Option<&str>,
        attempt: &mut u32,
        note: &mut dyn FnMut(Note),
    ) -> Result<bool, InitFault> {
        loop {
            if *attempt >= ATTEMPTS || !fault.is_passing() {
                return Err(fault);
            }
            *attempt += 1;
            let wait_us = (FIRST_WAIT_US << (*attempt - 1).min(16)).min(LONGEST_WAIT_US);
            note(Note::Event(InitEvent::Reconnecting {
                reason: fault.reason(),
                attempt: *attempt,
                attempts: ATTEMPTS,
                wait_us,
            }));
            self.runtime.sleep_us(wait_us);
            if self.runtime.stopped() {
                return Err(InitFault::Stopped);
            }
            match self.reopen(sql, transaction) {
                Ok(BatchOutcome::Committed) => return Ok(true),
                Ok(BatchOutcome::Lost) => return Ok(false),
                Ok(BatchOutcome::Open) => {}
                Err(again) => fault = again,
            }
        }
    }

    fn reopen(&self, sql: &mut BoxedSql, transaction: Option<&str>) -> Result<BatchOutcome, InitFault> {
        *sql = self.runtime.connect().map_err(InitFault::Connect)?;
        let Some(number) = transaction else { return Ok(BatchOutcome::Lost) };
        let question = format!("select pg_catalog.txid_status({number})");
        let status =
            sql.scalar(&question).map_err(|error| InitFault::query(question, error, self.runtime))?;
        match status.as_deref() {
            Some("committed") => Ok(BatchOutcome::Committed),
            Some("aborted") => Ok(BatchOutcome::Lost),
            Some("in progress") => Ok(BatchOutcome::Open),
            _ => Err(InitFault::Unknown(format!(
                "the server does not know any more whether transaction {number} was committed"
            ))),
        }
    }
}

/// The outcome of a transaction whose connection was lost.
enum BatchOutcome {
    Committed,
    Lost,
    /// The server has not noticed yet.
    Open,
}
