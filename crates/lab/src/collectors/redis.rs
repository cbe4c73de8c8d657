//! Counters of Redis during a run: keys evicted and expired, and memory.

use engine::EngineResult;
use protocol::Address;
use protocol::postgres::sql::SqlError;
use protocol::redis::{Info, RedisConnection};
use server::redis::RedisControl;
use spec::Sample;
use spec::figures::{self, Figure, Figures};

use super::Collector;

const COUNTERS: [(&str, Figure); 2] =
    [("evicted_keys", figures::REDIS_EVICTED_KEYS), ("expired_keys", figures::REDIS_EXPIRED_KEYS)];
const MEMORY: (&str, [Figure; 2]) =
    ("used_memory", [figures::REDIS_MEMORY_BEFORE_BYTES, figures::REDIS_MEMORY_AFTER_BYTES]);

/// `INFO` at start and end; without an answer the figures are missing, and the run is valid.
pub(super) struct RedisCounters<'a> {
    address: &'a Address,
    before: Option<Info>,
}

impl<'a> RedisCounters<'a> {
    pub(super) fn new(address: &'a Address) -> Self {
        Self { address, before: None }
    }

    fn info(&self) -> Option<Info> {
        RedisControl::connect(self.address, &|| false).ok()?.info().ok()
    }
}

impl Collector for RedisCounters<'_> {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.before = self.info();
        Ok(())
    }

    fn end(&mut self, _measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let both = self.before.take().zip(self.info());
        Ok(both.map(|(before, after)| figures(&before, &after)).unwrap_or_default())
    }
}

/// A restarted server counts from 0: then nothing is known.
fn figures(before: &Info, after: &Info) -> Figures {
    if before.text("run_id") != after.text("run_id") {
        return Figures::default();
    }
    let mut figures = Figures::default();
    for (field, of) in COUNTERS {
        let both = before.number(field).zip(after.number(field));
        let grown = both.and_then(|(before, after)| after.checked_sub(before));
        figures.extend(grown.map(|grown| (of, grown as f64)));
    }
    let (field, both) = MEMORY;
    for (info, of) in [before, after].into_iter().zip(both) {
        figures.extend(info.number(field).map(|bytes| (of, bytes as f64)));
    }
    let limit = after.number("maxmemory").filter(|limit| *limit > 0);
    figures.extend(limit.map(|limit| (figures::REDIS_MAXMEMORY_BYTES, limit as f64)));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_memory_is_told_at_both_ends() {
        let info = |run: &str, evicted: u64, used: u64| {
            Info::parse(&format!(
                "run_id:{run}\r\nused_memory:{used}\r\nmaxmemory:64\r\nevicted_keys:{evicted}\r\n"
            ))
        };
        let found = figures(&info("a", 5, 100), &info("a", 12, 90));
        let wanted = [
            (figures::REDIS_EVICTED_KEYS, 7.0),
            (figures::REDIS_MAXMEMORY_BYTES, 64.0),
            (figures::REDIS_MEMORY_AFTER_BYTES, 90.0),
            (figures::REDIS_MEMORY_BEFORE_BYTES, 100.0),
        ];
        assert_eq!(found, wanted.into());
        assert!(figures(&info("a", 5, 100), &info("b", 7, 90)).is_empty(), "another server");
    }
}
