//! The history of an experiment: its command, how often its verdict was seen, and how often more rounds
//! were requested.

use rusqlite::params;
use spec::Error;
use spec::shell::PrintedCommand;

use super::{ExperimentId, Store};

/// The history of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Course {
    /// The command that measures it, for typing again; without passwords, and without the number of rounds.
    pub command: Option<PrintedCommand>,
    /// States in which its verdict was shown; showing the same state again is not another look.
    pub looks: u32,
    /// How often more rounds were requested than before.
    pub extended: u32,
}

impl Store {
    /// The history of an experiment.
    pub fn course(&self, id: ExperimentId) -> Result<Course, Error> {
        let found = self.rows(
            "SELECT command, (SELECT count(*) FROM look WHERE look.experiment_id = ?1), extended
             FROM experiment WHERE experiment_id = ?1",
            [id.0],
            |row| {
                let command = row.get::<_, Option<String>>(0)?.and_then(|text| PrintedCommand::read(&text));
                Ok(Course { command, looks: row.get(1)?, extended: row.get(2)? })
            },
        )?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Stores the command that measures an experiment; the last one counts.
    pub fn keep_command(&mut self, id: ExperimentId, command: &PrintedCommand) -> Result<(), Error> {
        let kept = self.write(|transaction| {
            let keep = "UPDATE experiment SET command = ?2 WHERE experiment_id = ?1";
            transaction.execute(keep, params![id.0, command.stored()])
        });
        kept.map(drop).map_err(|error| self.error(&error))
    }

    /// Counts that the verdict of an experiment is shown in its present state. Experiments without
    /// comparison have none, and imported ones cannot be extended.
    pub fn look(&mut self, id: ExperimentId) -> Result<(), Error> {
        let counted = self.write(|transaction| {
            transaction.execute(
                "INSERT OR IGNORE INTO look (experiment_id, runs, looked_at)
                 SELECT e.experiment_id, count(*), strftime('%Y-%m-%dT%H:%M:%SZ', 'now') FROM experiment e JOIN run r USING (experiment_id)
                 WHERE e.experiment_id = ?1 AND e.compare_factor IS NOT NULL AND e.order_scheme <> 'imported'
                   AND (r.kind = 'client' OR r.arm IS NOT NULL)
                 GROUP BY e.experiment_id",
                [id.0],
            )
        });
        counted.map(drop).map_err(|error| self.error(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, finished, host, run, target};

    fn state(store: &Store, id: ExperimentId) -> (u32, u32) {
        let course = store.course(id).unwrap();
        (course.looks, course.extended)
    }

    #[test]
    fn what_came_to_no_run_is_not_extended_and_jobs_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let mut planned = experiment(&["A", "B"]);
        let (id, _) = store.begin_experiment(&planned, &host(), &target(), false).unwrap();
        planned.rounds += 2;
        store.begin_experiment(&planned, &host(), &target(), false).unwrap();
        assert_eq!(state(&store, id), (0, 0), "the first command ended before any run");
        let mut job = finished(run("import", 0, Some("A"), 1, 1.0));
        job.run.kind = spec::RunKind::Job;
        store.store(id, &[job]).unwrap();
        store.look(id).unwrap();
        planned.rounds += 2;
        store.begin_experiment(&planned, &host(), &target(), false).unwrap();
        assert_eq!(state(&store, id), (1, 1));
    }

    #[test]
    fn a_state_that_is_shown_twice_is_one_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.sqlite");
        let mut store = Store::create_or_open(&path).unwrap();
        let mut planned = experiment(&["A", "B"]);
        let (id, _) = store.begin_experiment(&planned, &host(), &target(), false).unwrap();
        store.look(id).unwrap();
        assert_eq!(state(&store, id), (0, 0), "there is nothing to see yet");
        for (round, rounds, wanted) in [(1, planned.rounds, (1, 0)), (2, planned.rounds + 4, (2, 1))] {
            planned.rounds = rounds;
            store.begin_experiment(&planned, &host(), &target(), false).unwrap();
            for arm in ["A", "B"] {
                store.store(id, &[finished(run("reads", 4, Some(arm), round, 1000.0))]).unwrap();
            }
            store.look(id).unwrap();
            store.look(id).unwrap();
            assert_eq!(state(&store, id), wanted);
        }
        store.begin_experiment(&planned, &host(), &target(), false).unwrap();
        assert_eq!(state(&store, id), (2, 1), "the same rounds are no extension");
        let command = PrintedCommand::new("run").path("a b.toml");
        store.keep_command(id, &command).unwrap();
        assert_eq!(store.course(id).unwrap().command, Some(command));
    }

    #[test]
    fn what_compares_nothing_has_no_verdict_to_look_at() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let mut planned = experiment(&[]);
        (planned.compare_factor, planned.base) = (None, None);
        for rounds in 1..3 {
            planned.rounds = rounds;
            let (id, _) = store.begin_experiment(&planned, &host(), &target(), false).unwrap();
            store.store(id, &[finished(run("reads", 4, None, rounds, 1000.0))]).unwrap();
            store.look(id).unwrap();
            assert_eq!(state(&store, id), (0, 0));
        }
    }
}
