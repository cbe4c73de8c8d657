//! Writes a run with all its rows.

use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use spec::{Run, ScriptRecord, Setting};
use stats::Encoded;

use super::rows::{to_json, to_word};
use super::{ExperimentId, Finished, Sqlite, WHOLE_RUN, parts, plans, tiles};
use crate::spool::Spool;

pub(super) fn insert(
    transaction: &Transaction<'_>,
    experiment: ExperimentId,
    Finished { run, seconds }: &Finished,
) -> Sqlite<i64> {
    let id = insert_run(transaction, experiment, run)?;
    parts::insert_run_parts(transaction, id, run)?;
    insert_figures(transaction, id, run)?;
    insert_job(transaction, id, run)?;
    insert_happenings(transaction, id, run)?;
    let mut scripts = Vec::with_capacity(run.scripts.len());
    for (position, script) in run.scripts.iter().enumerate() {
        scripts.push(insert_script(transaction, id, position, script, run.measured_s)?);
    }
    insert_sessions(transaction, &scripts, run)?;
    insert_series(transaction, &scripts, run)?;
    insert_slices(transaction, id, run)?;
    plans::insert(transaction, id, &run.plans)?;
    tiles::insert(transaction, id, run)?;
    insert_seconds(transaction, &scripts, seconds)?;
    Ok(id)
}

