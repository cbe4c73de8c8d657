//! Merges results files into a new one: of several hosts, of the parts of an experiment or of a load, of several
//! months. Nothing counts twice: experiments, runs and parts have identities, imported runs the files that they were
//! read from.
//!
//! Rows are copied as they are, with new numbers; only the parts of one load are added to one run. What belongs together
//! is decided before anything is written, and the merged file is made next to its place and renamed.

mod figures;
mod groups;
mod loads;
mod output;
mod source;
mod sum;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Transaction, params};
use spec::{Class, Error, OrderScheme, RunEvent};

use self::groups::{Group, Known, groups};
use self::loads::{LoadRuns, Piece, Unsummable, by_load, identity, run_of_load};
use self::output::Output;
use self::source::{RunIdentity, Source};
use super::copy::Copier;
use super::import::ImportFailure;
use super::rows::to_word;
use super::{ExperimentId, FileId, Finished, Sqlite, run, schema};
use crate::spool::Spool;

/// What a merge made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// In the merged file, oldest first.
    pub experiments: Vec<MergedExperiment>,
    /// Runs that were left out, since another file had them.
    pub known: u64,
    /// Files without an experiment.
    pub empty: Vec<PathBuf>,
}

/// An experiment of the merged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedExperiment {
    pub id: ExperimentId,
    pub name: String,
    pub runs: u64,
    /// Files that have it, in the order of their last runs.
    pub files: Vec<PathBuf>,
    /// Names of the hosts that measured it.
    pub hosts: Vec<String>,
    /// Number of its parts; 0 if it was not divided.
    pub of: u32,
    /// Whether its parts made each load together.
    pub shared: bool,
    /// Numbers of the parts that no file has.
    pub missing: Vec<u32>,
    /// If parts are missing: a later experiment of the same plan that lacks none.
    pub whole_later: Option<ExperimentId>,
    /// Runs that lack a share of their load.
    pub partial: u64,
}

/// Tables with the record of an experiment; in this order.
const RECORDS: [&str; 3] = ["target", "target_build", "experiment"];
/// What was learnt and decided about an experiment while it was measured.
const COURSES: [&str; 3] = ["fact", "look", "gate"];
/// Tables whose rows belong to no run and are copied with the records, or otherwise.
const APART: [&str; 5] = ["meta", "host", "text", "experiment_text", "experiment_part"];

/// The table with the hosts of single runs: which of them differ from the experiment's changes with merging.
const RUN_HOST: &str = "run_host";

