//! What is stored of experiments that several hosts measured: the parts of an experiment, those of a run, and the
//! host of each run.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Transaction, params};
use spec::{Error, ExperimentPart, ExperimentRecord, Host, Run, RunPart};

use super::hosts::host_id;
use super::rows::to_word;
use super::runs::{StoredRuns, of_runs};
use super::{ExperimentId, Sqlite, Store, rows};

/// Adds the parts of an experiment that this host has; a part that the file has already keeps its host.
pub(super) fn insert_experiment_parts(
    transaction: &Transaction<'_>,
    id: i64,
    experiment: &ExperimentRecord,
    host: &Host,
) -> Sqlite<()> {
    for part in &experiment.parts {
        transaction.execute(
            "INSERT OR IGNORE INTO experiment_part
             SELECT ?1, ?2, ?3, ?4, ?5, uuid FROM experiment WHERE experiment_id = ?1",
            params![id, part.number, part.of, part.shared, host_id(transaction, host)?],
        )?;
    }
    Ok(())
}

pub(super) fn insert_run_parts(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    for part in &run.parts {
        let RunPart { load, number, of, clock_offset_us, clock_error_us, late_us } = part;
        transaction.execute(
            "INSERT INTO run_part VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id,
                number,
                of,
                load,
                clock_offset_us,
                clock_error_us,
                late_us,
                run.uuid,
                to_word(&run.validity)
            ],
        )?;
    }
    if let Some(host) = &run.host {
        transaction.execute(
            "INSERT INTO run_host SELECT ?1, ?2 FROM run JOIN experiment USING (experiment_id)
             WHERE run_id = ?1 AND host_id <> ?2",
            params![id, host_id(transaction, host)?],
        )?;
    }
    Ok(())
}

impl Store {
    /// The parts of an experiment that this file has, by number, each with its host.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn experiment_parts(&self, id: ExperimentId) -> Result<Vec<(ExperimentPart, Host)>, Error> {
        self.rows(
            "SELECT h.uuid, h.name, h.cpu, h.cores, h.memory_bytes, h.facts, p.part, p.parts, p.shared
             FROM experiment_part p JOIN host h USING (host_id) WHERE p.experiment_id = ?1 ORDER BY p.parts, p.part",
            [id.0],
            |row| Ok((rows::experiment_part(row, 6)?, rows::host(row, 0)?)),
        )
    }

    pub(super) fn fill_parts(&self, found: &mut StoredRuns, id: ExperimentId) -> Result<(), Error> {
        let parts = of_runs(
            "load, part, parts, clock_offset_us, clock_error_us, late_us",
            "run_part",
            "run_id, part",
        );
        self.fill_with(found, id, &parts, rows::run_part, |run, part| run.parts.push(part))?;
        let mut hosts: HashMap<i64, Arc<Host>> = HashMap::new();
        self.rows(
            "SELECT h.uuid, h.name, h.cpu, h.cores, h.memory_bytes, h.facts, h.host_id FROM host h
             WHERE h.host_id IN (SELECT host_id FROM run_host JOIN run USING (run_id) WHERE experiment_id = ?1)",
            [id.0],
            |row| Ok(hosts.insert(row.get(6)?, Arc::new(rows::host(row, 0)?)).map(drop)),
        )?;
        let host = of_runs("host_id", "run_host", "run_id");
        self.fill_with(
            found,
            id,
            &host,
            |row| row.get::<_, i64>(0),
            |run, host| {
                run.host = hosts.get(&host).map(Arc::clone);
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, finished, host, run, target};

    #[test]
    fn the_experiment_of_this_host_goes_on_before_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let (record, other) = (experiment(&["A", "B"]), Host { uuid: "o".into(), ..host() });
        let mut begin =
            |host: &Host, again| store.begin_experiment(&record, host, &target(), again).unwrap().0;
        let (own, theirs) = (begin(&host(), false), begin(&other, true));
        assert_ne!(own, theirs);
        assert_eq!((begin(&host(), false), begin(&other, false)), (own, theirs));
        assert_eq!(store.newest_with_hash("cafe", "h").unwrap(), Some(own));
        assert_eq!(store.newest_with_hash("cafe", "a third").unwrap(), Some(theirs));
        assert_eq!(store.newest_with_hash("other", "h").unwrap(), None);
    }

    #[test]
    fn parts_and_hosts_come_back_with_their_experiment_and_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let part = |number| ExperimentPart { number, of: 2, shared: true };
        let of = |number| ExperimentRecord { parts: vec![part(number)], ..experiment(&["A", "B"]) };
        let other = Host { uuid: "o".into(), name: "other".into(), ..host() };
        let (id, _) = store.begin_experiment(&of(2), &host(), &target(), false).unwrap();
        for again in [other.clone(), host()] {
            assert_eq!(store.begin_experiment(&of(1), &again, &target(), false).unwrap().0, id);
        }
        assert_eq!(store.experiment(id).unwrap().experiment.parts, [part(1), part(2)]);
        let parts = store.experiment_parts(id).unwrap();
        assert_eq!(parts, [(part(1), other.clone()), (part(2), host())], "the first host of a part stays");
        let share = |number| RunPart {
            load: "ab".repeat(16),
            number,
            of: 2,
            clock_offset_us: -12.5,
            clock_error_us: 3.0,
            late_us: 40.0,
        };
        let with = |round, parts: &[u32], host: Option<&Host>| Run {
            parts: parts.iter().copied().map(share).collect(),
            host: host.cloned().map(Arc::new),
            ..run("reads", 4, Some("A"), round, 1000.0)
        };
        let runs = [with(1, &[], None), with(2, &[1, 2], Some(&other)), with(3, &[2], Some(&host()))];
        for run in runs {
            store.store(id, &[finished(run)]).unwrap();
        }
        let found = store.runs(id).unwrap();
        let parts: Vec<&[RunPart]> = found.iter().map(|run| &run.parts[..]).collect();
        assert_eq!(parts, [&[][..], &[share(1), share(2)], &[share(2)]]);
        let hosts: Vec<Option<&Host>> = found.iter().map(|run| run.host.as_deref()).collect();
        assert_eq!(hosts, [None, Some(&other), None], "the experiment's host is not repeated");
    }
}
