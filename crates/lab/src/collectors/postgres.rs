//! The server's own counters, before and after. Columns differ between versions, so they are read by name,
//! and missing ones are left out.

use std::time::{Duration, Instant};

use engine::EngineResult;
use protocol::postgres::sql::{Sql, SqlError};

use spec::Sample;
use spec::figures::{self, Figure, Figures};

use super::machine::Machine;
use super::{Collector, waits};

pub(super) struct Postgres<'a> {
    sql: &'a mut dyn Sql,
    manner: Manner,
    machine: Option<Machine>,
    /// The counters, and the server's time after them, s.
    before: Option<(Counters, f64)>,
    looks: u32,
    missing: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Whether its machine is visible only through it.
    pub(super) elsewhere: bool,
    /// Whether it can be queried during the load.
    pub(super) uncut: bool,
    pub(super) waits: bool,
    pub(super) warmup: Duration,
    /// Process of another connection of ours to it.
    pub(super) looker: Option<u32>,
}

impl<'a> Postgres<'a> {
    pub(super) fn new(sql: &'a mut dyn Sql, manner: Manner) -> Self {
        Self { sql, manner, machine: None, before: None, looks: 0, missing: None }
    }
}

impl Collector for Postgres<'_> {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        // First, so that its own queries do not count for the run.
        self.machine = Some(Machine::begin(self.sql, self.manner.elsewhere));
        let counters = Counters::take(self.sql)?;
        let time = self.sql.scalar("SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())")?;
        let time = time.and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
        self.before = Some((counters, time));
        Ok(())
    }

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        if let Some(machine) = self.machine.as_mut().filter(|_| self.manner.uncut) {
            machine.tick(self.sql, time_us, samples);
        }
        if self.manner.waits {
            waits::look(self.sql, time_us, samples);
            self.looks += 1;
        }
    }

    /// After an outage the server may have restarted, and our connection may be closed like the clients':
    /// then nothing is known.
    fn end(&mut self, measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let Some((before, time)) = self.before.as_ref().filter(|_| measured.outages.is_empty()) else {
            return Ok(Figures::default());
        };
        let all_ended = await_clients_gone(self.sql, *time, self.manner.looker)?;
        let mut figures = Counters::take(self.sql)?.since(before);
        let is_short = Duration::from_nanos(measured.elapsed) < LONG;
        if !all_ended && is_short {
            let of_processes = SOURCES.iter().filter(|source| source.of_processes);
            let columns = of_processes.flat_map(|source| source.columns).map(|(_, of)| *of);
            for of in columns.chain([figures::CACHE_HIT_PCT]) {
                figures.remove(of);
            }
            self.missing = Some(PROCESSES_STAY);
        }
        // Processes that go on also report a last part of the warm-up late, and the last part of the run not
        // yet.
        let share = if all_ended { measured_share(measured, self.manner.warmup) } else { 1.0 };
        for of in HANDED_IN_LATE {
            figures.get_mut(of).into_iter().for_each(|all| *all *= share);
        }
        if let Some(machine) = &mut self.machine {
            // Queries of collectors are commits too.
            let asked = share * f64::from(machine.asked + self.looks);
            figures.get_mut(figures::COMMITS).into_iter().for_each(|all| *all -= asked.min(*all));
            figures.append(machine.end(self.sql));
        }
        Ok(figures)
    }

    fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

struct Source {
    view: &'static str,
    /// Whether each server process counts for itself, and reports that about once a second and when it ends.
    of_processes: bool,
    /// Selects one row if the view has several.
    condition: &'static str,
    columns: &'static [(&'static str, Figure)],
}

