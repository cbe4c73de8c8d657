//! Writing: an experiment when it begins, each run as it ends.

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use stats::Encoded;

use super::{ExperimentId, Finished, Store};
use crate::error::StoreError;
use crate::spool::Spool;
use record::{Experiment, Host, Run, ScriptRecord, SeriesPoint, Setting, Target};

/// `hist.start_us` of a histogram over the whole run.
pub(super) const WHOLE_RUN: i64 = -1;

/// Kind of the event of runs that are to be measured again.
pub(super) const SET_ASIDE: &str = "set aside";

type Sqlite<T> = Result<T, rusqlite::Error>;

impl Store {
    /// Finds the newest experiment with this plan, or makes it; counts the invocation and keeps the larger number
    /// of rounds. With `again` always makes a new one. Returns its number and which invocation this is, from 1.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin_experiment(
        &mut self,
        experiment: &Experiment,
        host: &Host,
        target: &Target,
        again: bool,
    ) -> Result<(ExperimentId, u32), StoreError> {
        let path = self.path.clone();
        let begin = |connection: &mut rusqlite::Connection| -> Sqlite<_> {
            let transaction = begin_writing(connection)?;
            let known =
                (!again).then(|| newest_with_hash(&transaction, &experiment.hash)).transpose()?.flatten();
            let id = match known {
                Some(id) => {
                    transaction.execute(
                        "UPDATE experiment SET rounds = max(rounds, ?2), plan_json = ?3, file_text = ?4
                         WHERE experiment_id = ?1",
                        params![id, experiment.rounds, experiment.plan_json, experiment.file_text],
                    )?;
                    id
                }
                None => insert_experiment(&transaction, experiment, host, target)?,
            };
            let invocation = transaction.query_row(
                "UPDATE experiment SET invocations = invocations + 1 WHERE experiment_id = ?1 RETURNING invocations",
                [id],
                |row| row.get(0),
            )?;
            transaction.commit()?;
            Ok((ExperimentId(id), invocation))
        };
        begin(&mut self.connection).map_err(|error| StoreError::from_sqlite(&path, &error))
    }

    /// Sees that the file can be written, and changes nothing: nobody should learn that after the first run.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check_writable(&mut self) -> Result<(), StoreError> {
        let attempt = begin_writing(&mut self.connection).and_then(|transaction| {
            // A file that can only be read lets transactions begin, and refuses what is in them.
            transaction.execute("UPDATE meta SET value = value", [])?;
            transaction.rollback()
        });
        attempt.map_err(|error| StoreError::from_sqlite(&self.path, &error))
    }

    /// Marks stored runs as set aside, for this reason: they stay as they are, and are to be measured again.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mark = |connection: &mut rusqlite::Connection| -> Sqlite<()> {
            let transaction = begin_writing(connection)?;
            for run in runs {
                transaction.execute(
                    "INSERT INTO event SELECT ?1, coalesce(max(position), -1) + 1, 0, ?2, ?3 FROM event WHERE run_id = ?1",
                    params![run, SET_ASIDE, why],
                )?;
            }
            transaction.commit()
        };
        mark(&mut self.connection).map_err(|error| StoreError::from_sqlite(&path, &error))
    }

    /// Gives experiments of one identity another one, where an earlier build told the same experiments apart by what
    /// makes no difference. Nothing happens where there are none, or where the other identity has experiments already.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn adopt(&self, former: &str, hash: &str) -> Result<(), StoreError> {
        let adopt = "UPDATE experiment SET hash = ?2 WHERE hash = ?1
                     AND NOT EXISTS (SELECT 1 FROM experiment AS other WHERE other.hash = ?2)";
        // A file that holds nothing to adopt is only read.
        let known: bool = self
            .connection
            .query_row("SELECT EXISTS (SELECT 1 FROM experiment WHERE hash = ?1)", [former], |row| row.get(0))
            .map_err(|error| self.error(&error))?;
        if known {
            self.connection.execute(adopt, params![former, hash]).map_err(|error| self.error(&error))?;
        }
        Ok(())
    }

    /// Stores runs that belong together with all they hold, in one durable transaction: after a crash all of them are
    /// there, or none. Gives their numbers.
    ///
    /// # Errors
    /// When the file cannot be written; [`StoreError::Full`] when the disk is full.
    pub fn store(&mut self, experiment: ExperimentId, block: &[Finished]) -> Result<Vec<i64>, StoreError> {
        self.check_in_place()?;
        let path = self.path.clone();
        let store = |connection: &mut rusqlite::Connection| -> Sqlite<Vec<i64>> {
            let transaction = begin_writing(connection)?;
            let ids = block
                .iter()
                .map(|Finished { run, seconds }| write_run(&transaction, experiment, run, seconds))
                .collect::<Sqlite<_>>()?;
            transaction.commit()?;
            Ok(ids)
        };
        store(&mut self.connection).map_err(|error| StoreError::from_sqlite(&path, &error))
    }
}

