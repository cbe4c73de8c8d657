//! Stores imported runs: all of a command, or none.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use spec::plan::Recorded;
use spec::{ArmRecord, Class, Error, ExperimentRecord, Host, MeasuredTarget, OrderScheme, Run, RunKind};

use super::rows::to_json;
use super::write::{insert_experiment, newest_with_hash};
use super::{ExperimentId, Finished, Sqlite, Store, run};
use crate::import::{FoundRun, script};

/// Name of an unknown host and target.
const IMPORTED: &str = "imported";

/// Destination of imported runs, with their common facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collection {
    /// Name of the experiment; runs imported under the same name are merged.
    pub name: String,
    /// Its question; `None` keeps the present one.
    pub question: Option<String>,
    /// The compared factor; its levels become arms. `None` keeps the present one.
    pub compare: Option<String>,
    /// Base arm; `None` keeps the present one, at first the first arm.
    pub base: Option<String>,
    /// Levels of factors, by name; they override the files' levels.
    pub levels: BTreeMap<String, String>,
}

/// Which runs an import stored, and which it left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub experiment: Option<ExperimentId>,
    pub stored: Vec<StoredRun>,
    /// Runs left out, since the file already has them.
    pub known: Vec<KnownRun>,
}

/// An imported run and its place in the experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub place: usize,
    pub run_id: i64,
    pub arm: Option<String>,
    pub round: u32,
    pub factors: BTreeMap<String, String>,
}

/// A run that is left out because the file already has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRun {
    pub place: usize,
    pub run_id: i64,
    pub experiment: String,
}

impl Store {
    /// Stores found runs under an experiment, in one durable transaction. Runs that the file already has
    /// are left out, unless `again`; then they count once more.
    ///
    /// # Errors
    /// When a compared factor has no level for a run, the experiment compares something else, or the file
    /// cannot be written; nothing is stored then.
    pub fn import(
        &mut self,
        collection: &Collection,
        found: &[FoundRun],
        again: bool,
    ) -> Result<Imported, Error> {
        let imported = self.write(|transaction| import(transaction, collection, found, again));
        imported.map_err(|failure| failure.of(self))
    }
}

pub(super) enum ImportFailure {
    Sqlite(rusqlite::Error),
    Import(Error),
}

impl ImportFailure {
    pub(super) fn of(self, store: &Store) -> Error {
        match self {
            Self::Sqlite(error) => store.error(&error),
            Self::Import(error) => error,
        }
    }
}

impl From<rusqlite::Error> for ImportFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for ImportFailure {
    fn from(error: Error) -> Self {
        Self::Import(error)
    }
}

fn request(what: String, hint: &str) -> Error {
    Error::new(Class::Usage, what).with_hint(hint)
}

fn import(
    transaction: &Transaction<'_>,
    collection: &Collection,
    found: &[FoundRun],
    again: bool,
) -> Result<Imported, ImportFailure> {
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for (place, run) in found.iter().enumerate() {
        match if again { None } else { known_before(transaction, run)? } {
            Some((run_id, experiment)) => known.push(KnownRun { place, run_id, experiment }),
            None => new.push((place, run)),
        }
    }
    let Some((_, first)) = new.first() else {
        return Ok(Imported { experiment: None, stored: Vec::new(), known });
    };
    let collection = &with_names_of(collection, found);
    let mut into = Destination::open(transaction, collection, first)?;
    let stored =
        new.into_iter().map(|(place, run)| into.store(transaction, place, run)).collect::<Result<_, _>>()?;
    into.close(transaction)?;
    Ok(Imported { experiment: Some(into.id), stored, known })
}

/// A collection whose factors have the names that the runs have: files' names are in small letters.
fn with_names_of(collection: &Collection, found: &[FoundRun]) -> Collection {
    let known = |name: &String| {
        let plain = |name: &str| name.to_lowercase().replace(' ', "_");
        let names = || found.iter().flat_map(|found| found.run.factors.keys());
        let same = || names().find(|known| plain(known) == plain(name));
        if names().any(|known| known == name) { None } else { same() }.unwrap_or(name).clone()
    };
    Collection {
        compare: collection.compare.as_ref().map(known),
        levels: collection.levels.iter().map(|(name, level)| (known(name), level.clone())).collect(),
        ..collection.clone()
    }
}