const SOURCES: [Source; 4] = [
    Source {
        view: "pg_catalog.pg_stat_database",
        of_processes: true,
        condition: "WHERE datname = current_database()",
        columns: &[
            ("xact_commit", figures::COMMITS),
            ("xact_rollback", figures::ROLLBACKS),
            ("blks_read", figures::BLOCKS_READ),
            ("blks_hit", figures::BLOCKS_HIT),
            ("tup_returned", figures::TUPLES_SCANNED),
            ("tup_fetched", figures::TUPLES_FETCHED),
            ("tup_inserted", figures::TUPLES_INSERTED),
            ("tup_updated", figures::TUPLES_UPDATED),
            ("tup_deleted", figures::TUPLES_DELETED),
            ("temp_files", figures::TEMP_FILES),
            ("temp_bytes", figures::TEMP_BYTES),
            ("deadlocks", figures::DEADLOCKS),
        ],
    },
    Source {
        // Checkpoints up to PostgreSQL 16.
        view: "pg_catalog.pg_stat_bgwriter",
        of_processes: false,
        condition: "",
        columns: &[
            ("checkpoints_timed", figures::CHECKPOINTS_TIMED),
            ("checkpoints_req", figures::CHECKPOINTS_REQUESTED),
            ("buffers_checkpoint", figures::CHECKPOINT_BUFFERS),
            ("checkpoint_write_time", figures::CHECKPOINT_WRITE_MS),
            ("checkpoint_sync_time", figures::CHECKPOINT_SYNC_MS),
            ("buffers_clean", figures::BACKGROUND_WRITER_BUFFERS),
            ("buffers_backend", figures::BACKEND_BUFFERS),
        ],
    },
    Source {
        // From PostgreSQL 17.
        view: "pg_catalog.pg_stat_checkpointer",
        of_processes: false,
        condition: "",
        columns: &[
            ("num_timed", figures::CHECKPOINTS_TIMED),
            ("num_requested", figures::CHECKPOINTS_REQUESTED),
            ("buffers_written", figures::CHECKPOINT_BUFFERS),
            ("write_time", figures::CHECKPOINT_WRITE_MS),
            ("sync_time", figures::CHECKPOINT_SYNC_MS),
        ],
    },
    Source {
        // From PostgreSQL 14.
        view: "pg_catalog.pg_stat_wal",
        of_processes: true,
        condition: "",
        columns: &[
            ("wal_records", figures::WAL_RECORDS),
            ("wal_fpi", figures::WAL_FULL_PAGE_IMAGES),
            ("wal_buffers_full", figures::WAL_BUFFERS_FULL),
        ],
    },
];

/// Counters of server processes that grow with the transactions. If the processes end with the load, the
/// difference includes the last part of the warm-up and the drain.
const HANDED_IN_LATE: [Figure; 12] = [
    figures::COMMITS,
    figures::ROLLBACKS,
    figures::BLOCKS_READ,
    figures::BLOCKS_HIT,
    figures::TUPLES_SCANNED,
    figures::TUPLES_FETCHED,
    figures::TUPLES_INSERTED,
    figures::TUPLES_UPDATED,
    figures::TUPLES_DELETED,
    figures::TEMP_FILES,
    figures::TEMP_BYTES,
    figures::WAL_RECORDS,
];
/// Minimum interval between two reports of a server process. After a shorter warm-up it reports nothing
/// before the measured part; after a longer one it has reported all but half of this on average.
const HAND_IN: Duration = Duration::from_secs(1);
/// In runs of this length at most a tenth of what was counted is not reported yet, if processes go on.
const LONG: Duration = Duration::from_secs(10);
const PROCESSES_STAY: &str = "counts of transactions, blocks, rows, temporary files and WAL records are not available: the server's processes \
     that served the clients go on, behind a pooler or because sessions are kept, and report up to a second of their counts later; runs of 10 s or more \
     have them";

/// The share of such counters that belongs to the transactions in the throughput. It assumes that
/// transactions of warm-up and drain are like the measured ones.
fn measured_share(measured: &EngineResult, warmup: Duration) -> f64 {
    let late_s = if warmup < HAND_IN { warmup } else { HAND_IN / 2 }.as_secs_f64();
    let (completed, elapsed_s) = (measured.completed() as f64, measured.elapsed as f64 / 1e9);
    let drained = (measured.totals().processed() as f64 - completed).max(0.0);
    let all = completed + drained + completed / elapsed_s * late_s;
    // NaN if nothing was measured.
    if completed > 0.0 && all.is_finite() { completed / all } else { 1.0 }
}

/// The position in the WAL, bytes; always exact, unlike statistics. Not on a standby.
const WAL_POSITION: &str = "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN \
     pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0') END";

/// For a BRIN index the server counts ten entries per block, however many rows are read: not a number of
/// rows.
const HAS_BRIN: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam \
     WHERE a.amname = 'brin' AND c.relkind IN ('i', 'I'))";

/// Waits until the load's connections are closed, for at most half a second: a server process reports its
/// counts when it ends. Returns whether all that worked since this time have ended. Ours reports at once.
fn await_clients_gone(sql: &mut dyn Sql, since_s: f64, looker: Option<u32>) -> Result<bool, SqlError> {
    let looker = looker.unwrap_or_default();
    let others = format!(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' \
         AND datname = current_database() AND usename = current_user \
         AND pid <> pg_catalog.pg_backend_pid() AND pid <> {looker} AND state_change >= pg_catalog.to_timestamp({since_s})"
    );
    let start = Instant::now();
    loop {
        match sql.scalar(&others)? {
            Some(count) if count != "0" && start.elapsed() < Duration::from_millis(500) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            count => return Ok(count.is_none_or(|count| count == "0")),
        }
    }
}

