//! What Redis counts while it is asked: keys evicted and expired, and the memory it takes.

use std::collections::BTreeMap;

use engine::Measured;
use protocol::Address;
use protocol::postgres::sql::SqlError;
use protocol::redis::{Control, Info};
use server::redis::RedisControl;
use spec::Sample;

use super::Collector;

/// Counters that grow, each with its figure.
const COUNTERS: [(&str, &str); 2] =
    [("evicted_keys", "redis_evicted_keys"), ("expired_keys", "redis_expired_keys")];
/// What it holds, at both ends.
const MEMORY: (&str, [&str; 2]) = ("used_memory", ["redis_memory_before_bytes", "redis_memory_after_bytes"]);

/// `INFO` at both ends; a Redis that does not answer leaves its figures out, and its run as it is.
pub(super) struct Redis<'a> {
    address: &'a Address,
    before: Option<Info>,
}

impl<'a> Redis<'a> {
    pub(super) fn new(address: &'a Address) -> Self {
        Self { address, before: None }
    }

    fn info(&self) -> Option<Info> {
        RedisControl::connect(self.address, &|| false).ok()?.info().ok()
    }
}

impl Collector for Redis<'_> {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.before = self.info();
        Ok(())
    }

    fn end(
        &mut self,
        _measured: &Measured,
        _samples: &mut Vec<Sample>,
    ) -> Result<BTreeMap<String, f64>, SqlError> {
        let both = self.before.take().zip(self.info());
        Ok(both.map(|(before, after)| figures(&before, &after)).unwrap_or_default())
    }
}

/// A server that was started again meanwhile counts from 0 again: then nothing is known.
fn figures(before: &Info, after: &Info) -> BTreeMap<String, f64> {
    if before.text("run_id") != after.text("run_id") {
        return BTreeMap::new();
    }
    let mut figures = BTreeMap::new();
    for (field, name) in COUNTERS {
        let both = before.number(field).zip(after.number(field));
        let grown = both.and_then(|(before, after)| after.checked_sub(before));
        figures.extend(grown.map(|grown| (name.to_owned(), grown as f64)));
    }
    let (field, names) = MEMORY;
    for (info, name) in [before, after].into_iter().zip(names) {
        figures.extend(info.number(field).map(|bytes| (name.to_owned(), bytes as f64)));
    }
    let limit = after.number("maxmemory").filter(|limit| *limit > 0);
    figures.extend(limit.map(|limit| ("redis_maxmemory_bytes".to_owned(), limit as f64)));
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
            ("redis_evicted_keys", 7.0),
            ("redis_maxmemory_bytes", 64.0),
            ("redis_memory_after_bytes", 90.0),
            ("redis_memory_before_bytes", 100.0),
        ];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value)).into());
        assert!(figures(&info("a", 5, 100), &info("b", 7, 90)).is_empty(), "another server");
    }
}