/// The same run with its experiment's name, if it was imported before, or measured into this file.
fn known_before(transaction: &Transaction<'_>, run: &FoundRun) -> Sqlite<Option<(i64, String)>> {
    let measured =
        "SELECT r.run_id, e.name FROM run r JOIN experiment e USING (experiment_id) WHERE r.uuid = ?1";
    if let Some(uuid) = &run.uuid {
        let own = transaction.query_row(measured, [uuid], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if own.is_some() {
            return Ok(own);
        }
    }
    imported_before(transaction, &run.hashes)
}

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

/// The experiment that receives the runs.
struct Destination<'a> {
    id: ExperimentId,
    collection: &'a Collection,
    compare: Option<String>,
    base: Option<String>,
    arms: Vec<ArmRecord>,
    rounds: u32,
    sequence: u32,
    invocation: u32,
}

impl<'a> Destination<'a> {
    fn open(
        transaction: &Transaction<'_>,
        collection: &'a Collection,
        first: &FoundRun,
    ) -> Result<Self, ImportFailure> {
        let (experiment, host) = (experiment(collection), unknown_host());
        let id = match newest_with_hash(transaction, &experiment.hash, &host.uuid)? {
            Some(id) => id,
            None => insert_experiment(transaction, &experiment, &host, &target(first))?,
        };
        let destination = transaction.query_row(
            "UPDATE experiment SET invocations = invocations + 1, question = coalesce(?2, question) WHERE experiment_id = ?1
             RETURNING compare_factor, base, arms, rounds, invocations,
                       (SELECT count(*) FROM run WHERE run.experiment_id = ?1)",
            params![id, collection.question],
            |row| {
                Ok(Self {
                    id: ExperimentId(id),
                    collection,
                    compare: row.get(0)?,
                    base: row.get(1)?,
                    arms: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
                    rounds: row.get(3)?,
                    invocation: row.get(4)?,
                    sequence: row.get(5)?,
                })
            },
        )?;
        if collection.compare.is_some() && collection.compare != destination.compare {
            let compares =
                destination.compare.map_or("nothing".to_owned(), |factor| format!("the factor {factor}"));
            return Err(ImportFailure::Import(request(
                format!("the experiment {} compares {compares}", collection.name),
                "give another --name, or leave --compare out",
            )));
        }
        Ok(destination)
    }

    /// Stores a run with its sources, so that it is recognised when it is imported again.
    fn store(
        &mut self,
        transaction: &Transaction<'_>,
        place: usize,
        found: &FoundRun,
    ) -> Result<StoredRun, ImportFailure> {
        let mut run = found.run.clone();
        if run.kind == RunKind::Client && run.scripts.is_empty() {
            run.scripts.push(script(&run.workload));
        }
        run.uuid = uuid::Uuid::new_v4().to_string();
        self.level(&mut run).map_err(|what| {
            ImportFailure::Import(request(
                format!("{}: {what}", found.source),
                "--level FACTOR=LEVEL says it for all files given",
            ))
        })?;
        run.round = self.round(transaction, &run, found.round)?;
        self.rounds = self.rounds.max(run.round);
        (run.sequence, run.invocation) = (self.sequence, self.invocation);
        self.sequence += 1;
        let finished = Finished { run, seconds: found.seconds.clone() };
        let run_id = run::insert(transaction, self.id, &finished)?;
        for hash in &found.hashes {
            transaction
                .execute("INSERT OR IGNORE INTO import_source VALUES (?1, ?2)", params![run_id, hash])?;
        }
        let Run { arm, round, factors, .. } = finished.run;
        Ok(StoredRun { place, run_id, arm, round, factors })
    }

