//! The list of workloads: what clients ask ([`Spec`]), and the jobs that put data on a target first ([`Preparation`]).
//! Adding one touches its folder and this file.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use spec::Error;
use spec::plan::WorkloadOptions;
use spec::plan::topology::LoadTarget;

use crate::fields::fields;
use crate::jobs::{Job, file_name, must_be_readable};
use crate::pgbench::init;
use crate::sql_file::SqlFile;
use crate::workload::Work;
use crate::{http, osm, pgbench, redis, tiles};

/// One workload of an experiment file, e.g. `tiles = { table = "planet_osm_polygon" }`.
///
/// Unknown keys are errors of the reader; ranges and words are checked by [`Spec::validate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Spec {
    /// Scripts in pgbench's language.
    Pgbench(pgbench::PgbenchOptions),
    /// Map tiles. A transaction is a tile, or with `picker = "sessions"` a view. Each layer at each zoom has its own
    /// figures.
    Tiles(tiles::TilesOptions),
    /// Redis commands. A transaction is a whole pipeline; figures also count single commands.
    Redis(redis::RedisOptions),
    /// Timed loads by osm2pgsql, one per run, without clients, warm-up and duration. The tables are removed before the
    /// next run and after the last one.
    Osm(osm::OsmOptions),
    /// Requests to a web server. Failures are statuses of 300 or above (except 304 and `empty_status`), unexpected
    /// HTML, and incomplete answers.
    Http(http::HttpOptions),
}

