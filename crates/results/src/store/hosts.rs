//! Hosts, each once per state of its facts.

use rusqlite::{Transaction, params};
use spec::Host;

use super::Sqlite;
use super::rows::to_json;

/// The number of a host, which is stored if it is not there.
pub(super) fn host_id(transaction: &Transaction<'_>, host: &Host) -> Sqlite<i64> {
    let facts = to_json(&host.facts);
    let values = params![host.uuid, host.name, host.cpu, host.cores, host.memory_bytes as i64, facts];
    transaction.execute(
        "INSERT OR IGNORE INTO host (uuid, name, cpu, cores, memory_bytes, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values,
    )?;
    transaction.query_row(
        "SELECT host_id FROM host WHERE uuid = ?1 AND name = ?2 AND cpu = ?3 AND cores = ?4 AND memory_bytes = ?5
         AND facts = ?6",
        values,
        |row| row.get(0),
    )
}
