//! Builds an experiment from the tables of a file, with defaults. Mistakes are noted in the document and
//! replaced by placeholders, so that the rest is checked too.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use protocol::postgres::conninfo::ConnectionString;
use spec::plan::pooler::{PoolMode, PoolerOptions};
use spec::plan::storage::Storage;
use spec::{AskedLimit, Class, Error, Prices, Profile};
use toml::Value;
use toml::de::DeValue;
use workloads::{Preparation, Spec, WrongOption};

use super::apart::take_apart;
use super::document::Document;
use super::factors::Factors;
use super::model::{
    ArmSpec, Compare, DurationSpec, ExperimentFile, LoadKind, LoadSpec, Measure, NamedWorkload, slices,
};
use super::problem::suggestion;
use super::unused::is_of_a_mistake;
use super::variables;
use super::{keys, question, tile_servers};
use crate::factors::{self, LevelNames, SETTINGS, factor};
use crate::promise;
use crate::target_spec::by_url;
use server::pooler;
use server::settings::{Machine, reserved, resolve};
use spec::experiment::value::{described, text, whole_number};
use spec::experiment::{self as written, CellOrder, LengthOrBounds, Tables, ValueList};
use spec::plan::change::Change;
use spec::plan::tile_server;
use spec::plan::{Build, Named, Placement, PlannedCalibration, ProbeOptions, TargetSpec};

const WARMUP: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 8;
const MARGIN: f64 = 0.03;
/// Default width between the bounds of a limit, as a share.
const WIDTH: f64 = 0.03;
/// Least width between the bounds of a limit, as a share: trials cannot resolve less.
const LEAST_WIDTH: f64 = 0.005;
const MOST_WIDTH: f64 = 0.5;
/// A load may exceed the limit, up to this factor.
const MOST_SHARE: f64 = 10.0;
const CONFIRM: &str = "confirm = [\"ramp 0.5..1 over 10s\", \"spike 0.5 to 1 for 2s at 5s\"]";

const CALIBRATION_TIME: Duration = Duration::from_secs(30);
const MOST_CLIENTS: u64 = 100_000;
const CALIBRATION_CLIENTS: [u32; 3] = [1, 8, 64];
/// Tables that describe the runs of other experiments.
const OF_OTHERS: [&str; 12] = [
    "server",
    "version",
    "workload",
    "factors",
    "beside",
    "compare",
    "settings",
    "change",
    "pooler",
    "placement",
    "storage",
    "load",
];

pub(super) struct Builder<'d, 'a> {
    pub(super) document: &'d mut Document<'a>,
    pub(super) path: &'d Path,
    pub(super) variables: &'d dyn Fn(&str) -> Option<String>,
    pub(super) look: bool,
    pub(super) logins: BTreeMap<String, ConnectionString>,
}