/// Writes a run with all it holds, and gives its number.
pub(super) fn write_run(
    transaction: &Transaction<'_>,
    experiment: ExperimentId,
    run: &Run,
    seconds: &Spool,
) -> Sqlite<i64> {
    let id = insert_run(transaction, experiment, run)?;
    insert_details(transaction, id, run)?;
    let mut scripts = Vec::with_capacity(run.scripts.len());
    for (position, script) in run.scripts.iter().enumerate() {
        let script_id = insert_script(transaction, id, position, script, run.measured_s)?;
        let series = run.series.iter().filter(|point| point.script as usize == position);
        insert_series(transaction, script_id, series)?;
        scripts.push(script_id);
    }
    insert_seconds(transaction, &scripts, seconds)?;
    Ok(id)
}

/// A transaction that waits for another writer at its start; one that first reads cannot wait later, and fails.
pub(super) fn begin_writing(connection: &mut rusqlite::Connection) -> Sqlite<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

pub(super) fn newest_with_hash(transaction: &Transaction<'_>, hash: &str) -> Sqlite<Option<i64>> {
    transaction
        .query_row("SELECT experiment_id FROM experiment WHERE hash = ?1 ORDER BY 1 DESC", [hash], |row| {
            row.get(0)
        })
        .optional()
}

pub(super) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

