//! Several connections that load at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::batches::Batches;
use super::fault::Fault;
use super::source::{Note, Source, run};
use super::stretch::Queue;
use crate::jobs::{Connection, Runtime};
use protocol::postgres::sql::{Sql, long};

/// A load over several connections.
pub(super) struct Parallel<'a> {
    pub(super) source: &'a Source,
    pub(super) queue: &'a Queue,
    /// Rows of a transaction; `None` for one transaction per connection, all committed at the end.
    pub(super) batch: Option<u64>,
    pub(super) runtime: &'a dyn Runtime,
}

/// A worker's report to the coordinator.
enum Report {
    Note(Note),
    /// It has nothing more to load (and waits for permission to commit, where there are no batches).
    Through(Result<(), Fault>),
}

/// The runtime of each worker: also stops when another one failed.
struct Shared<'a> {
    runtime: &'a dyn Runtime,
    broken: &'a AtomicBool,
}

impl Runtime for Shared<'_> {
    fn connect(&self) -> Result<Connection, protocol::postgres::sql::SqlError> {
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
        connections: &mut [Connection],
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
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
        inbox: &Receiver<Report>,
        verdicts: &[Sender<bool>],
        broken: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
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
        inbox: &Receiver<Report>,
        workers: usize,
        broken: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
        let (mut result, mut through) = (Ok(()), 0);
        while through < workers {
            match inbox.recv() {
                Ok(Report::Note(report)) => note(report),
                Ok(Report::Through(outcome)) => {
                    through += 1;
                    if let Err(fault) = outcome {
                        broken.store(true, Ordering::Relaxed);
                        if matches!(result, Ok(()) | Err(Fault::Stopped)) {
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
        connection: &mut Connection,
        runtime: &Shared<'_>,
        reports: &Sender<Report>,
        verdict: &Receiver<bool>,
    ) {
        // A coordinator that is gone needs no report.
        let mut made = 0;
        let mut note = |report| {
            if let Note::Rows(rows) = report {
                made += rows.unsigned_abs();
            }
            let _ = reports.send(Report::Note(report));
        };
        let loaded = match self.batch {
            Some(rows) => {
                Batches { source: self.source, rows, runtime }.load(connection, self.queue, &mut note)
            }
            None => self.transaction(connection, runtime, &mut note),
        };
        let holds = loaded.is_ok();
        let _ = reports.send(Report::Through(loaded));
        if self.batch.is_none() {
            let commit = verdict.recv().unwrap_or(false) && holds;
            let ended = end(connection, commit);
            if commit && ended.is_ok() {
                let _ = reports.send(Report::Note(Note::Committed(made)));
            }
            let _ = reports.send(Report::Through(ended));
        }
    }

    fn transaction(
        &self,
        connection: &mut Connection,
        runtime: &Shared<'_>,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
        run(&mut **connection, "begin", runtime)?;
        self.source.load(&mut **connection, &mut || self.queue.take(), runtime, note)
    }
}

fn end(connection: &mut Connection, commit: bool) -> Result<(), Fault> {
    let text = if commit { "commit" } else { "rollback" };
    match long(&mut **connection).execute(text) {
        Err(error) if commit => Err(Fault::Query { sql: text.to_owned(), error }),
        // A transaction whose connection is gone is rolled back.
        _ => Ok(()),
    }
}