impl Builder<'_, '_> {
    /// The whole file; complete only if no mistake was noted.
    pub(super) fn file(&mut self, kept: &str) -> ExperimentFile {
        self.tables_are_tables();
        let mut written: written::Experiment = self.document.read();
        self.in_order(&mut written);
        let as_written = written.clone();
        let calibrate = written.calibrate.as_ref().map(|calibrate| self.calibrate(calibrate, &as_written));
        let workloads = self.workloads(written.workload.into_iter().map(|(name, _)| name).collect());
        let named = Named {
            poolers: self.poolers(written.pooler),
            changes: self.changes(written.change),
            servers: self.servers(written.server),
            builds: self.builds(written.version),
            placements: self.placements(written.placement),
            storages: self.storages(written.storage),
        };
        let prepare = self.prepare();
        let probe = written.probe.map(ProbeOptions::from);
        let known = LevelNames { preparation: Some(Cow::Borrowed(&prepare)), ..known(&workloads, &named) };
        let beside = written.beside.map(|beside| self.beside(beside, &known));
        let mut factors = self.factors(written.factors, &workloads, &known, beside.as_ref());
        let load = self.load(&written.load, &mut factors);
        if calibrate.is_some() {
            factors = Factors::default();
        }
        // With named servers the target is the first of them, unless it is named too.
        let target = match (written.target, named.servers.values().next()) {
            (None, Some(first)) => first.clone(),
            (target, _) => self.target(&["target"], target),
        };
        let has_jobs = probe.is_some() || prepare != Preparation::default();
        let has_jobs = has_jobs || ["probe", "prepare"].iter().any(|table| self.document.is_wrong(&[table]));
        if workloads.is_empty() && !has_jobs && calibrate.is_none() && !self.document.is_wrong(&["workload"])
        {
            self.document.missing(&[], "workload");
        }
        let question = match written.question {
            None if workloads.is_empty() && has_jobs && calibrate.is_none() => {
                let probed = named.servers.values().chain(Some(&target).filter(|_| named.servers.is_empty()));
                question::of_jobs(&prepare, probed.filter(|_| probe.is_some()))
            }
            None => {
                self.document.missing(&[], "question");
                String::new()
            }
            Some(question) => question,
        };
        let arms = self.arms(written.settings);
        let is_compared = written.compare.is_some();
        let arms = self.taken_apart(arms, written.compare.as_ref());
        let former = "load.limit is now load.promise; the experiment is the same";
        ExperimentFile {
            logins: std::mem::take(&mut self.logins),
            name: self
                .path
                .file_stem()
                .map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned()),
            path: self.path.to_owned(),
            text: kept.to_owned(),
            written: as_written,
            asked_rounds: None,
            question,
            taste: written.taste,
            seed: written.seed.map(|seed| seed.0),
            target,
            compare: written.compare.map(|compare| self.compare(compare, &known)),
            change_lines: self.lines_of_changes(&named.changes),
            prepare: prepare.clone(),
            probe,
            named: named.clone(),
            workloads,
            factors,
            beside,
            arms,
            load,
            measure: self.measure(written.measure, &written.load, (is_compared, calibrate.is_some())),
            prices: self.prices(written.prices),
            calibrate,
            commands: Vec::new(),
            notes: written.load.limit.iter().map(|_| former.to_owned()).collect(),
        }
    }

    /// serde would read a list as the values of a table in their order.
    fn tables_are_tables(&mut self) {
        for (table, _) in keys::keys_of_tables() {
            self.document.must_be_table(&table.split('.').collect::<Vec<_>>());
        }
        for name in self.document.names(&["workload"]) {
            for kind in Spec::KINDS {
                self.document.must_be_table(&["workload", &name, kind]);
            }
        }
        for options in Preparation::TABLES {
            self.document.must_be_table(&["prepare", options]);
        }
    }

    /// Puts tables into the order of the file: it is the order of arms and levels.
    fn in_order(&self, written: &mut written::Experiment) {
        let start = |path: &[&str], name: &str| self.document.start(&[path, &[name]].concat());
        written.workload.sort_by_name(|name| start(&["workload"], name));
        written.server.sort_by_name(|name| start(&["server"], name));
        written.settings.sort_by_name(|name| start(&["settings"], name));
        written.change.sort_by_name(|name| start(&["change"], name));
        for (arm, settings) in written.settings.iter_mut() {
            settings.sort_by_name(|name| start(&["settings", arm], name));
        }
        for (factor, levels) in written.change.iter_mut() {
            levels.sort_by_name(|name| start(&["change", factor], name));
        }
    }

    fn noted<T>(&mut self, place: &[&str], read: Result<T, String>) -> Option<T> {
        let wrong = |why: String| {
            // Advice is on a separate line.
            let (why, hint) = why.split_once('\n').map_or((&*why, None), |(why, hint)| (why, Some(hint)));
            let key = format!("`{}`", self.document.named(place));
            self.document.wrong_value(place, Some(key), why.to_owned(), hint);
        };
        read.map_err(wrong).ok()
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn servers(&mut self, written: Tables<written::TargetChoice>) -> BTreeMap<String, TargetSpec> {
        self.names_are_names("server", "a server");
        let mut servers: BTreeMap<String, TargetSpec> = BTreeMap::new();
        for (name, written) in written {
            let spec = self.target(&["server", &name], Some(written));
            let same = servers.iter().find(|(_, other)| other.identity() == spec.identity());
            if let Some((other, _)) = same.filter(|_| !self.document.is_wrong(&["server", &name])) {
                let message = format!("servers {other} and {name} are one server");
                self.document.wrong_key(&["server", &name], message, None);
            }
            servers.insert(name, spec);
        }
        servers
    }

    /// Folders of builds, relative to the file.
    fn builds(&mut self, written: Tables<written::Version>) -> BTreeMap<String, Build> {
        self.names_are_names("version", "a version");
        let mut builds = BTreeMap::new();
        for (name, written) in written {
            let place = ["version", &name, "bin"];
            let Some(bin) = self.expanded(&place, &written.bin) else { continue };
            let bin = self.folder().join(bin);
            if self.look && !bin.join("initdb").is_file() {
                let hint = "the folder with initdb and postgres, such as /usr/lib/postgresql/15/bin";
                let message = format!("there is no initdb in {}", bin.display());
                self.document.wrong(&place, message, Some(hint));
            }
            builds.insert(name, Build { bin, hash: String::new() });
        }
        builds
    }

    fn target(&mut self, table: &[&str], written: Option<written::TargetChoice>) -> TargetSpec {
        let apart = [
            (["managed", "url"], "a target is one server"),
            (["managed", "redis"], "write managed = { redis = true }"),
            (["managed", "change_server"], "a managed server may always be changed"),
        ];
        for (keys, why) in apart {
            self.document.exclusive(&table.join("."), keys, why);
        }
        // Placeholder for an unreadable target; has all that the rest may ask for.
        let any = TargetSpec::Managed {
            name: String::new(),
            version: None,
            extensions: Vec::new(),
            redis: true,
            bin: None,
            storage: None,
            tile_servers: Vec::new(),
        };
        match written {
            None => self.document.missing(&table[..table.len() - 1], table[table.len() - 1]),
            Some(written::TargetChoice { managed: Some(managed), tile_servers, .. }) => {
                let tile_servers = self.tile_servers(table, &tile_servers);
                return self.managed(table, managed).with_tile_servers(tile_servers);
            }
            Some(written::TargetChoice { url: Some(url), redis, change_server, tile_servers, .. }) => {
                let tile_servers = self.tile_servers(table, &tile_servers);
                let redis = redis.map(|redis| self.redis_url(table, &redis).unwrap_or(redis));
                let Some(url) = self.expanded(&[table, &["url"]].concat(), &url) else { return any };
                match ConnectionString::parse(&url) {
                    Ok(url) => {
                        let target = by_url(&url, redis, change_server).with_tile_servers(tile_servers);
                        let name = if let [_, name] = table { name } else { "" };
                        self.logins.insert(name.to_owned(), url);
                        return target;
                    }
                    Err(error) => {
                        let place = [table, &["url"]].concat();
                        let key = format!("`{}`:", place.join("."));
                        self.document.wrong_value(&place, Some(key), error.to_string(), None);
                    }
                }
            }
            Some(_) if self.document.is_wrong(table) => {}
            Some(_) => self.document.missing(table, "url"),
        }
        any
    }

    fn managed(&mut self, table: &[&str], written: written::Managed) -> TargetSpec {
        let at = |key| [table, &["managed", key]].concat();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = written.name.unwrap_or_else(|| "default".to_owned());
        if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
            self.document.wrong(
                &at("name"),
                format!("\"{name}\" is not 1 to 40 letters, digits, - and _"),
                None,
            );
        }
        let version = written.version.and_then(|version| {
            // Accepts `15` or `"15"`.
            let number = version.as_str().and_then(|text| text.parse().ok()).map_or(version, Value::Integer);
            let why = |why| format!("{why}: a major version of PostgreSQL, e.g. 15");
            self.noted(&at("version"), whole_number(&number, 9, 99).map_err(why))
        });
        let extensions = self.each(&at("extensions"), &written.extensions, |_, _, value| text(value));
        TargetSpec::Managed {
            name,
            version: version.map(|version| version as u32),
            extensions,
            redis: written.redis,
            bin: None,
            storage: None,
            tile_servers: Vec::new(),
        }
    }

    /// Tile servers, each kind once; their programs are relative to the file.
    fn tile_servers(&mut self, table: &[&str], written: &ValueList) -> Vec<tile_server::TileServerOptions> {
        let mut kinds = Vec::new();
        self.each(&[table, &["tile_servers"]].concat(), written, |builder, place, value| {
            let mut options = tile_servers::read(value)?;
            if kinds.contains(&options.kind) {
                return Err(format!("names {} twice", options.kind));
            }
            kinds.push(options.kind);
            let program = options.program.take().and_then(|program| {
                builder.expanded(&[place, &["program"]].concat(), &program.to_string_lossy())
            });
            options.program = program.map(|program| builder.folder().join(program));
            Ok(options)
        })
    }

    fn redis_url(&mut self, table: &[&str], written: &str) -> Option<String> {
        let url = self.expanded(&[table, &["redis"]].concat(), written)?;
        let place = url.strip_prefix("redis://").unwrap_or_default().trim_end_matches('/');
        let port = place.rsplit_once(':').map_or("6379", |(_, port)| port);
        if place.is_empty() || place.contains('@') || port.parse::<u16>().is_err() {
            let hint = "user names, passwords and database numbers are not supported";
            let message = "`target.redis` must be redis://HOST or redis://HOST:PORT".to_owned();
            self.document.wrong(&[table, &["redis"]].concat(), message, Some(hint));
            return None;
        }
        Some(url)
    }

    fn prepare(&mut self) -> Preparation {
        let mut written: Preparation = self.document.read_at(&["prepare"]).unwrap_or_default();
        for (table, error) in written.problems() {
            let place: Vec<&str> = ["prepare"].into_iter().chain(table.iter().map(String::as_str)).collect();
            // A load that lacks a key because of a removed mistake is not a second mistake. A single load has
            // no index in a list.
            let alone =
                place.ends_with(&["[0]"]) && self.document.value(&["prepare", "osm", "[1]"]).is_none();
            let whole = if alone { &place[..place.len() - 1] } else { &place[..] };
            if !self.document.is_wrong(whole) {
                self.workload_error(&place, &error);
            }
        }
        for file in written.files_mut() {
            let place: Vec<&str> =
                ["prepare"].into_iter().chain(file.key.iter().map(String::as_str)).collect();
            let Some(path) = self.expanded(&place, &file.path.to_string_lossy()) else { continue };
            *file.path = self.folder().join(path);
            if let (true, Err(why)) = (self.look, (file.check)(file.path)) {
                self.document.wrong(&place, why, None);
            }
        }
        written
    }

    fn workloads(&mut self, names: Vec<String>) -> Vec<NamedWorkload> {
        let read = |name: String| {
            let spec: Spec = self.document.read_at(&["workload", &name])?;
            Some((name, spec))
        };
        let mut written: Vec<(String, Spec)> = names.into_iter().filter_map(read).collect();
        for (name, spec) in &mut written {
            for ([kind, key], path) in spec.paths_mut() {
                let place = ["workload", name, kind, key];
                if let Some(expanded) = self.expanded(&place, &path.to_string_lossy()) {
                    *path = expanded.into();
                }
            }
        }
        self.names_are_names("workload", "a workload");
        for (name, spec) in &written {
            let place = ["workload", name];
            let checked = if self.look { spec.open(self.folder()).map(drop) } else { spec.validate() };
            if let (false, Err(error)) = (self.document.is_wrong(&place), checked) {
                self.workload_error(&place, &error);
            }
        }
        written.into_iter().map(|(name, spec)| NamedWorkload { name, spec }).collect()
    }

    /// Notes unreadable names in a table: empty or blank.
    fn names_are_names(&mut self, table: &str, of_what: &str) {
        for name in self.document.names(&[table]).iter().filter(|name| name.trim().is_empty()) {
            let message = format!("{of_what} needs a name, not `[{table}.\"{name}\"]`");
            self.document.wrong_key(&[table, name], message, None);
        }
    }

    /// Notes an error of a workload's own check, at the key it names.
    fn workload_error(&mut self, table: &[&str], error: &Error) {
        let (paths, key, message) = match error.attached() {
            Some(WrongOption { key, problem }) => {
                (vec![key.split('.').collect()], Some(format!("{key}:")), problem.clone())
            }
            // Scripts, lists of tiles and extracts come from files.
            None if error.class() == Class::BadInput => (
                vec![
                    vec!["pgbench", "files"],
                    vec!["pgbench", "scripts"],
                    vec!["tiles", "picker"],
                    vec!["osm", "extract"],
                ],
                None,
                error.to_string(),
            ),
            None => (Vec::new(), None, error.to_string()),
        };
        // The first part of a key may be the table's own name.
        let whole = paths.iter().map(|path| &path[..]);
        let (inner, outer) = (paths.iter().map(|path| &path[1..]), paths.iter().map(|path| &path[..1]));
        let mut places = whole
            .chain(inner)
            .chain(outer)
            .map(|path| [table, path].concat())
            .filter(|place| place.len() > table.len());
        let place = places.find(|place| self.document.value(place).is_some());
        // The error of a script shows its source on further lines.
        let mut lines = message.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        self.document.wrong_value(place.as_deref().unwrap_or(table), key, first, lines.next());
    }

    fn poolers(&mut self, written: Tables<PoolerOptions>) -> BTreeMap<String, PoolerOptions> {
        let mut written: BTreeMap<String, PoolerOptions> = written.into_iter().collect();
        self.names_are_names("pooler", "a pooler");
        for (name, options) in &written {
            if factors::ways().any(|way| way == name) {
                let message = format!("a pooler cannot be called `{name}`");
                let hint = "that is a way to connect already";
                self.document.wrong_key(&["pooler", name], message, Some(hint));
            }
            if let Err(error) = pooler::check(options) {
                self.document.wrong_key(&["pooler", name], error.to_string(), None);
            }
        }
        // An unreadable pooler exists nevertheless: levels that name it are not a second mistake.
        let any = PoolerOptions { pool_mode: PoolMode::Session, pool_size: 1, settings: BTreeMap::new() };
        for name in self.document.names(&["pooler"]) {
            written.entry(name).or_insert_with(|| any.clone());
        }
        written
    }

    fn placements(&mut self, written: Tables<Placement>) -> BTreeMap<String, Placement> {
        let written: BTreeMap<String, Placement> = written.into_iter().collect();
        self.names_are_names("placement", "a placement");
        for name in written.keys().filter(|name| factors::PLACES.contains(&name.as_str())) {
            let message = format!("a placement cannot be called `{name}`");
            let hint = "that is one of pgdyno's own; give yours another name";
            self.document.wrong_key(&["placement", name], message, Some(hint));
        }
        written
    }

    fn storages(&mut self, written: Tables<written::StorageTable>) -> BTreeMap<String, Storage> {
        self.names_are_names("storage", "a storage");
        let mut storages = BTreeMap::new();
        for (name, written) in written {
            let place = ["storage", &name, "path"];
            let folder = written.path.as_ref().map(|path| self.expanded(&place, path));
            // A folder with an unset variable was already reported.
            if folder == Some(None) {
                continue;
            }
            let folder = folder.flatten().map(|path| self.folder().join(path));
            let folder = folder.map(|path| std::path::absolute(&path).unwrap_or(path));
            match written.read(folder) {
                Ok(storage) => drop(storages.insert(name, storage)),
                Err((key, why)) => {
                    let place = ["storage", &name, key];
                    let place = if key.is_empty() { &place[..2] } else { &place };
                    let _: Option<()> = self.noted(place, Err(why));
                }
            }
        }
        storages
    }

    fn changes(
        &mut self,
        written: Tables<Tables<written::ChangeTable>>,
    ) -> BTreeMap<String, BTreeMap<String, Change>> {
        self.names_are_names("change", "a change");
        let mut changes = BTreeMap::new();
        for (name, levels) in written {
            let why = match factors::taken().contains(&name.as_str()) {
                true => Some("that is the name of a factor already"),
                false => name.contains('.').then_some("a point stands between a workload and its option"),
            };
            if why.is_some() {
                // Levels of that factor are not read as levels of this change.
                let message = format!("a change cannot be called `{name}`");
                self.document.wrong_key(&["change", &name], message, why);
                continue;
            }
            let levels = levels.into_iter().map(|(level, written)| {
                let change = Change::from(written);
                let place = ["change", &name, &level];
                // Whether it needs an undo depends on where it is made.
                if let (false, Err(error)) =
                    (self.document.is_wrong(&place), server::change::validate(&change, true))
                {
                    self.document.wrong_key(&place, error.to_string(), None);
                }
                (level, change)
            });
            let levels = levels.collect();
            changes.insert(name, levels);
        }
        changes
    }

    fn lines_of_changes(
        &self,
        changes: &BTreeMap<String, BTreeMap<String, Change>>,
    ) -> BTreeMap<String, usize> {
        let tables = changes.iter().flat_map(|(name, levels)| levels.keys().map(move |level| (name, level)));
        let places = tables.flat_map(|(name, level)| {
            let table = vec!["change", name, level];
            let keys = ["do", "undo", "check"].map(|key| [&table[..], &[key]].concat());
            keys.into_iter().chain([table])
        });
        let line =
            |place: Vec<&str>| Some((place.join("."), self.document.line(self.document.start(&place)?)));
        places.filter_map(line).collect()
    }

    fn arms(&mut self, written: Tables<Tables<Value>>) -> Vec<ArmSpec> {
        self.names_are_names("settings", "an arm");
        let arm = |(name, settings): (String, Tables<Value>)| {
            let mut arm = ArmSpec { name, settings: BTreeMap::new(), lines: BTreeMap::new() };
            for (key, value) in settings.iter() {
                let place = ["settings", &arm.name, key.as_str()];
                let line = self.document.line(self.document.start(&place).unwrap_or_default());
                let setting = key.to_ascii_lowercase();
                if arm.settings.contains_key(&setting) {
                    let hint = "names of settings are the same in any case";
                    self.document.wrong_key(&place, format!("`{key}` is set twice"), Some(hint));
                } else if let Some(value) = self.setting(&place, &setting, value) {
                    arm.lines.insert(setting.clone(), line);
                    arm.settings.insert(setting, value);
                }
            }
            arm
        };
        written.into_iter().map(arm).collect()
    }

    /// The arms, and the arms that split one of them if requested.
    fn taken_apart(&mut self, mut arms: Vec<ArmSpec>, compare: Option<&written::Compare>) -> Vec<ArmSpec> {
        let place = ["compare", "take_apart"];
        let Some((compare, whole)) =
            compare.and_then(|compare| Some((compare, compare.take_apart.as_ref()?)))
        else {
            return arms;
        };
        let taken = match compare.factor.as_str() {
            SETTINGS => take_apart(&mut arms, compare.base.as_str().unwrap_or_default(), whole),
            other => Err(format!("is for arms that are settings, and {other} is compared")),
        };
        self.noted(&place, taken);
        arms
    }

    fn setting(&mut self, place: &[&str; 3], name: &str, written: &Value) -> Option<String> {
        let key = place[2];
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(plain) {
            self.document.wrong_key(place, format!("`{key}` is not the name of a setting"), None);
            return None;
        }
        if let Some((table, _)) = keys::keys_of_tables().iter().find(|(_, keys)| keys.contains(&name)) {
            let path = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            let hint = format!(
                "an arm holds settings by their names in pg_settings; `{path}` is a key of this file"
            );
            self.document.wrong_key(place, format!("`{key}` is not a setting"), Some(&hint));
            return None;
        }
        // Any machine will do to check a share.
        let any = Machine { memory_bytes: 1 << 30, cores: 1 };
        let value = match (written, self.document.value(place)) {
            (Value::Boolean(on), _) => if *on { "on" } else { "off" }.to_owned(),
            (Value::Integer(number), _) => number.to_string(),
            // As written: 1.0 is not 1.
            (Value::Float(_), Some(DeValue::Float(number))) => number.as_str().replace('_', ""),
            (Value::String(text), _) => match resolve(text, any) {
                Ok(_) => text.clone(),
                Err(error) => {
                    self.document.wrong(place, error.to_string(), None);
                    return None;
                }
            },
            (other, _) => {
                let why = format!("must be a text, a number, true or false, not {}", described(other));
                return self.noted(place, Err(why));
            }
        };
        if let Some(why) = reserved(name, &value) {
            self.document.wrong_key(place, format!("`{key}` cannot be a factor: {why}"), None);
            return None;
        }
        Some(value)
    }

    fn factors(
        &mut self,
        written: BTreeMap<String, ValueList>,
        workloads: &[NamedWorkload],
        known: &LevelNames<'_>,
        beside: Option<&Factors>,
    ) -> Factors {
        let aside: Vec<&str> = beside.iter().flat_map(|beside| beside.workloads()).collect();
        let names =
            workloads.iter().map(|workload| &workload.name).filter(|name| !aside.contains(&name.as_str()));
        let mut factors = Factors::of(names.cloned());
        // Servers and users' factors vary without being listed.
        if !known.named.servers.is_empty() {
            let mut servers: Vec<String> = known.named.servers.keys().cloned().collect();
            servers.sort_by_key(|name| self.document.start(&["server", name]));
            factors.set("server", servers);
        }
        for (name, levels) in &known.named.changes {
            let mut levels: Vec<String> = levels.keys().cloned().collect();
            levels.sort_by_key(|level| self.document.start(&["change", name, level]));
            factors.set(name, levels);
        }
        for (name, list) in &written {
            self.vary_below(&mut factors, &["factors", name], list, known);
        }
        factors
    }

    fn beside(&mut self, written: written::Beside, known: &LevelNames<'_>) -> Factors {
        let mut factors = Factors::of([]);
        self.vary(&mut factors, &["beside", "workload"], &written.workload, known);
        if let Some(clients) = &written.clients {
            self.vary(&mut factors, &["beside", "clients"], clients, known);
        }
        factors
    }

    /// Sets the levels of a factor, or of all whose keys begin like that: `polygons.zooms = …` is a table to
    /// TOML.
    fn vary_below(
        &mut self,
        factors: &mut Factors,
        place: &[&str],
        list: &ValueList,
        known: &LevelNames<'_>,
    ) {
        match &list.0[..] {
            [Value::Table(below)] => {
                for (key, value) in below {
                    let levels = match value {
                        Value::Array(levels) => levels.clone(),
                        one => vec![one.clone()],
                    };
                    self.vary_below(factors, &[place, &[key]].concat(), &ValueList(levels), known);
                }
            }
            _ => self.vary(factors, place, list, known),
        }
    }

    fn vary(&mut self, factors: &mut Factors, place: &[&str], list: &ValueList, known: &LevelNames<'_>) {
        let key = place[1..].join(".");
        let Some(factor) = factor(&key, known).filter(|factor| factor.in_grid()) else {
            let named = self.document.named(place);
            let table = named.rsplit_once('.').map_or("", |(table, _)| table);
            let hint = suggestion(&key, &factors::names());
            let message = format!("unknown key `{key}` in [{table}]");
            return self.document.wrong_key(place, message, hint.as_deref());
        };
        if let Err(why) = factor.exists(&key, known) {
            let (message, hint) = why.split_once('\n').map_or((&*why, None), |(why, hint)| (why, Some(hint)));
            return self.document.wrong_key(place, message.to_owned(), hint);
        }
        let defined = self.document.names(&["workload"]);
        let mut levels = Vec::new();
        let read = self.each(place, list, |this, place, value| {
            let level = match value.as_str() {
                Some(level) if is_of_a_mistake(this.document, factor.name(), level) => level.to_owned(),
                _ => factor.read(&key, value, known)?,
            };
            if levels.contains(&level) {
                return Err(format!("lists {level} twice"));
            }
            if factor.name() == "workload" && !defined.contains(&level) {
                let defined: Vec<&str> = defined.iter().map(String::as_str).collect();
                let hint = suggestion(&level, &defined);
                this.document.wrong(place, format!("there is no [workload.{level}]"), hint.as_deref());
            }
            levels.push(level.clone());
            Ok(level)
        });
        factors.set(&key, read);
    }

    fn compare(&mut self, written: written::Compare, known: &LevelNames<'_>) -> Compare {
        let written::Compare { factor: key, base, margin, same, take_apart: _ } = written;
        let read = factor(&key, known).map(|factor| factor.read(&key, &base, known));
        let base = match read {
            Some(read) => self.noted(&["compare", "base"], read).unwrap_or_default(),
            None => base.as_str().unwrap_or_default().to_owned(),
        };
        Compare { factor: key, base, margin: margin.map_or(MARGIN, |margin| margin.0), same }
    }

    fn each<T>(
        &mut self,
        place: &[&str],
        list: &ValueList,
        mut read: impl FnMut(&mut Self, &[&str], &Value) -> Result<T, String>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        for (index, value) in list.0.iter().enumerate() {
            let index = format!("[{index}]");
            let place = [place, &[&index]].concat();
            let read = read(self, &place, value);
            found.extend(self.noted(&place, read));
        }
        found
    }

    fn load(&mut self, written: &written::LoadShape, factors: &mut Factors) -> LoadSpec {
        let why = "load is either offered on a schedule or by users that pause";
        self.document.exclusive("load", ["rate", "users"], why);
        self.document.exclusive("load", ["promise", "limit"], "`limit` is the former name of `promise`");
        let varied = self.document.names(&["factors"]);
        let ladder =
            ["rate", "rate_per_client"].into_iter().find(|key| varied.iter().any(|name| name == key));
        let other = if written.rate.is_some() { "rate" } else { "users" };
        if let Some(ladder) = ladder.filter(|_| self.document.value(&["load", other]).is_some()) {
            let message = format!("`load.{other}` and [factors] {ladder} cannot stand together");
            self.document.wrong(&["load", other], message, None);
        }
        if written.promise.is_some() && varied.iter().any(|name| name == "promise") {
            let message = "`load.promise` and [factors] promise cannot stand together".to_owned();
            self.document.wrong(&["load", "promise"], message, None);
        }
        if let Some(rate) = &written.rate {
            self.vary(factors, &["load", "rate"], &ValueList(vec![rate.clone()]), &LevelNames::default());
        }
        let kind = match &written.users {
            _ if ladder.is_some() || written.rate.is_some() => LoadKind::Rate,
            Some(users) => LoadKind::Users {
                think: users.think.0,
                ramp: users.ramp.map_or(Duration::ZERO, |ramp| ramp.0),
            },
            None => LoadKind::Closed,
        };
        let search = written.search.as_ref().map(|search| self.search(search));
        LoadSpec {
            kind,
            promise: written.promise.or(written.limit).map(|promise| promise.0),
            bound: written.bound.map(|bound| bound.0),
            search,
        }
    }

    fn search(&mut self, written: &written::Search) -> AskedLimit {
        for other in ["rate", "users", "promise", "limit"] {
            let why = "a search chooses its rates, and has its own promise";
            self.document.exclusive("load", ["search", other], why);
        }
        if self.document.value(&["beside"]).is_some() {
            let message = "`[beside]` and `load.search` cannot stand together: a search has no rounds beside which it could run".to_owned();
            self.document.wrong(&["beside"], message, None);
        }
        let varied = self.document.names(&["factors"]);
        for other in
            ["rate", "rate_per_client", "promise"].iter().filter(|key| varied.iter().any(|name| name == *key))
        {
            let message = format!(
                "[factors] {other} and `load.search` cannot stand together: a search chooses its rates, and has its own promise"
            );
            self.document.wrong(&["factors", other], message, None);
        }
        let bound = |this: &mut Self, key: &str, value: &Option<Value>| {
            let read =
                factor("rate", &LevelNames::default())?.read("rate", value.as_ref()?, &LevelNames::default());
            let read = read.and_then(|rate| {
                rate.parse::<f64>().map_err(|_| "must be a number, and no rate that changes".to_owned())
            });
            this.noted(&["load", "search", key], read)
        };
        let (lowest, highest) =
            (bound(self, "lowest", &written.lowest), bound(self, "highest", &written.highest));
        if let Some((lowest, highest)) = lowest.zip(highest).filter(|(lowest, highest)| lowest >= highest) {
            let message =
                format!("the bounds are the wrong way round: lowest is {lowest}, highest is {highest}");
            self.document.wrong(&["load", "search", "lowest"], message, None);
        }
        let width = written.width.map_or(WIDTH, |width| width.0);
        if !(LEAST_WIDTH..=MOST_WIDTH).contains(&width) {
            let message = "must be from 0.5% to 50%".to_owned();
            self.document.wrong(&["load", "search", "width"], message, Some("width = \"3%\""));
        }
        let place = ["load", "search", "promise"];
        AskedLimit {
            promise: self.noted(&place, promise::parse(&written.promise)).unwrap_or_default(),
            lowest,
            highest,
            width,
            grow_clients: written.grow_clients,
            confirm: self.shapes(&written.confirm),
        }
    }

    fn shapes(&mut self, written: &[String]) -> Vec<Profile> {
        let mut shapes = Vec::new();
        for text in written {
            let shape = match text.parse::<Profile>() {
                Ok(shape) if shape.is_constant() => {
                    Err("must be rates that change, in shares of the limit".to_owned())
                }
                Ok(shape) if shape.greatest() > MOST_SHARE => {
                    Err(format!("goes up to {MOST_SHARE} times the limit, and \"{text}\" is more"))
                }
                Ok(shape) if shapes.contains(&shape) => Err(format!("has \"{text}\" twice")),
                Ok(shape) => Ok(shape),
                Err(error) => Err(error.what().to_owned()),
            };
            match shape {
                Ok(shape) => shapes.push(shape),
                Err(message) => self.document.wrong(&["load", "search", "confirm"], message, Some(CONFIRM)),
            }
        }
        shapes
    }

    fn prices(&mut self, written: Option<Prices>) -> Option<Prices> {
        if let Some((keys, problem)) = written.as_ref().and_then(Prices::problem) {
            let keys: Vec<&str> = ["prices"].into_iter().chain(keys.iter().map(String::as_str)).collect();
            self.document.wrong_key(&keys, problem, None);
        }
        written
    }

    fn measure(
        &mut self,
        written: written::Measure,
        load: &written::LoadShape,
        (is_compared, calibrates): (bool, bool),
    ) -> Measure {
        let searches = load.search.is_some();
        if written.transactions.is_some() {
            self.only_by_length(&written, load, is_compared);
        }
        if searches && written.rounds.is_some() {
            let message = "a search repeats its trials by itself".to_owned();
            self.document.wrong_key(&["measure", "rounds"], message, Some("leave it out"));
        }
        Measure {
            // The runs of a calibration have lengths of their own.
            warmup: match calibrates {
                true => Duration::ZERO,
                false => written.warmup.map_or(WARMUP, |warmup| warmup.0),
            },
            duration: match calibrates || written.transactions.is_some() {
                true => DurationSpec::Fixed(Duration::ZERO),
                false => self.duration(written.duration, written.budget),
            },
            transactions: written.transactions.map(|number| number.0),
            rounds: match searches || calibrates {
                // A search repeats its trials itself, and a calibration its runs.
                true => 1,
                false => written.rounds.map_or(ROUNDS, |rounds| rounds.0 as u32),
            },
            threads: written.threads.map_or(1, |threads| threads.0 as u32),
            order: written.order.unwrap_or(CellOrder::Random),
            slices: written.slices.and_then(|written| self.noted(&["measure", "slices"], slices(&written))),
            repeat_disturbed: written.repeat_disturbed.map(|times| times.0 as u32),
            explain: written.explain,
            try_first: written.try_first,
            statements: written.statements,
            counting: written.counting.unwrap_or_default(),
            driver: written.driver.unwrap_or_default(),
            wait: written.wait.unwrap_or_default(),
        }
    }

    /// Refuses a number of transactions where runs need a length.
    fn only_by_length(&mut self, written: &written::Measure, load: &written::LoadShape, is_compared: bool) {
        let why = if written.duration.is_some() || written.budget.is_some() {
            "a run ends after a number of transactions or after a duration, not both"
        } else if is_compared {
            "arms are compared over runs of one length"
        } else if load.search.is_some() {
            "a limit is looked for in runs of one length"
        } else if load.users.is_some() {
            "users work for a length of time"
        } else {
            return;
        };
        let hint = Some("write duration = \"10s\" in its place");
        self.document.wrong_key(&["measure", "transactions"], why.to_owned(), hint);
    }

    /// A calibration, whose runs no other table describes.
    fn calibrate(&mut self, read: &written::Calibrate, all: &written::Experiment) -> PlannedCalibration {
        for table in OF_OTHERS {
            if self.document.value(&[table]).is_none() {
                continue;
            }
            let message = format!("`[{table}]` and `[calibrate]` cannot stand together");
            self.document.wrong_key(&[table], message, Some("a calibration chooses its runs itself"));
        }
        for key in self.document.names(&["measure"]).iter().filter(|key| *key != "driver") {
            let message = format!("`measure.{key}` and `[calibrate]` cannot stand together");
            let hint = "a calibration chooses its runs itself; measure.driver can be given";
            self.document.wrong_key(&["measure", key], message, Some(hint));
        }
        let is_managed = all.target.as_ref().is_none_or(|target| target.managed.is_some());
        if !is_managed && !self.document.is_wrong(&["target"]) {
            let message = "a calibration measures a private server of this host".to_owned();
            self.document.wrong_key(&["target"], message, Some("write managed = { name = \"calibrate\" }"));
        }
        if self.document.value(&["prepare", "pgbench"]).is_none() && !self.document.is_wrong(&["prepare"]) {
            let message = "a calibration reads pgbench's tables".to_owned();
            self.document.wrong_key(&["calibrate"], message, Some("add [prepare.pgbench]"));
        }
        let mut clients = self.each(&["calibrate", "clients"], &read.clients, |_, _, value| {
            whole_number(value, 1, MOST_CLIENTS).map(|clients| clients as u32)
        });
        clients.sort_unstable();
        clients.dedup();
        PlannedCalibration {
            time_s: read.time.map_or(CALIBRATION_TIME, |time| time.0).as_secs_f64(),
            clients: if read.clients.is_empty() { CALIBRATION_CLIENTS.to_vec() } else { clients },
        }
    }

    /// `duration = "10s"`, or `budget = "4min"` with `duration = { from = "1s", to = "10s" }`.
    fn duration(
        &mut self,
        length: Option<LengthOrBounds>,
        budget: Option<written::PartLength>,
    ) -> DurationSpec {
        match (length, budget) {
            (Some(LengthOrBounds::Fixed(duration)), None) => return DurationSpec::Fixed(duration.0),
            (Some(LengthOrBounds::Bounds(bounds)), Some(budget)) => {
                if bounds.to.0 < bounds.from.0 {
                    let message = "`to` is shorter than `from`".to_owned();
                    self.document.wrong(&["measure", "duration", "to"], message, None);
                }
                return DurationSpec::Sized { budget: budget.0, from: bounds.from.0, to: bounds.to.0 };
            }
            // One of the two could not be read.
            _ if ["duration", "budget"].iter().any(|key| self.document.is_wrong(&["measure", key])) => {}
            (Some(LengthOrBounds::Bounds(_)), None) => {
                let message = "a duration with bounds needs the time there is".to_owned();
                let hint = "add budget = \"4min\", or write duration = \"10s\"";
                self.document.wrong(&["measure", "duration"], message, Some(hint));
            }
            (_, Some(_)) => {
                let message = "a budget needs bounds for the length of a run".to_owned();
                let hint = "duration = { from = \"1s\", to = \"10s\" }";
                self.document.wrong(&["measure", "budget"], message, Some(hint));
            }
            (None, None) => {}
        }
        DurationSpec::Fixed(DURATION)
    }

    /// A text in which `$NAME` is a variable.
    fn expanded(&mut self, place: &[&str], text: &str) -> Option<String> {
        let name = match variables::expand(text, self.variables) {
            Ok(expanded) => return Some(expanded),
            Err(name) => name,
        };
        let key = self.document.named(place);
        let whole = text.contains(&format!("${{{name}}}")) || text == format!("${name}");
        let (message, hint) = match name.as_str() {
            // A dollar in a password looks like a variable.
            _ if ["target", "server"].contains(&place[0]) && !whole => (
                format!("`{key}` needs a variable that is not set"),
                "its name is not shown, since it may be part of a password; a plain dollar is written $$"
                    .to_owned(),
            ),
            _ => {
                let set = format!("set it: export {name}=…; a plain dollar is written $$");
                let data = "set it, or give --data FILE".to_owned();
                let hint = if name == "PGDYNO_DATA" { data } else { set };
                (format!("`{key}` needs the variable {name}, which is not set"), hint)
            }
        };
        self.document.wrong(place, message, Some(&hint));
        None
    }
}

pub(super) fn known<'w>(workloads: &'w [NamedWorkload], named: &'w Named) -> LevelNames<'w> {
    let workloads = workloads.iter().map(|workload| (workload.name.as_str(), Cow::Borrowed(&workload.spec)));
    LevelNames { workloads: workloads.collect(), named, ..LevelNames::default() }
}
