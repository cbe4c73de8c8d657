//! Servers, their builds, poolers, placements and storages.

use std::collections::BTreeMap;

use protocol::postgres::conninfo::ConnectionString;
use spec::plan::pooler::{PoolMode, PoolerOptions};
use spec::plan::storage::Storage;
use toml::Value;

use super::Builder;
use crate::experiment::tile_servers;
use crate::factors::{self};
use crate::target_spec::by_url;
use server::pooler;
use spec::experiment::value::{text, whole_number};
use spec::experiment::{self as written, Tables, ValueList};
use spec::plan::tile_server;
use spec::plan::{Build, Placement, TargetSpec};

impl Builder<'_, '_> {
    pub(super) fn servers(&mut self, written: Tables<written::TargetChoice>) -> BTreeMap<String, TargetSpec> {
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
    pub(super) fn builds(&mut self, written: Tables<written::Version>) -> BTreeMap<String, Build> {
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

    pub(super) fn target(&mut self, table: &[&str], written: Option<written::TargetChoice>) -> TargetSpec {
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
            storage: None,
            tile_servers: Vec::new(),
        }
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

    pub(super) fn poolers(&mut self, written: Tables<PoolerOptions>) -> BTreeMap<String, PoolerOptions> {
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
