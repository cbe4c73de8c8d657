//! Reading whole records back.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use stats::Histogram;

use super::write::{SET_ASIDE, WHOLE_RUN};
use super::{ExperimentId, Store};
use crate::error::StoreError;
use record::{
    Artifact, Doubt, Experiment, Host, Phase, Relation, Run, RunEvent, RunKey, Sample, ScriptRecord,
    SeriesPoint, Setting, Target,
};

/// A line of the list of experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentSummary {
    /// Number in this file.
    pub id: ExperimentId,
    /// Name of its file.
    pub name: String,
    /// Its question.
    pub question: String,
    /// Hash of its plan.
    pub hash: String,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// Runs stored.
    pub runs: u64,
}

/// An experiment with what it was run on.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredExperiment {
    /// Number in this file.
    pub id: ExperimentId,
    /// The experiment.
    pub experiment: Experiment,
    /// The machine.
    pub host: Host,
    /// The target.
    pub target: Target,
}

type Sqlite<T> = Result<T, rusqlite::Error>;

impl Store {
    /// All experiments, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn experiments(&self) -> Result<Vec<ExperimentSummary>, StoreError> {
        self.rows(
            "SELECT experiment_id, name, question, hash, created_at,
                    (SELECT count(*) FROM run WHERE run.experiment_id = experiment.experiment_id)
             FROM experiment ORDER BY experiment_id",
            0,
            |row| {
                Ok(ExperimentSummary {
                    id: ExperimentId(row.get(0)?),
                    name: row.get(1)?,
                    question: row.get(2)?,
                    hash: row.get(3)?,
                    created_at: row.get(4)?,
                    runs: row.get::<_, i64>(5)?.unsigned_abs(),
                })
            },
        )
    }

    /// Finds an experiment by number or name (the newest of that name); `None` asks for the newest that has runs.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`] with those that are there.
    pub fn find(&self, wanted: Option<&str>) -> Result<ExperimentId, StoreError> {
        let all = self.experiments()?;
        let mut newest_first = all.iter().rev();
        let found = match wanted {
            None => newest_first.clone().find(|experiment| experiment.runs > 0).or(newest_first.next()),
            Some(wanted) => newest_first.find(|e| e.name == wanted || e.id.0.to_string() == wanted),
        };
        found.map(|experiment| experiment.id).ok_or_else(|| StoreError::NoExperiment {
            path: self.path.clone(),
            wanted: wanted.unwrap_or("at all").to_owned(),
            known: all.iter().map(|e| format!("{} {}", e.id.0, e.name)).collect::<Vec<_>>().join(", "),
        })
    }

    /// The newest experiment with this plan.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn newest_with_hash(&self, hash: &str) -> Result<Option<ExperimentId>, StoreError> {
        Ok(self.experiments()?.into_iter().rev().find(|e| e.hash == hash).map(|e| e.id))
    }

    /// An experiment with its host and target.
    ///
    /// # Errors
    /// When there is none of that number, or it cannot be read.
    pub fn experiment(&self, id: ExperimentId) -> Result<StoredExperiment, StoreError> {
        let found = self.rows(
            "SELECT e.hash, e.name, e.question, e.file_text, e.plan_json, e.seed, e.order_scheme, e.rounds,
                    e.compare_factor, e.base, e.arms, e.margin, e.taste, e.created_at,
                    h.uuid, h.name, h.cpu, h.cores, h.memory_bytes, h.facts,
                    t.kind, t.dsn_redacted, t.server_version, t.postgis_version, t.versions
             FROM experiment e JOIN host h USING (host_id) JOIN target t USING (target_id)
             WHERE e.experiment_id = ?1",
            id.0,
            |row| {
                let experiment = Experiment {
                    hash: row.get(0)?,
                    name: row.get(1)?,
                    question: row.get(2)?,
                    file_text: row.get(3)?,
                    plan_json: row.get(4)?,
                    seed: number(row, 5)?,
                    order_scheme: row.get(6)?,
                    rounds: row.get(7)?,
                    compare_factor: row.get(8)?,
                    base: row.get(9)?,
                    arms: json(row, 10)?,
                    margin: row.get(11)?,
                    taste: row.get(12)?,
                    created_at: row.get(13)?,
                };
                let host = Host {
                    uuid: row.get(14)?,
                    name: row.get(15)?,
                    cpu: row.get(16)?,
                    cores: row.get(17)?,
                    memory_bytes: row.get::<_, i64>(18)?.unsigned_abs(),
                    facts: json(row, 19)?,
                };
                let target = Target {
                    kind: row.get(20)?,
                    dsn_redacted: row.get(21)?,
                    server_version: row.get(22)?,
                    postgis_version: row.get(23)?,
                    versions: json(row, 24)?,
                };
                Ok(StoredExperiment { id, experiment, host, target })
            },
        )?;
        found.into_iter().next().ok_or_else(|| StoreError::NoExperiment {
            path: self.path.clone(),
            wanted: id.0.to_string(),
            known: String::new(),
        })
    }

    /// What has been measured of an experiment, to go on from there; runs that were set aside do not count.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finished_runs(&self, id: ExperimentId) -> Result<Vec<RunKey>, StoreError> {
        let query = format!(
            "SELECT c.workload, c.factors, r.arm, r.round FROM run r JOIN cell c USING (cell_id)
             WHERE r.experiment_id = ?1
               AND NOT EXISTS (SELECT 1 FROM event v WHERE v.run_id = r.run_id AND v.kind = '{SET_ASIDE}')
             ORDER BY r.sequence, r.run_id"
        );
        self.rows(&query, id.0, |row| {
            Ok(RunKey { workload: row.get(0)?, factors: json(row, 1)?, arm: row.get(2)?, round: row.get(3)? })
        })
    }

    /// The first artifact of this name in an experiment.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn artifact(&self, id: ExperimentId, name: &str) -> Result<Option<Artifact>, StoreError> {
        let query =
            "SELECT a.name, a.media_type, a.caption, a.bytes FROM artifact a JOIN run r USING (run_id)
             WHERE r.experiment_id = ?1 AND a.name = ?2 ORDER BY r.sequence, r.run_id LIMIT 1";
        let read = |row: &Row<'_>| {
            let [name, media_type, caption] = [row.get(0)?, row.get(1)?, row.get(2)?];
            Ok(Artifact { name, media_type, caption, bytes: row.get(3)? })
        };
        let found = self.connection.query_row(query, params![id.0, name], read).optional();
        found.map_err(|error| self.error(&error))
    }

    /// All runs of an experiment with everything they hold but the distributions of single seconds, in order of
    /// execution.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn runs(&self, id: ExperimentId) -> Result<Vec<Run>, StoreError> {
        let heads = self.rows(
            "SELECT r.run_id, r.settings_id, r.uuid, r.kind, c.workload, c.factors, r.arm, r.round, r.sequence,
                    r.position_in_pair, r.invocation, r.started_at, r.load, r.offered_rate, r.clients, r.threads,
                    r.driver, r.seed, r.warmup_s, r.measured_s, r.validity, r.beside
             FROM run r JOIN cell c USING (cell_id) WHERE r.experiment_id = ?1 ORDER BY r.sequence, r.run_id",
            id.0,
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, head(row)?)),
        )?;
        let mut settings: BTreeMap<i64, Vec<Setting>> = BTreeMap::new();
        let mut runs = Vec::with_capacity(heads.len());
        for (run_id, settings_id, mut run) in heads {
            if let Some(set) = settings_id {
                if let std::collections::btree_map::Entry::Vacant(vacant) = settings.entry(set) {
                    vacant.insert(self.settings(set)?);
                }
                run.settings.clone_from(&settings[&set]);
            }
            self.fill(run_id, &mut run)?;
            runs.push(run);
        }
        Ok(runs)
    }

    fn rows<T>(
        &self,
        sql: &str,
        id: i64,
        read: impl Fn(&Row<'_>) -> Sqlite<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || -> Sqlite<Vec<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            // Lists without a key have no parameter to bind.
            if statement.parameter_count() == 0 {
                statement.query_map([], |row| read(row))?.collect()
            } else {
                statement.query_map(params![id], |row| read(row))?.collect()
            }
        };
        all().map_err(|error| match error {
            rusqlite::Error::FromSqlConversionFailure(..) => {
                StoreError::Damaged { path: self.path.clone(), detail: error.to_string() }
            }
            error => self.error(&error),
        })
    }

    fn settings(&self, id: i64) -> Result<Vec<Setting>, StoreError> {
        self.rows("SELECT name, value, source FROM setting WHERE settings_id = ?1 ORDER BY name", id, |row| {
            Ok(Setting { name: row.get(0)?, value: row.get(1)?, source: row.get(2)? })
        })
    }

    fn fill(&self, id: i64, run: &mut Run) -> Result<(), StoreError> {
        let pair = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
        run.counts =
            self.rows("SELECT name, value FROM run_count WHERE run_id = ?1", id, pair)?.into_iter().collect();
        let figure = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?));
        run.figures = self
            .rows("SELECT name, value FROM run_figure WHERE run_id = ?1", id, figure)?
            .into_iter()
            .collect();
        run.doubts = self.rows(
            "SELECT reason, detail FROM run_doubt WHERE run_id = ?1 ORDER BY position",
            id,
            |row| Ok(Doubt { reason: word(row, 0)?, detail: row.get(1)? }),
        )?;
        run.phases = self.rows(
            "SELECT name, item, start_us, duration_us, count, source FROM phase WHERE run_id = ?1 ORDER BY position",
            id,
            |row| {
                Ok(Phase {
                    name: row.get(0)?,
                    item: row.get(1)?,
                    start_us: row.get::<_, i64>(2)?.unsigned_abs(),
                    duration_us: row.get::<_, i64>(3)?.unsigned_abs(),
                    count: row.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
                    source: row.get(5)?,
                })
            },
        )?;
        run.relations = self.rows(
            "SELECT name, kind, table_name, bytes, rows FROM relation WHERE run_id = ?1 ORDER BY position",
            id,
            |row| {
                Ok(Relation {
                    name: row.get(0)?,
                    kind: row.get(1)?,
                    table: row.get(2)?,
                    bytes: row.get::<_, i64>(3)?.unsigned_abs(),
                    rows: row.get::<_, i64>(4)?.unsigned_abs(),
                })
            },
        )?;
        run.artifacts = self.rows(
            "SELECT name, media_type, caption, bytes FROM artifact WHERE run_id = ?1 ORDER BY position",
            id,
            |row| {
                Ok(Artifact {
                    name: row.get(0)?,
                    media_type: row.get(1)?,
                    caption: row.get(2)?,
                    bytes: row.get(3)?,
                })
            },
        )?;
        run.events = self.rows(
            "SELECT time_us, kind, detail FROM event WHERE run_id = ?1 ORDER BY position",
            id,
            |row| Ok(RunEvent { time_us: row.get(0)?, kind: row.get(1)?, detail: row.get(2)? }),
        )?;
        run.samples = self.rows(
            "SELECT scope, source, name, time_us, value FROM sample WHERE run_id = ?1 ORDER BY rowid",
            id,
            |row| {
                Ok(Sample {
                    scope: word(row, 0)?,
                    source: row.get(1)?,
                    name: row.get(2)?,
                    time_us: row.get(3)?,
                    value: row.get(4)?,
                })
            },
        )?;
        self.fill_scripts(id, run)
    }

    fn fill_scripts(&self, id: i64, run: &mut Run) -> Result<(), StoreError> {
        let scripts = self.rows(
            "SELECT script_id, name, text_hash, weight, counts FROM script WHERE run_id = ?1 ORDER BY position",
            id,
            |row| {
                let script = ScriptRecord {
                    name: row.get(1)?,
                    text_hash: row.get(2)?,
                    weight: row.get(3)?,
                    counts: json(row, 4)?,
                    response: Histogram::new(),
                    service: Histogram::new(),
                };
                Ok((row.get::<_, i64>(0)?, script))
            },
        )?;
        for (position, (script_id, mut script)) in scripts.into_iter().enumerate() {
            script.response = self.histogram(script_id, "response", WHOLE_RUN)?;
            script.service = self.histogram(script_id, "service", WHOLE_RUN)?;
            run.scripts.push(script);
            run.series.extend(self.rows(
                "SELECT start_us, length_us, ok, late, failed, skipped FROM series WHERE script_id = ?1 ORDER BY start_us",
                script_id,
                |row| {
                    let count = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.unsigned_abs());
                    Ok(SeriesPoint {
                        script: position as u32,
                        start_us: row.get(0)?,
                        length_us: count(1)?,
                        ok: count(2)?,
                        late: count(3)?,
                        failed: count(4)?,
                        skipped: count(5)?,
                    })
                },
            )?);
        }
        Ok(())
    }

    fn histogram(&self, script: i64, kind: &str, start_us: i64) -> Result<Histogram, StoreError> {
        let sql = format!(
            "SELECT v2, sum_ns, sum_squares, min_ns, max_ns FROM hist
             WHERE script_id = ?1 AND kind = '{kind}' AND start_us = {start_us}"
        );
        let found = self.rows(&sql, script, |row| histogram(row, 0))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }
}

