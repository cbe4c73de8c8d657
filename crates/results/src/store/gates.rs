//! Gates of commits, and their history.

use rusqlite::params;
use spec::{Error, GateRecord, Judgement};

use super::rows::{json, to_json};
use super::{ExperimentId, Store};

impl Store {
    /// Stores what a gate found. Another gate of the same commit and experiment replaces it.
    pub fn keep_gate(&mut self, experiment: ExperimentId, gate: &GateRecord) -> Result<(), Error> {
        let kept = self.write(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO gate (experiment_id, commit_id, name, arm, base, subject, base_commit, judged_at, metric, outcome,
                     log_ratio, low, high)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    experiment.0,
                    gate.commit,
                    gate.name,
                    gate.arm,
                    gate.base,
                    gate.subject,
                    gate.base_commit,
                    gate.judged_at,
                    to_json(&gate.metric),
                    gate.judgement.word(),
                    gate.log_ratio,
                    gate.interval.map(|(low, _)| low),
                    gate.interval.map(|(_, high)| high),
                ],
            )
        });
        kept.map(drop).map_err(|error| self.error(&error))
    }

    /// All gates of this name, or of every name, in the order in which they were judged.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn gates(&self, name: Option<&str>) -> Result<Vec<(ExperimentId, GateRecord)>, Error> {
        self.rows(
            "SELECT experiment_id, commit_id, name, arm, base, subject, base_commit, judged_at, metric, outcome, log_ratio, low, high
             FROM gate WHERE ?1 IS NULL OR name = ?1 ORDER BY judged_at, experiment_id, commit_id",
            [name],
            |row| {
                let word: String = row.get(9)?;
                let judgement = Judgement::ALL.into_iter().find(|judgement| judgement.word() == word);
                let unknown = || rusqlite::Error::InvalidColumnType(9, "outcome".into(), rusqlite::types::Type::Text);
                let gate = GateRecord {
                    commit: row.get(1)?,
                    name: row.get(2)?,
                    arm: row.get(3)?,
                    base: row.get(4)?,
                    subject: row.get(5)?,
                    base_commit: row.get(6)?,
                    judged_at: row.get(7)?,
                    metric: json(row, 8)?,
                    judgement: judgement.ok_or_else(unknown)?,
                    log_ratio: row.get(10)?,
                    interval: row.get::<_, Option<f64>>(11)?.zip(row.get(12)?),
                };
                Ok((ExperimentId(row.get(0)?), gate))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, host, target};
    use spec::plan::WorkMetric;

    #[test]
    fn gates_of_a_name_are_a_history_and_a_commit_is_in_it_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("r.sqlite")).unwrap();
        let (id, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
        let gate = |commit: &str, judged_at: &str, outcome| GateRecord {
            name: "queries".into(),
            arm: "new".into(),
            base: "old".into(),
            commit: commit.into(),
            subject: Some("Add \"cache\"".into()),
            base_commit: None,
            judged_at: judged_at.into(),
            metric: WorkMetric::Cpu,
            judgement: outcome,
            log_ratio: Some(0.01),
            interval: None,
        };
        let [one, two] = [
            gate("b", "2026-01-01T00:00:00Z", Judgement::Worse),
            gate("a", "2026-01-02T00:00:00Z", Judgement::Same),
        ];
        store.keep_gate(id, &two).unwrap();
        store.keep_gate(id, &gate("b", "2026-01-01T00:00:00Z", Judgement::Undecided)).unwrap();
        store.keep_gate(id, &one).unwrap();
        assert_eq!(store.gates(Some("queries")).unwrap(), [(id, one), (id, two)]);
        assert!(store.gates(Some("other")).unwrap().is_empty());
        assert_eq!(store.gates(None).unwrap().len(), 2);
    }
}
