//! Reads experiments, and what is known of their runs without reading these.

use rusqlite::{Params, Row, params};
use spec::{Artifact, Error, RunEvent, RunKey};

use super::write::newest_with_hash;
use super::{ExperimentId, ExperimentSummary, Sqlite, Store, StoredExperiment, rows};
use crate::error::{damaged, no_experiment};

impl Store {
    /// All experiments, oldest first.
    pub fn experiments(&self) -> Result<Vec<ExperimentSummary>, Error> {
        self.rows(
            "SELECT experiment_id, name, question, hash, created_at,
                    (SELECT count(*) FROM run WHERE run.experiment_id = experiment.experiment_id),
                    (SELECT max(run_id) FROM run WHERE run.experiment_id = experiment.experiment_id)
             FROM experiment ORDER BY experiment_id",
            [],
            rows::summary,
        )
    }

    /// Finds an experiment by number or name (of several the one that was measured last); `None` finds the one that
    /// was measured last.
    ///
    /// # Errors
    /// When there is none; the message lists the experiments.
    pub fn find(&self, wanted: Option<&str>) -> Result<ExperimentId, Error> {
        // In the order of their last runs: an older experiment may have gone on.
        let mut all = self.experiments()?;
        all.sort_by_key(|experiment| experiment.last_run);
        let mut newest_first = all.iter().rev();
        let found = match wanted {
            None => newest_first.next(),
            Some(wanted) => {
                let number = newest_first.clone().find(|e| e.id.0.to_string() == wanted);
                let mut named = newest_first.filter(|e| e.name == wanted);
                // One that has just begun has no run yet.
                let begun = named.clone().find(|e| e.last_run.is_none());
                number.or(begun).or_else(|| named.next())
            }
        };
        found.map(|experiment| experiment.id).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|e| format!("{} {}", e.id.0, e.name)).collect();
            no_experiment(&self.path, wanted.unwrap_or("at all"), &known.join(", "))
        })
    }

    /// Seconds of successful jobs with an input of this many bytes, on average of the last ten; `None`
    /// without any. The same extract has the same size under any name.
    pub fn usual_job_s(&self, input_bytes: u64) -> Result<Option<f64>, Error> {
        let mean = self.rows(
            "SELECT avg(measured_s) FROM (SELECT measured_s FROM run JOIN run_figure USING (run_id)
             WHERE kind = 'job' AND validity <> 'invalid' AND name = 'extract_bytes' AND value = ?1
             ORDER BY run_id DESC LIMIT 10)",
            [input_bytes as f64],
            |row| row.get::<_, Option<f64>>(0),
        )?;
        Ok(mean.into_iter().next().flatten())
    }

    /// All with this name, oldest first; empty if it is the number of one.
    pub fn of_name(&self, name: &str) -> Result<Vec<ExperimentId>, Error> {
        let all = self.experiments()?;
        let is_number = all.iter().any(|known| known.id.0.to_string() == name);
        Ok(all.iter().filter(|known| known.name == name && !is_number).map(|known| known.id).collect())
    }

    /// How to name an experiment in a command: by its name, or by its number if another one has that name,
    /// or it would need quotes.
    pub fn called(&self, id: ExperimentId) -> Result<String, Error> {
        let all = self.experiments()?;
        let name = all.iter().find(|known| known.id == id).map(|known| known.name.as_str());
        let is_plain = |name: &&str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
        };
        let plain = name.filter(is_plain).filter(|name| !name.starts_with('-'));
        match plain {
            Some(name) if self.of_name(name)?.len() == 1 => Ok(name.to_owned()),
            _ => Ok(id.0.to_string()),
        }
    }

    /// The newest experiment with this plan that began on the host with this UUID; if there is none, the newest one.
    pub fn newest_with_hash(&self, hash: &str, host: &str) -> Result<Option<ExperimentId>, Error> {
        let newest = newest_with_hash(&self.connection, hash, host);
        Ok(newest.map_err(|error| self.error(&error))?.map(ExperimentId))
    }

    /// An experiment with its host and target.
    ///
    /// # Errors
    /// When there is none with that number, or it cannot be read.
    pub fn experiment(&self, id: ExperimentId) -> Result<StoredExperiment, Error> {
        let found = self.rows(
            "SELECT e.experiment_id, e.hash, e.name, e.question, e.file_text, e.plan_json, e.seed, e.order_scheme,
                    e.rounds, e.compare_factor, e.base, e.arms, e.margin, e.taste, e.created_at,
                    h.uuid, h.name, h.cpu, h.cores, h.memory_bytes, h.facts,
                    t.kind, t.dsn_redacted, t.server_version, t.postgis_version, t.versions,
                    b.version, b.assertions, b.configure, b.cc, b.cflags, b.tree, b.commit_id
             FROM experiment e JOIN host h USING (host_id) JOIN target t USING (target_id)
                  LEFT JOIN target_build b USING (target_id)
             WHERE e.experiment_id = ?1",
            [id.0],
            rows::stored_experiment,
        )?;
        let found = found.into_iter().next();
        let mut found = found.ok_or_else(|| no_experiment(&self.path, &id.0.to_string(), ""))?;
        found.experiment.parts = self.experiment_parts(id)?.into_iter().map(|(part, _)| part).collect();
        Ok(found)
    }

    /// Measured runs of an experiment, from which to continue; without runs that were set aside.
    pub fn finished_runs(&self, id: ExperimentId) -> Result<Vec<RunKey>, Error> {
        self.rows(
            "SELECT c.workload, c.factors, r.arm, r.round FROM run r JOIN cell c USING (cell_id)
             WHERE r.experiment_id = ?1 AND r.set_aside IS NULL ORDER BY r.sequence, r.run_id",
            [id.0],
            rows::key,
        )
    }

    /// Those of the finished runs whose server crashed.
    pub fn crashed_runs(&self, id: ExperimentId) -> Result<Vec<RunKey>, Error> {
        self.rows(
            "SELECT c.workload, c.factors, r.arm, r.round FROM run r JOIN cell c USING (cell_id)
             WHERE r.experiment_id = ?1 AND r.set_aside IS NULL
             AND EXISTS (SELECT 1 FROM event e WHERE e.run_id = r.run_id AND e.kind = ?2) ORDER BY r.sequence, r.run_id",
            params![id.0, RunEvent::CRASH],
            rows::key,
        )
    }

    /// Runs of an experiment that the machine disturbed and that were set aside for repeating, once for
    /// each time.
    pub fn superseded_runs(&self, id: ExperimentId) -> Result<Vec<RunKey>, Error> {
        self.rows(
            "SELECT c.workload, c.factors, r.arm, r.round FROM run r JOIN cell c USING (cell_id)
             WHERE r.experiment_id = ?1 AND r.set_aside IS NOT NULL
             AND EXISTS (SELECT 1 FROM event e WHERE e.run_id = r.run_id AND e.kind = ?2) ORDER BY r.sequence, r.run_id",
            params![id.0, RunEvent::SUPERSEDED],
            rows::key,
        )
    }

    /// Numbers of the measured runs from this place of the plan on, without those that are set aside.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs_from(&self, id: ExperimentId, place: u32) -> Result<Vec<i64>, Error> {
        self.rows(
            "SELECT run_id FROM run WHERE experiment_id = ?1 AND sequence >= ?2 AND round > 0 AND set_aside IS NULL",
            params![id.0, place],
            |row| row.get(0),
        )
    }

    /// The first artifact of this name in an experiment.
    pub fn artifact(&self, id: ExperimentId, name: &str) -> Result<Option<Artifact>, Error> {
        let found = self.rows(
            "SELECT a.name, a.media_type, a.caption, a.bytes FROM artifact a JOIN run r USING (run_id)
             WHERE r.experiment_id = ?1 AND a.name = ?2 ORDER BY r.sequence, r.run_id LIMIT 1",
            params![id.0, name],
            rows::artifact,
        )?;
        Ok(found.into_iter().next())
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Sqlite<T>,
    ) -> Result<Vec<T>, Error> {
        let all = || -> Sqlite<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(values, |row| read(row))?.collect()
        };
        all().map_err(|error| match error {
            rusqlite::Error::FromSqlConversionFailure(..) => damaged(&self.path, &error),
            error => self.error(&error),
        })
    }
}
