//! The calibration's experiment in the results file.

use results::Finished;
use std::collections::BTreeMap;

use record::{Experiment, Target};
use results::{ExperimentId, Store};
use sha2::{Digest, Sha256};

use super::Options;
use crate::error::LabError;
use crate::execute::Stage;
use target::host;

/// The results file, open for one calibration: one more round of the experiment of the same options.
pub(super) struct Book {
    store: Store,
    experiment: ExperimentId,
    invocation: u32,
    round: u32,
    entered: u32,
    /// Why no more runs are stored: what is measured is told all the same.
    lost: Option<LabError>,
}

impl Book {
    pub(super) fn open(options: &Options, stage: Option<&Stage>) -> Result<Self, LabError> {
        let mut store = Store::create_or_open(&options.results)?;
        let host = host::describe(stage.and_then(|stage| stage.target.data_folder()).as_deref());
        let target = match stage {
            Some(stage) => stage.target.record(stage.versions())?,
            None => without_server(),
        };
        let plan_json = serde_json::json!({
            "driver": format!("{:?}", options.driver),
            "time_s": options.time.as_secs_f64(),
            "clients": options.clients,
            "server": target.server_version,
            "host": host.uuid,
        })
        .to_string();
        let digest = Sha256::digest(format!("calibrate {plan_json}"));
        let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let finished = match store.newest_with_hash(&hash)? {
            Some(id) => store.finished_runs(id)?,
            None => Vec::new(),
        };
        let round = finished.iter().map(|run| run.round).max().unwrap_or(0) + 1;
        let experiment = experiment(hash, plan_json, options.seed, round);
        let (experiment, invocation) = store.begin_experiment(&experiment, &host, &target, false)?;
        Ok(Self { store, experiment, invocation, round, entered: finished.len() as u32, lost: None })
    }

    /// Its experiment, and why not all of its runs are stored.
    pub(super) fn close(self) -> (ExperimentId, Option<LabError>) {
        (self.experiment, self.lost)
    }

    /// Stores a run, unless one before could not be.
    pub(super) fn enter(&mut self, done: &mut Finished) {
        if self.lost.is_some() {
            return;
        }
        let run = &mut done.run;
        (run.round, run.invocation, run.sequence) = (self.round, self.invocation, self.entered);
        self.entered += 1;
        self.lost = self.store.store(self.experiment, std::slice::from_ref(done)).err().map(LabError::from);
    }
}

fn experiment(hash: String, plan_json: String, seed: u64, rounds: u32) -> Experiment {
    Experiment {
        hash,
        name: "calibrate".to_owned(),
        question:
            "What does an operation cost this load generator, how punctual is it, and where does it end?"
                .to_owned(),
        file_text: String::new(),
        plan_json,
        seed,
        order_scheme: "single".to_owned(),
        rounds,
        compare_factor: None,
        base: None,
        arms: Vec::new(),
        margin: 0.03,
        taste: None,
        created_at: jiff::Timestamp::now().to_string(),
    }
}

/// What is measured where there is no PostgreSQL.
fn without_server() -> Target {
    Target {
        kind: "sink".to_owned(),
        dsn_redacted: String::new(),
        server_version: String::new(),
        postgis_version: None,
        versions: BTreeMap::from([("pgdyno".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
    }
}
