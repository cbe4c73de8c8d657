//! Which of several servers, by the names of the tables `[server.NAME]`.

use toml::Value;

use super::{Factor, Known};
use crate::setup::{Server, Setup};
use crate::values::text;

pub(super) struct OneOfServers;

impl Factor for OneOfServers {
    fn name(&self) -> &'static str {
        "server"
    }

    fn read(&self, _key: &str, value: &Value, known: &Known<'_>) -> Result<String, String> {
        let level = text(value)?;
        match known.servers.contains(&level) {
            true => Ok(level),
            false => Err(format!("cannot be \"{level}\": there is no [server.{level}]")),
        }
    }

    fn apply(&self, _key: &str, level: &str, setup: &mut Setup, known: &Known<'_>) -> Result<(), String> {
        if !known.servers.contains(level) {
            return Err(format!("there is no [server.{level}]"));
        }
        if let Server::Target(at) = &mut setup.server {
            at.server = Some(level.to_owned());
        }
        Ok(())
    }
}
