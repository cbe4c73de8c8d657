//! Writing: an experiment when it begins, each run as it ends.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use spec::{BuildRecord, Error, ExperimentRecord, Host, MeasuredTarget, RunEvent, Validity};

use super::hosts::host_id;
use super::rows::{to_json, to_word};
use super::{ExperimentId, Finished, Sqlite, Store, parts, run};

impl Store {
    /// Finds [the experiment that goes on](Self::newest_with_hash), or creates it; counts the invocation and keeps the
    /// larger number of rounds. With `again` always creates one. Returns its number and the number of this
    /// invocation, from 1.
    pub fn begin_experiment(
        &mut self,
        experiment: &ExperimentRecord,
        host: &Host,
        target: &MeasuredTarget,
        again: bool,
    ) -> Result<(ExperimentId, u32), Error> {
        let begun = self.write(|transaction| {
            let known = if again { None } else { newest_with_hash(transaction, &experiment.hash, &host.uuid)? };
            let id = match known {
                Some(id) => {
                    transaction.execute(
                        "UPDATE experiment SET rounds = max(rounds, ?2), plan_json = ?3, file_text = ?4,
                            -- Levels that are set by hand can be added.
                            arms = CASE order_scheme WHEN 'sets' THEN ?5 ELSE arms END,
                            base = CASE order_scheme WHEN 'sets' THEN ?6 ELSE base END,
                            extended = extended + (compare_factor IS NOT NULL AND ?2 > rounds
                                AND EXISTS (SELECT 1 FROM run r WHERE r.experiment_id = ?1 AND r.arm IS NOT NULL))
                         WHERE experiment_id = ?1",
                        params![
                            id,
                            experiment.rounds,
                            to_json(&experiment.plan),
                            experiment.file_text,
                            to_json(&experiment.arms),
                            experiment.base,
                        ],
                    )?;
                    id
                }
                None => insert_experiment(transaction, experiment, host, target)?,
            };
            parts::insert_experiment_parts(transaction, id, experiment, host)?;
            let invocation = transaction.query_row(
                "UPDATE experiment SET invocations = invocations + 1 WHERE experiment_id = ?1 RETURNING invocations",
                [id],
                |row| row.get(0),
            )?;
            Ok((ExperimentId(id), invocation))
        });
        begun.map_err(|error| self.error(&error))
    }

    /// Checks that the file can be written, without changing it, so that an error occurs before the first
    /// run.
    pub fn check_writable(&mut self) -> Result<(), Error> {
        let attempt = begin_writing(&mut self.connection).and_then(|transaction| {
            // A read-only file accepts the begin of a transaction, and rejects its statements.
            transaction.execute("UPDATE meta SET value = value", [])?;
            transaction.rollback()
        });
        attempt.map_err(|error| self.error(&error))
    }

    /// Marks stored runs as set aside, with the reason: they stay unchanged, and are to be repeated.
    pub fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        let marked = self.write(|transaction| {
            for run in runs {
                transaction.execute("UPDATE run SET set_aside = ?2 WHERE run_id = ?1", params![run, why])?;
            }
            Ok(())
        });
        marked.map_err(|error| self.error(&error))
    }

    /// The same for runs that the machine disturbed and that are repeated: comparisons ignore them, and an
    /// event distinguishes them from others that were set aside.
    pub fn supersede(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        let superseded = self.write(|transaction| {
            for run in runs {
                let mark = "UPDATE run SET set_aside = ?2, validity = ?3 WHERE run_id = ?1";
                transaction.execute(mark, params![run, why, to_word(&Validity::Invalid)])?;
                insert_event(transaction, *run, RunEvent::SUPERSEDED, why)?;
            }
            Ok(())
        });
        superseded.map_err(|error| self.error(&error))
    }

    /// Stores a block of runs with all their rows, in one durable transaction: after a crash all of them
    /// exist, or none. Returns their numbers.
    pub fn store(&mut self, experiment: ExperimentId, block: &[Finished]) -> Result<Vec<i64>, Error> {
        self.check_in_place()?;
        let stored = self.write(|transaction| {
            block.iter().map(|finished| run::insert(transaction, experiment, finished)).collect()
        });
        stored.map_err(|error| self.error(&error))
    }

    /// Runs this in one durable transaction.
    pub(super) fn write<T, E: From<rusqlite::Error>>(
        &mut self,
        what: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = begin_writing(&mut self.connection)?;
        let written = what(&transaction)?;
        transaction.commit()?;
        Ok(written)
    }
}

/// Adds an event to a stored run.
pub(super) fn insert_event(transaction: &Transaction<'_>, run: i64, kind: &str, detail: &str) -> Sqlite<()> {
    let event =
        "INSERT INTO event SELECT ?1, coalesce(max(position) + 1, 0), 0, ?2, ?3 FROM event WHERE run_id = ?1";
    transaction.execute(event, params![run, kind, detail]).map(drop)
}

/// A transaction that waits for another writer at its start; after a read it could not wait, and would fail.
fn begin_writing(connection: &mut rusqlite::Connection) -> Sqlite<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// A merged file may have the same experiment of several hosts.
pub(super) fn newest_with_hash(connection: &Connection, hash: &str, host: &str) -> Sqlite<Option<i64>> {
    let newest = "SELECT e.experiment_id FROM experiment e JOIN host h USING (host_id) WHERE e.hash = ?1
                  ORDER BY h.uuid = ?2 DESC, e.experiment_id DESC";
    connection.query_row(newest, [hash, host], |row| row.get(0)).optional()
}

pub(super) fn insert_experiment(
    transaction: &Transaction<'_>,
    experiment: &ExperimentRecord,
    host: &Host,
    target: &MeasuredTarget,
) -> Sqlite<i64> {
    let (host, target) = (host_id(transaction, host)?, insert_target(transaction, target)?);
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
            to_json(&experiment.plan),
            experiment.seed.to_string(),
            to_word(&experiment.order_scheme),
            experiment.rounds,
            experiment.compare_factor,
            experiment.base,
            to_json(&experiment.arms),
            experiment.margin,
            experiment.taste,
            experiment.created_at,
            host,
            target,
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn insert_target(transaction: &Transaction<'_>, target: &MeasuredTarget) -> Sqlite<i64> {
    let MeasuredTarget { kind, dsn_redacted, server_version, postgis_version, versions, build } = target;
    transaction.execute(
        "INSERT INTO target (kind, dsn_redacted, server_version, postgis_version, versions) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![kind, dsn_redacted, server_version, postgis_version, to_json(versions)],
    )?;
    let id = transaction.last_insert_rowid();
    if let Some(BuildRecord { version, assertions, configure, cc, cflags, tree, commit }) = build {
        transaction.execute(
            "INSERT INTO target_build VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![id, version, assertions, configure, cc, cflags, tree, commit],
        )?;
    }
    Ok(id)
}
