//! Separate counts of GETs that found all keys, GETs that did not, and SETs.

use super::options::{RedisCommand, RedisOptions};

/// Index of each in the order of [`listed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scripts {
    /// GETs; where keys may be gone, GETs that found all their keys.
    pub(super) get: u16,
    /// GETs that did not; equal to `get` where keys cannot be gone.
    pub(super) miss: u16,
    pub(super) set: u16,
}

impl Scripts {
    pub(super) fn of(options: &RedisOptions) -> Self {
        let miss = u16::from(options.may_miss());
        match options.command {
            RedisCommand::Set => Self { get: 0, miss: 0, set: 0 },
            RedisCommand::Get => Self { get: 0, miss, set: 0 },
            RedisCommand::Mixed => Self { get: 0, miss, set: miss + 1 },
        }
    }
}

/// Names and relative frequencies; the share of hits is unknown in advance.
pub(super) fn listed(options: &RedisOptions) -> Vec<(String, u32)> {
    let at_once = match options.pipeline {
        1 => String::new(),
        several => format!(", {several} at once"),
    };
    let mixed = options.command == RedisCommand::Mixed;
    let weight = |pct| if mixed { pct } else { 1 };
    let (hit, miss) = match options.pipeline {
        1 => (", hit", ", miss"),
        _ => (", all hit", ", with misses"),
    };
    let gets: &[&str] = match (options.reads(), options.may_miss()) {
        (false, _) => &[],
        (true, false) => &[""],
        (true, true) => &[hit, miss],
    };
    let gets = gets.iter().map(|end| (format!("GET{at_once}{end}"), weight(100 - options.set_pct)));
    let sets =
        (options.command != RedisCommand::Get).then(|| (format!("SET{at_once}"), weight(options.set_pct)));
    gets.chain(sets).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_its_own_name() {
        for (command, ttl_s, pipeline, wanted) in [
            (RedisCommand::Set, None, 1, "SET 1"),
            (RedisCommand::Get, None, 1, "GET 1"),
            (RedisCommand::Get, None, 16, "GET, 16 at once 1"),
            (RedisCommand::Get, Some(1), 1, "GET, hit 1|GET, miss 1"),
            (RedisCommand::Mixed, None, 1, "GET 90|SET 10"),
            (RedisCommand::Mixed, Some(1), 1, "GET, hit 90|GET, miss 90|SET 10"),
            (
                RedisCommand::Mixed,
                Some(1),
                4,
                "GET, 4 at once, all hit 90|GET, 4 at once, with misses 90|SET, 4 at once 10",
            ),
        ] {
            let options = RedisOptions { ttl_s, pipeline, ..RedisOptions::new(command) };
            let listed = listed(&options);
            let named: Vec<_> = listed.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
            assert_eq!(named.join("|"), wanted);
            let scripts = Scripts::of(&options);
            for (index, begins) in [(scripts.set, "SET"), (scripts.get, "GET"), (scripts.miss, "GET")] {
                let asked = command == RedisCommand::Mixed || begins.eq_ignore_ascii_case(command.name());
                assert!(!asked || listed[usize::from(index)].0.starts_with(begins), "{command:?} {begins}");
            }
        }
    }
}