/// Makes the server count now what our own connection did, such as reading all settings, which can use
/// temporary files. Otherwise it is counted later, during a run. PostgreSQL 15 and later.
fn hand_in_own(sql: &mut dyn Sql) -> Result<(), SqlError> {
    let there = "SELECT to_regprocedure('pg_catalog.pg_stat_force_next_flush()')";
    if permitted(sql.scalar(there))?.flatten().is_some() {
        permitted(sql.scalar("SELECT pg_catalog.pg_stat_force_next_flush()"))?;
    }
    Ok(())
}

/// Counters at one time, each under the figure of its difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counters(Figures);

impl Counters {
    /// Reads the counters that this server has and lets us read.
    pub(crate) fn take(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        let mut counters = Figures::default();
        hand_in_own(sql)?;
        for Source { view, condition, columns, .. } in &SOURCES {
            // A check first keeps errors about missing views out of the server's log.
            if permitted(sql.scalar(&format!("SELECT to_regclass('{view}')")))?.flatten().is_none() {
                continue;
            }
            let query = format!("SELECT * FROM {view} {condition}");
            let Some(results) = permitted(sql.query(&query))? else { continue };
            let Some(set) = results.into_iter().next_back() else { continue };
            let Some(row) = set.rows.into_iter().next() else { continue };
            for (column, value) in set.columns.iter().zip(row) {
                let own = columns.iter().find(|(theirs, _)| theirs == column);
                let number = value.and_then(|value| value.parse::<f64>().ok());
                if let (Some((_, of)), Some(number)) = (own, number) {
                    counters.set(*of, number);
                }
            }
        }
        if permitted(sql.scalar(HAS_BRIN))?.flatten().as_deref() == Some("t") {
            counters.remove(figures::TUPLES_SCANNED);
        }
        let position = permitted(sql.scalar(WAL_POSITION))?.flatten();
        if let Some(position) = position.and_then(|position| position.parse().ok()) {
            counters.set(figures::WAL_BYTES, position);
        }
        Ok(Self(counters))
    }

    /// The difference to `before`. A counter that decreased (statistics were reset) is left out.
    pub(crate) fn since(&self, before: &Self) -> Figures {
        let mut figures = Figures::default();
        let counted = SOURCES.iter().flat_map(|source| source.columns).map(|(_, of)| *of);
        for of in counted.chain([figures::WAL_BYTES]) {
            let both = self.0.get(of).zip(before.0.get(of));
            if let Some(difference) = both.map(|(now, then)| now - then).filter(|d| *d >= 0.0) {
                figures.set(of, difference);
            }
        }
        let checkpoints =
            [figures::CHECKPOINTS_TIMED, figures::CHECKPOINTS_REQUESTED].map(|of| figures.get(of));
        if let [Some(timed), Some(requested)] = checkpoints {
            figures.set(figures::CHECKPOINTS, timed + requested);
        }
        if let [Some(read), Some(hit)] = [figures::BLOCKS_READ, figures::BLOCKS_HIT].map(|of| figures.get(of))
            && read + hit > 0.0
        {
            figures.set(figures::CACHE_HIT_PCT, 100.0 * hit / (read + hit));
        }
        figures
    }
}

