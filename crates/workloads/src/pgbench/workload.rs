//! The workload for `lab`.

use std::path::Path;
use std::sync::Arc;

use engine::{Client, GapStream, Gaps};
use script::{Random, Streams};
use spec::plan::topology::LoadTarget;
use spec::{Artifact, Error};

use super::check::{TableFacts, TablesError, branches, count_tables, tables, vacuum_quietly};
use super::client::{clients, routes_words};
use super::drop_in::DropInOptions;
use super::explain::explain;
use super::guard::{Tried, first_execution, sample};
use super::options::{PgbenchOptions, QueryProtocol, file_source};
use super::prepare::PreparedScripts;
use super::prepare::default_seed_given;
use super::rows::Rows;
use super::source::ScriptSource;
use super::unset;
use crate::answers::Sampled;
use crate::each::Each;
use crate::place::{Places, Site};
use crate::plans::SamplePlans;
use crate::workload::{
    ClientWorkload, Clients, Guarded, LoadNeeds, Prepared, RequestText, ScriptInfo, StatementInfo, TileItem,
    Workload,
};
use protocol::postgres::sql::Sql;

/// pgbench scripts.
#[derive(Debug, Clone)]
pub struct Pgbench {
    program: Arc<PreparedScripts>,
    vacuum: bool,
    may_be_empty: bool,
    /// Value of `:scale`; counted by `check` when a built-in script is used.
    scale: u64,
    /// pgbench's tables, if needed.
    tables: Option<TableFacts>,
    /// The warning that the scale differs from the tables' scale.
    scale_remark: Option<String>,
}

impl Pgbench {
    /// Reads the scripts in `options`: built-in ones first, then files (relative to `folder`), then those in
    /// one order; `tpcb-like` when there are none.
    ///
    /// # Errors
    /// When a file cannot be read, or a script is invalid or unsupported.
    pub fn open(options: &PgbenchOptions, folder: &Path) -> Result<Self, Error> {
        let builtin = options.builtin.iter().cloned().map(|name| Ok(ScriptSource::Builtin(name)));
        let files = options.files.iter().map(|file| file_source(file, folder));
        let scripts = options.scripts.iter().map(|script| script.source(folder));
        let mut sources = builtin.chain(files).chain(scripts).collect::<Result<Vec<_>, Error>>()?;
        if sources.is_empty() {
            sources.push(ScriptSource::Builtin("tpcb-like".to_owned()));
        }
        let workload = Self::with_scripts(options, &sources)?;
        if let Some(csv) = options.csv() {
            workload.program.set_rows(Arc::new(Rows::read(&folder.join(csv), csv)?));
        }
        Ok(workload)
    }

    /// Runs these scripts, in this order, instead of those in `options`.
    pub fn with_scripts(options: &PgbenchOptions, sources: &[ScriptSource]) -> Result<Self, Error> {
        Ok(Self::new(options, PreparedScripts::load(options, sources)?))
    }

    /// Runs these scripts as a drop-in, exactly as pgbench. Weights in `options` and `sources` apply to
    /// clients outside any group.
    ///
    /// # Errors
    /// As [`Pgbench::open`], in pgbench's words; also when groups or policy name a missing script.
    pub fn with_drop_in_options(
        options: &PgbenchOptions,
        sources: &[ScriptSource],
        drop_in_options: DropInOptions,
    ) -> Result<Self, Error> {
        Ok(Self::new(options, PreparedScripts::drop_in(options, sources, drop_in_options)?))
    }

    fn new(options: &PgbenchOptions, program: PreparedScripts) -> Self {
        let scale = options.scale.map_or(1, u64::from);
        // pgbench empties pgbench_history for any script; those rows may belong to somebody.
        let vacuum = options.vacuum && (program.drop_in || program.writes_history());
        let (program, may_be_empty) = (Arc::new(program), options.may_be_empty);
        Self { program, vacuum, may_be_empty, scale, tables: None, scale_remark: None }
    }

    /// Why each transaction of a script will fail, where that is known: a variable in quotes under
    /// `-M extended` or `prepared`. A drop-in runs it nevertheless, as pgbench does.
    #[must_use]
    pub fn hidden_variable(&self) -> Option<String> {
        let extended = self.program.options.mode != QueryProtocol::Simple;
        let hidden = self.program.scripts.hidden_variable().filter(|_| extended);
        hidden.map(|error| error.to_string())
    }

    /// Whether a built-in script is among those run: they need pgbench's tables.
    #[must_use]
    pub fn uses_builtin(&self) -> bool {
        self.program.builtin
    }

    /// Counts pgbench's tables if a built-in script needs them, as pgbench does before a run; the scale is
    /// then theirs. `database` is for the hint.
    ///
    /// # Errors
    /// In pgbench's words.
    pub fn count_tables(
        &mut self,
        sql: &mut dyn Sql,
        database: &str,
    ) -> Result<Option<TableFacts>, TablesError> {
        if self.program.builtin {
            self.found(count_tables(sql, database)?);
        }
        Ok(self.tables)
    }