pub(super) fn insert_experiment(
    transaction: &Transaction<'_>,
    experiment: &Experiment,
    host: &Host,
    target: &Target,
) -> Sqlite<i64> {
    transaction.execute(
        "INSERT OR IGNORE INTO host (uuid, name, cpu, cores, memory_bytes, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![host.uuid, host.name, host.cpu, host.cores, host.memory_bytes as i64, json(&host.facts)],
    )?;
    let host_id: i64 = transaction.query_row(
        "SELECT host_id FROM host WHERE uuid = ?1 AND name = ?2 AND cpu = ?3 AND cores = ?4 AND memory_bytes = ?5
         AND facts = ?6",
        params![host.uuid, host.name, host.cpu, host.cores, host.memory_bytes as i64, json(&host.facts)],
        |row| row.get(0),
    )?;
    transaction.execute(
        "INSERT INTO target (kind, dsn_redacted, server_version, postgis_version, versions) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            target.kind,
            target.dsn_redacted,
            target.server_version,
            target.postgis_version,
            json(&target.versions)
        ],
    )?;
    let target_id = transaction.last_insert_rowid();
    transaction.execute(
        "INSERT INTO experiment (uuid, hash, name, question, file_text, plan_json, seed, order_scheme, rounds,
            compare_factor, base, arms, margin, taste, created_at, host_id, target_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            uuid::Uuid::new_v4().to_string(),
            experiment.hash,
            experiment.name,
            experiment.question,
            experiment.file_text,
            experiment.plan_json,
            experiment.seed.to_string(),
            experiment.order_scheme,
            experiment.rounds,
            experiment.compare_factor,
            experiment.base,
            json(&experiment.arms),
            experiment.margin,
            experiment.taste,
            experiment.created_at,
            host_id,
            target_id,
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn cell_id(transaction: &Transaction<'_>, experiment: ExperimentId, run: &Run) -> Sqlite<i64> {
    let factors = json(&run.factors);
    let made = transaction.execute(
        "INSERT OR IGNORE INTO cell (experiment_id, workload, factors) VALUES (?1, ?2, ?3)",
        params![experiment.0, run.workload, factors],
    )?;
    let id = transaction.query_row(
        "SELECT cell_id FROM cell WHERE experiment_id = ?1 AND workload = ?2 AND factors = ?3",
        params![experiment.0, run.workload, factors],
        |row| row.get(0),
    )?;
    if made == 1 {
        for (name, value) in &run.factors {
            transaction.execute("INSERT INTO cell_factor VALUES (?1, ?2, ?3)", params![id, name, value])?;
        }
    }
    Ok(id)
}

/// Settings are stored once per distinct set, under the hash of all of them.
fn settings_id(transaction: &Transaction<'_>, settings: &[Setting]) -> Sqlite<Option<i64>> {
    if settings.is_empty() {
        return Ok(None);
    }
    let mut sorted: Vec<_> = settings.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted.dedup_by(|a, b| a.name == b.name);
    let hash = record::hex(&Sha256::digest(json(&sorted)));
    let find = "SELECT settings_id FROM settings WHERE hash = ?1";
    if let Some(id) = transaction.query_row(find, [&hash], |row| row.get(0)).optional()? {
        return Ok(Some(id));
    }
    transaction.execute("INSERT INTO settings (hash) VALUES (?1)", [&hash])?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached("INSERT INTO setting VALUES (?1, ?2, ?3, ?4)")?;
    for setting in sorted {
        insert.execute(params![id, setting.name, setting.value, setting.source])?;
    }
    Ok(Some(id))
}

fn insert_run(transaction: &Transaction<'_>, experiment: ExperimentId, run: &Run) -> Sqlite<i64> {
    let response = run.response();
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1000.0);
    transaction.execute(
        "INSERT INTO run (uuid, experiment_id, cell_id, kind, arm, round, sequence, position_in_pair, invocation,
            started_at, load, offered_rate, clients, threads, driver, seed, warmup_s, measured_s, validity, settings_id,
            tps, p50_us, p95_us, p99_us, p999_us, max_us, beside)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26, ?27)",
        params![
            run.uuid,
            experiment.0,
            cell_id(transaction, experiment, run)?,
            word(&run.kind),
            run.arm,
            run.round,
            run.sequence,
            run.position_in_pair,
            run.invocation,
            run.started_at,
            run.load,
            run.offered_rate,
            run.clients,
            run.threads,
            run.driver,
            run.seed.to_string(),
            run.warmup_s,
            run.measured_s,
            word(&run.validity),
            settings_id(transaction, &run.settings)?,
            run.tps(),
            us(response.quantile_ns(0.5)),
            us(response.quantile_ns(0.95)),
            us(response.quantile_ns(0.99)),
            us(response.quantile_ns(0.999)),
            us(response.max_ns()),
            run.beside,
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

/// The name under which serde knows a value, without quotes.
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}

