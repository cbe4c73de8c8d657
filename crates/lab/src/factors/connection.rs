//! How clients connect: straight, by socket, TCP or TLS to a managed server, or through a PgBouncer of ours.

use target::managed::Via;
use toml::Value;

use super::{Factor, Known};
use crate::setup::{Connection, Setup};
use crate::values::text;

/// Levels that need no table.
const WAYS: [(&str, Connection); 4] = [
    ("direct", Connection::Direct),
    ("socket", Connection::Via(Via::Socket)),
    ("tcp", Connection::Via(Via::Tcp)),
    ("tls", Connection::Via(Via::Tls)),
];

/// Their names.
pub(crate) fn ways<'w>() -> impl Iterator<Item = &'w str> {
    WAYS.iter().map(|(name, _)| *name)
}

pub(super) struct Way;

impl Factor for Way {
    fn name(&self) -> &'static str {
        "connection"
    }

    fn read(&self, _key: &str, value: &Value, known: &Known<'_>) -> Result<String, String> {
        let level = text(value)?;
        match connection(&level, known) {
            Some(_) => Ok(level),
            None => {
                let ways = ways().chain(known.poolers.keys().map(String::as_str));
                let known = ways.collect::<Vec<_>>().join(", ");
                Err(format!(
                    "cannot be \"{level}\"\nknown here: {known}, and the name of a table [pooler.NAME]"
                ))
            }
        }
    }

    fn apply(&self, _key: &str, level: &str, setup: &mut Setup, known: &Known<'_>) -> Result<(), String> {
        setup.connection =
            connection(level, known).ok_or_else(|| format!("there is no connection {level:?}"))?;
        Ok(())
    }
}

fn connection(level: &str, known: &Known<'_>) -> Option<Connection> {
    let way = WAYS.into_iter().find(|(name, _)| *name == level).map(|(_, way)| way);
    way.or_else(|| known.poolers.get(level).cloned().map(Connection::Pooler))
}
