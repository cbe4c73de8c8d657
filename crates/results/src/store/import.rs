//! Storing imported runs: all of a command, or none.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use super::write::{begin_writing, insert_experiment, json, newest_with_hash, write_run};
use super::{ExperimentId, Store};
use crate::error::StoreError;
use crate::import::{FoundRun, ImportError};
use record::IMPORTED;
use record::{Arm, Experiment, Host, Run, Target};

/// Where imported runs go, and what is said of them all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collection {
    /// Name of the experiment; runs imported under the same name come together.
    pub name: String,
    /// Its question; `None` keeps the one it has.
    pub question: Option<String>,
    /// The factor whose levels are compared; its levels become arms. `None` keeps the one it has.
    pub compare: Option<String>,
    /// Base arm; `None` keeps the one it has, the first arm at first.
    pub base: Option<String>,
    /// Levels of factors, by name; they overrule what the files say.
    pub levels: BTreeMap<String, String>,
}

/// What came of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The experiment; `None` when nothing was stored.
    pub experiment: Option<ExperimentId>,
    /// Runs stored, by their place in what was found.
    pub stored: Vec<StoredRun>,
    /// Runs left out, since they are in the file already.
    pub known: Vec<Known>,
}

/// Where an imported run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Its place in what was found, from 0.
    pub place: usize,
    /// Its number in the results file.
    pub run_id: i64,
    /// Its arm.
    pub arm: Option<String>,
    /// Its round.
    pub round: u32,
    /// All its other factors.
    pub factors: BTreeMap<String, String>,
}

/// A run that was imported before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its place in what was found, from 0.
    pub place: usize,
    /// Its number in the results file.
    pub run_id: i64,
    /// Name of the experiment it is in.
    pub experiment: String,
}

impl Store {
    /// Stores what was found under an experiment, in one durable transaction. What is in the file already is left out,
    /// unless `again`; then it counts once more.
    ///
    /// # Errors
    /// When a factor that is compared has no level for a run, the experiment compares something else, or the file
    /// cannot be written; nothing is stored then.
    pub fn import(
        &mut self,
        collection: &Collection,
        found: &[FoundRun],
        again: bool,
    ) -> Result<Imported, ImportError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| ImportError::Store(StoreError::from_sqlite(&path, &error));
        let transaction = begin_writing(&mut self.connection).map_err(sqlite)?;
        let mut known = Vec::new();
        if !again {
            for (place, run) in found.iter().enumerate() {
                if let Some((run_id, experiment)) =
                    imported_before(&transaction, &run.hashes).map_err(sqlite)?
                {
                    known.push(Known { place, run_id, experiment });
                }
            }
        }
        let new: Vec<(usize, &FoundRun)> = found
            .iter()
            .enumerate()
            .filter(|(place, _)| known.iter().all(|known| known.place != *place))
            .collect();
        let Some((_, first)) = new.first() else {
            return Ok(Imported { experiment: None, stored: Vec::new(), known });
        };
        let mut shelf = Shelf::open(&transaction, collection, first).map_err(sqlite)??;
        let mut stored = Vec::with_capacity(new.len());
        for (place, run) in new {
            let mut run_to_store = run.run.clone();
            run_to_store.uuid = uuid::Uuid::new_v4().to_string();
            shelf.place(&transaction, &mut run_to_store).map_err(sqlite)?.map_err(|what| {
                ImportError::asked(
                    format!("{}: {what}", run.source),
                    "--level FACTOR=LEVEL says it for all files given",
                )
            })?;
            let run_id = write_run(&transaction, shelf.id, &run_to_store, &run.seconds).map_err(sqlite)?;
            remember_sources(&transaction, run_id, &run.hashes).map_err(sqlite)?;
            let Run { arm, round, factors, .. } = run_to_store;
            stored.push(StoredRun { place, run_id, arm, round, factors });
        }
        shelf.close(&transaction).map_err(sqlite)?;
        let experiment = Some(shelf.id);
        transaction.commit().map_err(sqlite)?;
        Ok(Imported { experiment, stored, known })
    }
}

type Sqlite<T> = Result<T, rusqlite::Error>;

