//! Runs a probe.

use std::time::Duration;

use super::check::ServerState;
use super::facts;
use super::figures::{CPU_ONE, FIGURES, ProbeFigure};
use super::leftovers::sweep;
use super::record::{Probed, ProbedFigure};
use super::remarks::{busy, doubtful, flush, steal};
use super::scratch::Scratch;
use super::shots::{ProbeSession, reason};
use super::work::ProbeWork;
use crate::error;
use crate::jobs::{Inputs, Job, JobReport, JobSite};
use protocol::postgres::sql::Sql;
use spec::Error;
use spec::plan::ProbeOptions;
use spec::plan::change::Change;

/// Additional time after which a probe's scratch data counts as left behind.
const SLACK: Duration = Duration::from_secs(120);
/// A probe of one database.
#[derive(Debug, Clone)]
pub struct Probe {
    options: ProbeOptions,
    scratch: Scratch,
}

impl Probe {
    /// A probe with this unique token of letters and digits in the name of its scratch data.
    #[must_use]
    pub fn new(options: ProbeOptions, token: &str) -> Self {
        Self { options, scratch: Scratch::new(token) }
    }
}

impl Job for Probe {
    fn name(&self) -> String {
        "probe".to_owned()
    }

    fn what(&self) -> String {
        "probe the server's hardware".to_owned()
    }

    fn made_from(&self, _inputs: &Inputs) -> Vec<String> {
        vec![serde_json::to_string(&self.options).expect("options are plain data")]
    }

    fn scratch(&self, sql: &mut dyn Sql) -> Result<Option<Change>, Error> {
        let makes = ServerState::ask(sql, &self.options)?.restricted().is_none();
        Ok(makes.then(|| self.scratch.as_change()))
    }

    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error> {
        let started_us = site.runtime.now_us();
        let server = ServerState::ask(site.sql, &self.options)?;
        let mut remarks = Vec::new();
        if !server.is_read_only() {
            remarks.extend(sweep(site.sql));
        }
        let (host, mut facts) = facts::read(site.sql);
        let before = host.ticks(site.sql);
        remarks.extend(busy(&server, &host));
        if server.restricted().is_none() {
            self.scratch.make(site.sql, self.options.time + SLACK)?;
        }
        let connection = site.runtime.connect().map_err(error::sql_error("connecting"))?;
        let mut work = ProbeWork {
            runtime: site.runtime,
            session: ProbeSession::new(connection, server.is_read_only()),
            server: &server,
            host: &host,
            options: &self.options,
            scratch: &self.scratch,
            started_us,
            backends: None,
            pages: None,
        };
        let (mut found, mut part) = (Vec::new(), "");
        // Repeated statements take turns with others of their part.
        for figures in FIGURES.chunk_by(|a, b| a.part == b.part && a.most.is_some() && b.most.is_some()) {
            let is_new = figures.first().is_some_and(|figure| figure.part != part);
            let mut quiet = |_: String| {};
            let doing: &mut dyn FnMut(String) = if is_new { &mut *site.doing } else { &mut quiet };
            let of = carry_out(figures, &found, &mut work, doing)?;
            part = figures.last().map_or("", |figure| figure.part.as_str());
            found.extend(of);
        }
        flush(&mut found);
        let elapsed_us = work.now_us();
        let (stolen, remark) = steal(before, host.ticks(site.sql));
        facts.push(stolen);
        remarks.extend(remark);
        remarks.extend(doubtful(&found, &facts));
        let restricted = server.restricted().map(str::to_owned);
        Ok(Probed { restricted, found, facts, remarks }.into_report(elapsed_us))
    }

    fn clear_away(&self, sql: &mut dyn Sql) -> Result<Vec<String>, Error> {
        let failed = || error::sql_error("dropping the probe's scratch data");
        if self.scratch.is_there(sql).map_err(failed())? {
            self.scratch.drop(sql).map_err(failed())?;
        }
        Ok(Vec::new())
    }
}

