//! Makes the rows, in one transaction as pgbench does, or divided.

use super::ACCOUNTS;
use super::batches::Batches;
use super::error::UnfinishedStep;
use super::event::InitEvent;
use super::fault::InitFault;
use super::flush;
use super::layout::Layouts;
use super::meter::Meter;
use super::parallel::Parallel;
use super::rows::{ACCOUNTS_ROWS, BRANCHES, TELLERS_TABLE, TableRows};
use super::source::{Note, RowSource};
use super::stretch::{Queue, RowRange, by_branches};
use super::tables::TRUNCATE;
use super::work::InitWork;

/// The tables in an order that foreign keys allow.
const SMALL: [&TableRows; 2] = [&BRANCHES, &TELLERS_TABLE];

impl InitWork<'_> {
    /// Makes all rows; returns their number.
    pub(super) fn generate(&mut self, on_server: bool) -> Result<u64, InitFault> {
        let (options, loading, runtime) = (self.options, self.loading, self.runtime);
        if flush::is_worthwhile(options, loading, self.sql()) {
            flush::while_flushing(runtime, || self.make_rows(on_server))
        } else {
            self.make_rows(on_server)
        }
    }

    fn make_rows(&mut self, on_server: bool) -> Result<u64, InitFault> {
        let layouts = self.layouts(on_server)?;
        if self.loading.is_plain() {
            return self.at_once(&layouts, on_server);
        }
        let small = self.small_tables(&layouts, on_server)?;
        Ok(small + self.divided(&layouts, on_server)?)
    }

    fn layouts(&mut self, on_server: bool) -> Result<Layouts, InitFault> {
        if on_server {
            return Ok(Layouts::default());
        }
        let runtime = self.runtime;
        Layouts::ask(self.sql()).map_err(|error| InitFault::query("show server_version_num", error, runtime))
    }

    fn rows_of(&self, table: &TableRows) -> u64 {
        table.per_branch * u64::from(self.options.scale)
    }

    fn at_once(&mut self, layouts: &Layouts, on_server: bool) -> Result<u64, InitFault> {
        self.statement("begin")?;
        self.statement(TRUNCATE)?;
        let mut rows = 0;
        for table in SMALL.into_iter().chain([&ACCOUNTS_ROWS]) {
            rows += self.fill_table(table, layouts, on_server)?;
        }
        self.commit()?;
        Ok(rows)
    }

    /// Empties all tables, and fills all except the accounts.
    fn small_tables(&mut self, layouts: &Layouts, on_server: bool) -> Result<u64, InitFault> {
        self.statement("begin")?;
        self.statement(TRUNCATE)?;
        let mut rows = 0;
        for table in SMALL {
            rows += self.fill_table(table, layouts, on_server)?;
        }
        self.commit()?;
        Ok(rows)
    }

    fn commit(&mut self) -> Result<(), InitFault> {
        let runtime = self.runtime;
        if runtime.stopped() {
            return Err(InitFault::Stopped);
        }
        let result = self.sql().execute("commit");
        result.map_err(|error| {
            if error.sqlstate.is_none() {
                self.part = UnfinishedStep::Unknown;
            }
            InitFault::query("commit", error, runtime)
        })
    }

    /// Fills a table that was emptied in the same transaction.
    fn fill_table(
        &mut self,
        table: &'static TableRows,
        layouts: &Layouts,
        on_server: bool,
    ) -> Result<u64, InitFault> {
        let total = self.rows_of(table);
        let source = match on_server {
            true => RowSource::on_server(table),
            false => RowSource::here(table, layouts, total, true),
        };
        let runtime = self.runtime;
        let mut meter = Meter::new(table.name, (0, total), self.options.quiet, runtime.now_us());
        let mut next = Some(RowRange::up_to(total));
        let (sql, listener) = (&mut self.connections[0], &mut *self.listener);
        let mut note = |report| match report {
            // As in pgbench: the server reports nothing while it makes rows.
            Note::Rows(rows) if !on_server => {
                meter.add(rows, runtime.now_us(), &mut |event| listener.event(event))
            }
            _ => {}
        };
        let result = source.load(&mut **sql, &mut || next.take(), runtime, &mut note);
        self.listener.event(&InitEvent::Filled);
        self.pass_on_notices();
        result.map(|()| total)
    }

    /// Loads accounts in several transactions, maybe over several connections; returns their number.
    fn divided(&mut self, layouts: &Layouts, on_server: bool) -> Result<u64, InitFault> {
        let total = self.rows_of(&ACCOUNTS_ROWS);
        let mut there = 0;
        self.part = UnfinishedStep::Rows { there, total };
        let source = match on_server {
            true => RowSource::on_server(&ACCOUNTS_ROWS),
            false => RowSource::here(&ACCOUNTS_ROWS, layouts, total, false),
        };
        let queue = self.queue(total);
        let jobs = (self.loading.jobs as usize).min(queue.len()).max(1);
        let (runtime, batch) = (self.runtime, self.loading.batch);
        while self.connections.len() < jobs {
            self.connections.push(runtime.connect().map_err(InitFault::Connect)?);
        }
        let mut meter = Meter::new(ACCOUNTS_ROWS.name, (there, total), self.options.quiet, runtime.now_us());
        let listener = &mut *self.listener;
        let mut note = |report| match report {
            Note::Rows(rows) => meter.add(rows, runtime.now_us(), &mut |event| listener.event(event)),
            Note::Committed(rows) => there += rows,
            Note::Event(event) => listener.event(&event),
        };
        let result = if jobs == 1 {
            let rows = batch.unwrap_or(u64::MAX);
            Batches { source: &source, rows, runtime }.load(&mut self.connections[0], &queue, &mut note)
        } else {
            Parallel { source: &source, queue: &queue, batch, runtime }.load(&mut self.connections, &mut note)
        };
        self.part = UnfinishedStep::Rows { there, total };
        self.listener.event(&InitEvent::Filled);
        self.pass_on_notices();
        self.connections.truncate(1);
        result.map(|()| total)
    }

    fn queue(&self, total: u64) -> Queue {
        let all = RowRange::up_to(total);
        if self.loading.jobs == 1 {
            return Queue::new(vec![all]);
        }
        // Small pieces: rows that belong together are stored together, whichever connection loaded them.
        let branches = self.loading.batch.map_or(1, |rows| rows.div_ceil(ACCOUNTS));
        Queue::new(by_branches(all, branches))
    }
}