/// Merges results files into a new one. An existing file at its place is replaced only if asked for; it may be one of
/// the merged files. `is_stopped` is asked again and again.
///
/// # Errors
/// When a file cannot be read, files contradict each other, nothing can be written, or it is stopped; nothing is written
/// then.
pub fn merge(
    files: &[PathBuf],
    into: &Path,
    replace: bool,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Merged, Error> {
    let go_on = || if is_stopped() { Err(Error::stopped()) } else { Ok(()) };
    let output = Output::of(into, replace)?;
    let (mut opened, mut last_runs) = (Vec::new(), Vec::new());
    for file in files {
        let id = FileId::of(file);
        if id.is_none() || !opened.contains(&id) {
            let source = Source::open(file)?;
            last_runs.push((source.last_run()?, source));
            opened.push(id);
        }
    }
    // Numbers of runs grow with time: the newest experiment is that of the last run.
    last_runs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let sources: Vec<Source> = last_runs.into_iter().map(|(_, source)| source).collect();
    let plan = Plan::of(&sources)?;
    let mut store = output.store()?;
    let empty = plan.empty(&sources);
    let merged = store.write(|transaction| plan.carry_out(transaction, &sources, &go_on));
    let merged = merged.map_err(|failure: ImportFailure| failure.of(&store))?;
    // One of them may be replaced, and would leave its log next to the new file.
    drop(sources);
    go_on()?;
    output.finish(store)?;
    Ok(Merged { empty, ..merged })
}

/// What is merged with what.
#[derive(Debug)]
struct Plan {
    known: Vec<Known>,
    groups: Vec<Group>,
    pieces: Vec<Piece>,
    /// Numbers of the runs that are not copied, by file.
    left_out: Vec<HashSet<i64>>,
    /// Of these, runs that another file has.
    imported_before: u64,
}

impl Plan {
    fn of(sources: &[Source]) -> Result<Self, Error> {
        let (mut known, mut pieces) = (Vec::new(), Vec::new());
        let mut left_out = vec![HashSet::new(); sources.len()];
        let mut imports: HashMap<String, String> = HashMap::new();
        let mut imported_before = 0;
        for (at, source) in sources.iter().enumerate() {
            let own = source.known(at)?;
            let imported = source.imported()?;
            let (mut empty, mut runs) = (BTreeMap::new(), HashSet::new());
            for import in &imported {
                if imports.get(&import.sha256).is_some_and(|uuid| *uuid != import.uuid)
                    && runs.insert(import.run)
                {
                    *empty.entry(import.experiment).or_insert(0) += 1;
                }
            }
            imported_before += runs.len() as u64;
            for import in imported.into_iter().filter(|import| !runs.contains(&import.run)) {
                imports.entry(import.sha256).or_insert(import.uuid);
            }
            left_out[at].extend(runs);
            // An experiment of which all runs are known is none.
            known.extend(own.into_iter().filter(|own| empty.get(&own.id) != Some(&own.progress.1)));
            pieces.extend(source.pieces(at)?);
        }
        let groups = groups(&known)?;
        Ok(Self { known, groups, pieces, left_out, imported_before })
    }

    /// Files without an experiment.
    fn empty(&self, sources: &[Source]) -> Vec<PathBuf> {
        let has = |at: usize| self.known.iter().any(|own| own.source == at);
        let files = sources.iter().enumerate().filter(|(at, _)| !has(*at));
        files.map(|(_, source)| source.store.path().to_owned()).collect()
    }

    fn carry_out(
        mut self,
        transaction: &Transaction<'_>,
        sources: &[Source],
        go_on: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Merged, ImportFailure> {
        let pieces = std::mem::take(&mut self.pieces);
        let mut sums = Vec::new();
        for (load, own) in by_load(&pieces) {
            let kept = run_of_load(&own).map_err(|why| unsummable(&why, sources))?;
            let one = match &kept {
                LoadRuns::One(piece) => Some((piece.source, piece.run)),
                LoadRuns::Sum(_) => None,
            };
            for piece in own.into_iter().filter(|piece| one != Some((piece.source, piece.run))) {
                self.left_out[piece.source].insert(piece.run);
            }
            if let LoadRuns::Sum(pieces) = kept {
                sums.push((load, pieces));
            }
        }
        let mut copiers: Vec<Copier<'_>> =
            sources.iter().map(|source| Copier::new(&source.store, transaction)).collect();
        let ids = self.copy_records(transaction, &mut copiers)?;
        let mut seen = HashMap::new();
        let mut known = self.imported_before;
        let mut firsts = Vec::with_capacity(sources.len());
        let numbers = self.numbers(&ids, sources.len());
        for (at, (source, copier)) in sources.iter().zip(&mut copiers).enumerate() {
            let first: i64 =
                transaction
                    .query_row("SELECT coalesce(max(run_id), 0) + 1 FROM run", [], |row| row.get(0))?;
            firsts.push(first);
            known += check_runs(sources, at, &numbers[at], &self.left_out[at], &mut seen)?;
            copy_runs(copier, &self.left_out[at], go_on)?;
            copy_hosts(transaction, source, copier)?;
            copy_set_aside(transaction, source)?;
        }
        for (group, id) in self.groups.iter().zip(&ids) {
            self.settle_rounds(transaction, (group, *id), &firsts)?;
        }
        add_loads(transaction, sources, &sums, &numbers, go_on)?;
        let experiments =
            self.groups.iter().zip(&ids).map(|(group, id)| self.summary(transaction, group, (*id, &ids)));
        Ok(Merged { experiments: experiments.collect::<Sqlite<_>>()?, known, empty: Vec::new() })
    }

    /// Copies the records of all experiments, and returns their numbers in the merged file.
    fn copy_records(
        &self,
        transaction: &Transaction<'_>,
        copiers: &mut [Copier<'_>],
    ) -> Result<Vec<i64>, ImportFailure> {
        for copier in &mut *copiers {
            copier.table("host")?;
            copier.table("text")?;
        }
        let mut ids = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let first = &self.known[group.members[0]];
            for table in RECORDS {
                copiers[first.source].of_experiment(table, first.id)?;
            }
            let find = "SELECT experiment_id FROM experiment WHERE uuid = ?1";
            ids.push(transaction.query_row(find, [&first.uuid], |row| row.get(0))?);
        }
        let numbers = self.numbers(&ids, copiers.len());
        for (copier, numbers) in copiers.iter_mut().zip(numbers) {
            copier.set_numbers("experiment_id", numbers);
        }
        for (group, id) in self.groups.iter().zip(&ids) {
            let first = &self.known[group.members[0]];
            for own in group.members.iter().map(|member| &self.known[*member]) {
                let copier = &mut copiers[own.source];
                copier.of_experiment("experiment_text", own.id)?;
                copier.of_experiment("experiment_part", own.id)?;
                // Each host learnt of itself: the facts of several are no log.
                for table in COURSES.into_iter().filter(|_| own.uuid == first.uuid) {
                    copier.of_experiment(table, own.id)?;
                }
                let most = "UPDATE experiment SET rounds = max(rounds, ?2) WHERE experiment_id = ?1";
                transaction.execute(most, params![id, own.rounds])?;
            }
        }
        Ok(ids)
    }

    /// Numbers of experiments in the merged file by those in each file.
    fn numbers(&self, ids: &[i64], sources: usize) -> Vec<HashMap<i64, i64>> {
        let mut numbers = vec![HashMap::new(); sources];
        for (group, id) in self.groups.iter().zip(ids) {
            for own in group.members.iter().map(|member| &self.known[*member]) {
                numbers[own.source].insert(own.id, *id);
            }
        }
        numbers
    }

    /// A round of a cell and arm has one run. Imported ones get the next free round, as when they are imported; an
    /// experiment that went on in two files is refused.
    fn settle_rounds(
        &self,
        transaction: &Transaction<'_>,
        (group, id): (&Group, i64),
        firsts: &[i64],
    ) -> Result<(), ImportFailure> {
        if group.members.len() < 2 {
            return Ok(());
        }
        let scheme: String = transaction.query_row(
            "SELECT order_scheme FROM experiment WHERE experiment_id = ?1",
            [id],
            |row| row.get(0),
        )?;
        let source = |run: i64| firsts.partition_point(|first| *first <= run) - 1;
        let mut twice = transaction.prepare_cached(
            "SELECT min(r.run_id), max(r.run_id), r.round, c.workload, r.arm, c.factors
             FROM run r JOIN cell c USING (cell_id)
             WHERE r.experiment_id = ?1 AND r.set_aside IS NULL AND r.round > 0 AND r.beside = 0
             GROUP BY r.cell_id, r.arm, r.round HAVING count(*) > 1 ORDER BY 2",
        )?;
        let found = twice
            .query_map([id], |row| {
                let (first, last): (i64, i64) = (row.get(0)?, row.get(1)?);
                let arm: Option<String> = row.get(4)?;
                let arm = arm.map(|arm| format!(", arm {arm}")).unwrap_or_default();
                let (round, workload): (u32, String) = (row.get(2)?, row.get(3)?);
                Ok((first, last, format!("round {round} of {workload}{arm}")))
            })?
            .collect::<Sqlite<Vec<_>>>()?;
        for (first, last, what) in found {
            let [one, other] = [first, last].map(source);
            if one == other {
                continue;
            }
            if scheme == to_word(&OrderScheme::Imported) {
                transaction.execute(
                    "UPDATE run SET round = 1 + (SELECT max(o.round) FROM run o WHERE o.cell_id = run.cell_id AND o.arm IS run.arm)
                     WHERE run_id = ?1",
                    [last],
                )?;
                continue;
            }
            let name = &self.known[group.members[0]].name;
            let of = |at: usize| {
                let own = group.members.iter().map(|member| &self.known[*member]);
                own.clone().find(|own| own.source == at).map(|own| own.file.display().to_string())
            };
            let files = [one, other].map(|at| of(at).unwrap_or_default()).join(" and in ");
            let what = format!("experiment {name} went on in two files: {what} is in {files}");
            let hint = "leave one of them out; with --again a further measurement is a separate experiment";
            return Err(Error::new(Class::BadInput, what).with_hint(hint).into());
        }
        Ok(())
    }

    /// `ids` are the numbers of all groups.
    fn summary(
        &self,
        transaction: &Transaction<'_>,
        group: &Group,
        (id, ids): (i64, &[i64]),
    ) -> Sqlite<MergedExperiment> {
        let runs: i64 =
            transaction
                .query_row("SELECT count(*) FROM run WHERE experiment_id = ?1", [id], |row| row.get(0))?;
        let partial: i64 = transaction.query_row(
            "SELECT count(*) FROM (
                 SELECT 1 FROM run_part JOIN run USING (run_id) WHERE experiment_id = ?1 AND set_aside IS NULL
                 GROUP BY run_id HAVING count(*) < max(parts))",
            [id],
            |row| row.get(0),
        )?;
        let hosts = transaction
            .prepare_cached(
                "SELECT name FROM host WHERE host_id IN (
                     SELECT host_id FROM experiment WHERE experiment_id = ?1
                     UNION SELECT host_id FROM experiment_part WHERE experiment_id = ?1
                     UNION SELECT host_id FROM run_host JOIN run USING (run_id) WHERE experiment_id = ?1)
                 GROUP BY uuid, name ORDER BY name",
            )?
            .query_map([id], |row| row.get(0))?
            .collect::<Sqlite<Vec<String>>>()?;
        let members = || group.members.iter().map(|member| &self.known[*member]);
        let files: BTreeSet<(usize, &PathBuf)> = members().map(|own| (own.source, &own.file)).collect();
        Ok(MergedExperiment {
            id: ExperimentId(id),
            name: self.known[group.members[0]].name.clone(),
            runs: runs as u64,
            files: files.into_iter().map(|(_, file)| file.clone()).collect(),
            hosts,
            of: group.of,
            shared: members().any(|own| own.parts.iter().any(|(part, _)| part.shared)),
            missing: group.missing.clone(),
            whole_later: group.whole_later.map(|at| ExperimentId(ids[at])),
            partial: partial as u64,
        })
    }
}

