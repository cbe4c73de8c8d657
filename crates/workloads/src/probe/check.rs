//! What the server and the role allow.

use protocol::postgres::sql::Sql;
use spec::Error;

use super::figures::Needs;
use crate::error;
use spec::plan::ProbeOptions;

/// TID range scans, which read chosen pages in order, exist from this version on.
const OLDEST: u32 = 14;

const ASK: &str = "SELECT current_setting('server_version_num')::integer / 10000 AS major, current_user AS role, \
     current_database() AS database, pg_is_in_recovery()::text AS standby, \
     current_setting('default_transaction_read_only') AS read_only, \
     has_database_privilege(current_database(), 'CREATE')::text AS may_create, \
     has_database_privilege(current_database(), 'TEMP')::text AS may_temp, \
     current_setting('block_size') AS block_size, \
     pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers, \
     greatest(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer \
       - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), 0) AS free, \
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND state = 'active' \
       AND pid <> pg_backend_pid()) AS active";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Writes {
    All,
    /// Temporary tables only, and why.
    Temporary(String),
    /// Nothing, and why.
    Nothing(String),
}

/// A server at the start of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerState {
    pub(super) writes: Writes,
    pub(super) block_bytes: u64,
    pub(super) shared_buffers_bytes: u64,
    pub(super) free_connections: u32,
    /// Other active sessions when the probe began.
    pub(super) active: u32,
}

impl ServerState {
    /// Asks the server.
    pub(super) fn ask(sql: &mut dyn Sql, options: &ProbeOptions) -> Result<Self, Error> {
        let rows = sql.rows(ASK).map_err(error::sql_error("asking what may be done"))?;
        let row: Vec<String> =
            rows.into_iter().next().unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect();
        let text = |at: usize| row.get(at).map_or("", String::as_str);
        let number = |at: usize| text(at).parse::<u64>().unwrap_or(0);
        let small = |at: usize| u32::try_from(number(at)).unwrap_or(u32::MAX);
        if small(0) < OLDEST {
            return Err(error::missing_error(
                format!("a probe needs PostgreSQL {OLDEST} or newer, and this is {}", text(0)),
                "its queries would cost something else there",
            ));
        }
        let is_true = |at: usize| matches!(text(at), "true" | "on" | "t");
        let may_not = |what: &str| format!("role {} may not {what} database {}", text(1), text(2));
        let writes = if options.read_only {
            Writes::Nothing("read-only was asked for".to_owned())
        } else if is_true(3) {
            Writes::Nothing("the server is a standby".to_owned())
        } else if is_true(4) {
            Writes::Nothing("default_transaction_read_only is on".to_owned())
        } else if is_true(5) {
            Writes::All
        } else if is_true(6) {
            Writes::Temporary(may_not("create a schema in"))
        } else {
            Writes::Nothing(may_not("create a schema or a temporary table in"))
        };
        Ok(Self {
            writes,
            block_bytes: number(7),
            shared_buffers_bytes: number(8),
            free_connections: small(9),
            active: small(10),
        })
    }

    /// Why not everything may be written.
    pub(super) fn restricted(&self) -> Option<&str> {
        match &self.writes {
            Writes::All => None,
            Writes::Temporary(why) | Writes::Nothing(why) => Some(why),
        }
    }

    /// Why a figure with these needs must not be measured.
    pub(super) fn forbids(&self, needs: Needs) -> Option<String> {
        match (needs, &self.writes) {
            (Needs::Nothing, _) | (_, Writes::All) | (Needs::Temporary, Writes::Temporary(_)) => None,
            (_, Writes::Temporary(why) | Writes::Nothing(why)) => Some(format!("it writes, and {why}")),
        }
    }

    /// Whether nothing is written.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.writes, Writes::Nothing(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn it_writes_only_where_it_may() {
        // standby, read-only by default, CREATE, TEMP, requested read-only
        let cases = [
            (["false", "off", "true", "true"], false, Writes::All),
            (["false", "off", "true", "true"], true, Writes::Nothing("read-only was asked for".into())),
            (["true", "off", "true", "true"], false, Writes::Nothing("the server is a standby".into())),
            (
                ["false", "on", "true", "true"],
                false,
                Writes::Nothing("default_transaction_read_only is on".into()),
            ),
            (
                ["false", "off", "false", "true"],
                false,
                Writes::Temporary("role joe may not create a schema in database shop".into()),
            ),
            (
                ["false", "off", "false", "false"],
                false,
                Writes::Nothing(
                    "role joe may not create a schema or a temporary table in database shop".into(),
                ),
            ),
        ];
        for ([standby, by_default, create, temp], read_only, wanted) in cases {
            let mut sql = FakeSql::new();
            let row =
                ["17", "joe", "shop", standby, by_default, create, temp, "8192", "134217728", "97", "1"];
            sql.answer("server_version_num", &[&row]);
            let server =
                ServerState::ask(&mut sql, &ProbeOptions { read_only, ..ProbeOptions::default() }).unwrap();
            assert_eq!(server.writes, wanted);
            assert_eq!((server.block_bytes, server.free_connections, server.active), (8192, 97, 1));
        }
    }

    #[test]
    fn old_servers_are_refused() {
        let mut sql = FakeSql::new();
        sql.answer("server_version_num", &[&["13", "joe"]]);
        let error = ServerState::ask(&mut sql, &ProbeOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("a probe needs PostgreSQL 14 or newer, and this is 13"), "{error}");
    }
}
