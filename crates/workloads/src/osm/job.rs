//! One load: the command, its run, and what it left.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use osm::{extract, log::LogParser};
use protocol::postgres::Database;

use super::options::Options;
use super::program::{Osm2pgsql, find_version};
use crate::error::WorkloadError;
use crate::jobs::file_name;
use crate::jobs::{ChildEnd, ChildOrder, Inputs, Job, JobReport, JobSite};

/// Extracts up to this size are loaded with the log of statements on, which gives the ends of reading nodes, ways and
/// relations in milliseconds. Above it osm2pgsql's whole seconds are exact enough, and the log (a line for each
/// relation) would be long.
const SQL_LOG_UP_TO: u64 = 256 << 20;

impl Job for &Options {
    fn name(&self) -> String {
        "osm".to_owned()
    }

    fn what(&self) -> String {
        format!("load {} with osm2pgsql", self.extract.display())
    }

    fn files(&self) -> Vec<(String, &Path)> {
        let paths = std::iter::once(&self.extract).chain(&self.style);
        paths.map(|path| (file_name(path), path.as_path())).collect()
    }

    fn made_from(&self, inputs: &Inputs) -> Vec<String> {
        let portable = Options { extract: PathBuf::new(), ..self.portable() };
        let options = serde_json::to_string(&portable).expect("options are plain data");
        vec![options, inputs.get(&file_name(&self.extract)).cloned().unwrap_or_default()]
    }

    fn table(&self) -> Option<String> {
        Some(format!("{}_point", self.prefix))
    }

    fn extensions(&self) -> Vec<&'static str> {
        if self.hstore { vec!["postgis", "hstore"] } else { vec!["postgis"] }
    }

    /// Loads the extract; osm2pgsql's own last error line is quoted.
    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, WorkloadError> {
        self.validate()?;
        if let Some(doubt) = extract::check(&self.extract)?.doubt {
            (site.remark)(doubt);
        }
        let program = self.program.as_deref().unwrap_or(Path::new("osm2pgsql"));
        let program = find_version(program, site.programs)?;
        let bytes = std::fs::metadata(&self.extract).map_or(0, |data| data.len());
        let load = Load { options: self, database: site.database, bytes, cpus: site.cpus, program };

        let mut parser = LogParser::new();
        let end = site.programs.run(&load.order(), &mut |_, at_us, line| parser.line(at_us, line));
        let failed = |problem: String| WorkloadError::Program { program: "osm2pgsql".to_owned(), problem };
        let end = end.map_err(&failed)?;
        let log = parser.finish(end.wall_us);
        if !end.success() {
            return Err(failed(log.error.unwrap_or_else(|| how_it_ended(&end))));
        }
        let figures = [
            ("child_user_cpu_s", Some(seconds(end.user_us))),
            ("child_system_cpu_s", Some(seconds(end.system_us))),
            ("child_max_rss_bytes", Some(end.max_rss_bytes as f64)),
            ("child_peak_memory_bytes", log.peak_memory_bytes.map(|bytes| bytes as f64)),
            ("child_reported_s", log.overall_s.map(|seconds| seconds as f64)),
            ("extract_bytes", Some(bytes as f64)),
        ];
        let known = figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(JobReport {
            phases: log.phases,
            elapsed_us: end.wall_us,
            figures: known.collect(),
            versions: [("osm2pgsql".to_owned(), log.version.unwrap_or(load.program.version))].into(),
            log: log.text,
            ..JobReport::default()
        })
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn how_it_ended(end: &ChildEnd) -> String {
    match (end.code, end.signal) {
        (Some(code), _) => format!("it ended with code {code} and gave no reason"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it was stopped".to_owned(),
    }
}

/// A load with all that its command line depends on.
struct Load<'a> {
    options: &'a Options,
    database: &'a Database,
    bytes: u64,
    cpus: u32,
    program: Osm2pgsql,
}

impl Load<'_> {
    fn order(&self) -> ChildOrder {
        let mut args: Vec<OsString> = vec!["--create".into()];
        let mut flag = |wanted: bool, name: &str| {
            if wanted {
                args.push(name.into());
            }
        };
        flag(self.options.slim, "--slim");
        flag(self.options.drop, "--drop");
        flag(self.options.hstore, "--hstore");
        // The options for the log came with 1.4.
        let logs = self.program.at_least(1, 4);
        flag(logs, "--log-level=debug");
        flag(logs, "--log-progress=false");
        flag(logs && self.options.slim && self.bytes <= SQL_LOG_UP_TO, "--log-sql");
        let mut option = |name: &str, value: OsString| {
            if !value.is_empty() {
                args.extend([name.into(), value]);
            }
        };
        option("--cache", self.cache_mb().to_string().into());
        option("--number-processes", self.processes().to_string().into());
        option("--prefix", self.options.prefix.clone().into());
        option("--output", self.options.output.clone().unwrap_or_default().into());
        option("--style", self.options.style.clone().unwrap_or_default().into());
        option("-H", self.database.host.clone().into());
        option("-P", port(self.database.port).into());
        option("-U", self.database.user.clone().into());
        option("-d", self.database.dbname.clone().into());
        args.push(self.options.extract.clone().into());
        let password = self.database.password.iter();
        let env = password.map(|password| ("PGPASSWORD".into(), password.into())).collect();
        ChildOrder { program: self.program.program.clone(), args, env }
    }

    /// Node locations take 8 bytes each in memory; a node takes about as much of an extract.
    fn cache_mb(&self) -> u64 {
        let sized = (self.bytes >> 20).saturating_mul(7) / 4;
        self.options.cache_mb.map_or(sized.clamp(128, 16_384), u64::from)
    }

    fn processes(&self) -> u32 {
        self.options.processes.unwrap_or(self.cpus.clamp(1, 8))
    }
}

