//! Several connections that load at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::batches::Batches;
use super::fault::InitFault;
use super::source::{Note, RowSource, run};
use super::stretch::Queue;
use crate::jobs::{BoxedSql, Runtime};
use protocol::postgres::sql::{Sql, long};

/// A load over several connections.
pub(super) struct Parallel<'a> {
    pub(super) source: &'a RowSource,
    pub(super) queue: &'a Queue,
    /// Rows of a transaction; `None` for one transaction per connection, all committed at the end.
    pub(super) batch: Option<u64>,
    pub(super) runtime: &'a dyn Runtime,
}

/// A worker's report to the coordinator.
enum WorkerReport {
    Note(Note),
    /// It has nothing more to load (and waits for permission to commit, where there are no batches).
    Through(Result<(), InitFault>),
}

/// The runtime of each worker: also stops when another one failed.
struct Shared<'a> {
    runtime: &'a dyn Runtime,
    broken: &'a AtomicBool,
}

impl Runtime for Shared<'_> {
    fn connect(&self) -> Result<BoxedSql, protocol::postgres::sql::SqlError> {
        self.runtime.connect()
    }

    fn now_us(&self) -> u64 {
        self.runtime.now_us()
    }

    fn sleep_us(&self, us: u64) {
        self.runtime.sleep_us(us);
    }

    fn stopped(&self) -> bool {
        self.runtime.stopped() || self.broken.load(Ordering::Relaxed)
    }
}

impl Parallel<'_> {
    /// Loads over all connections until the queue is empty; `note` is called on this thread.
    pub(super) fn load(
        &self,
        connections: &mut [BoxedSql],
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        let broken = AtomicBool::new(false);
        let shared = Shared { runtime: self.runtime, broken: &broken };
        thread::scope(|scope| {
            let (reports, inbox) = mpsc::channel();
            let mut verdicts = Vec::new();
            for connection in connections.iter_mut() {
                let (sender, verdict) = mpsc::channel();
                verdicts.push(sender);
                let (reports, shared) = (reports.clone(), &shared);
                scope.spawn(move || self.work(connection, shared, &reports, &verdict));
            }
            drop(reports);
            self.coordinate(&inbox, &verdicts, &broken, note)
        })
    }

    /// Handles the workers' reports; lets them commit when all are done.
    fn coordinate(
        &self,
        inbox: &Receiver<WorkerReport>,
        verdicts: &[Sender<bool>],
        broken: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        let mut result = self.gather(inbox, verdicts.len(), broken, note);
        if self.batch.is_none() {
            let commit = result.is_ok() && !self.runtime.stopped();
            // A worker that is gone has reported why.
            for verdict in verdicts {
                let _ = verdict.send(commit);
            }
            let committed = self.gather(inbox, verdicts.len(), broken, note);
            result = result.and(committed);
        }
        result
    }

    /// Waits until `workers` are done; of several faults returns the first original one.
    fn gather(
        &self,
        inbox: &Receiver<WorkerReport>,
        workers: usize,
        broken: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        let (mut result, mut through) = (Ok(()), 0);
        while through < workers {
            match inbox.recv() {
                Ok(WorkerReport::Note(report)) => note(report),
                Ok(WorkerReport::Through(outcome)) => {
                    through += 1;
                    if let Err(fault) = outcome {
                        broken.store(true, Ordering::Relaxed);
                        if matches!(result, Ok(()) | Err(InitFault::Stopped)) {
                            result = Err(fault);
                        }
                    }
                }
                // All workers are gone.
                Err(_) => break,
            }
        }
        result
    }

    fn work(
        &self,
        connection: &mut BoxedSql,
        runtime: &Shared<'_>,
        reports: &Sender<WorkerReport>,
        verdict: &Receiver<bool>,
    ) {
        // A coordinator that is gone needs no report.
        let mut made = 0;
        let mut note = |report| {
            if let Note::Rows(rows) = report {
                made += rows.unsigned_abs();
            }
            let _ = reports.send(WorkerReport::Note(report));
        };
        let loaded = match self.batch {
            Some(rows) => {
                Batches { source: self.source, rows, runtime }.load(connection, self.queue, &mut note)
            }
            None => self.transaction(connection, runtime, &mut note),
        };
        let holds = loaded.is_ok();
        let _ = reports.send(WorkerReport::Through(loaded));
        if self.batch.is_none() {
            let commit = verdict.recv().unwrap_or(false) && holds;
            let ended = end(connection, commit);
            if commit && ended.is_ok() {
                let _ = reports.send(WorkerReport::Note(Note::Committed(made)));
            }
            let _ = reports.send(WorkerReport::Through(ended));
        }
    }

    fn transaction(
        &self,
        connection: &mut BoxedSql,
        runtime: &Shared<'_>,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        run(&mut **connection, "begin", runtime)?;
        self.source.load(&mut **connection, &mut || self.queue.take(), runtime, note)
    }
}

fn end(connection: &mut BoxedSql, commit: bool) -> Result<(), InitFault> {
    let text = if commit { "commit" } else { "rollback" };
    match long(&mut **connection).execute(text) {
        Err(error) if commit => Err(InitFault::Query { sql: text.to_owned(), error }),
        // A transaction whose connection is gone is rolled back.
        _ => Ok(()),
    }
}
