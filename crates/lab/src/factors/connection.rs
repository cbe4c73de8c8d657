//! How clients connect: directly, by socket, TCP or TLS to a managed server, or through pgdyno's own
//! PgBouncer.

use server::managed::NetworkAccess;
use toml::Value;

use super::{Factor, LevelNames, name_of};
use crate::setup::{ConnectionPath, Setup};

const WAYS: [(&str, ConnectionPath); 4] = [
    ("direct", ConnectionPath::Direct),
    ("socket", ConnectionPath::Via(NetworkAccess::Socket)),
    ("tcp", ConnectionPath::Via(NetworkAccess::Tcp)),
    ("tls", ConnectionPath::Via(NetworkAccess::Tls)),
];

pub(crate) fn ways<'w>() -> impl Iterator<Item = &'w str> {
    WAYS.iter().map(|(name, _)| *name)
}

pub(super) struct ConnectionFactor;

impl Factor for ConnectionFactor {
    fn name(&self) -> &'static str {
        "connection"
    }

    fn levels(&self) -> &'static str {
        "`\"direct\"`, `\"socket\"`, `\"tcp\"`, `\"tls\"`, names of `[pooler.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "How clients connect. `direct` is the Unix socket of a managed server, or the URL; the next three \
         are for managed servers only. Default: `direct`."
    }

    fn read(&self, _key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        name_of(value, &WAYS.map(|(name, _)| name), "pooler", known.named.poolers.keys())
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        !known.is_job(workload)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        setup.connection = connection(level, known).ok_or_else(|| format!("unknown connection {level:?}"))?;
        Ok(())
    }
}

fn connection(level: &str, known: &LevelNames<'_>) -> Option<ConnectionPath> {
    let way = WAYS.into_iter().find(|(name, _)| *name == level).map(|(_, way)| way);
    way.or_else(|| known.named.poolers.get(level).cloned().map(ConnectionPath::Pooler))
}
