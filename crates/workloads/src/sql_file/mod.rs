//! SQL files: users' statements that make or change data, run once.

use std::path::{Path, PathBuf};

use crate::error;
use crate::jobs::file_name;
use crate::jobs::{Inputs, Job, JobReport, JobSite, PhaseTimer};
use protocol::postgres::sql::{Sql, long};
use spec::Error;

/// Runs a file over the control connection, all of it in one request.
#[derive(Debug)]
pub(crate) struct SqlFile<'a> {
    path: &'a Path,
    /// Its file name, made unique among files of the same name.
    name: String,
}

impl<'a> SqlFile<'a> {
    pub(crate) fn all(paths: &'a [PathBuf]) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        for path in paths {
            let plain = file_name(path);
            let mut name = plain.clone();
            let mut number = 1;
            while files.iter().any(|file| file.name == name) {
                number += 1;
                name = format!("{plain} ({number})");
            }
            files.push(Self { path, name });
        }
        files
    }
}

impl Job for SqlFile<'_> {
    fn name(&self) -> String {
        format!("sql {}", self.name)
    }

    fn what(&self) -> String {
        format!("run {}", self.path.display())
    }

    fn files(&self) -> Vec<(String, &Path)> {
        vec![(self.name.clone(), self.path)]
    }

    fn made_from(&self, inputs: &Inputs) -> Vec<String> {
        vec![inputs.get(&self.name).cloned().unwrap_or_default()]
    }

    fn builds_on_earlier(&self) -> bool {
        true
    }

    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error> {
        let text = spec::given::read_text(self.path)
            .map_err(|error| error::file_error(self.path, format!("cannot be read: {error}")))?;
        let mut clock = || site.runtime.now_us();
        let mut timer = PhaseTimer::new(&mut clock);
        let doing = format!("running {}", self.path.display());
        long(site.sql).query(&text).map_err(error::sql_error(doing))?;
        timer.end("sql", &self.name, 0, None);
        Ok(timer.finish())
    }
}
