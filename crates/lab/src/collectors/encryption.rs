//! Whether clients that should use TLS did: the server's view of their connections, once per run.

use std::time::Duration;

use engine::EngineResult;
use protocol::postgres::sql::{Sql, SqlError, long};
use spec::Sample;
use spec::figures::Figures;

use super::Collector;

/// Excludes pgdyno's own connection, which uses the socket of its server. PostgreSQL 18 lists sessions that
/// log in before it knows whether they are encrypted.
const SEEN: &str = "SELECT count(*), count(*) FILTER (WHERE ssl), \
     coalesce(string_agg(DISTINCT version || ', ' || cipher, '; ') FILTER (WHERE ssl), '') \
     FROM pg_catalog.pg_stat_activity JOIN pg_catalog.pg_stat_ssl USING (pid) \
     WHERE backend_type = 'client backend' AND datname = pg_catalog.current_database() AND client_addr IS NOT NULL \
     AND state IS DISTINCT FROM 'starting'";

/// Clients that connect again for each transaction may all be absent at one check.
const LOOKS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(5);

/// The server's report on the connections of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encryption {
    pub connections: u64,
    pub encrypted: u64,
    /// Versions and ciphers: `TLSv1.3, TLS_AES_256_GCM_SHA384`.
    pub by: String,
}

/// Checks the connections to a server over the connection `sql`.
pub struct Look<'a> {
    pub sql: &'a mut dyn Sql,
    pub seen: &'a mut Encryption,
}

impl Collector for Look<'_> {
    fn name(&self) -> &'static str {
        "encryption"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        for _ in 0..LOOKS {
            let row = long(self.sql).rows(SEEN)?.into_iter().next().unwrap_or_default();
            let mut row = row.into_iter().map(Option::unwrap_or_default);
            let mut next = || row.next().unwrap_or_default();
            let number = |text: String| text.parse().unwrap_or_default();
            *self.seen = Encryption { connections: number(next()), encrypted: number(next()), by: next() };
            if self.seen.connections > 0 {
                break;
            }
            std::thread::sleep(BETWEEN);
        }
        Ok(())
    }

    fn end(&mut self, _measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        Ok(Figures::default())
    }
}

impl Encryption {
    /// As text.
    ///
    /// # Errors
    /// A connection without TLS was seen, or none was seen.
    pub fn words(&self) -> Result<String, String> {
        let Self { connections, encrypted, by } = self;
        match (*connections, connections - encrypted) {
            (0, _) => Err("no connection of theirs was seen to have it".to_owned()),
            (_, 0) => Ok(format!("{}: {by}", crate::words::count(*connections as usize, "connection"))),
            (_, without) => Err(format!("{without} of {connections} connections had none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_tls_is_no_figure() {
        let seen = |connections, encrypted| Encryption { connections, encrypted, by: "TLSv1.3, X".into() };
        assert_eq!(seen(2, 2).words(), Ok("2 connections: TLSv1.3, X".to_owned()));
        assert_eq!(seen(2, 1).words(), Err("1 of 2 connections had none".to_owned()));
        assert!(seen(0, 0).words().is_err());
    }
}
