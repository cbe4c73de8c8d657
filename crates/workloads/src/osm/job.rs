//! An OSM load and its result.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use osm::extract;
use osm::log::{LoadLog, LogParser, table_made};
use osm::synth::Synthetic;
use protocol::postgres::sql::{Sql, quote_identifier};
use spec::Error;
use spec::figures::{self, Figures};

use super::command::Osm2pgsqlCommand;
use super::failed;
use super::made::{self, NodesOwner};
use super::nodes::{self, NodesFile};
use super::options::OsmOptions;
use super::others::{self, SetUpProgress};
use super::program::{Osm2pgsql, find_version};
use crate::error;
use crate::jobs::{ChildEnd, Inputs, Job, JobReport, JobSite, file_name};

/// A load, measured or for preparation.
#[derive(Debug)]
pub struct LoadJob {
    options: OsmOptions,
    name: String,
    /// Names of its files' contents, in order.
    files: Vec<String>,
    /// Names of earlier loads of the same preparation, whose tables it must keep.
    earlier: Vec<String>,
    /// Whether it is measured: its data are then not needed.
    measured: bool,
    /// Its name on the server, once it began.
    called: RefCell<Option<String>>,
}

/// A load that may start.
struct CheckedLoad {
    program: Osm2pgsql,
    extract: PathBuf,
    /// Size of the extract.
    bytes: u64,
    /// Tables that it must keep.
    others: Vec<others::ExistingTable>,
    /// Tables that existed when it began.
    before: BTreeSet<String>,
    called: String,
}

struct LoadEnd {
    end: ChildEnd,
    log: LoadLog,
    /// Why a table that it made could not be recorded.
    not_noted: Option<Error>,
}

impl LoadJob {
    /// A load with these options, whose paths are complete.
    #[must_use]
    pub fn new(options: OsmOptions, measured: bool) -> Self {
        let files = options.files().into_iter().map(file_name).collect();
        let (name, earlier) = (FIRST.to_owned(), Vec::new());
        Self { options, name, files, earlier, measured, called: RefCell::default() }
    }

    /// The loads of one preparation, in this order. The first has the name of a single one, so that data from
    /// earlier builds are found; the others are distinguished by their prefixes.
    #[must_use]
    pub fn all(loads: &[OsmOptions]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for options in loads {
            let mut load = Self::new(options.clone(), false);
            if !all.is_empty() {
                load.name = format!("{FIRST} {}", options.prefix);
                load.earlier = all.iter().map(Self::name).collect();
                load.files = load.options.files().into_iter().map(|path| known_by(path, &all)).collect();
            }
            all.push(load);
        }
        all
    }

    /// Lists the existing tables, and refuses to replace one that is not from an earlier load.
    pub(super) fn look(&self, sql: &mut dyn Sql) -> Result<Vec<others::ExistingTable>, Error> {
        if self.options.replace {
            return Ok(Vec::new());
        }
        let found = others::others(sql, self.measured, &self.earlier)?;
        others::refuse(&found, &self.options.tables())?;
        Ok(found)
    }

    /// References of ways to missing nodes, in words. Not checked in a large extract, and not in a synthetic
    /// one, which is complete.
    pub(super) fn missing(&self, extract: &Path) -> Option<String> {
        let is_small = std::fs::metadata(extract).is_ok_and(|data| data.len() <= LOOKED_THROUGH);
        if !is_small || self.options.synthetic().is_some() {
            return None;
        }
        // osm2pgsql may be able to read what we cannot.
        let missing = extract::missing(extract)?.words()?;
        Some(format!("{}: {missing}", file_name(extract)))
    }

    /// Checks that nothing is missing and no other tables would be lost, and starts to record what the load
    /// makes.
    fn begin(&self, site: &mut JobSite<'_>) -> Result<CheckedLoad, Error> {
        let options = &self.options;
        options.validate()?;
        let extract = options.extract_in(site.extracts);
        if let Some(doubt) = extract::check(&extract)?.doubt {
            (site.remark)(doubt);
        }
        // For a measured load it was reported before the first run.
        if let Some(error_text) = self.missing(&extract).filter(|_| !self.measured) {
            (site.remark)(error_text);
        }
        let program = options.program.as_deref().unwrap_or(Path::new("osm2pgsql"));
        let program = find_version(program, site.programs)?;
        program.can(options)?;
        made::open(site.sql, options.flat_nodes.as_deref())?;
        if let Some(file) = self.nodes_file().filter(|_| !options.replace)
            && file.is_of_others(site.sql)?
        {
            let problem = format!(
                "{} is there already; name another file, remove it, or write replace = true",
                file.path.display()
            );
            return Err(error::option("osm.flat_nodes", problem));
        }
        // Earlier builds had only one load.
        if self.name == FIRST {
            made::adopt(site.sql, &options.tables())?;
        }
        make_schemas(site.sql, &options.schemas)?;
        let others = self.look(site.sql)?;
        let before = made::present(site.sql)?;
        let called = self.call(site.sql)?;
        Ok(CheckedLoad { program, extract, bytes: self.input_bytes(site.extracts), others, before, called })
    }

