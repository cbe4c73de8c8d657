//! A query of fixed cost, to check whether the server's processor is as fast as before. It needs only a
//! connection, reads no table, and uses no memory that a setting could limit.

use std::time::{Duration, Instant};

use protocol::postgres::sql::Sql;

/// How often the idle server is queried around a short run, and around one of ten seconds or more: then long
/// enough to hit a quota or a hypervisor that allows a tenth of a second at full speed.
const FEW: usize = 5;
const MANY: usize = 30;
/// No further query after that time, however slow it is.
const BOUND: Duration = Duration::from_secs(1);
/// Returns the server's own time, without the network.
const QUERY: &str = "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON) \
     SELECT pg_catalog.sum(i) FROM (SELECT pg_catalog.generate_series(1, 30000) AS i) AS numbers";

/// What the idle server needed for the query, queried several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The minimum, ms: the speed of its processor, since disturbances only add.
    pub least_ms: f64,
    /// The mean, ms: includes disturbances.
    pub mean_ms: f64,
}

impl Probe {
    /// Queries an idle server; `None` if it refuses.
    pub(crate) fn take(sql: &mut dyn Sql, thorough: bool) -> Option<Self> {
        let start = Instant::now();
        let mut all = Vec::new();
        while all.len() < FEW || (thorough && all.len() < MANY && start.elapsed() < BOUND) {
            all.push(once_ms(sql)?);
        }
        Self::of(&all)
    }

    fn of(all: &[f64]) -> Option<Self> {
        let least_ms = all.iter().copied().min_by(f64::total_cmp)?;
        Some(Self { least_ms, mean_ms: all.iter().sum::<f64>() / all.len() as f64 })
    }

    /// The typical one of several: the medians.
    pub(crate) fn usual(all: &[Self]) -> Option<Self> {
        let median = |of: fn(&Self) -> f64| {
            let mut sorted: Vec<f64> = all.iter().map(of).collect();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied()
        };
        Some(Self { least_ms: median(|one| one.least_ms)?, mean_ms: median(|one| one.mean_ms)? })
    }
}

pub(crate) fn once_ms(sql: &mut dyn Sql) -> Option<f64> {
    let rows = sql.rows(QUERY).ok()?;
    rows.iter().flatten().flatten().find_map(|line| execution_ms(line))
}

fn execution_ms(line: &str) -> Option<f64> {
    line.strip_prefix("Execution Time: ")?.strip_suffix(" ms")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read() {
        assert_eq!(execution_ms("Execution Time: 6.502 ms"), Some(6.502));
        assert_eq!(execution_ms("Planning Time: 6.502 ms"), None);
    }

    #[test]
    fn the_usual_one_is_the_middle() {
        let probe = |all: &[f64]| Probe::of(all).unwrap();
        let usual = Probe::usual(&[probe(&[3.0, 5.0]), probe(&[90.0]), probe(&[3.1, 3.3])]);
        assert_eq!(usual, Some(Probe { least_ms: 3.1, mean_ms: 4.0 }));
        assert_eq!(Probe::usual(&[]), None);
    }
}