impl Spec {
    /// All kinds, as written.
    pub const KINDS: [&'static str; 5] = ["pgbench", "tiles", "redis", "osm", "http"];

    /// The workload that a plan keeps.
    ///
    /// # Errors
    /// The unknown option.
    pub fn of(options: &WorkloadOptions) -> Result<Self, String> {
        options.read()
    }

    /// Its options, as a plan keeps them.
    #[must_use]
    pub fn options(&self) -> WorkloadOptions {
        WorkloadOptions::of(self)
    }

    /// One of [`Spec::KINDS`].
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pgbench(_) => "pgbench",
            Self::Tiles(_) => "tiles",
            Self::Redis(_) => "redis",
            Self::Osm(_) => "osm",
            Self::Http(_) => "http",
        }
    }

    /// Whether it would choose what it asks for (tiles, rows of variables) by the same rule.
    #[must_use]
    pub fn chooses_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tiles(own), Self::Tiles(other)) => own.chooses_like(other),
            (Self::Pgbench(own), Self::Pgbench(other)) => own.chooses_like(other),
            _ => false,
        }
    }

    /// Names of its options.
    #[must_use]
    pub fn option_names(&self) -> Vec<&'static str> {
        match self {
            Self::Pgbench(_) => fields::<pgbench::PgbenchOptions>(),
            Self::Tiles(_) => fields::<tiles::TilesOptions>(),
            Self::Redis(_) => fields::<redis::RedisOptions>(),
            Self::Osm(_) => fields::<osm::OsmOptions>(),
            Self::Http(_) => fields::<http::HttpOptions>(),
        }
    }

    /// Whether it asks a PostgreSQL server.
    #[must_use]
    pub fn needs_postgres(&self) -> bool {
        !matches!(self, Self::Redis(_) | Self::Http(_))
    }

    /// Whether it asks a Redis server.
    #[must_use]
    pub fn needs_redis(&self) -> bool {
        match self {
            Self::Redis(_) => true,
            Self::Tiles(options) => options.via == tiles::Via::Redis,
            Self::Pgbench(_) | Self::Osm(_) | Self::Http(_) => false,
        }
    }

    /// The tile server of the target that it goes through.
    #[must_use]
    pub fn needs_tile_server(&self) -> Option<&'static str> {
        match self {
            Self::Tiles(options) => options.via.tile_server(),
            Self::Pgbench(_) | Self::Redis(_) | Self::Osm(_) | Self::Http(_) => None,
        }
    }

    /// Whether each run begins with a state of the server that its workload makes for it alone.
    #[must_use]
    pub fn resets_before_each_run(&self) -> bool {
        match self {
            Self::Redis(options) => options.resets_before_each_run(),
            Self::Tiles(options) => options.via == tiles::Via::Redis,
            Self::Pgbench(_) | Self::Osm(_) | Self::Http(_) => false,
        }
    }

    /// Whether each run begins with an empty cache, which a warm-up would fill unseen.
    #[must_use]
    pub fn begins_cold(&self) -> bool {
        matches!(self, Self::Tiles(options) if options.begins_cold())
    }

    /// The option, if set, that may change only pgdyno's own servers.
    #[must_use]
    pub fn needs_own_redis(&self) -> Option<&'static str> {
        match self {
            Self::Redis(redis::RedisOptions { memory: Some(_), .. }) => Some("redis.memory"),
            Self::Tiles(tiles::TilesOptions { cache_memory: Some(_), .. }) => Some("tiles.cache_memory"),
            _ => None,
        }
    }

    /// Connections that each of its clients has.
    #[must_use]
    pub fn links(&self) -> u32 {
        match self {
            Self::Tiles(options) => options.links() as u32,
            Self::Pgbench(options) => options.targets().len() as u32,
            Self::Redis(_) | Self::Osm(_) | Self::Http(_) => 1,
        }
    }

    /// The servers that its scripts name, each once.
    #[must_use]
    pub fn load_targets(&self) -> Vec<LoadTarget> {
        match self {
            Self::Pgbench(options) => options.targets().into_iter().flatten().collect(),
            Self::Tiles(_) | Self::Redis(_) | Self::Osm(_) | Self::Http(_) => Vec::new(),
        }
    }

    /// Requests that one of its transactions has.
    #[must_use]
    pub fn commands_per_transaction(&self) -> u32 {
        match self {
            Self::Redis(options) => options.pipeline,
            Self::Pgbench(_) | Self::Tiles(_) | Self::Osm(_) | Self::Http(_) => 1,
        }
    }

    /// Checks ranges and words, without reading files.
    ///
    /// # Errors
    /// An error with a [`WrongOption`](crate::WrongOption), which names the key, e.g. `tiles.zooms`.
    pub fn validate(&self) -> Result<(), Error> {
        match self {
            Self::Pgbench(options) => options.validate(),
            Self::Tiles(options) => options.validate(),
            Self::Redis(options) => options.validate(),
            Self::Osm(options) => options.validate(),
            Self::Http(options) => options.validate(),
        }
    }

    /// The workload with one script for each step of a session, in order.
    ///
    /// # Errors
    /// A step that is none of its scripts, or a workload without scripts.
    pub fn for_session(&self, steps: &[&str]) -> Result<Self, Error> {
        match self {
            Self::Pgbench(options) => Ok(Self::Pgbench(options.for_session(steps)?)),
            Self::Tiles(_) | Self::Redis(_) | Self::Osm(_) | Self::Http(_) => {
                let what = format!(
                    "it has no scripts: a session is of pgbench scripts, and this is {}",
                    self.kind()
                );
                let hint = "users = { think = \"1s\" } pauses between transactions of any workload";
                Err(Error::new(spec::Class::BadInput, what).with_hint(hint))
            }
        }
    }

    /// Whether it is done once to its end in each run, and has no clients.
    #[must_use]
    pub fn is_job(&self) -> bool {
        matches!(self, Self::Osm(_) | Self::Tiles(tiles::TilesOptions { once: Some(_), .. }))
    }

    /// Whether the next invocation goes on with an interrupted run.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Tiles(tiles::TilesOptions { once: Some(_), .. }))
    }

    /// The files it reads in addition to scripts, as written: their content is part of the workload.
    #[must_use]
    pub fn data_files(&self) -> Vec<&Path> {
        match self {
            Self::Tiles(options) => options.files(),
            Self::Osm(options) => options.files(),
            Self::Http(options) => options.tiles.iter().map(PathBuf::as_path).collect(),
            Self::Pgbench(options) => options.csv().map(Path::new).into_iter().collect(),
            Self::Redis(_) => Vec::new(),
        }
    }

    /// The paths of the files that it reads or has written, without extracts and programs.
    #[must_use]
    pub fn files_but_extracts(&self) -> Vec<PathBuf> {
        match self {
            Self::Pgbench(options) => options.file_names().map(PathBuf::from).collect(),
            Self::Osm(options) => options.style.iter().chain(&options.flat_nodes).cloned().collect(),
            Self::Tiles(options) => {
                options.files().into_iter().chain(options.written_files()).map(Path::to_owned).collect()
            }
            Self::Redis(_) | Self::Http(_) => self.data_files().into_iter().map(Path::to_owned).collect(),
        }
    }

    /// Places in it in which variables may stand, each with its key below the workload's name.
    pub fn paths_mut(&mut self) -> Vec<([&'static str; 2], &mut PathBuf)> {
        match self {
            Self::Osm(options) => {
                let osm::OsmOptions { extract, style, flat_nodes, .. } = options;
                let others = [("style", style.as_mut()), ("flat_nodes", flat_nodes.as_mut())];
                let others = others.into_iter().filter_map(|(key, path)| Some((key, path?)));
                [("extract", extract)]
                    .into_iter()
                    .chain(others)
                    // A synthetic extract has no place that anybody wrote.
                    .filter(|(_, path)| !path.as_os_str().is_empty())
                    .map(|(key, path)| (["osm", key], path))
                    .collect()
            }
            Self::Http(options) => {
                options.tiles.as_mut().map(|path| (["http", "tiles"], path)).into_iter().collect()
            }
            Self::Pgbench(_) | Self::Tiles(_) | Self::Redis(_) => Vec::new(),
        }
    }

    /// The same without the places of its files: their names are kept.
    #[must_use]
    pub fn portable(&self) -> Self {
        match self {
            Self::Pgbench(options) => Self::Pgbench(options.portable()),
            Self::Tiles(options) => Self::Tiles(options.portable()),
            Self::Redis(options) => Self::Redis(options.clone()),
            Self::Osm(options) => Self::Osm(options.portable()),
            Self::Http(options) => Self::Http(options.portable()),
        }
    }

    /// The workload it describes; script files and tile lists are read here, relative ones from `folder`.
    ///
    /// # Errors
    /// As [`Spec::validate`], and when files cannot be read or parsed.
    pub fn open(&self, folder: &std::path::Path) -> Result<Work, Error> {
        self.validate()?;
        Ok(match self {
            Self::Pgbench(options) => Work::Clients(Box::new(pgbench::Pgbench::open(options, folder)?)),
            Self::Tiles(options) if options.once.is_some() => {
                Work::Job(Box::new(tiles::Once::open(options, folder)?))
            }
            Self::Tiles(options) => Work::Clients(Box::new(tiles::Tiles::open(options, folder)?)),
            Self::Redis(options) => Work::Clients(Box::new(redis::Redis::open(options)?)),
            Self::Osm(options) => Work::Job(Box::new(osm::Loads::open(options, folder)?)),
            Self::Http(options) => Work::Clients(Box::new(http::Http::open(options, folder)?)),
        })
    }
}

