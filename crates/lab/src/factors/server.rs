//! One of several servers, by the names of the tables `[server.NAME]`.

use toml::Value;

use super::{Factor, LevelNames, name_of};
use crate::setup::{Server, Setup};

pub(super) struct ServerFactor;

impl Factor for ServerFactor {
    fn name(&self) -> &'static str {
        "server"
    }

    fn levels(&self) -> &'static str {
        "names of `[server.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "Servers. Default: all."
    }

    fn read(&self, _key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        name_of(value, &[], "server", known.named.servers.keys())
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        if !known.named.servers.contains_key(level) {
            return Err(format!("there is no [server.{level}]"));
        }
        if let Server::Target(at) = &mut setup.server {
            at.server = Some(level.to_owned());
        }
        Ok(())
    }
}
