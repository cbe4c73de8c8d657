//! A results file that is merged: of the present version or of an earlier one, read in one state.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use spec::{Class, Error, Run, RunEvent};

use super::groups::Known;
use super::loads::Piece;
use super::sum::Share;
use crate::error::not_results;
use crate::spool::Spooled;
use crate::store::schema::{self, COPIED, SchemaState};
use crate::store::{ExperimentId, RunParts, Store, rows};

/// A results file, opened for reading.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) store: Store,
    /// Whether it has the tables of parts.
    is_present: bool,
}

/// An imported run, and what it was read from.
#[derive(Debug)]
pub(super) struct ImportedRun {
    pub(super) run: i64,
    pub(super) uuid: String,
    pub(super) experiment: i64,
    pub(super) sha256: String,
}

/// What tells whether two runs of one identity are the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunIdentity {
    pub(super) started_at: String,
    pub(super) seed: String,
    pub(super) measured_s: f64,
    pub(super) tps: Option<f64>,
    pub(super) max_us: Option<f64>,
}

impl Source {
    /// # Errors
    /// When it is absent, another file, of a newer version, damaged, or has views or triggers of somebody else.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        if std::fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let what = format!("{}: no such file", path.display());
            return Err(Error::new(Class::BadInput, what).with_hint("name results files"));
        }
        let (store, state) = Store::open_existing(path)?;
        let is_present = match state {
            SchemaState::Present => true,
            SchemaState::Earlier(found) if COPIED.contains(&found) => false,
            SchemaState::Empty => return Err(not_results(path)),
            other => {
                other.check(path)?;
                return Err(not_results(path));
            }
        };
        // One state of the file, even if a pgdyno writes to it. What is checked is what is read.
        store.execute("PRAGMA query_only = ON; BEGIN")?;
        match is_present {
            true => schema::refuse_additions(&store.connection, path)?,
            // Its views differ, and are not read.
            false => schema::refuse_other_tables(&store.connection, path)?,
        }
        Ok(Self { store, is_present })
    }

    /// When its last run began, RFC 3339; empty without runs.
    pub(super) fn last_run(&self) -> Result<String, Error> {
        let last =
            self.store.rows("SELECT max(started_at) FROM run", [], |row| row.get::<_, Option<_>>(0))?;
        Ok(last.into_iter().next().flatten().unwrap_or_default())
    }

    /// Its experiments; `source` is its index.
    pub(super) fn known(&self, source: usize) -> Result<Vec<Known>, Error> {
        let mut known = self.store.rows(
            "SELECT e.experiment_id, e.uuid, e.hash, e.name, e.seed, e.created_at, e.invocations,
                    (SELECT count(*) FROM run r WHERE r.experiment_id = e.experiment_id),
                    coalesce(json_extract(t.versions, '$.pgdyno'), ''), e.rounds
             FROM experiment e JOIN target t USING (target_id) ORDER BY e.experiment_id",
            [],
            |row| {
                Ok(Known {
                    source,
                    file: self.store.path().to_owned(),
                    id: row.get(0)?,
                    uuid: row.get(1)?,
                    hash: row.get(2)?,
                    name: row.get(3)?,
                    seed: row.get(4)?,
                    created_at: row.get(5)?,
                    progress: (row.get(6)?, row.get(7)?),
                    version: row.get(8)?,
                    rounds: row.get(9)?,
                    parts: Vec::new(),
                })
            },
        )?;
        if self.is_present {
            let parts =
                "SELECT part, parts, shared, uuid, experiment_id FROM experiment_part ORDER BY parts, part";
            self.store.rows(parts, [], |row| {
                let id: i64 = row.get(4)?;
                if let Some(own) = known.iter_mut().find(|own| own.id == id) {
                    own.parts.push((rows::experiment_part(row, 0)?, row.get(3)?));
                }
                Ok(())
            })?;
        }
        Ok(known)
    }

    /// What its imported runs were read from.
    pub(super) fn imported(&self) -> Result<Vec<ImportedRun>, Error> {
        self.store.rows(
            "SELECT r.run_id, r.uuid, r.experiment_id, s.sha256 FROM import_source s JOIN run r USING (run_id)",
            [],
            |row| {
                Ok(ImportedRun {
                    run: row.get(0)?,
                    uuid: row.get(1)?,
                    experiment: row.get(2)?,
                    sha256: row.get(3)?,
                })
            },
        )
    }

    /// Its runs that are parts of loads.
    pub(super) fn pieces(&self, source: usize) -> Result<Vec<Piece>, Error> {
        if !self.is_present {
            return Ok(Vec::new());
        }
        let mut pieces: BTreeMap<i64, Piece> = BTreeMap::new();
        self.store.rows(
            "SELECT r.run_id, r.experiment_id, r.uuid, p.load, p.part, p.parts, p.uuid, p.validity, r.validity
             FROM run_part p JOIN run r USING (run_id) WHERE p.parts > 1 ORDER BY r.run_id, p.part",
            [],
            |row| {
                let run: i64 = row.get(0)?;
                let (number, of) = rows::part(row, 4)?;
                let (uuid, own): (String, String) = (row.get(2)?, row.get(6)?);
                let is_sum = uuid != own;
                let piece = match pieces.get_mut(&run) {
                    Some(piece) => piece,
                    None => pieces.entry(run).or_insert(Piece {
                        source,
                        run,
                        experiment: row.get(1)?,
                        load: row.get(3)?,
                        of,
                        is_sum,
                        uuid,
                        parts: BTreeMap::new(),
                        validity: Vec::new(),
                    }),
                };
                piece.parts.insert(number, own);
                // A run may have been set aside after it was stored.
                piece.validity.push(rows::read_word(row, if is_sum { 7 } else { 8 })?);
                Ok(())
            },
        )?;
        Ok(pieces.into_values().collect())
    }

    /// Its runs by identity.
    pub(super) fn each_run(
        &self,
        mut take: impl FnMut(i64, &str, i64, RunIdentity) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = "SELECT run_id, uuid, experiment_id, started_at, seed, measured_s, tps, max_us FROM run";
        let runs = self.store.rows(all, [], |row| {
            let identity = RunIdentity {
                started_at: row.get(3)?,
                seed: row.get(4)?,
                measured_s: row.get(5)?,
                tps: row.get(6)?,
                max_us: row.get(7)?,
            };
            Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, identity))
        })?;
        for (run, uuid, experiment, identity) in runs {
            take(run, &uuid, experiment, identity)?;
        }
        Ok(())
    }

    /// Runs with the numbers of their hosts.
    pub(super) fn hosts_of_runs(&self) -> Result<Vec<(i64, i64)>, Error> {
        let all = match self.is_present {
            true => {
                "SELECT r.run_id, coalesce(h.host_id, e.host_id)
                 FROM run r JOIN experiment e USING (experiment_id) LEFT JOIN run_host h USING (run_id)"
            }
            false => "SELECT r.run_id, e.host_id FROM run r JOIN experiment e USING (experiment_id)",
        };
        self.store.rows(all, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Runs that were set aside: identity, reason, validity, and whether it was repeated since the machine disturbed it.
    pub(super) fn set_aside(&self) -> Result<Vec<(String, String, String, bool)>, Error> {
        self.store.rows(
            "SELECT uuid, set_aside, validity,
                    EXISTS (SELECT 1 FROM event e WHERE e.run_id = r.run_id AND e.kind = ?1)
             FROM run r WHERE set_aside IS NOT NULL",
            [RunEvent::SUPERSEDED],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
    }

    /// The shares of loads in these runs of an experiment, by the run's number.
    pub(super) fn shares(
        &self,
        experiment: i64,
        wanted: &BTreeMap<i64, &Piece>,
    ) -> Result<BTreeMap<i64, Share>, Error> {
        let identities: HashSet<&str> = wanted.values().map(|piece| piece.uuid.as_str()).collect();
        let runs = self.store.runs_with(ExperimentId(experiment), RunParts::ALL)?;
        let mut runs: BTreeMap<String, Run> = runs
            .into_iter()
            .filter(|run| identities.contains(run.uuid.as_str()))
            .map(|run| (run.uuid.clone(), run))
            .collect();
        let mut shares = BTreeMap::new();
        for (number, piece) in wanted {
            let Some(mut run) = runs.remove(&piece.uuid) else { continue };
            run.tiles = self.store.tiles_of_run(*number)?;
            let seconds = self.seconds(*number)?;
            let validity = piece.validity.clone();
            shares.insert(*number, Share { run, seconds, validity, is_sum: piece.is_sum });
        }
        Ok(shares)
    }

    /// Response times of the seconds of a run.
    fn seconds(&self, run: i64) -> Result<Vec<Spooled>, Error> {
        self.store.rows(
            "SELECT s.position, h.start_us, h.length_us, h.v2, h.count, h.sum_ns, h.sum_squares, h.min_ns, h.max_ns
             FROM script s JOIN hist h USING (script_id) WHERE s.run_id = ?1 AND h.kind = 'second' ORDER BY h.start_us",
            [run],
            rows::spooled,
        )
    }
}