fn port(port: u16) -> String {
    if port == 0 { String::new() } else { port.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::{Output, RunChild};
    use crate::testing::NoServer;
    use crate::testing::sql::FakeSql;

    /// Answers with lines instead of running anything.
    struct Played {
        lines: Vec<&'static str>,
        end: ChildEnd,
        orders: Vec<ChildOrder>,
    }

    impl RunChild for Played {
        fn run(
            &mut self,
            order: &ChildOrder,
            on_line: &mut dyn FnMut(Output, u64, &str),
        ) -> Result<ChildEnd, String> {
            self.orders.push(order.clone());
            if order.args == ["--version"] {
                on_line(Output::Stderr, 1000, "2026-11-21 02:44:37  osm2pgsql version 1.8.0");
                return Ok(ChildEnd { code: Some(0), ..ChildEnd::default() });
            }
            for (number, line) in (1..).zip(&self.lines) {
                on_line(Output::Stderr, number * 1000, line);
            }
            Ok(self.end)
        }
    }

    fn extract() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let header = b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x00";
        let data = b"\x00\x00\x00\x0b\x0a\x07OSMData\x18\x00";
        std::fs::write(file.path(), [&header[..], data].concat()).unwrap();
        file
    }

    fn database() -> Database {
        Database {
            host: "/run/pg".into(),
            port: 5433,
            user: "me".into(),
            dbname: "osm".into(),
            password: Some("hush".into()),
        }
    }

    fn load(options: &Options, programs: &mut Played) -> Result<JobReport, WorkloadError> {
        options.run(&mut JobSite {
            sql: &mut FakeSql::new(),
            runtime: &NoServer,
            programs,
            database: &database(),
            cpus: 2,
            remark: &mut |_| {},
            doing: &mut |_| {},
        })
    }

    #[test]
    fn the_password_is_in_the_environment_only() {
        let file = extract();
        let end = ChildEnd { code: Some(0), wall_us: 9000, ..ChildEnd::default() };
        let mut run = Played { lines: Vec::new(), end, orders: Vec::new() };
        load(&Options::new(file.path()), &mut run).unwrap();
        let order = run.orders.last().unwrap();
        let args: Vec<_> = order.args.iter().map(|arg| arg.to_string_lossy()).collect();
        let shown = args[..args.len() - 1].join(" ");
        insta::assert_snapshot!(shown, @"--create --slim --log-level=debug --log-progress=false --log-sql --cache 128 --number-processes 2 --prefix planet_osm -H /run/pg -P 5433 -U me -d osm");
        assert_eq!(order.env, [("PGPASSWORD".into(), "hush".into())]);
    }

    #[test]
    fn its_own_last_error_is_quoted() {
        let file = extract();
        let end = ChildEnd { code: Some(1), ..ChildEnd::default() };
        let lines = vec!["2026-11-21 02:44:37  [0] ERROR: Connecting to database failed."];
        let mut run = Played { lines, end, orders: Vec::new() };
        let result = load(&Options::new(file.path()), &mut run);
        let message = result.unwrap_err().to_string();
        assert_eq!(message, "osm2pgsql failed: ERROR: Connecting to database failed.");
    }
}