    /// Gives a run its factors and arm; returns an error for missing ones.
    fn level(&mut self, run: &mut Run) -> Result<(), String> {
        run.factors.extend(self.collection.levels.clone());
        if let Some(clients) = run.factors.get("clients") {
            let Ok(clients) = clients.parse() else {
                return Err(format!("the level {clients} of clients is not a whole number"));
            };
            run.clients = clients;
        }
        if let Some(factor) = &self.compare {
            let Some(level) = run.factors.remove(factor) else {
                let known: Vec<&str> = run.factors.keys().map(String::as_str).collect();
                let known = known.join(", ");
                return Err(format!(
                    "the level of the compared factor {factor} is not known; its factors are {known}"
                ));
            };
            if factor == "workload" {
                let workload = if run.kind == RunKind::Job { "load" } else { "pgbench" };
                run.factors.insert("workload".to_owned(), workload.to_owned());
            }
            if self.arms.iter().all(|arm| arm.name != level) {
                let (settings, unsafe_settings) = (BTreeMap::new(), Vec::new());
                self.arms.push(ArmRecord { name: level.clone(), settings, unsafe_settings, target: None });
            }
            run.arm = Some(level);
        }
        run.workload = run.factors.get("workload").cloned().unwrap_or_default();
        Ok(())
    }

    /// The round that the source gives it, unless another run has it; else the next one.
    fn round(&self, transaction: &Transaction<'_>, run: &Run, given: Option<u32>) -> Sqlite<u32> {
        let (next, is_taken): (u32, bool) = transaction.query_row(
            "SELECT coalesce(max(round), 0) + 1, coalesce(max(round = ?5), FALSE) FROM run JOIN cell USING (cell_id)
             WHERE run.experiment_id = ?1 AND workload = ?2 AND factors = ?3 AND arm IS ?4",
            params![self.id.0, run.workload, to_json(&run.factors), run.arm, given],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(given.filter(|_| !is_taken).unwrap_or(next))
    }

    fn close(&mut self, transaction: &Transaction<'_>) -> Sqlite<()> {
        let base = self.collection.base.clone().or(self.base.clone());
        let base = base.or_else(|| self.arms.first().map(|arm| arm.name.clone()));
        // The base is first in all lists of arms.
        self.arms.sort_by_key(|arm| Some(&arm.name) != base.as_ref());
        transaction.execute(
            "UPDATE experiment SET rounds = ?2, base = ?3, arms = ?4 WHERE experiment_id = ?1",
            params![self.id.0, self.rounds, base, to_json(&self.arms)],
        )?;
        Ok(())
    }
}

/// An experiment of imported runs is identified by its name.
fn experiment(collection: &Collection) -> ExperimentRecord {
    let Collection { name, question, compare, .. } = collection;
    let general = match compare {
        Some(factor) => format!("Which {factor} is faster, by imported results?"),
        None => format!("What do the imported results of {name} say?"),
    };
    let digest = Sha256::digest(format!("{IMPORTED}\0{name}"));
    ExperimentRecord {
        hash: spec::hex(&digest),
        name: name.clone(),
        question: question.clone().unwrap_or(general),
        file_text: String::new(),
        plan: Recorded::Unknown(serde_json::json!({ "imported": name })),
        seed: 0,
        order_scheme: OrderScheme::Imported,
        rounds: 0,
        compare_factor: compare.clone(),
        base: None,
        arms: Vec::new(),
        margin: 0.03,
        taste: None,
        created_at: jiff::Timestamp::now().to_string(),
        control: None,
        parts: Vec::new(),
    }
}

/// The machine of the run is not known to be this one.
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

fn target(first: &FoundRun) -> MeasuredTarget {
    MeasuredTarget {
        kind: IMPORTED.to_owned(),
        dsn_redacted: String::new(),
        server_version: first.server.clone().unwrap_or_else(|| "not known".to_owned()),
        postgis_version: None,
        versions: first.pgbench.iter().map(|version| ("pgbench".to_owned(), version.clone())).collect(),
        build: None,
    }
}
