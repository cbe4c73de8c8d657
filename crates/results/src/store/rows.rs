//! Rows of the results file as records.

use rusqlite::Row;
use serde::de::DeserializeOwned;
use spec::plan::Recorded;
use spec::{
    Artifact, BuildRecord, Doubt, ExperimentPart, ExperimentRecord, Host, MapPart, MeasuredTarget, Phase,
    Relation, Run, RunEvent, RunKey, RunPart, Sample, ScriptRecord, SeriesPoint, Setting, Slice, is_part,
};
use stats::{Encoded, Histogram};

use super::{ExperimentId, ExperimentSummary, Sqlite, StoredExperiment};
use crate::spool::Spooled;

pub(super) fn summary(row: &Row<'_>) -> Sqlite<ExperimentSummary> {
    Ok(ExperimentSummary {
        id: ExperimentId(row.get(0)?),
        name: row.get(1)?,
        question: row.get(2)?,
        hash: row.get(3)?,
        created_at: row.get(4)?,
        runs: unsigned(row, 5)?,
        last_run: row.get(6)?,
    })
}

pub(super) fn stored_experiment(row: &Row<'_>) -> Sqlite<StoredExperiment> {
    let experiment = ExperimentRecord {
        hash: row.get(1)?,
        name: row.get(2)?,
        question: row.get(3)?,
        file_text: row.get(4)?,
        plan: Recorded::read(&row.get::<_, String>(5)?),
        seed: number(row, 6)?,
        order_scheme: read_word(row, 7)?,
        rounds: row.get(8)?,
        compare_factor: row.get(9)?,
        base: row.get(10)?,
        arms: json(row, 11)?,
        margin: row.get(12)?,
        taste: row.get(13)?,
        created_at: row.get(14)?,
        control: None,
        parts: Vec::new(),
    };
    let host = host(row, 15)?;
    let target = MeasuredTarget {
        kind: row.get(21)?,
        dsn_redacted: row.get(22)?,
        server_version: row.get(23)?,
        postgis_version: row.get(24)?,
        versions: json(row, 25)?,
        build: build(row, 26)?,
    };
    Ok(StoredExperiment { id: ExperimentId(row.get(0)?), experiment, host, target })
}

/// Six columns from this one on.
pub(super) fn host(row: &Row<'_>, at: usize) -> Sqlite<Host> {
    Ok(Host {
        uuid: row.get(at)?,
        name: row.get(at + 1)?,
        cpu: row.get(at + 2)?,
        cores: row.get(at + 3)?,
        memory_bytes: unsigned(row, at + 4)?,
        facts: json(row, at + 5)?,
    })
}

/// Three columns from this one on.
pub(super) fn experiment_part(row: &Row<'_>, at: usize) -> Sqlite<ExperimentPart> {
    let (number, of) = part(row, at)?;
    Ok(ExperimentPart { number, of, shared: row.get(at + 2)? })
}

/// Two columns: K and N. Everything that lists parts relies on the bounds.
pub(super) fn part(row: &Row<'_>, at: usize) -> Sqlite<(u32, u32)> {
    let (number, of) = (row.get(at)?, row.get(at + 1)?);
    match is_part(number, of) {
        true => Ok((number, of)),
        false => Err(damaged(at, std::io::Error::other(format!("there is no part {number} of {of}")))),
    }
}

pub(super) fn run_part(row: &Row<'_>) -> Sqlite<RunPart> {
    let (number, of) = part(row, 1)?;
    Ok(RunPart {
        load: row.get(0)?,
        number,
        of,
        clock_offset_us: row.get(3)?,
        clock_error_us: row.get(4)?,
        late_us: row.get(5)?,
    })
}

/// Seven columns from this one on, all empty if nothing is known.
fn build(row: &Row<'_>, at: usize) -> Sqlite<Option<BuildRecord>> {
    let Some(version) = row.get(at)? else { return Ok(None) };
    Ok(Some(BuildRecord {
        version,
        assertions: row.get(at + 1)?,
        configure: row.get(at + 2)?,
        cc: row.get(at + 3)?,
        cflags: row.get(at + 4)?,
        tree: row.get(at + 5)?,
        commit: row.get(at + 6)?,
    }))
}

/// Four columns: workload, factors, arm, round.
pub(super) fn key(row: &Row<'_>) -> Sqlite<RunKey> {
    Ok(RunKey { workload: row.get(0)?, factors: json(row, 1)?, arm: row.get(2)?, round: row.get(3)? })
}

/// A run without its rows of other tables: [`key`] first.
pub(super) fn run(row: &Row<'_>) -> Sqlite<Run> {
    Ok(Run {
        sequence: row.get(6)?,
        position_in_pair: row.get(7)?,
        beside: row.get(8)?,
        invocation: row.get(9)?,
        started_at: row.get(10)?,
        load: read_word(row, 11)?,
        offered_rate: row.get(12)?,
        clients: row.get(13)?,
        threads: row.get(14)?,
        driver: row.get(15)?,
        seed: number(row, 16)?,
        warmup_s: row.get(17)?,
        measured_s: row.get(18)?,
        validity: read_word(row, 19)?,
        set_aside: row.get(20)?,
        ..Run::of_identity(row.get(5)?, read_word(row, 4)?, key(row)?)
    })
}