fn head(row: &Row<'_>) -> Sqlite<Run> {
    let key = RunKey { workload: row.get(4)?, factors: json(row, 5)?, arm: row.get(6)?, round: row.get(7)? };
    Ok(Run {
        uuid: row.get(2)?,
        sequence: row.get(8)?,
        position_in_pair: row.get(9)?,
        invocation: row.get(10)?,
        started_at: row.get(11)?,
        load: row.get(12)?,
        offered_rate: row.get(13)?,
        clients: row.get(14)?,
        threads: row.get(15)?,
        driver: row.get(16)?,
        seed: number(row, 17)?,
        warmup_s: row.get(18)?,
        measured_s: row.get(19)?,
        validity: word(row, 20)?,
        beside: row.get(21)?,
        ..Run::new(word(row, 3)?, key)
    })
}

/// Five columns from `at`: V2 bytes, sum, sum of squares, minimum, maximum.
fn histogram(row: &Row<'_>, at: usize) -> Sqlite<Histogram> {
    let bytes: Vec<u8> = row.get(at)?;
    let sum: String = row.get(at + 1)?;
    let sum = sum.parse().map_err(|error| damaged(at + 1, error))?;
    let extreme = |column: usize, empty: u64| -> Sqlite<u64> {
        Ok(row.get::<_, Option<i64>>(column)?.map_or(empty, i64::unsigned_abs))
    };
    Histogram::decode(&bytes, sum, row.get(at + 2)?, extreme(at + 3, u64::MAX)?, extreme(at + 4, 0)?)
        .map_err(|error| damaged(at, error))
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Sqlite<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| damaged(column, error))
}

/// A value stored under the name serde knows it by.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Sqlite<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|error| damaged(column, error))
}

/// Seeds use all 64 bits, more than SQLite's signed integers show readably: kept as text.
fn number(row: &Row<'_>, column: usize) -> Sqlite<u64> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| damaged(column, error))
}