/// The jobs of an experiment, e.g. `osm = { extract = "malta.osm.pbf" }`, `sql = ["views.sql"]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preparation {
    /// Load OpenStreetMap data with osm2pgsql. A list does several loads in order, each with its own `prefix`.
    #[serde(with = "osm::several")]
    #[schemars(with = "spec::experiment::OneOrMany<osm::OsmOptions>")]
    pub osm: Vec<osm::OsmOptions>,
    /// Make pgbench's tables, as `pgbench -i` does.
    pub pgbench: Option<init::InitOptions>,
    /// SQL files to run in order, each in one transaction, or plain dumps of pg_dump. They run again when they change,
    /// so start with `DROP TABLE IF EXISTS` (`pg_dump --clean --if-exists`).
    #[serde(deserialize_with = "one_or_many")]
    #[schemars(with = "spec::experiment::OneOrMany<PathBuf>")]
    pub sql: Vec<PathBuf>,
}

/// A file that a preparation reads.
#[derive(Debug)]
pub struct PreparedFrom<'a> {
    /// Where it is named below `prepare`: `osm.[0].extract`, `sql.[0]`.
    pub key: Vec<String>,
    /// Its place, as written until the reader of the experiment file changes it.
    pub path: &'a mut PathBuf,
    /// Says what is wrong with the file, if anything.
    pub check: fn(&Path) -> Result<(), String>,
}