fn insert_details(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    for (name, value) in &run.counts {
        transaction.execute("INSERT INTO run_count VALUES (?1, ?2, ?3)", params![id, name, *value as i64])?;
    }
    for (name, value) in run.figures.iter().filter(|(_, value)| value.is_finite()) {
        transaction.execute("INSERT INTO run_figure VALUES (?1, ?2, ?3)", params![id, name, value])?;
    }
    for (at, doubt) in run.doubts.iter().enumerate() {
        let values = params![id, at as i64, word(&doubt.reason), doubt.detail];
        transaction.execute("INSERT INTO run_doubt VALUES (?1, ?2, ?3, ?4)", values)?;
    }
    for (at, phase) in run.phases.iter().enumerate() {
        let count = phase.count.map(|count| count as i64);
        let (start, duration) = (phase.start_us as i64, phase.duration_us as i64);
        let values = params![id, at as i64, phase.name, phase.item, start, duration, count, phase.source];
        transaction.execute("INSERT INTO phase VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", values)?;
    }
    for (at, relation) in run.relations.iter().enumerate() {
        let (bytes, rows) = (relation.bytes as i64, relation.rows as i64);
        let values = params![id, at as i64, relation.name, relation.kind, relation.table, bytes, rows];
        transaction.execute("INSERT INTO relation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", values)?;
    }
    for (at, artifact) in run.artifacts.iter().enumerate() {
        let values =
            params![id, at as i64, artifact.name, artifact.media_type, artifact.caption, artifact.bytes];
        transaction.execute("INSERT INTO artifact VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values)?;
    }
    for (at, event) in run.events.iter().enumerate() {
        let values = params![id, at as i64, event.time_us, event.kind, event.detail];
        transaction.execute("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
    }
    let mut insert = transaction.prepare_cached("INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for sample in run.samples.iter().filter(|sample| sample.value.is_finite()) {
        let scope = word(&sample.scope);
        insert.execute(params![id, scope, sample.source, sample.name, sample.time_us, sample.value])?;
    }
    Ok(())
}

fn insert_script(
    transaction: &Transaction<'_>,
    run: i64,
    position: usize,
    script: &ScriptRecord,
    measured_s: f64,
) -> Sqlite<i64> {
    transaction.execute(
        "INSERT INTO script (run_id, position, name, text_hash, weight, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![run, position as i64, script.name, script.text_hash, script.weight, json(&script.counts)],
    )?;
    let id = transaction.last_insert_rowid();
    let length_us = (measured_s * 1e6) as i64;
    insert_histogram(transaction, id, "response", WHOLE_RUN, length_us, &script.response.encoded())?;
    insert_histogram(transaction, id, "service", WHOLE_RUN, length_us, &script.service.encoded())?;
    Ok(id)
}

fn insert_series<'a>(
    transaction: &Transaction<'_>,
    script: i64,
    points: impl Iterator<Item = &'a SeriesPoint>,
) -> Sqlite<()> {
    for point in points {
        let length_us = point.length_us as i64;
        transaction.execute(
            "INSERT INTO series VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                script,
                point.start_us,
                length_us,
                point.ok as i64,
                point.late as i64,
                point.failed as i64,
                point.skipped as i64
            ],
        )?;
    }
    Ok(())
}

/// Why distributions do not get from the spool into the file.
enum Spooling {
    Spool(std::io::Error),
    Sqlite(rusqlite::Error),
}

impl From<std::io::Error> for Spooling {
    fn from(error: std::io::Error) -> Self {
        Self::Spool(error)
    }
}

fn insert_seconds(transaction: &Transaction<'_>, scripts: &[i64], seconds: &Spool) -> Sqlite<()> {
    let inserted = seconds.each(|second| {
        let Some(script) = scripts.get(second.script as usize) else { return Ok(()) };
        let length_us = second.length_us as i64;
        insert_histogram(transaction, *script, "second", second.start_us, length_us, &second.response)
            .map_err(Spooling::Sqlite)
    });
    inserted.map_err(|error| match error {
        Spooling::Sqlite(error) => error,
        Spooling::Spool(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL), None)
        }
        Spooling::Spool(error) => rusqlite::Error::ToSqlConversionFailure(Box::new(error)),
    })
}

fn insert_histogram(
    transaction: &Transaction<'_>,
    script: i64,
    kind: &str,
    start_us: i64,
    length_us: i64,
    histogram: &Encoded,
) -> Sqlite<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO hist VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    insert.execute(params![
        script,
        kind,
        start_us,
        length_us,
        histogram.count as i64,
        histogram.sum_ns.to_string(),
        histogram.sum_squares,
        histogram.min_ns.map(|ns| ns as i64),
        histogram.max_ns.map(|ns| ns as i64),
        histogram.v2,
    ])?;
    Ok(())
}