    /// Runs osm2pgsql and reads its output, recording each table as it is made; returns the tables, too.
    fn run_and_record(
        &self,
        site: &mut JobSite<'_>,
        begun: &CheckedLoad,
    ) -> Result<(LoadEnd, BTreeSet<String>), Error> {
        let command = Osm2pgsqlCommand {
            options: &self.options,
            extract: &begun.extract,
            database: site.database,
            bytes: begun.bytes,
            cpus: site.cpus,
            program: &begun.program,
            called: &begun.called,
        };
        let mut tables: BTreeSet<String> =
            self.options.tables().iter().map(|table| format!("\"{table}\"")).collect();
        self.note(site.sql, &tables, begun)?;
        let mut parser = LogParser::new();
        let JobSite { sql, runtime, programs, .. } = site;
        let mut not_noted = None;
        let run = |progress: &SetUpProgress| {
            programs.run(&command.order(), &mut |_, at_us, line| {
                parser.line(at_us, line);
                let Some(table) = table_made(line) else { return };
                progress.set_up(runtime.now_us());
                if tables.insert(table.clone()) {
                    let noted = self.note(*sql, &BTreeSet::from([table]), begun);
                    not_noted = not_noted.take().or(noted.err());
                }
            })
        };
        let end = others::kept(*runtime, &begun.others, &begun.called, run)?;
        let lost = |problem: String| error::program("osm2pgsql", problem);
        let end = end.map_err(lost)?;
        let log = parser.finish(Some(0..end.wall_us));
        Ok((LoadEnd { end, log, not_noted }, tables))
    }

    fn nodes_file(&self) -> Option<NodesFile<'_>> {
        let path = self.options.flat_nodes.as_deref()?;
        Some(NodesFile { path, prefix: &self.options.prefix })
    }

    /// A unique name for the load's connections.
    fn call(&self, sql: &mut dyn Sql) -> Result<String, Error> {
        let unique =
            "SELECT pg_backend_pid() || '-' || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let unique = sql.scalar(unique).map_err(error::sql_error("naming the load"))?.unwrap_or_default();
        let called = format!("pgdyno load {unique}");
        *self.called.borrow_mut() = Some(called.clone());
        Ok(called)
    }

    fn note(&self, sql: &mut dyn Sql, tables: &BTreeSet<String>, begun: &CheckedLoad) -> Result<(), Error> {
        made::note(sql, tables, &begun.before, (&begun.called, self.measured))
    }
}

impl Job for LoadJob {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn what(&self) -> String {
        let told_apart = match self.name == FIRST {
            true => String::new(),
            false => format!(", prefix {}", self.options.prefix),
        };
        format!("load {} with osm2pgsql{told_apart}", self.options.source())
    }

    fn files(&self) -> Vec<(String, &Path)> {
        self.files.iter().cloned().zip(self.options.files()).collect()
    }

    fn synthetic(&self) -> Option<Synthetic> {
        self.options.synthetic()
    }

    fn input_bytes(&self, extracts: &Path) -> u64 {
        std::fs::metadata(self.options.extract_in(extracts)).map_or(0, |data| data.len())
    }

    /// 8 s for each MB of the extract, on a small machine.
    fn most_s(&self, input_bytes: u64) -> Option<f64> {
        (input_bytes > 0).then(|| 5.0 + input_bytes as f64 / 1e6 * 8.0)
    }

    fn made_from(&self, inputs: &Inputs) -> Vec<String> {
        let mut portable = self.options.portable();
        if self.synthetic().is_some() {
            let options = serde_json::to_string(&portable).expect("options are plain data");
            return vec![options];
        }
        portable.extract = PathBuf::new();
        let options = serde_json::to_string(&portable).expect("options are plain data");
        vec![options, self.files.first().and_then(|name| inputs.get(name)).cloned().unwrap_or_default()]
    }

    fn table_name(&self) -> Option<String> {
        self.options.tables().into_iter().find(|table| table.ends_with("_point"))
    }