impl Preparation {
    /// Jobs whose options are a table.
    pub const TABLES: [&'static str; 1] = ["pgbench"];

    /// The jobs that a plan keeps.
    ///
    /// # Errors
    /// The unknown option.
    pub fn of(options: &WorkloadOptions) -> Result<Self, String> {
        options.read()
    }

    /// Their options, as a plan keeps them.
    #[must_use]
    pub fn options(&self) -> WorkloadOptions {
        WorkloadOptions::of(self)
    }

    /// The files it reads.
    pub fn files_mut(&mut self) -> Vec<PreparedFrom<'_>> {
        let mut files = Vec::new();
        for (index, load) in self.osm.iter_mut().enumerate() {
            let key = |name: &str| vec!["osm".to_owned(), format!("[{index}]"), name.to_owned()];
            if load.has_extract() {
                files.push(PreparedFrom {
                    key: key("extract"),
                    path: &mut load.extract,
                    check: |path| ::osm::extract::check(path).map(drop).map_err(|error| error.to_string()),
                });
            }
            let style = load.style.as_mut();
            files.extend(style.map(|path| PreparedFrom { key: key("style"), path, check: must_be_readable }));
            // Looked at when the load begins.
            let nodes = load.flat_nodes.as_mut().map(|path| ("flat_nodes", path));
            let program =
                load.program.as_mut().filter(|path| osm::is_a_path(path)).map(|path| ("program", path));
            files.extend(nodes.into_iter().chain(program).map(|(name, path)| PreparedFrom {
                key: key(name),
                path,
                check: |_| Ok(()),
            }));
        }
        files.extend(self.sql.iter_mut().enumerate().map(|(index, path)| PreparedFrom {
            key: vec!["sql".to_owned(), format!("[{index}]")],
            path,
            check: must_be_readable,
        }));
        files
    }

    /// The texts among the files it reads, each once: all but the data.
    #[must_use]
    pub fn texts(&self) -> Vec<(&'static str, &Path)> {
        let mut styles: Vec<&Path> = Vec::new();
        for style in self.osm.iter().filter_map(|load| load.style.as_deref()) {
            if !styles.contains(&style) {
                styles.push(style);
            }
        }
        let styles = styles.into_iter().map(|path| ("prepare.osm.style", path));
        styles.chain(self.sql.iter().map(|path| ("prepare.sql", path.as_path()))).collect()
    }

    /// Names of the options of a job that is there; none where it is not.
    #[must_use]
    pub fn option_names(&self, job: &str) -> Vec<&'static str> {
        match job {
            "osm" if !self.osm.is_empty() => fields::<osm::OsmOptions>(),
            "pgbench" if self.pgbench.is_some() => fields::<init::InitOptions>(),
            _ => Vec::new(),
        }
    }

    /// What is wrong with ranges and words, each with the way to the table it is in: `osm`, `[1]`.
    #[must_use]
    pub fn problems(&self) -> Vec<(Vec<String>, Error)> {
        let mut found = Vec::new();
        for (index, load) in self.osm.iter().enumerate() {
            let earlier = || self.osm[..index].iter().any(|earlier| earlier.prefix == load.prefix);
            let error = load.validate().err().or_else(|| earlier().then(|| osm::prefix_taken(&load.prefix)));
            found.extend(error.map(|error| (vec!["osm".to_owned(), format!("[{index}]")], error)));
        }
        let pgbench = self.pgbench.as_ref().and_then(|options| options.validate().err());
        found.extend(pgbench.map(|error| (vec!["pgbench".to_owned()], error)));
        found
    }

    /// The jobs in the order they are done; no two have one name.
    #[must_use]
    pub fn jobs(&self) -> Vec<Box<dyn Job + '_>> {
        let mut jobs: Vec<Box<dyn Job + '_>> = Vec::new();
        for load in osm::LoadJob::all(&self.osm) {
            jobs.push(Box::new(load));
        }
        if let Some(pgbench) = &self.pgbench {
            jobs.push(Box::new(pgbench));
        }
        for sql in SqlFile::all(&self.sql) {
            jobs.push(Box::new(sql));
        }
        jobs
    }

    /// The same without the places of its files, which differ between machines: names are left.
    #[must_use]
    pub fn portable(&self) -> Self {
        Self {
            osm: self.osm.iter().map(osm::OsmOptions::portable).collect(),
            pgbench: self.pgbench.clone(),
            sql: self.sql.iter().map(|path| file_name(path).into()).collect(),
        }
    }
}