    fn found(&mut self, tables: TableFacts) {
        self.scale = tables.scale;
        self.tables = Some(tables);
    }

    /// pgbench's tables; `None` when no built-in script needs them, or they were not checked yet.
    #[must_use]
    pub fn tables(&self) -> Option<TableFacts> {
        self.tables
    }

    /// The streams that sample the transactions to log, per thread: a transaction is logged when
    /// [`Random::unit`] is not above the rate.
    #[must_use]
    pub fn log_sampling(&self, wanted: Clients) -> Vec<Random> {
        self.streams(wanted).threads.into_iter().map(|thread| thread.sample).collect()
    }

    fn tried(&self, site: &mut Site<'_>, seed: u64, of: Tried) -> Result<Guarded, Error> {
        let mut replica = site.replica.take();
        let on_replica = replica.as_mut().map(|replica| &mut **replica as &mut dyn Sql);
        first_execution(&self.program, (site.sql()?, on_replica), (self.scale, seed), of)
    }

    fn streams(&self, wanted: Clients) -> Streams {
        let (clients, threads) = wanted.seats();
        Streams::new(wanted.seed, clients, threads, default_seed_given(&self.program))
    }

    /// Value of `:scale`: counted from pgbench's tables once `check` found them.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.scale
    }
}

impl Workload for Pgbench {
    fn scripts(&self) -> Vec<ScriptInfo> {
        self.program.infos()
    }

    fn texts(&self) -> Vec<RequestText> {
        self.program.sources.clone()
    }

    fn carried(&self) -> LoadNeeds {
        let PgbenchOptions { mode, reconnect, .. } = self.program.options;
        LoadNeeds {
            prepared: mode == QueryProtocol::Prepared,
            transaction_blocks: self.program.begins_transactions(),
            reconnects: reconnect,
        }
    }

    fn of_session(&self) -> Option<String> {
        self.program.of_session()
    }

    fn check_texts(&self) -> Result<(), Error> {
        // Only the server knows the columns of a query.
        let is_known = self.program.query().is_none() || self.program.rows().is_some();
        if self.program.drop_in || !is_known { Ok(()) } else { unset::refuse(&self.program) }
    }

    fn writes(&self) -> bool {
        self.program.writes()
    }

    fn may_be_empty(&self) -> bool {
        self.may_be_empty
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        let given = self.program.options.scale;
        if self.program.builtin {
            self.found(tables(site.sql()?)?);
            self.scale_remark = scale_ignored(given, self.scale);
        } else if self.program.uses_scale_of_tables() {
            let scale = branches(site.sql()?)?;
            self.scale_remark = scale.and_then(|tables| other_scale(given, self.scale, tables));
        }
        Ok(())
    }

    fn prepare(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Prepared, Error> {
        if let Some(query) = self.program.query().filter(|_| self.program.rows().is_none()) {
            self.program.set_rows(Arc::new(Rows::ask(site.sql()?, query)?));
        }
        self.check_texts()?;
        Ok(self.program.prepared())
    }

    fn adopt(&mut self, chosen: &Prepared) -> Result<Prepared, Error> {
        if let Some(rows) = &chosen.rows {
            self.program.set_rows(Arc::clone(rows));
        }
        Ok(self.program.prepared())
    }

    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        let mut remarks: Vec<String> = self.scale_remark.iter().cloned().collect();
        if self.vacuum {
            remarks.extend(vacuum_quietly(site.sql()?)?);
        }
        Ok(remarks)
    }

    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, Error> {
        self.tried(site, seed, Tried::All)
    }

    fn guard_on_replica(&mut self, site: &mut Site<'_>, seed: u64) -> Result<(), Error> {
        self.tried(site, seed, Tried::OfReplicas).map(drop)
    }

    fn sample(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Sampled, Error> {
        sample(&self.program, site.sql()?, self.scale, seed)
    }

    fn explain(
        &mut self,
        site: &mut Site<'_>,
        seed: u64,
        _slowest: &[TileItem],
    ) -> Result<SamplePlans, Error> {
        let time = site.time;
        explain(&self.program, site.sql()?, self.scale, seed, time)
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        Ok(Vec::new())
    }
}

impl ClientWorkload for Pgbench {
    fn statements(&self) -> Vec<StatementInfo> {
        self.program.statements()
    }

    fn statement_position(&self, statement: usize) -> Option<String> {
        self.program.statement_position(statement)
    }

    fn scale(&self) -> Option<u64> {
        Some(self.scale)
    }

    fn routes(&self, replicas: usize, seed: u64) -> Option<String> {
        self.program.routes.targets.contains(&Some(LoadTarget::Replica)).then(|| routes_words(replicas, seed))
    }