    fn extensions(&self) -> Vec<&'static str> {
        if self.options.hstore { vec!["postgis", "hstore"] } else { vec!["postgis"] }
    }

    /// Loads the extract; the error quotes osm2pgsql's last error line.
    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error> {
        let begun = self.begin(site)?;
        let file = self.nodes_file();
        let is_own = file.map_or(Ok(false), |file| file.begin(site.sql, &begun.called))?;
        let run_and_record = self.run_and_record(site, &begun);
        let is_done = run_and_record.as_ref().is_ok_and(|(end, _)| end.end.success());
        // Not needed after a timed load, and the next one makes it again. A file that existed before is not
        // removed.
        if let Some(file) = file.filter(|_| self.measured || is_own && !is_done) {
            file.remove();
        }
        let (end, tables) = run_and_record?;
        let LoadEnd { end, log, not_noted } = end;
        let error_text = failed::error_text(log.error.as_deref(), &log.text);
        let why = || failed::why(error_text.as_deref(), &end, self.options.style.as_deref());
        let why = (!end.success()).then(why);
        if why.is_none() {
            not_noted.map_or(Ok(()), Err)?;
            made::complete(site.sql, (&begun.called, self.measured))?;
            file.filter(|_| !self.measured).map_or(Ok(()), |file| file.complete(site.sql, &begun.called))?;
        }
        let is_empty = why.is_none() && !self.options.makes_rows(site.sql, &tables)?;
        Ok(JobReport {
            figures: figures(&end, &log, begun.bytes),
            phases: log.phases,
            elapsed_us: end.wall_us,
            versions: [("osm2pgsql".to_owned(), log.version.unwrap_or(begun.program.version))].into(),
            log: log.text,
            tables: tables.iter().map(|table| table_name(table)).collect(),
            is_empty,
            failed: why,
            ..JobReport::default()
        })
    }

    /// Removes what a failed load made.
    fn clear_away(&self, sql: &mut dyn Sql) -> Result<Vec<String>, Error> {
        let Some(called) = self.called.take() else { return Ok(Vec::new()) };
        let replaced = made::replaced(sql, &called)?;
        let removed = made::remove(sql, NodesOwner::Of(&called)).map(drop);
        nodes::remove(sql, &called, self.options.flat_nodes.as_deref())?;
        removed?;
        Ok(gone(&replaced).into_iter().collect())
    }
}

/// Message of a failed load about the tables of an earlier load, which osm2pgsql drops when it begins.
fn gone(replaced: &[String]) -> Option<String> {
    let tables: Vec<String> = replaced.iter().map(|table| table_name(table)).collect();
    let what = "were replaced by this load, which did not end well; they are gone: load them again";
    (!tables.is_empty()).then(|| format!("the tables of an earlier load {what} ({})", tables.join(", ")))
}

fn figures(end: &ChildEnd, log: &LoadLog, extract_bytes: u64) -> Figures {
    let figures = [
        (figures::CHILD_USER_CPU_S, Some(seconds(end.user_us))),
        (figures::CHILD_SYSTEM_CPU_S, Some(seconds(end.system_us))),
        // What measuring it cost.
        (figures::PGDYNO_CPU_S, Some(seconds(end.own_cpu_us))),
        (figures::CHILD_MAX_RSS_BYTES, Some(end.max_rss_bytes as f64)),
        (figures::CHILD_PEAK_MEMORY_BYTES, log.peak_memory_bytes.map(|bytes| bytes as f64)),
        (figures::CHILD_REPORTED_S, log.overall_s.map(|seconds| seconds as f64)),
        (figures::EXTRACT_BYTES, Some(extract_bytes as f64)),
    ];
    figures.into_iter().filter_map(|(of, value)| Some((of, value?))).collect()
}

/// Extracts up to this size are checked for missing nodes: about a second per 10 MB.
const LOOKED_THROUGH: u64 = 64 << 20;

/// Name of the only load of a preparation, or the first.
const FIRST: &str = "osm";

