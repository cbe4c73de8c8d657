//! A query of fixed cost, to see whether the server's processor still runs as fast as before.

use protocol::postgres::sql::Sql;

/// How often it is asked; the smallest answer counts, since disturbances only add.
const TIMES: usize = 5;
const PROBE: &str = "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON) \
     SELECT pg_catalog.sum(i) FROM pg_catalog.generate_series(1, 30000) i";

/// Time the server itself needs for the probe, ms, without the way there and back; `None` when it will not say.
pub(super) fn probe_ms(sql: &mut dyn Sql) -> Option<f64> {
    let mut best: Option<f64> = None;
    for _ in 0..TIMES {
        let rows = sql.rows(PROBE).ok()?;
        let time = rows.iter().flatten().flatten().find_map(|line| execution_ms(line))?;
        best = Some(best.map_or(time, |best| best.min(time)));
    }
    best
}

fn execution_ms(line: &str) -> Option<f64> {
    line.strip_prefix("Execution Time: ")?.strip_suffix(" ms")?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_time_is_read() {
        assert_eq!(super::execution_ms("Execution Time: 6.502 ms"), Some(6.502));
        assert_eq!(super::execution_ms("Planning Time: 6.502 ms"), None);
    }
}
