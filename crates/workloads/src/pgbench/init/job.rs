//! pgbench's tables as a job of an experiment.

use spec::Error;

use super::event::InitEvent;
use super::options::{InitOptions, Loading};
use super::steps::InitStep;
use super::tables::ACCOUNTS_TABLE;
use super::work::run;
use crate::error;
use crate::jobs::{Fill, Inputs, Job, JobReport, JobSite};

/// Tables that the first step drops.
const TABLES: [&str; 4] = ["pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"];

impl Job for &InitOptions {
    fn name(&self) -> String {
        "pgbench -i".to_owned()
    }

    fn what(&self) -> String {
        format!("make pgbench's tables, scale {}", self.scale)
    }

    fn fill(&self) -> Option<Fill> {
        let drops: &[&str] = if self.steps.contains(&InitStep::Drop) { &TABLES } else { &[] };
        let elsewhere = self.tablespace.is_some() || self.index_tablespace.is_some();
        Some(Fill { bytes: self.bytes(), drops, elsewhere })
    }

    /// 15 MB per second: a slow disk; 30 to 60 are usual.
    fn most_s(&self, _input_bytes: u64) -> Option<f64> {
        Some(2.0 + self.bytes() as f64 / 15e6)
    }

    fn made_from(&self, _inputs: &Inputs) -> Vec<String> {
        vec![serde_json::to_string(self).expect("options are plain data")]
    }

    fn table_name(&self) -> Option<String> {
        Some(ACCOUNTS_TABLE.to_owned())
    }

    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error> {
        let connection = site.runtime.connect().map_err(error::sql_error("connecting"))?;
        run(self, &Loading::default(), connection, site.runtime, &mut |_: &InitEvent| {})
    }
}
