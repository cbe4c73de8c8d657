//! This host's clock compared with the server's.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use protocol::postgres::sql::{ResultSet, Sql, SqlError};

/// Round trips of which the shortest counts.
const TRIPS: usize = 32;

/// The server's time, µs since 1970.
pub(super) const SERVER_CLOCK: &str =
    "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8";

/// How far this host's clock is ahead of the server's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    /// µs; negative if it is behind.
    pub offset_us: f64,
    /// The offset is at most that far off: half the shortest round trip, µs.
    pub error_us: f64,
}

impl ClockOffset {
    /// Asks the server for its time, several times. The shortest round trip has the smallest error, as in Cristian,
    /// "Probabilistic clock synchronization", 1989.
    pub(super) fn measure(control: &mut dyn Sql) -> Result<Self, SqlError> {
        let mut trips = Vec::with_capacity(TRIPS);
        for _ in 0..TRIPS {
            let (sent_us, sent) = (now_us(), Instant::now());
            let server_us = of_server(&control.query(SERVER_CLOCK)?)? as f64;
            trips.push(Trip { sent_us, took_us: sent.elapsed().as_nanos() as f64 / 1e3, server_us });
        }
        Ok(Self::of(&trips))
    }

    fn of(trips: &[Trip]) -> Self {
        let shortest = trips.iter().min_by(|one, other| one.took_us.total_cmp(&other.took_us));
        let half = shortest.map_or(0.0, |trip| trip.took_us / 2.0);
        let offset_us = shortest.map_or(0.0, |trip| trip.sent_us + half - trip.server_us);
        // The server tells whole µs.
        Self { offset_us, error_us: half + 1.0 }
    }
}

struct Trip {
    sent_us: f64,
    took_us: f64,
    server_us: f64,
}

/// µs since 1970 by this host's clock.
pub(super) fn now_us() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_nanos() as f64 / 1e3)
}

/// The answer of a query that ends with [`SERVER_CLOCK`].
pub(super) fn of_server(answer: &[ResultSet]) -> Result<i64, SqlError> {
    let text = answer.last().and_then(|set| set.rows.first()?.first()?.as_deref());
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| SqlError { sqlstate: None, text: format!("the server's time is {text:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_tells_the_offset_and_its_error() {
        let offset = 3_500.0;
        let trip = |sent_us: f64, there: f64, back: f64| Trip {
            sent_us,
            took_us: there + back,
            server_us: sent_us + there - offset,
        };
        let found =
            ClockOffset::of(&[trip(1e9, 900.0, 100.0), trip(2e9, 60.0, 40.0), trip(3e9, 80.0, 4_000.0)]);
        assert_eq!(found.error_us, 51.0);
        assert!((found.offset_us - offset).abs() <= found.error_us, "{found:?}");
        // However lopsided the way is, the error bounds it.
        for there in [0.0, 10.0, 50.0, 99.0] {
            let found = ClockOffset::of(&[trip(1e9, there, 100.0 - there)]);
            assert!((found.offset_us - offset).abs() <= found.error_us, "{there} {found:?}");
        }
    }
}
