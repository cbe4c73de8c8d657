//! Servers, their builds, poolers, placements and storages.

use std::collections::BTreeMap;

use protocol::postgres::conninfo::ConnectionString;
use spec::plan::pooler::{PgpoolOptions, PoolMode, PoolerChoice, PoolerKind, PoolerOptions};
use spec::plan::storage::Storage;
use toml::Value;

use super::Builder;
use crate::experiment::tile_servers;
use crate::factors::{self};
use crate::target_spec::by_url;
use server::managed::check_initdb_option;
use server::pooler;
use sha2::{Digest, Sha256};
use spec::experiment::value::{text, whole_number};
use spec::experiment::{self as written, Tables, ValueList};
use spec::plan::tile_server;
use spec::plan::topology::{MOST_REPLICAS, Replication, Topology};
use spec::plan::{Build, BuildSource, Placement, TargetSpec, UrlReplica};

impl Builder<'_, '_> {
    pub(super) fn servers(&mut self, written: Tables<written::TargetChoice>) -> BTreeMap<String, TargetSpec> {
        self.names_are_names("server", "a server");
        let mut servers: BTreeMap<String, TargetSpec> = BTreeMap::new();
        for (name, written) in written {
            let spec = self.target(&["server", &name], Some(written));
            let same = servers.iter().find(|(_, other)| other.identity() == spec.identity());
            if let Some((other, _)) = same.filter(|_| !self.document.is_wrong(&["server", &name])) {
                let message = format!("{other} and {name} are the same server");
                self.document.wrong_key(&["server", &name], message, None);
            }
            servers.insert(name, spec);
        }
        servers
    }

    /// Folders of builds, relative to the file.
    pub(super) fn builds(&mut self, written: Tables<written::Version>) -> BTreeMap<String, Build> {
        self.names_are_names("version", "a version");
        let mut builds = BTreeMap::new();
        for (name, written) in written {
            let made = match (&written.git, &written.bin) {
                (Some(reference), _) => self.source(&name, reference, &written),
                (None, Some(bin)) => self.folder_of_build(&name, bin),
                (None, None) => {
                    self.document.missing(&["version", &name], "bin");
                    None
                }
            };
            let initdb = self.initdb(&name, &written.initdb);
            let mut settings = BTreeMap::new();
            for (key, value) in written.settings.iter() {
                let place = ["version", &name, "settings", key.as_str()];
                let setting = key.to_ascii_lowercase();
                if let Some(value) = self.setting(&place, &setting, value) {
                    settings.insert(setting, value);
                }
            }
            builds.extend(made.map(|build| (name, Build { initdb, settings, ..build })));
        }
        builds
    }

    fn folder_of_build(&mut self, name: &str, bin: &str) -> Option<Build> {
        let place = ["version", name, "bin"];
        for key in ["source", "configure"] {
            if self.document.value(&["version", name, key]).is_some() {
                let message = format!("`{key}` is for a build from git, and `bin` names an existing build");
                self.document.wrong(&["version", name, key], message, None);
            }
        }
        let bin = self.expanded(&place, bin)?;
        let bin = self.folder().join(bin);
        if self.look && !bin.join("initdb").is_file() {
            let hint = "the folder with initdb and postgres, such as /usr/lib/postgresql/15/bin";
            let message = format!("{} has no initdb", bin.display());
            self.document.wrong(&place, message, Some(hint));
        }
        Some(Build { bin, ..Build::default() })
    }

    /// A build from git; what it is built from is looked up later ([`crate::sources`]).
    fn source(&mut self, name: &str, reference: &str, written: &written::Version) -> Option<Build> {
        let why = "a build is a folder, or is made from git";
        self.document.exclusive_in(&["version", name], ["bin", "git"], why);
        let folder = self.expanded(&["version", name, "source"], written.source.as_deref().unwrap_or("."))?;
        let place = ["version", name, "configure"];
        let options = self.each(&place, &written.configure, |_, _, value| text(value));
        let source = BuildSource {
            reference: reference.to_owned(),
            folder: self.folder().join(folder),
            options,
            ..BuildSource::default()
        };
        let unknown = format!("{} {:?} {:?}", source.reference, source.folder, source.options);
        let hash = spec::hex(&Sha256::digest(unknown));
        Some(Build { hash, source: Some(source), ..Build::default() })
    }