/// `"a.sql"`, or `["a.sql", "b.sql"]`.
fn one_or_many<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<PathBuf>, D::Error> {
    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = Vec<PathBuf>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Self::Value, E> {
            Ok(vec![path.into()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut paths = Vec::new();
            while let Some(path) = list.next_element()? {
                paths.push(path);
            }
            Ok(paths)
        }
    }

    source.deserialize_any(Either)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They had one name and one fingerprint: the record of one took the place of the other's.
    #[test]
    fn two_sql_files_with_one_base_name_are_told_apart() {
        let sql = ["a/x.sql", "y.sql", "b/x.sql", "x.sql (2)"].map(PathBuf::from).to_vec();
        let prepare = Preparation { sql, ..Preparation::default() };
        let jobs = prepare.jobs();
        let names: Vec<_> = jobs.iter().map(|job| job.name()).collect();
        assert_eq!(names, ["sql x.sql", "sql y.sql", "sql x.sql (2)", "sql x.sql (2) (2)"]);
        let files = jobs.iter().flat_map(|job| job.files());
        let inputs = files.map(|(name, path)| (name, path.display().to_string())).collect();
        let made_from: Vec<_> = jobs.iter().map(|job| job.made_from(&inputs).concat()).collect();
        assert_eq!(made_from, ["a/x.sql", "y.sql", "b/x.sql", "x.sql (2)"]);
    }

    /// What fingerprints are made of: data that an earlier build prepared are found again.
    #[test]
    fn jobs_are_made_from_the_same_as_in_earlier_builds() {
        let osm =
            osm::OsmOptions { program: Some("/bin/x".into()), ..osm::OsmOptions::new("/data/x.osm.pbf") };
        let pgbench = Some(init::InitOptions::at_scale(10));
        let prepare = Preparation { osm: vec![osm], pgbench, sql: vec!["/data/y.sql".into()] };
        let inputs =
            [("x.osm.pbf", "1"), ("y.sql", "2")].map(|(name, hash)| (name.into(), hash.into())).into();
        let parts: Vec<_> =
            prepare.jobs().iter().map(|job| (job.name(), job.made_from(&inputs).join("|"))).collect();
        let wanted = [
            (
                "osm",
                r#"{"extract":"","prefix":"planet_osm","cache_mb":null,"processes":null,"slim":true,"drop":false,"hstore":false,"style":null,"output":null,"program":null}|1"#,
            ),
            (
                "pgbench -i",
                r#"{"scale":10,"steps":"dtgvp","fillfactor":100,"unlogged":false,"foreign_keys":false,"partitions":0,"partition_method":"range","tablespace":null,"index_tablespace":null,"quiet":false}"#,
            ),
            ("sql y.sql", "2"),
        ];
        assert_eq!(parts, wanted.map(|(name, parts)| (name.to_owned(), parts.to_owned())));
    }

    fn read(text: &str) -> Result<Spec, String> {
        let spec: Spec = serde_json::from_str(text).map_err(|error| error.to_string())?;
        spec.validate().map_err(|error| error.to_string())?;
        Ok(spec)
    }

    #[test]
    fn the_shortest_forms_are_enough() {
        for text in [
            r#"{"pgbench": {}}"#,
            r#"{"pgbench": {"builtin": "tpcb-like"}}"#,
            r#"{"pgbench": {"files": ["a.sql@3"], "mode": "prepared", "define": {"a": 1, "b": true, "c": "x", "d": 1.5}}}"#,
            r#"{"tiles": {"table": "planet_osm_polygon"}}"#,
            r#"{"tiles": {"tables": ["a", "b"], "zooms": [10, 10], "picker": {"trace": "t.txt"}, "variant": "unfiltered"}}"#,
            r#"{"redis": {"command": "set"}}"#,
            r#"{"redis": {"command": "get", "value_bytes": 1, "keys": 1}}"#,
            r#"{"redis": {"command": "mixed", "set_pct": 5, "pipeline": 16, "value_bytes": [1000, 64000], "key_distribution": "zipfian", "zipf_parameter": 1.2, "ttl_s": 60, "memory": "64MB", "eviction": "allkeys-lru"}}"#,
            r#"{"redis": {"command": "set", "key_distribution": "one"}}"#,
            r#"{"http": {"url": "http://h/"}}"#,
            r#"{"http": {"url": "https://h/{z}/{x}/{-y}", "tiles": "t.txt", "accept": ["image/*"], "gzip": false, "keepalive": false, "insecure": true}}"#,
        ] {
            let spec = read(text).unwrap();
            let again = serde_json::to_string(&spec).unwrap();
            assert_eq!(read(&again).unwrap(), spec, "{again}");
        }
    }

    /// What experiments are known by, and what their plans keep.
    #[test]
    fn redis_options_of_earlier_builds_are_written_as_they_were() {
        let spec = read(r#"{"redis": {"command": "get"}}"#).unwrap();
        let wanted = r#"{"redis":{"command":"get","value_bytes":32000,"keys":10000}}"#;
        assert_eq!(serde_json::to_string(&spec).unwrap(), wanted);
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_right_word() {
        let cases = [
            (r#"{"pgbench": {"builtins": "x"}}"#, "unknown field `builtins`"),
            (r#"{"pgbench": {"mode": "prepare"}}"#, "did you mean \"prepared\"?"),
            (r#"{"pgbench": {"builtin": "selekt-only"}}"#, "did you mean \"select-only\"?"),
            (r#"{"pgbench": {"files": ["a.sql@x"]}}"#, "pgbench.files: "),
            (r#"{"pgbench": {"latency_limit_ms": 1e308}}"#, "at most 86400000 (a day)"),
            (r#"{"pgbench": {"scale": 0}}"#, "pgbench.scale: must be at least 1"),
            (r#"{"tiles": {}}"#, "tiles.table: is missing"),
            (r#"{"tiles": {"table": "a", "tables": ["b"]}}"#, "tiles.tables: give table or tables"),
            (r#"{"tiles": {"table": "a", "zooms": [16, 12]}}"#, "tiles.zooms: invalid range [16, 12]"),
            (r#"{"tiles": {"table": "a", "zooms": [12, 23]}}"#, "tiles.zooms"),
            (
                r#"{"tiles": {"table": "a", "zooms": [1, 2, 3]}}"#,
                "invalid length 3, expected an array of length 2",
            ),
            (r#"{"tiles": {"table": "a", "picker": "dat"}}"#, "did you mean \"data\"?"),
            (r#"{"tiles": {"table": "a", "picker": "trace"}}"#, "picker trace needs a file"),
            (r#"{"tiles": {"table": "a", "variant": "morden"}}"#, "did you mean \"modern\"?"),
            (r#"{"tiles": {"table": "a", "min_pixels": -1}}"#, "tiles.min_pixels"),
            (r#"{"redis": {}}"#, "missing field `command`"),
            (r#"{"redis": {"command": "del"}}"#, "unknown command \"del\""),
            (r#"{"redis": {"command": "get", "keys": 0}}"#, "redis.keys: 0 is not within"),
            (r#"{"redis": {"command": "get", "value_bytes": 0}}"#, "redis.value_bytes: 0 is not within"),
            (r#"{"redis": {"command": "get", "value_bytes": [9, 3]}}"#, "invalid range [9, 3]"),
            (r#"{"redis": {"command": "get", "value_bytes": [9]}}"#, "a number of bytes, or two"),
            (r#"{"redis": {"command": "mixed", "set_pct": 100}}"#, "redis.set_pct: 100 is not within 1..99"),
            (r#"{"redis": {"command": "get", "pipeline": 1001}}"#, "redis.pipeline: 1001 is not within"),
            (r#"{"redis": {"command": "get", "pipeline": 9, "value_bytes": 536870912}}"#, "more than 1 GB"),
            (r#"{"redis": {"command": "get", "ttl_s": 0}}"#, "redis.ttl_s: 0 is not within"),
            (r#"{"redis": {"command": "get", "zipf_parameter": 1}}"#, "redis.zipf_parameter: 1 is not"),
            (r#"{"redis": {"command": "get", "key_distribution": "zipf"}}"#, "did you mean \"zipfian\"?"),
            (r#"{"redis": {"command": "get", "memory": "64"}}"#, "invalid size of memory"),
            (r#"{"redis": {"command": "get", "eviction": "allkeys-lru"}}"#, "set redis.memory too"),
            (
                r#"{"redis": {"command": "get", "memory": "9MB", "eviction": "volatile-lru"}}"#,
                "set redis.ttl_s",
            ),
            (r#"{"redis": {"command": "get", "eviction": "allkeys"}}"#, "unknown policy of eviction"),
            (r#"{"http": {}}"#, "missing field `url`"),
            (r#"{"http": {"url": "h"}}"#, "http.url: must begin with http://"),
            (r#"{"http": {"url": "http://h/{z}/{x}/{y}"}}"#, "http.tiles: is missing"),
            (r#"{"http": {"url": "http://h/", "tiles": "t"}}"#, "http.tiles: has no use"),
            (
                r#"{"http": {"url": "http://h/", "accept": ["png"]}}"#,
                "http.accept: invalid content type \"png\"",
            ),
            (r#"{"http": {"url": "http://h/", "insecure": true}}"#, "http.insecure: has no use"),
            (r#"{"tile": {}}"#, "unknown variant `tile`"),
        ];
        for (text, wanted) in cases {
            let message = read(text).unwrap_err();
            assert!(message.contains(wanted), "{message} for {text}");
        }
    }

    #[test]
    fn scripts_are_read_with_their_weights() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.sql"), "select 1;").unwrap();
        let open = |text: &str| read(text).unwrap().open(folder.path()).map_err(|error| error.to_string());
        let workload = open(r#"{"pgbench": {"builtin": "select@2", "files": "a.sql@3"}}"#).unwrap();
        let scripts: Vec<_> =
            workload.scripts().into_iter().map(|script| (script.name, script.weight)).collect();
        assert_eq!(scripts, [("<builtin: select only>".to_owned(), 2), ("a.sql".to_owned(), 3)]);
        let statements: Vec<_> =
            workload.clients().unwrap().statements().into_iter().map(|statement| statement.text).collect();
        assert_eq!(statements.last().map(String::as_str), Some("select 1;"));
    }

    #[test]
    fn scripts_that_cannot_run_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let cases: [(&[u8], &str); 6] = [
            (b"", "empty command list for script \"a.sql\""),
            (b"select 1;\n\\shell rm x\n", "a.sql:2: \\shell is not supported yet"),
            (b"\\frob\n", "a.sql:1: invalid command"),
            (b"\\if true\nselect 1;", "\\if without matching \\endif"),
            (b"select '\xff';", "script \"a.sql\" is not UTF-8 text"),
            (b"\\set x 1 +\nselect 1;", "a.sql:1: syntax error"),
        ];
        for (script, wanted) in cases {
            std::fs::write(folder.path().join("a.sql"), script).unwrap();
            let result = read(r#"{"pgbench": {"files": ["a.sql"]}}"#).unwrap().open(folder.path());
            let message = result.err().unwrap().to_string();
            assert!(message.contains(wanted), "{message} for {wanted}");
        }
        let missing = read(r#"{"pgbench": {"files": ["b.sql"]}}"#).unwrap().open(folder.path());
        assert!(missing.err().unwrap().to_string().contains("b.sql: cannot be read"));
    }
}
