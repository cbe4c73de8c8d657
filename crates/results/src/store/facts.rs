//! What was learnt about an experiment, as a log.

use rusqlite::params;
use spec::Error;
use spec::plan::{Fact, Facts, Recorded};

use super::rows::{json, to_json};
use super::{ExperimentId, Store};

impl Store {
    /// Replaces the plan of an experiment, after further facts.
    pub fn keep_plan(&mut self, experiment: ExperimentId, plan: &Recorded) -> Result<(), Error> {
        let kept = self.write(|transaction| {
            let keep = "UPDATE experiment SET plan_json = ?2 WHERE experiment_id = ?1";
            transaction.execute(keep, params![experiment.0, to_json(plan)])
        });
        kept.map(drop).map_err(|error| self.error(&error))
    }

    /// Adds facts to the log of an experiment.
    pub fn keep_facts(&mut self, experiment: ExperimentId, facts: &[Fact]) -> Result<(), Error> {
        if facts.is_empty() {
            return Ok(());
        }
        let kept = self.write(|transaction| {
            for fact in facts {
                transaction.execute(
                    "INSERT INTO fact SELECT ?1, coalesce(max(number), 0) + 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?2
                     FROM fact WHERE experiment_id = ?1",
                    params![experiment.0, to_json(fact)],
                )?;
            }
            Ok::<(), rusqlite::Error>(())
        });
        kept.map_err(|error| self.error(&error))
    }

    /// The log of an experiment; empty for single and imported runs.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn facts(&self, experiment: ExperimentId) -> Result<Facts, Error> {
        let select = "SELECT fact FROM fact WHERE experiment_id = ?1 ORDER BY number";
        let facts: Vec<Fact> = self.rows(select, [experiment.0], |row| json(row, 0)).map_err(|error| {
            let what = format!("{error}; it is a fact of experiment {}", experiment.0);
            error.in_words(what).with_hint("start again: --again")
        })?;
        let mut log = Facts::default();
        facts.into_iter().for_each(|fact| log.learn(fact));
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, host, target};

    #[test]
    fn facts_are_added_and_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let (id, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
        let first = [Fact::Repetition { repetition: 0 }, Fact::Servers { shared: false }];
        store.keep_facts(id, &first).unwrap();
        let copies = Fact::Copies { fit: true, why: "they need 1 GB".into() };
        store.keep_facts(id, std::slice::from_ref(&copies)).unwrap();
        assert_eq!(store.facts(id).unwrap().all(), [&first[..], &[copies]].concat());
        assert!(store.facts(ExperimentId(9)).unwrap().all().is_empty());
    }
}