    fn initdb(&mut self, name: &str, written: &ValueList) -> Vec<String> {
        let place = ["version", name, "initdb"];
        self.each(&place, written, |_, _, value| {
            let option = text(value)?;
            check_initdb_option(&option).map(|()| option)
        })
    }

    pub(super) fn target(&mut self, table: &[&str], written: Option<written::TargetChoice>) -> TargetSpec {
        let apart = [
            (["managed", "url"], "a target is one server"),
            (["managed", "redis"], "write managed = { redis = true }"),
            (["managed", "change_server"], "a managed server may always be changed"),
            (["url", "replication"], "commits of a server given by URL wait as its own settings say"),
        ];
        for (keys, why) in apart {
            self.document.exclusive(&table.join("."), keys, why);
        }
        // Replaces a target with a mistake; has everything that other checks may need.
        let any = TargetSpec::Managed {
            name: String::new(),
            version: None,
            extensions: Vec::new(),
            redis: true,
            bin: None,
            initdb: Vec::new(),
            storage: None,
            tile_servers: Vec::new(),
            topology: Topology::default(),
        };
        match written {
            None => self.document.missing(&table[..table.len() - 1], table[table.len() - 1]),
            Some(written::TargetChoice {
                managed: Some(managed),
                tile_servers,
                replicas,
                replication,
                ..
            }) => {
                let tile_servers = self.tile_servers(table, &tile_servers);
                let wanted = self.topology(table, &replicas, replication);
                let mut target = self.managed(table, managed).with_tile_servers(tile_servers);
                if let TargetSpec::Managed { topology, .. } = &mut target {
                    *topology = wanted;
                }
                return target;
            }
            Some(written::TargetChoice {
                url: Some(url),
                redis,
                change_server,
                tile_servers,
                replicas,
                ..
            }) => {
                let tile_servers = self.tile_servers(table, &tile_servers);
                let wanted = self.url_replicas(table, &replicas);
                let redis = redis.map(|redis| self.redis_url(table, &redis).unwrap_or(redis));
                let Some(url) = self.expanded(&[table, &["url"]].concat(), &url) else { return any };
                match ConnectionString::parse(&url) {
                    Ok(url) => {
                        let mut target = by_url(&url, redis, change_server).with_tile_servers(tile_servers);
                        if let TargetSpec::Url { replicas, .. } = &mut target {
                            *replicas = wanted;
                        }
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

    pub(super) fn managed(&mut self, table: &[&str], written: written::Managed) -> TargetSpec {
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
            initdb: Vec::new(),
            storage: None,
            tile_servers: Vec::new(),
            topology: Topology::default(),
        }
    }

    /// Replicas of a managed server: their number, and what commits wait for.
    fn topology(
        &mut self,
        table: &[&str],
        written: &ValueList,
        replication: Option<Replication>,
    ) -> Topology {
        let place = [table, &["replicas"]].concat();
        let number = match &written.0[..] {
            [] => None,
            [Value::String(_), ..] => {
                let why = "must be a number for a managed server: pgdyno makes its replicas";
                self.noted(&place, Err(why.to_owned()))
            }
            [number] => self.noted(&place, whole_number(number, 0, MOST_REPLICAS.into())),
            _ => self.noted(
                &place,
                Err("must be a number, e.g. 1\nseveral are levels of [factors] replicas".into()),
            ),
        };
        Topology { replicas: number.unwrap_or(0) as u32, replication: replication.unwrap_or_default() }
    }

    /// Replicas of a server given by URL, by their URLs.
    fn url_replicas(&mut self, table: &[&str], written: &ValueList) -> Vec<UrlReplica> {
        let mut urls = Vec::new();
        let mut places = Vec::new();
        let replicas = self.each(&[table, &["replicas"]].concat(), written, |builder, place, value| {
            let Some(url) = value.as_str() else {
                return Err("must be a list of URLs where the server is given by URL\nwrite replicas = [\"postgres://…\"]".into());
            };
            let Some(url) = builder.expanded(place, url) else { return Ok(None) };
            let url = ConnectionString::parse(&url).map_err(|error| error.to_string())?;
            let TargetSpec::Url { shown, place, .. } = by_url(&url, None, false) else { return Ok(None) };
            if places.contains(&place) {
                return Err(format!("names {shown} twice"));
            }
            places.push(place.clone());
            urls.push(url);
            Ok(Some(UrlReplica { shown, place }))
        });
        let name = if let [_, name] = table { name } else { "" };
        self.replica_logins.insert(name.to_owned(), urls);
        replicas.into_iter().flatten().collect()
    }

    /// Tile servers, each kind once; their programs are relative to the file.
    pub(super) fn tile_servers(
        &mut self,
        table: &[&str],
        written: &ValueList,
    ) -> Vec<tile_server::TileServerOptions> {
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

    pub(super) fn redis_url(&mut self, table: &[&str], written: &str) -> Option<String> {
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

    pub(super) fn poolers(
        &mut self,
        written: Tables<written::PoolerTable>,
    ) -> BTreeMap<String, PoolerChoice> {
        self.names_are_names("pooler", "a pooler");
        let mut poolers = BTreeMap::new();
        for (name, table) in written {
            let place = ["pooler", &name];
            if factors::ways().any(|way| way == name) {
                let message = format!("a pooler cannot be called `{name}`");
                let hint = "that is a way to connect already";
                self.document.wrong_key(&place, message, Some(hint));
            }
            let Some(options) = self.pooler(&name, table) else { continue };
            let wrong = match &options {
                PoolerChoice::PgBouncer(options) => pooler::check(options),
                PoolerChoice::Pgpool(options) => pooler::pgpool::check(options),
            };
            if let Err(error) = wrong {
                self.document.wrong_key(&place, error.to_string(), None);
            }
            poolers.insert(name, options);
        }
        // A pooler with a mistake exists: levels that name it are not a second mistake.
        let any = PoolerOptions { pool_mode: PoolMode::Session, pool_size: 1, settings: BTreeMap::new() };
        for name in self.document.names(&["pooler"]) {
            poolers.entry(name).or_insert_with(|| PoolerChoice::PgBouncer(any.clone()));
        }
        poolers
    }

    /// The options of a pooler by its kind: each has its own.
    fn pooler(&mut self, name: &str, table: written::PoolerTable) -> Option<PoolerChoice> {
        let written::PoolerTable { kind, pool_mode, pool_size, balance, settings } = table;
        let foreign = match kind {
            PoolerKind::PgBouncer => [("balance", balance.is_some()), ("", false)],
            PoolerKind::Pgpool => [("pool_mode", pool_mode.is_some()), ("pool_size", pool_size.is_some())],
        };
        if let Some((key, _)) = foreign.iter().find(|(_, given)| *given) {
            let (message, hint) = match kind {
                PoolerKind::PgBouncer => {
                    ("PgBouncer does not balance reads", "write kind = \"pgpool\", or leave it out")
                }
                PoolerKind::Pgpool => ("Pgpool-II keeps a session for each client", "leave it out"),
            };
            self.document.wrong_key(&["pooler", name, key], message.to_owned(), Some(hint));
            return None;
        }
        match (kind, pool_mode, pool_size) {
            (PoolerKind::Pgpool, ..) => {
                Some(PoolerChoice::Pgpool(PgpoolOptions { balance: balance.unwrap_or_default(), settings }))
            }
            (_, Some(pool_mode), Some(pool_size)) => {
                Some(PoolerChoice::PgBouncer(PoolerOptions { pool_mode, pool_size, settings }))
            }
            (_, pool_mode, _) => {
                let key = if pool_mode.is_none() { "pool_mode" } else { "pool_size" };
                self.document.missing(&["pooler", name], key);
                None
            }
        }
    }

    pub(super) fn placements(&mut self, written: Tables<Placement>) -> BTreeMap<String, Placement> {
        let written: BTreeMap<String, Placement> = written.into_iter().collect();
        self.names_are_names("placement", "a placement");
        for name in written.keys().filter(|name| factors::PLACES.contains(&name.as_str())) {
            let message = format!("a placement cannot be called `{name}`");
            let hint = "that is one of pgdyno's own; give yours another name";
            self.document.wrong_key(&["placement", name], message, Some(hint));
        }
        written
    }

    pub(super) fn storages(&mut self, written: Tables<written::StorageTable>) -> BTreeMap<String, Storage> {
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
}
