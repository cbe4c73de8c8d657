//! SQL files: users' statements that make or change data, run once; and plain dumps.

mod dump;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::error;
use crate::jobs::file_name;
use crate::jobs::{Inputs, Job, JobReport, JobSite, PhaseTimer};
use protocol::postgres::sql::{Sql, Supply, long};
use spec::Error;

use dump::{Dump, Format, Part};

/// Runs a file over a connection of its own, as its settings must end with it: SQL in one request, a dump part by part.
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
        let unreadable = |error: io::Error| error::file_error(self.path, format!("cannot be read: {error}"));
        let mut file = BufReader::with_capacity(64 << 10, spec::given::open(self.path).map_err(unreadable)?);
        let format = Format::of(file.fill_buf().map_err(unreadable)?);
        let mut clock = || site.runtime.now_us();
        let mut timer = PhaseTimer::new(&mut clock);
        let mut connection = site.runtime.connect().map_err(error::sql_error("connecting"))?;
        match format {
            Format::Sql => {
                let text = spec::given::read_text(self.path).map_err(unreadable)?;
                self.execute(&mut *connection, &text)?;
            }
            Format::PlainDump => {
                let mut dump = Dump::new(file);
                while let Some(part) = dump.part().map_err(unreadable)? {
                    match part {
                        Part::Sql(sql) => self.execute(&mut *connection, &sql)?,
                        Part::Copy(copy) => {
                            (site.doing)(copy.trim_end().to_owned());
                            self.copy(&mut *connection, &copy, &mut dump)?;
                        }
                    }
                }
            }
            Format::CustomDump => {
                let what = "only pg_restore reads this format of pg_dump: dump with --format=plain";
                return Err(error::file_error(self.path, what));
            }
        }
        timer.end("sql", &self.name, 0, None);
        Ok(timer.finish())
    }
}

impl SqlFile<'_> {
    fn execute(&self, connection: &mut dyn Sql, sql: &str) -> Result<(), Error> {
        let doing = format!("running {}", self.path.display());
        long(connection).query(sql).map(drop).map_err(error::sql_error(doing))
    }

    fn copy(&self, connection: &mut dyn Sql, copy: &str, dump: &mut Dump<impl BufRead>) -> Result<(), Error> {
        let mut unreadable = None;
        let copied = connection.copy_in(copy, &mut |rows| {
            dump.rows(rows).unwrap_or_else(|error| {
                unreadable = Some(error);
                Supply::GiveUp
            })
        });
        if let Some(error) = unreadable {
            return Err(error::file_error(self.path, error));
        }
        let doing = format!("running {}, {}", self.path.display(), copy.trim_end());
        copied.map(drop).map_err(error::sql_error(doing))
    }
}
