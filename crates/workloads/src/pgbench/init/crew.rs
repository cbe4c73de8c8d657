//! Several connections that load at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::batches::Batches;
use super::fault::Fault;
use super::source::{Note, Source, run};
use super::stretch::Queue;
use super::surroundings::{Connection, Surroundings};
use protocol::postgres::sql::{Sql, long};

/// Who loads, what, and how.
pub(super) struct Crew<'a> {
    pub(super) source: &'a Source,
    pub(super) queue: &'a Queue,
    /// Rows of a transaction; `None` for one transaction per connection, all committed at the end.
    pub(super) batch: Option<u64>,
    pub(super) site: &'a dyn Surroundings,
}

/// What a worker sends to the one who listens.
enum Report {
    Note(Note),
    /// It has no more to load (and waits for the word to commit, where there are no batches).
    Through(Result<(), Fault>),
}

/// As its lender, but ends also when another worker failed.
struct Together<'a> {
    site: &'a dyn Surroundings,
    broken: &'a AtomicBool,
}

impl Surroundings for Together<'_> {
    fn connect(&self) -> Result<Connection, protocol::postgres::sql::SqlError> {
        self.site.connect()
    }

    fn now_us(&self) -> u64 {
        self.site.now_us()
    }

    fn sleep_us(&self, us: u64) {
        self.site.sleep_us(us);
    }

    fn stopped(&self) -> bool {
        self.site.stopped() || self.broken.load(Ordering::Relaxed)
    }
}

impl Crew<'_> {
    /// Loads over all connections until the queue is empty; `note` hears of it on this thread.
    pub(super) fn load(
        &self,
        connections: &mut [Connection],
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
        let broken = AtomicBool::new(false);
        let together = Together { site: self.site, broken: &broken };
        thread::scope(|scope| {
            let (reports, inbox) = mpsc::channel();
            let mut words = Vec::new();
            for connection in connections.iter_mut() {
                let (word, verdict) = mpsc::channel();
                words.push(word);
                let (reports, together) = (reports.clone(), &together);
                scope.spawn(move || self.work(connection, together, &reports, &verdict));
            }
            drop(reports);
            self.preside(&inbox, &words, &broken, note)
        })
    }

    /// Hears what the workers say; lets them commit when all are through.
    fn preside(
        &self,
        inbox: &Receiver<Report>,
        words: &[Sender<bool>],
        broken: &AtomicBool,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
        let mut result = self.gather(inbox, words.len(), broken, note);
        if self.batch.is_none() {
            let commit = result.is_ok() && !self.site.stopped();
            // A worker that is gone has said why.
            for word in words {
                let _ = word.send(commit);
            }
            let committed = self.gather(inbox, words.len(), broken, note);
            result = result.and(committed);
        }
        result
    }

    /// Waits until so many workers are through; of several faults the first that is no echo of another.
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
                Ok(Report::Note(told)) => note(told),
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
        site: &Together<'_>,
        reports: &Sender<Report>,
        verdict: &Receiver<bool>,
    ) {
        // Who does not listen any more needs no report.
        let mut made = 0;
        let mut note = |told| {
            if let Note::Rows(rows) = told {
                made += rows.unsigned_abs();
            }
            let _ = reports.send(Report::Note(told));
        };
        let loaded = match self.batch {
            Some(rows) => Batches { source: self.source, rows, site }.load(connection, self.queue, &mut note),
            None => self.transaction(connection, site, &mut note),
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
        site: &Together<'_>,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), Fault> {
        run(&mut **connection, "begin", site)?;
        self.source.load(&mut **connection, &mut || self.queue.take(), site, note)
    }
}

fn end(connection: &mut Connection, commit: bool) -> Result<(), Fault> {
    let text = if commit { "commit" } else { "rollback" };
    match long(&mut **connection).execute(text) {
        Err(error) if commit => Err(Fault::Query { sql: text.to_owned(), error }),
        // A transaction that cannot be rolled back because its connection is gone, is rolled back.
        _ => Ok(()),
    }
}
