//! How far replicas are behind, as their primary reports it.

use protocol::postgres::sql::{Sql, SqlError};

use super::primary::FollowerKey;

/// One line without standbys; columns are NULL where the role may not read them. `client_addr` is NULL for a Unix
/// socket.
const LOOK: &str = "SELECT pg_catalog.pg_wal_lsn_diff(w.now, '0/0'), r.pid, r.application_name, \
     coalesce(pg_catalog.host(r.client_addr), ''), r.state, \
     pg_catalog.pg_wal_lsn_diff(r.write_lsn, '0/0'), pg_catalog.pg_wal_lsn_diff(r.flush_lsn, '0/0'), \
     pg_catalog.pg_wal_lsn_diff(r.replay_lsn, '0/0'), \
     1000 * date_part('epoch', r.write_lag), 1000 * date_part('epoch', r.flush_lag), \
     1000 * date_part('epoch', r.replay_lag) \
     FROM (SELECT pg_catalog.pg_current_wal_lsn() AS now) w LEFT JOIN pg_catalog.pg_stat_replication r ON true";

/// What a lag is measured at, in the order of [`Position::reached`].
pub const STEPS: [&str; 3] = ["write", "flush", "replay"];

/// A primary and its standbys at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Positions {
    /// Written WAL of the primary, bytes.
    pub written: u64,
    pub standbys: Vec<Position>,
    /// Standbys whose state the role may not read.
    pub hidden: bool,
}

/// A standby at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    pub key: FollowerKey,
    /// WAL that it has written, flushed and replayed, bytes; as it last reported.
    pub reached: [u64; 3],
    /// `write_lag`, `flush_lag` and `replay_lag`, ms: of recent WAL. `None` when idle for a while; before that they
    /// stay as they were.
    pub reported_ms: [Option<f64>; 3],
}

impl Positions {
    /// Asks the primary.
    ///
    /// # Errors
    /// When it cannot be asked, or is in recovery itself.
    pub fn look(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        let mut positions = Self::default();
        for row in sql.rows(LOOK)? {
            let number = |at: usize| row.get(at)?.as_ref()?.parse::<f64>().ok();
            let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            positions.written = number(0).unwrap_or(0.0) as u64;
            if number(1).is_none() {
                continue;
            }
            let reached = [5, 6, 7].map(number);
            let ([Some(write), Some(flush), Some(replay)], false) = (reached, text(4).is_empty()) else {
                // A base backup has a state and no positions.
                positions.hidden |= text(4).is_empty();
                continue;
            };
            positions.standbys.push(Position {
                key: FollowerKey { name: text(2), client: text(3) },
                reached: [write as u64, flush as u64, replay as u64],
                reported_ms: [8, 9, 10].map(number),
            });
        }
        Ok(positions)
    }
}