fn insert_run(transaction: &Transaction<'_>, experiment: ExperimentId, run: &Run) -> Sqlite<i64> {
    let response = run.response();
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1000.0);
    transaction.execute(
        "INSERT INTO run (uuid, experiment_id, cell_id, kind, arm, beside, round, sequence, position_in_pair,
            invocation, started_at, load, offered_rate, clients, threads, driver, seed, warmup_s, measured_s, validity,
            set_aside, settings_id, tps, p50_us, p95_us, p99_us, p999_us, max_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26, ?27, ?28)",
        params![
            run.uuid,
            experiment.0,
            cell_id(transaction, experiment, run)?,
            to_word(&run.kind),
            run.arm,
            run.beside,
            run.round,
            run.sequence,
            run.position_in_pair,
            run.invocation,
            run.started_at,
            to_word(&run.load),
            run.offered_rate,
            run.clients,
            run.threads,
            run.driver,
            run.seed.to_string(),
            run.warmup_s,
            run.measured_s,
            to_word(&run.validity),
            run.set_aside,
            settings_id(transaction, &run.settings)?,
            run.tps(),
            us(response.quantile_ns(0.5)),
            us(response.quantile_ns(0.95)),
            us(response.quantile_ns(0.99)),
            us(response.quantile_ns(0.999)),
            us(response.max_ns()),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn cell_id(transaction: &Transaction<'_>, experiment: ExperimentId, run: &Run) -> Sqlite<i64> {
    let factors = to_json(&run.factors);
    let cell = params![experiment.0, run.workload, factors];
    let made = transaction
        .execute("INSERT OR IGNORE INTO cell (experiment_id, workload, factors) VALUES (?1, ?2, ?3)", cell)?;
    let id = transaction.query_row(
        "SELECT cell_id FROM cell WHERE experiment_id = ?1 AND workload = ?2 AND factors = ?3",
        cell,
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
    let hash = spec::hex(&Sha256::digest(to_json(&sorted)));
    let find = "SELECT settings_id FROM settings WHERE hash = ?1";
    if let Some(id) = transaction.query_row(find, [&hash], |row| row.get(0)).optional()? {
        return Ok(Some(id));
    }
    transaction.execute("INSERT INTO settings (hash) VALUES (?1)", [&hash])?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached("INSERT INTO setting VALUES (?1, ?2, ?3, ?4)")?;
    let mut initial = transaction.prepare_cached("INSERT INTO initial_setting VALUES (?1, ?2, ?3)")?;
    for setting in sorted {
        insert.execute(params![id, setting.name, setting.value, setting.source])?;
        if let Some(is_initial) = setting.is_initial {
            initial.execute(params![id, setting.name, is_initial])?;
        }
    }
    Ok(Some(id))
}

fn insert_figures(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    for (name, value) in run.counts.iter() {
        transaction.execute("INSERT INTO run_count VALUES (?1, ?2, ?3)", params![id, name, value as i64])?;
    }
    for (name, value) in run.figures.iter().filter(|(_, value)| value.is_finite()) {
        transaction.execute("INSERT INTO run_figure VALUES (?1, ?2, ?3)", params![id, name, value])?;
    }
    for (at, doubt) in (0_i64..).zip(&run.doubts) {
        let values = params![id, at, to_word(&doubt.reason), doubt.detail];
        transaction.execute("INSERT INTO run_doubt VALUES (?1, ?2, ?3, ?4)", values)?;
    }
    Ok(())
}

fn insert_job(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    for (at, phase) in (0_i64..).zip(&run.phases) {
        let count = phase.count.map(|count| count as i64);
        let (start, duration) = (phase.start_us as i64, phase.duration_us as i64);
        let values = params![id, at, phase.name, phase.item, start, duration, count, to_word(&phase.source)];
        transaction.execute("INSERT INTO phase VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", values)?;
    }
    for (at, relation) in (0_i64..).zip(&run.relations) {
        let (bytes, rows) = (relation.bytes as i64, relation.rows as i64);
        let values = params![id, at, relation.name, to_word(&relation.kind), relation.table, bytes, rows];
        transaction.execute("INSERT INTO relation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", values)?;
    }
    Ok(())
}

fn insert_happenings(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    for (at, artifact) in (0_i64..).zip(&run.artifacts) {
        let values = params![id, at, artifact.name, artifact.media_type, artifact.caption, artifact.bytes];
        transaction.execute("INSERT INTO artifact VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values)?;
    }
    for (at, event) in (0_i64..).zip(&run.events) {
        let values = params![id, at, event.time_us, event.kind, event.detail];
        transaction.execute("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
    }
    let mut insert = transaction.prepare_cached("INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for sample in run.samples.iter().filter(|sample| sample.value.is_finite()) {
        let scope = to_word(&sample.scope);
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
        "INSERT INTO script (run_id, position, name, text_hash, weight, counts, layer, zoom, cached)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            run,
            position as i64,
            script.name,
            script.text_hash,
            script.weight,
            to_json(&script.counts),
            script.part.as_ref().map(|part| &part.layer),
            script.part.as_ref().and_then(|part| part.zoom),
            script.part.as_ref().and_then(|part| part.cached),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    let length_us = (measured_s * 1e6) as i64;
    insert_histogram(transaction, id, "response", (WHOLE_RUN, length_us), &script.response.encoded())?;
    insert_histogram(transaction, id, "service", (WHOLE_RUN, length_us), &script.service.encoded())?;
    Ok(id)
}

/// Sessions are of all scripts together: their times stand with the first one.
fn insert_sessions(transaction: &Transaction<'_>, scripts: &[i64], run: &Run) -> Sqlite<()> {
    let (Some(first), Some(sessions)) = (scripts.first(), &run.sessions) else { return Ok(()) };
    let span = (WHOLE_RUN, (run.measured_s * 1e6) as i64);
    insert_histogram(transaction, *first, "session", span, &sessions.duration.encoded())?;
    insert_histogram(transaction, *first, "session_response", span, &sessions.response.encoded())
}

/// Steps of scripts that the run does not have are left out.
fn insert_series(transaction: &Transaction<'_>, scripts: &[i64], run: &Run) -> Sqlite<()> {
    let mut insert = transaction.prepare_cached("INSERT INTO series VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for step in &run.series {
        let Some(script) = scripts.get(step.script as usize) else { continue };
        let [ok, late, failed, skipped] =
            [step.ok, step.late, step.failed, step.skipped].map(|count| count as i64);
        let length_us = step.length_us as i64;
        insert.execute(params![script, step.start_us, length_us, ok, late, failed, skipped])?;
    }
    Ok(())
}

fn insert_slices(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO slice VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let mut insert_cpu = transaction.prepare_cached("INSERT INTO slice_cpu VALUES (?1, ?2, ?3)")?;
    for (at, slice) in (0_i64..).zip(&run.slices) {
        let [length_us, drain_us, succeeded] =
            [slice.length_us, slice.drain_us, slice.succeeded].map(|count| count as i64);
        insert.execute(params![
            id,
            at,
            slice.quad,
            slice.start_us,
            length_us,
            drain_us,
            succeeded,
            slice.at_work_us,
            slice.steal_pct,
            slice.is_void
        ])?;
        if let Some(server_cpu_us) = slice.server_cpu_us {
            insert_cpu.execute(params![id, at, server_cpu_us])?;
        }
    }
    Ok(())
}

/// Why distributions cannot be copied from the spool into the file.
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
        let span = (second.start_us, second.length_us as i64);
        insert_histogram(transaction, *script, "second", span, &second.response).map_err(Spooling::Sqlite)
    });
    inserted.map_err(|error| match error {
        Spooling::Sqlite(error) => error,
        Spooling::Spool(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL), None)
        }
        Spooling::Spool(error) => rusqlite::Error::ToSqlConversionFailure(Box::new(error)),
    })
}

/// A histogram of a script, over this start and length, µs.
fn insert_histogram(
    transaction: &Transaction<'_>,
    script: i64,
    kind: &str,
    (start_us, length_us): (i64, i64),
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