pub(super) fn slice(row: &Row<'_>) -> Sqlite<Slice> {
    Ok(Slice {
        quad: row.get(0)?,
        start_us: row.get(1)?,
        length_us: unsigned(row, 2)?,
        drain_us: unsigned(row, 3)?,
        succeeded: unsigned(row, 4)?,
        at_work_us: row.get(5)?,
        steal_pct: row.get(6)?,
        is_void: row.get(7)?,
        server_cpu_us: row.get(8)?,
    })
}

pub(super) fn setting(row: &Row<'_>) -> Sqlite<Setting> {
    Ok(Setting { name: row.get(0)?, value: row.get(1)?, source: row.get(2)?, is_initial: row.get(3)? })
}

pub(super) fn doubt(row: &Row<'_>) -> Sqlite<Doubt> {
    Ok(Doubt { reason: read_word(row, 0)?, detail: row.get(1)? })
}

pub(super) fn phase(row: &Row<'_>) -> Sqlite<Phase> {
    Ok(Phase {
        name: row.get(0)?,
        item: row.get(1)?,
        start_us: unsigned(row, 2)?,
        duration_us: unsigned(row, 3)?,
        count: row.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
        source: read_word(row, 5)?,
    })
}

pub(super) fn relation(row: &Row<'_>) -> Sqlite<Relation> {
    Ok(Relation {
        name: row.get(0)?,
        kind: read_word(row, 1)?,
        table: row.get(2)?,
        bytes: unsigned(row, 3)?,
        rows: unsigned(row, 4)?,
    })
}

pub(super) fn artifact(row: &Row<'_>) -> Sqlite<Artifact> {
    Ok(Artifact { name: row.get(0)?, media_type: row.get(1)?, caption: row.get(2)?, bytes: row.get(3)? })
}

pub(super) fn read_event(row: &Row<'_>) -> Sqlite<RunEvent> {
    Ok(RunEvent { time_us: row.get(0)?, kind: row.get(1)?, detail: row.get(2)? })
}

pub(super) fn sample(row: &Row<'_>) -> Sqlite<Sample> {
    Ok(Sample {
        scope: read_word(row, 0)?,
        source: row.get(1)?,
        name: row.get(2)?,
        time_us: row.get(3)?,
        value: row.get(4)?,
    })
}

/// A script without its histograms, under its number.
pub(super) fn script(row: &Row<'_>) -> Sqlite<(i64, ScriptRecord)> {
    let script = ScriptRecord {
        name: row.get(1)?,
        text_hash: row.get(2)?,
        weight: row.get(3)?,
        counts: json(row, 4)?,
        part: map_part(row)?,
        response: Histogram::new(),
        service: Histogram::new(),
    };
    Ok((row.get(0)?, script))
}

fn map_part(row: &Row<'_>) -> Sqlite<Option<MapPart>> {
    let Some(layer) = row.get(5)? else { return Ok(None) };
    Ok(Some(MapPart { layer, zoom: row.get(6)?, cached: row.get(7)? }))
}

pub(super) fn read_point(row: &Row<'_>, script: u32) -> Sqlite<SeriesPoint> {
    Ok(SeriesPoint {
        script,
        start_us: row.get(0)?,
        length_us: unsigned(row, 1)?,
        ok: unsigned(row, 2)?,
        late: unsigned(row, 3)?,
        failed: unsigned(row, 4)?,
        skipped: unsigned(row, 5)?,
    })
}

pub(super) fn histogram(row: &Row<'_>) -> Sqlite<Histogram> {
    let v2: Vec<u8> = row.get(0)?;
    let min_ns = row.get::<_, Option<i64>>(3)?.map_or(u64::MAX, i64::unsigned_abs);
    let max_ns = row.get::<_, Option<i64>>(4)?.map_or(0, i64::unsigned_abs);
    Histogram::decode(&v2, number(row, 1)?, row.get(2)?, min_ns, max_ns).map_err(|error| damaged(0, error))
}

/// Response times of a step of the series of a script.
pub(super) fn spooled(row: &Row<'_>) -> Sqlite<Spooled> {
    let response = Encoded {
        v2: row.get(3)?,
        count: unsigned(row, 4)?,
        sum_ns: number(row, 5)?,
        sum_squares: row.get(6)?,
        min_ns: row.get::<_, Option<i64>>(7)?.map(i64::unsigned_abs),
        max_ns: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
    };
    Ok(Spooled { script: row.get(0)?, start_us: row.get(1)?, length_us: unsigned(row, 2)?, response })
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

pub(super) fn unsigned(row: &Row<'_>, column: usize) -> Sqlite<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|error| damaged(column, error))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Sqlite<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| damaged(column, error))
}

/// A value stored under its serde name.
pub(super) fn read_word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Sqlite<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|error| damaged(column, error))
}

/// Seeds and sums use 64 bits and more, which SQLite's signed integers do not show readably: stored as
/// text.
fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(row: &Row<'_>, column: usize) -> Sqlite<T> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| damaged(column, error))
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

pub(super) fn to_word<T: serde::Serialize>(value: &T) -> String {
    to_json(value).trim_matches('"').to_owned()
}
