//! What server processes wait for while they work: `pg_stat_activity`, sampled once a step.

use protocol::postgres::sql::Sql;
use spec::{Sample, Scope, WAITS, WAITS_UNIT};

/// Active client backends by wait event. Backends without one use a CPU or are ready to; backends that wait
/// for the client wait for pgdyno.
const WAITING: &str = "SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU'), pg_catalog.count(*) \
     FROM pg_catalog.pg_stat_activity \
     WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_catalog.pg_backend_pid() \
     AND wait_event_type IS DISTINCT FROM 'Client' \
     GROUP BY 1";

pub(super) fn look(sql: &mut dyn Sql, time_us: i64, samples: &mut Vec<Sample>) {
    // Other collectors report a server that does not answer.
    let Ok(rows) = sql.rows(WAITING) else { return };
    samples.extend(rows.iter().filter_map(|row| {
        let [Some(what), Some(count)] = &row[..] else { return None };
        let (source, name) = (WAITS.to_owned(), format!("{what}{WAITS_UNIT}"));
        Some(Sample { scope: Scope::Run, source, name, time_us, value: count.parse().ok()? })
    }));
}