/// The run that one of these hashes belongs to, with its experiment's name.
fn imported_before(transaction: &Transaction<'_>, hashes: &[String]) -> Sqlite<Option<(i64, String)>> {
    let mut find = transaction.prepare_cached(
        "SELECT r.run_id, e.name FROM import_source s JOIN run r USING (run_id) JOIN experiment e USING (experiment_id)
         WHERE s.sha256 = ?1 ORDER BY r.run_id LIMIT 1",
    )?;
    for hash in hashes {
        let found = find.query_row([hash], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Keeps what a run was read from, so that it is known when it comes again.
fn remember_sources(transaction: &Transaction<'_>, run_id: i64, hashes: &[String]) -> Sqlite<()> {
    for hash in hashes {
        transaction.execute("INSERT OR IGNORE INTO import_source VALUES (?1, ?2)", params![run_id, hash])?;
    }
    Ok(())
}

/// The experiment that runs are put into.
struct Shelf<'a> {
    id: ExperimentId,
    collection: &'a Collection,
    compare: Option<String>,
    base: Option<String>,
    arms: Vec<Arm>,
    rounds: u32,
    sequence: u32,
    invocation: u32,
}

impl<'a> Shelf<'a> {
    fn open(
        transaction: &Transaction<'_>,
        collection: &'a Collection,
        first: &FoundRun,
    ) -> Sqlite<Result<Self, ImportError>> {
        let experiment = experiment(collection);
        let id = match newest_with_hash(transaction, &experiment.hash)? {
            Some(id) => id,
            None => insert_experiment(transaction, &experiment, &unknown_host(), &target(first))?,
        };
        let (compare, base, arms, rounds, invocation, sequence) = transaction.query_row(
            "UPDATE experiment SET invocations = invocations + 1, question = coalesce(?2, question) WHERE experiment_id = ?1
             RETURNING compare_factor, base, arms, rounds, invocations,
                       (SELECT count(*) FROM run WHERE run.experiment_id = ?1)",
            params![id, collection.question],
            |row| {
                let arms: String = row.get(2)?;
                Ok((row.get::<_, Option<String>>(0)?, row.get(1)?, arms, row.get(3)?, row.get(4)?, row.get(5)?))
            },
        )?;
        if collection.compare.as_ref().is_some_and(|wanted| compare.as_ref() != Some(wanted)) {
            let compares = compare.map_or("nothing".to_owned(), |factor| format!("the factor {factor}"));
            return Ok(Err(ImportError::asked(
                format!("the experiment {} compares {compares}", collection.name),
                "give another --name, or leave --compare out",
            )));
        }
        let arms = serde_json::from_str(&arms).unwrap_or_default();
        let id = ExperimentId(id);
        Ok(Ok(Self { id, collection, compare, base, arms, rounds, sequence, invocation }))
    }

    /// Gives a run its factors, arm, round and place in the order; tells what cannot be known of it.
    fn place(&mut self, transaction: &Transaction<'_>, run: &mut Run) -> Sqlite<Result<(), String>> {
        run.factors.extend(self.collection.levels.clone());
        if let Some(clients) = run.factors.get("clients").and_then(|clients| clients.parse().ok()) {
            run.clients = clients;
        }
        if let Some(factor) = &self.compare {
            let Some(level) = run.factors.remove(factor) else {
                return Ok(Err(format!("the level of the compared factor {factor} is not known")));
            };
            if factor == "workload" {
                run.factors.insert("workload".to_owned(), "pgbench".to_owned());
            }
            if self.arms.iter().all(|arm| arm.name != level) {
                let (settings, unsafe_settings) = (BTreeMap::new(), Vec::new());
                self.arms.push(Arm { name: level.clone(), settings, unsafe_settings });
            }
            run.arm = Some(level);
        }
        run.workload = run.factors.get("workload").cloned().unwrap_or_default();
        let before: u32 = transaction.query_row(
            "SELECT count(*) FROM run JOIN cell USING (cell_id)
             WHERE run.experiment_id = ?1 AND workload = ?2 AND factors = ?3 AND arm IS ?4",
            params![self.id.0, run.workload, json(&run.factors), run.arm],
            |row| row.get(0),
        )?;
        run.round = before + 1;
        self.rounds = self.rounds.max(run.round);
        (run.sequence, run.invocation) = (self.sequence, self.invocation);
        self.sequence += 1;
        Ok(Ok(()))
    }

    fn close(&mut self, transaction: &Transaction<'_>) -> Sqlite<()> {
        let base = self.collection.base.clone().or(self.base.clone());
        let base = base.or_else(|| self.arms.first().map(|arm| arm.name.clone()));
        // The base comes first wherever arms are listed.
        self.arms.sort_by_key(|arm| Some(&arm.name) != base.as_ref());
        transaction.execute(
            "UPDATE experiment SET rounds = ?2, base = ?3, arms = ?4 WHERE experiment_id = ?1",
            params![self.id.0, self.rounds, base, json(&self.arms)],
        )?;
        Ok(())
    }
}

/// An experiment of imported runs is known by its name.
fn experiment(collection: &Collection) -> Experiment {
    let Collection { name, question, compare, .. } = collection;
    let asked = match compare {
        Some(factor) => format!("Which {factor} is faster, by imported results?"),
        None => format!("What do the imported results of {name} say?"),
    };
    let digest = Sha256::digest(format!("{IMPORTED}\0{name}"));
    Experiment {
        hash: record::hex(&digest),
        name: name.clone(),
        question: question.clone().unwrap_or(asked),
        file_text: String::new(),
        plan_json: serde_json::json!({ "imported": name }).to_string(),
        seed: 0,
        order_scheme: IMPORTED.to_owned(),
        rounds: 0,
        compare_factor: compare.clone(),
        base: None,
        arms: Vec::new(),
        margin: 0.03,
        taste: None,
        created_at: jiff::Timestamp::now().to_string(),
    }
}

/// The machine it ran on is not this one, as far as anyone knows.
fn unknown_host() -> Host {
    Host {
        uuid: IMPORTED.to_owned(),
        name: "not known (imported)".to_owned(),
        cpu: String::new(),
        cores: 0,
        memory_bytes: 0,
        facts: BTreeMap::new(),
    }
}

fn target(first: &FoundRun) -> Target {
    Target {
        kind: IMPORTED.to_owned(),
        dsn_redacted: String::new(),
        server_version: first.server.clone().unwrap_or_else(|| "not known".to_owned()),
        postgis_version: None,
        versions: first.pgbench.iter().map(|version| ("pgbench".to_owned(), version.clone())).collect(),
    }
}