/// Runs of earlier files by identity: the file, the experiment's number in the merged file, and what tells them apart.
type SeenRuns = HashMap<String, (usize, i64, RunIdentity)>;

/// Checks that runs which another file has, too, are the same there. Returns their number.
fn check_runs(
    sources: &[Source],
    at: usize,
    numbers: &HashMap<i64, i64>,
    left_out: &HashSet<i64>,
    seen: &mut SeenRuns,
) -> Result<u64, Error> {
    let mut known = 0;
    sources[at].each_run(|run, uuid, experiment, identity| {
        let Some(experiment) = numbers.get(&experiment).filter(|_| !left_out.contains(&run)) else {
            return Ok(());
        };
        let Some((other, had, before)) = seen.get(uuid) else {
            seen.insert(uuid.to_owned(), (at, *experiment, identity));
            return Ok(());
        };
        known += 1;
        if had == experiment && *before == identity {
            return Ok(());
        }
        let files = [*other, at].map(|at| sources[at].store.path().display().to_string()).join(" and in ");
        let what = format!("run {uuid} is not the same in {files}");
        Err(Error::new(Class::BadInput, what).with_hint("one of the files was changed: leave it out"))
    })?;
    Ok(known)
}

/// Copies runs with all their rows, except those that are left out or known.
fn copy_runs(
    copier: &mut Copier<'_>,
    left_out: &HashSet<i64>,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<(), ImportFailure> {
    let apart = [&RECORDS[..], &COURSES, &APART, &[RUN_HOST]].concat();
    for table in schema::tables()?.iter().filter(|table| !apart.contains(&table.as_str())) {
        go_on()?;
        match table.as_str() {
            "run" => copier.without(table, left_out)?,
            _ => copier.table(table)?,
        }
    }
    Ok(())
}

/// Keeps the host of each copied run whose experiment has another one in the merged file.
fn copy_hosts(
    transaction: &Transaction<'_>,
    source: &Source,
    copier: &Copier<'_>,
) -> Result<(), ImportFailure> {
    let hosts: HashMap<i64, i64> = copier.numbers("host_id").collect();
    let runs: HashMap<i64, i64> = copier.numbers("run_id").collect();
    let mut insert = transaction.prepare_cached(
        "INSERT INTO run_host SELECT ?1, ?2 FROM run JOIN experiment USING (experiment_id) WHERE run_id = ?1 AND host_id <> ?2",
    )?;
    for (run, host) in source.hosts_of_runs()? {
        if let Some((run, host)) = runs.get(&run).zip(hosts.get(&host)) {
            insert.execute(params![run, host])?;
        }
    }
    Ok(())
}

/// Marks runs as set aside that were so in one of the files: that is a later state.
fn copy_set_aside(transaction: &Transaction<'_>, source: &Source) -> Result<(), ImportFailure> {
    for (uuid, why, validity, is_superseded) in source.set_aside()? {
        let find = "SELECT run_id FROM run WHERE uuid = ?1 AND set_aside IS NULL";
        let Some(run) = transaction.query_row(find, [uuid], |row| row.get::<_, i64>(0)).optional()? else {
            continue;
        };
        let mark = "UPDATE run SET set_aside = ?2, validity = ?3 WHERE run_id = ?1";
        transaction.execute(mark, params![run, why, validity])?;
        if is_superseded {
            super::write::insert_event(transaction, run, RunEvent::SUPERSEDED, &why)?;
        }
    }
    Ok(())
}

/// Adds the runs of loads whose parts are in several runs.
fn add_loads(
    transaction: &Transaction<'_>,
    sources: &[Source],
    sums: &[(&str, Vec<&Piece>)],
    numbers: &[HashMap<i64, i64>],
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<(), ImportFailure> {
    let mut wanted: BTreeMap<(usize, i64), BTreeMap<i64, &Piece>> = BTreeMap::new();
    for piece in sums.iter().flat_map(|(_, pieces)| pieces) {
        wanted.entry((piece.source, piece.experiment)).or_default().insert(piece.run, piece);
    }
    let mut shares = HashMap::new();
    for ((source, experiment), wanted) in wanted {
        for (run, share) in sources[source].shares(experiment, &wanted)? {
            shares.insert((source, run), share);
        }
    }
    let mut runs = Vec::with_capacity(sums.len());
    for (load, pieces) in sums {
        let experiments: BTreeSet<i64> =
            pieces.iter().filter_map(|piece| numbers[piece.source].get(&piece.experiment).copied()).collect();
        let own: Vec<_> =
            pieces.iter().filter_map(|piece| shares.remove(&(piece.source, piece.run))).collect();
        let (Some(experiment), 1) = (experiments.first(), experiments.len()) else {
            let what =
                format!("the parts of load {load} are of different experiments: {}", files(pieces, sources));
            return Err(Error::new(Class::BadInput, what).into());
        };
        go_on()?;
        let (run, seconds) = sum::sum(&identity(load), own).map_err(|why| {
            Error::new(Class::BadInput, format!("{}: {why}", files(pieces, sources)))
                .with_hint("measure all parts with the same file and options")
        })?;
        runs.push((*experiment, run, seconds, pieces));
    }
    runs.sort_by_key(|(experiment, run, ..)| (*experiment, run.sequence));
    for (experiment, run, seconds, pieces) in runs {
        let finished = Finished { run, seconds: Spool::from(seconds) };
        let id = run::insert(transaction, ExperimentId(experiment), &finished)?;
        for piece in pieces {
            for ((number, uuid), validity) in piece.parts.iter().zip(&piece.validity) {
                let own = "UPDATE run_part SET uuid = ?3, validity = ?4 WHERE run_id = ?1 AND part = ?2";
                transaction.execute(own, params![id, number, uuid, to_word(validity)])?;
            }
        }
    }
    Ok(())
}

fn files(pieces: &[&Piece], sources: &[Source]) -> String {
    let files: BTreeSet<usize> = pieces.iter().map(|piece| piece.source).collect();
    let files = files.into_iter().map(|at| sources[at].store.path().display().to_string());
    files.collect::<Vec<_>>().join(" and ")
}

fn unsummable(why: &Unsummable<'_>, sources: &[Source]) -> Error {
    let (number, of, what, hint) = match why {
        Unsummable::Twice { number, of } => (number, of, "was measured twice", "leave one of the files out"),
        Unsummable::Overlap { number, of } => {
            let hint = "merge the files of the single parts instead of these";
            (number, of, "is in two sums of different parts", hint)
        }
    };
    let part = format!("part {number} of {} of a run", of[0].of);
    Error::new(Class::BadInput, format!("{part} {what}: {}", files(of, sources))).with_hint(hint)
}

#[cfg(test)]
mod tests;