/// The name of a file's content: its name, made unique among the files of these loads.
fn known_by(path: &Path, loads: &[LoadJob]) -> String {
    let plain = file_name(path);
    let is_other = |name: &str| {
        loads.iter().flat_map(LoadJob::files).any(|(known, other)| known == name && other != path)
    };
    let numbered = (2..).map(|number| format!("{plain} ({number})"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !is_other(name)).unwrap_or(plain)
}

fn make_schemas(sql: &mut dyn Sql, schemas: &[String]) -> Result<(), Error> {
    for schema in schemas {
        let make = format!("CREATE SCHEMA IF NOT EXISTS {}", quote_identifier(schema));
        sql.execute(&make)
            .map_err(error::sql_error(format!("making schema {schema}, which osm.schemas names")))?;
    }
    Ok(())
}

/// `"osm"."roads"` as in lists of tables: `osm.roads`.
fn table_name(table: &str) -> String {
    let name = table.trim_matches('"').replace("\".\"", ".");
    name.strip_prefix("public.").map_or(name.clone(), str::to_owned)
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::postgres::Database;

    use crate::jobs::{ChildOrder, OutputStream, RunChild};
    use crate::testing::NoServer;
    use crate::testing::sql::FakeSql;

    /// Returns lines instead of running anything.
    struct Played {
        lines: Vec<&'static str>,
        end: ChildEnd,
        orders: Vec<ChildOrder>,
    }

    impl RunChild for Played {
        fn run(
            &mut self,
            order: &ChildOrder,
            on_line: &mut dyn FnMut(OutputStream, u64, &str),
        ) -> Result<ChildEnd, String> {
            self.orders.push(order.clone());
            if order.args == ["--version"] {
                on_line(OutputStream::Stderr, 1000, "2026-11-21 02:44:37  osm2pgsql version 1.8.0");
                return Ok(ChildEnd { code: Some(0), ..ChildEnd::default() });
            }
            for (number, line) in (1..).zip(&self.lines) {
                on_line(OutputStream::Stderr, number * 1000, line);
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

    fn load(options: &OsmOptions, programs: &mut Played) -> Result<JobReport, Error> {
        let mut sql = FakeSql::new();
        sql.answer("pg_backend_pid() ||", &[&["42-1763888400"]]);
        LoadJob::new(options.clone(), false).run(&mut JobSite {
            sql: &mut sql,
            runtime: &NoServer,
            programs,
            http: &crate::testing::NoWeb,
            database: &database(),
            cpus: 2,
            extracts: Path::new("nowhere"),
            kept: Path::new("nowhere"),
            remark: &mut |_| {},
            doing: &mut |_| {},
        })
    }

    #[test]
    fn the_password_is_in_the_environment_only() {
        let file = extract();
        let end = ChildEnd { code: Some(0), wall_us: 9000, ..ChildEnd::default() };
        let mut run = Played { lines: Vec::new(), end, orders: Vec::new() };
        load(&OsmOptions::new(file.path()), &mut run).unwrap();
        let order = run.orders.last().unwrap();
        let args: Vec<_> = order.args.iter().map(|arg| arg.to_string_lossy()).collect();
        let shown = args[..args.len() - 1].join(" ");
        insta::assert_snapshot!(shown, @"--create --slim --log-level=debug --log-progress=false --log-sql --cache 128 --number-processes 2 --prefix planet_osm -H /run/pg -P 5433 -U me -d osm");
        let called = ("PGAPPNAME".into(), "pgdyno load 42-1763888400".into());
        assert_eq!(order.env, [("PGPASSWORD".into(), "hush".into()), called]);
    }

    /// The first has the name of a single one, and fingerprints are those of the load alone.
    #[test]
    fn loads_of_one_preparation_are_told_apart() {
        let of = |extract: &str, prefix: &str, style: Option<&str>| OsmOptions {
            prefix: prefix.to_owned(),
            style: style.map(PathBuf::from),
            ..OsmOptions::new(extract)
        };
        let options = [
            of("a/x.osm.pbf", "one", None),
            of("b/x.osm.pbf", "two", Some("s.lua")),
            of("a/x.osm.pbf", "three", None),
        ];
        let loads = LoadJob::all(&options);
        let names: Vec<_> = loads.iter().map(Job::name).collect();
        assert_eq!(names, ["osm", "osm two", "osm three"]);
        let files: Vec<_> = loads
            .iter()
            .map(|load| load.files().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(files, ["x.osm.pbf", "x.osm.pbf (2) s.lua", "x.osm.pbf"]);
        let inputs = [("x.osm.pbf", "A"), ("x.osm.pbf (2)", "B")];
        let inputs: Inputs = inputs.map(|(name, hash)| (name.to_owned(), hash.to_owned())).into();
        let read: Vec<_> = loads.iter().map(|load| load.made_from(&inputs)[1].clone()).collect();
        assert_eq!(read, ["A", "B", "A"]);
        let alone = LoadJob::new(options[2].clone(), false);
        assert_eq!(alone.made_from(&inputs), loads[2].made_from(&inputs));
    }

    #[test]
    fn its_own_last_error_is_quoted() {
        let file = extract();
        let end = ChildEnd { code: Some(1), ..ChildEnd::default() };
        let lines = vec!["2026-11-21 02:44:37  [0] ERROR: Connecting to database failed."];
        let mut run = Played { lines, end, orders: Vec::new() };
        let result = load(&OsmOptions::new(file.path()), &mut run);
        let report = result.unwrap();
        assert_eq!(report.failed.as_deref(), Some("osm2pgsql failed: ERROR: Connecting to database failed."));
        assert!(report.log.contains("Connecting to database failed"), "the log is kept");
    }
}