/// `None` if the server lacks the view or denies access; other errors remain.
fn permitted<T>(result: Result<T, SqlError>) -> Result<Option<T>, SqlError> {
    match result {
        Ok(value) => Ok(Some(value)),
        // undefined_table, undefined_function, insufficient_privilege
        Err(error) if ["42P01", "42883", "42501"].iter().any(|state| error.is(state)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use protocol::postgres::sql::{ResultSet, Supply};

    use super::*;

    struct Server(Vec<(&'static str, Vec<(&'static str, &'static str)>)>);

    impl Sql for Server {
        fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
            let missing = SqlError { sqlstate: Some("42P01".into()), text: "no such view".into() };
            let (_, row) = self.0.iter().find(|(view, _)| sql.contains(view)).ok_or(missing)?;
            Ok(vec![ResultSet {
                columns: row.iter().map(|(column, _)| (*column).to_owned()).collect(),
                rows: vec![row.iter().map(|(_, value)| Some((*value).to_owned())).collect()],
                types: Vec::new(),
                tag: String::new(),
            }])
        }

        fn copy_in(&mut self, _: &str, _: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
            Ok(0)
        }
    }

    fn server(version: u32, factor: u32) -> Server {
        let number = |n: u32| -> &'static str { Box::leak((n * factor).to_string().into_boxed_str()) };
        let mut views = vec![
            (
                "pg_stat_database",
                vec![
                    ("datname", "x"),
                    ("xact_commit", number(10)),
                    ("blks_read", number(1)),
                    ("blks_hit", number(3)),
                ],
            ),
            ("pg_current_wal", vec![("lsn", number(100))]),
        ];
        if version >= 17 {
            views
                .push(("pg_stat_checkpointer", vec![("num_timed", number(1)), ("num_requested", number(2))]));
            views.push(("pg_stat_bgwriter", vec![("buffers_clean", number(5))]));
        } else {
            views.push((
                "pg_stat_bgwriter",
                vec![("checkpoints_timed", number(1)), ("checkpoints_req", number(2))],
            ));
        }
        Server(views)
    }

    #[test]
    fn versions_give_the_same_figures() {
        for version in [13, 17] {
            let before = Counters::take(&mut server(version, 1)).unwrap();
            let after = Counters::take(&mut server(version, 3)).unwrap();
            let figures = after.since(&before);
            assert_eq!(figures[figures::COMMITS], 20.0);
            assert_eq!(figures[figures::WAL_BYTES], 200.0);
            assert_eq!(figures[figures::CHECKPOINTS], 6.0);
            assert_eq!(figures[figures::CACHE_HIT_PCT], 75.0);
            // The statistics were reset in between.
            assert!(before.since(&after).get(figures::COMMITS).is_none());
        }
    }

    /// 20 executions were counted for 12 transactions, after a warm-up of half a second.
    #[test]
    fn warm_up_and_drain_are_taken_out_of_counts_that_come_late() {
        let counts = spec::Counts { due: 14, ok: 14, ..spec::Counts::default() };
        let script = engine::ScriptFigures::counted(counts, 12);
        let measured =
            EngineResult { elapsed: 1_000_000_000, scripts: vec![script], ..EngineResult::default() };
        let share = |warmup_ms| measured_share(&measured, Duration::from_millis(warmup_ms));
        assert!((share(500) - 12.0 / 20.0).abs() < 1e-9, "{}", share(500));
        assert!((share(4000) - 12.0 / 20.0).abs() < 1e-9, "half a second of a long one");
        assert!((share(0) - 12.0 / 14.0).abs() < 1e-9);
        assert!((measured_share(&EngineResult::default(), HAND_IN) - 1.0).abs() < 1e-9);
    }

    /// Behind a pooler a short run had 0.0 blocks per transaction: the processes had not reported theirs.
    #[test]
    fn counts_of_processes_that_go_on_are_missing_in_short_runs() {
        let ended = |seconds: u64, left: &'static str| {
            let mut server = Server(vec![
                ("pg_stat_activity", vec![("count", left)]),
                ("clock_timestamp", vec![("date_part", "1795000000.25")]),
                ("pg_stat_database", vec![("xact_commit", "7"), ("blks_hit", "9"), ("blks_read", "1")]),
                ("pg_stat_bgwriter", vec![("buffers_clean", "5")]),
            ]);
            let manner =
                Manner { elsewhere: false, uncut: false, waits: false, warmup: Duration::ZERO, looker: None };
            let mut collector = Postgres::new(&mut server, manner);
            collector.begin().unwrap();
            let measured = EngineResult { elapsed: seconds * 1_000_000_000, ..EngineResult::default() };
            let figures = collector.end(&measured, &mut Vec::new()).unwrap();
            let has = |of| figures.get(of).is_some();
            let counted = [figures::COMMITS, figures::BLOCKS_HIT, figures::BACKGROUND_WRITER_BUFFERS];
            (counted.map(has), collector.missing().is_some())
        };
        assert_eq!(ended(2, "0"), ([true; 3], false), "all have ended");
        assert_eq!(ended(2, "4"), ([false, false, true], true));
        assert_eq!(ended(10, "4"), ([true; 3], false), "a long run lacks little");
    }

    /// The server counts ten entries for each block of a BRIN index, which seemed to scan six times less than
    /// a btree.
    #[test]
    fn entries_of_an_index_of_blocks_are_no_rows() {
        for (has, scanned) in [("f", Some(7.0)), ("t", None)] {
            let mut server = Server(vec![
                ("to_regclass('pg_catalog.pg_stat_database')", vec![("to_regclass", "there")]),
                ("FROM pg_catalog.pg_stat_database", vec![("tup_returned", "7"), ("tup_fetched", "5")]),
                ("a.amname = 'brin'", vec![("exists", has)]),
            ]);
            let Counters(counted) = Counters::take(&mut server).unwrap();
            assert_eq!(
                (counted.get(figures::TUPLES_SCANNED), counted.get(figures::TUPLES_FETCHED)),
                (scanned, Some(5.0))
            );
        }
    }
}