fn carry_out(
    figures: &[ProbeFigure],
    before: &[ProbedFigure],
    work: &mut ProbeWork<'_>,
    doing: &mut dyn FnMut(String),
) -> Result<Vec<ProbedFigure>, Error> {
    let [figure, ..] = figures else { return Ok(Vec::new()) };
    let not_available =
        |why: &str| figures.iter().map(|figure| ProbedFigure::not_available(figure, why)).collect();
    if let Some(why) = work.server.forbids(figure.needs) {
        return Ok(not_available(&why));
    }
    let left = work.options.time.saturating_sub(Duration::from_micros(work.now_us()));
    doing(format!("{}; {} s left at most", figure.part, left.as_secs()));
    let one = before.iter().find(|found| found.name == CPU_ONE);
    match work.measure(figures, one) {
        Err(error) if work.ends_probe(&error) => Err(error),
        Err(error) => Ok(not_available(&reason(&error))),
        Ok(found) => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use protocol::postgres::Database;
    use protocol::postgres::sql::{ResultSet, SqlError, Supply};

    use super::*;
    use crate::jobs::{BoxedSql, ChildEnd, ChildOrder, OutputStream, RunChild, Runtime};
    use crate::probe::FigureState;

    /// A server that only describes itself, and records the queries.
    #[derive(Clone, Default)]
    struct Server {
        standby: bool,
        asked: Arc<Mutex<Vec<String>>>,
        clock_us: Arc<AtomicU64>,
    }

    impl Sql for Server {
        fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
            self.asked.lock().unwrap().push(sql.to_owned());
            if !sql.contains("server_version_num") && !sql.contains("nspname = ") {
                return Ok(vec![ResultSet::default()]);
            }
            let standby = if self.standby { "true" } else { "false" };
            let row = ["17", "joe", "shop", standby, "off", "true", "true", "8192", "134217728", "97", "0"];
            let row = row.map(|value| Some(value.to_owned())).to_vec();
            Ok(vec![ResultSet {
                columns: vec!["x".to_owned()],
                rows: vec![row],
                types: Vec::new(),
                tag: String::new(),
            }])
        }

        fn copy_in(&mut self, _: &str, _: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
            unreachable!("a probe copies nothing")
        }
    }

    impl Runtime for Server {
        fn connect(&self) -> Result<BoxedSql, SqlError> {
            Ok(Box::new(self.clone()))
        }

        fn now_us(&self) -> u64 {
            self.clock_us.fetch_add(1000, Ordering::Relaxed)
        }

        fn sleep_us(&self, _: u64) {}

        fn stopped(&self) -> bool {
            false
        }
    }

    struct NoPrograms;

    impl RunChild for NoPrograms {
        fn run(
            &mut self,
            _: &ChildOrder,
            _: &mut dyn FnMut(OutputStream, u64, &str),
        ) -> Result<ChildEnd, String> {
            unreachable!("a probe runs no program")
        }
    }

    fn probe(server: &Server) -> (Probe, JobReport, Vec<String>) {
        let probe = Probe::new(ProbeOptions { backends: Some(2), ..ProbeOptions::default() }, "a1");
        let database = Database {
            host: String::new(),
            port: 1,
            user: String::new(),
            dbname: String::new(),
            password: None,
        };
        let mut progress = Vec::new();
        let report = probe.run(&mut JobSite {
            sql: &mut server.clone(),
            runtime: server,
            programs: &mut NoPrograms,
            http: &crate::testing::NoWeb,
            database: &database,
            cpus: 1,
            extracts: std::path::Path::new("nowhere"),
            kept: std::path::Path::new("nowhere"),
            remark: &mut |_| {},
            doing: &mut |what| progress.push(what),
        });
        (probe, report.unwrap(), progress)
    }

    fn is_writing(asked: &str) -> bool {
        ["CREATE ", "INSERT ", "VACUUM ", "DROP ", "COMMENT "].iter().any(|word| asked.contains(word))
    }

    #[test]
    fn a_standby_is_asked_nothing_that_writes() {
        let server = Server { standby: true, ..Server::default() };
        let (_, report, progress) = probe(&server);
        assert_eq!(progress.len(), 3, "a line for each part: {progress:?}");
        let asked = server.asked.lock().unwrap();
        assert!(!asked.iter().any(|asked| is_writing(asked)), "{asked:#?}");
        let shots: Vec<_> = asked.iter().filter(|asked| asked.starts_with("BEGIN")).collect();
        assert!(
            shots.len() >= 5 && shots.iter().all(|asked| asked.starts_with("BEGIN READ ONLY; ")),
            "{shots:#?}"
        );
        let text = String::from_utf8(report.artifacts[0].bytes.clone()).unwrap();
        let probed: Probed = serde_json::from_str(&text).unwrap();
        assert_eq!(probed.found.len(), FIGURES.len());
        let why = FigureState::NotAvailable("it writes, and the server is a standby".to_owned());
        assert_eq!(probed.found.iter().filter(|found| found.state == why).count(), 7, "{text}");
    }

    #[test]
    fn scratch_data_are_marked_before_they_are_written_and_dropped_without_those_of_others() {
        let server = Server::default();
        let (probe, ..) = probe(&server);
        let first = server.asked.lock().unwrap().iter().find(|asked| is_writing(asked)).cloned().unwrap();
        assert!(first.starts_with("BEGIN; CREATE SCHEMA \"pgdyno_probe_a1\"; COMMENT ON SCHEMA"), "{first}");
        server.asked.lock().unwrap().clear();
        probe.clear_away(&mut server.clone()).unwrap();
        let asked = server.asked.lock().unwrap();
        let drop = asked.last().unwrap();
        assert!(
            drop.contains("DROP SCHEMA IF EXISTS \"pgdyno_probe_a1\"") && !drop.contains("CASCADE"),
            "{drop}"
        );
    }
}