    fn suffices(&self, clients: u32, each: Option<Each>) -> Result<(), Error> {
        let rows = self.program.rows();
        rows.map_or(Ok(()), |(rows, options)| rows.suffice(options, clients.into(), each))
    }

    /// The gaps between starts of transactions at this rate, as in pgbench: drawn from a separate stream per
    /// thread, in whole microseconds.
    fn gaps(&self, rate_per_second: f64, wanted: Clients) -> Option<Gaps> {
        let streams = self.streams(wanted);
        let mean_us = 1e6 / rate_per_second * streams.threads.len() as f64;
        let streams: Vec<Random> = streams.threads.into_iter().map(|thread| thread.throttle).collect();
        Some(Gaps(Arc::new(move |thread| -> GapStream {
            let mut stream = streams[thread % streams.len()].clone();
            Box::new(move || 1000_u64.saturating_mul(stream.wait(mean_us).max(0) as u64))
        })))
    }

    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error> {
        clients(&self.program, places, self.scale, wanted)
    }
}

/// pgbench's warning: built-in scripts use the scale of the tables, whatever was given.
fn scale_ignored(given: Option<u32>, tables: u64) -> Option<String> {
    given
        .filter(|given| u64::from(*given) != tables)
        .map(|_| format!("scale option ignored, using count from pgbench_branches table ({tables})"))
}

/// Warns of a script that draws keys by `:scale` from tables of another scale: it misses existing rows, or
/// asks for missing ones.
fn other_scale(given: Option<u32>, scale: u64, tables: u64) -> Option<String> {
    let source = if given.is_some() { "" } else { " (no scale was given)" };
    let effect = match scale.cmp(&tables) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => "most keys that the script draws by it are not there",
        std::cmp::Ordering::Less => "keys that the script draws by it reach only some of the rows",
    };
    Some(format!(
        ":scale is {scale}{source}, but pgbench's tables have scale {tables} (count of pgbench_branches): {effect}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    /// A script at scale 20 on tables of scale 2, and the reverse: neither was reported.
    #[test]
    fn a_scale_that_is_not_that_of_the_tables_is_said() {
        let remark = |scale: Option<u32>, script: &str, branches: &str| {
            let options = PgbenchOptions { scale, vacuum: false, ..PgbenchOptions::default() };
            let source = ScriptSource::Text { name: "a.sql".into(), text: script.into(), weight: 1 };
            let mut workload = Pgbench::with_scripts(&options, &[source]).unwrap();
            let mut sql = FakeSql::new();
            sql.answer("to_regclass", &[&["t"]]);
            sql.answer("count(*) FROM pgbench_branches", &[&[branches]]);
            let mut site = Site::postgres(&mut sql);
            workload.check(&mut site).unwrap();
            workload.reset(&mut site).unwrap().join("; ")
        };
        let by_scale =
            "\\set aid random(1, 100000 * :scale)\nSELECT 1 FROM pgbench_accounts WHERE aid = :aid;";
        let text = remark(Some(20), by_scale, "2");
        assert!(text.starts_with(":scale is 20, but pgbench's tables have scale 2 "), "{text}");
        let text = remark(None, by_scale, "20");
        assert!(
            text.starts_with(":scale is 1 (no scale was given), but pgbench's tables have scale 20"),
            "{text}"
        );
        assert_eq!(remark(Some(20), by_scale, "20"), "");
        // The scale does not matter for other tables, or without the variable.
        assert_eq!(remark(Some(20), "\\set i random(1, :scale)\nSELECT :i;", "2"), "");
        assert_eq!(remark(Some(20), "SELECT 1 FROM pgbench_accounts WHERE aid = 1;", "2"), "");
        assert_eq!(
            scale_ignored(Some(20), 2).as_deref(),
            Some("scale option ignored, using count from pgbench_branches table (2)")
        );
        assert_eq!([scale_ignored(None, 2), scale_ignored(Some(2), 2)], [None, None]);
    }

    #[test]
    fn statements_have_a_place_in_their_file() {
        let source =
            |name: &str, text: &str| ScriptSource::Text { name: name.into(), text: text.into(), weight: 1 };
        let sources = [source("a.sql", "\\set x 1\nSELECT 1;\nSELEC 2;\n"), source("b.sql", "\n\nSELECT 3;")];
        let workload = Pgbench::with_scripts(&PgbenchOptions::default(), &sources).unwrap();
        let cases = [
            (0, Some("a.sql, line 1: \\set x 1")),
            (2, Some("a.sql, line 3: SELEC 2;")),
            (3, Some("b.sql, line 3: SELECT 3;")),
            (4, None),
        ];
        for (statement, wanted) in cases {
            assert_eq!(workload.statement_position(statement).as_deref(), wanted, "{statement}");
        }
    }
}
