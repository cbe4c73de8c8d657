//! pgbench's tables as a job of an experiment.

use super::event::Event;
use super::options::{InitOptions, Loading};
use super::tables::ACCOUNTS_TABLE;
use super::work::run;
use crate::error::WorkloadError;
use crate::jobs::{Inputs, Job, JobReport, JobSite};

impl Job for &InitOptions {
    fn name(&self) -> String {
        "pgbench -i".to_owned()
    }

    fn what(&self) -> String {
        format!("make pgbench's tables, scale {}", self.scale)
    }

    fn made_from(&self, _inputs: &Inputs) -> Vec<String> {
        vec![serde_json::to_string(self).expect("options are plain data")]
    }

    fn table(&self) -> Option<String> {
        Some(ACCOUNTS_TABLE.to_owned())
    }

    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, WorkloadError> {
        let connection = site.runtime.connect().map_err(WorkloadError::sql("connecting"))?;
        Ok(run(self, &Loading::default(), connection, site.runtime, &mut |_: &Event| {})?)
    }
}
