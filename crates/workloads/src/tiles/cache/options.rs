//! Checks the options of the cache.

use spec::Error;

use super::super::options::TilesOptions;
use super::super::via::Via;
use crate::error;
use crate::redis::Eviction;

/// Longest time to live: a year, s.
const LONGEST_TTL_S: u32 = 366 * 86_400;

/// Checks ranges, and that there are no cache options without a cache.
pub(in crate::tiles) fn validate(options: &TilesOptions) -> Result<(), Error> {
    let wrong = |key: &str, problem: String| Err(error::option(format!("tiles.{key}"), problem));
    let TilesOptions { cache_ttl_s, cache_memory, cache_eviction, cache_hit_pct, cache_warm, .. } = options;
    let given = [
        ("cache_ttl_s", cache_ttl_s.is_some()),
        ("cache_memory", cache_memory.is_some()),
        ("cache_eviction", *cache_eviction != Eviction::default()),
        ("cache_hit_pct", cache_hit_pct.is_some()),
        ("cache_warm", *cache_warm),
    ];
    if options.via != Via::Redis {
        return match given.iter().find(|(_, given)| *given) {
            Some((key, _)) => wrong(key, "needs a cache; write via = \"redis\", or leave it out".to_owned()),
            None => Ok(()),
        };
    }
    if let Some(ttl) = cache_ttl_s.filter(|ttl| !(1..=LONGEST_TTL_S).contains(ttl)) {
        return wrong("cache_ttl_s", format!("{ttl} is not within 1..{LONGEST_TTL_S}"));
    }
    if let Some(share) = cache_hit_pct.filter(|share| !(0.0..=100.0).contains(share)) {
        return wrong("cache_hit_pct", format!("{share} is not within 0..100"));
    }
    if cache_hit_pct.is_some() && (*cache_warm || cache_memory.is_some() || cache_ttl_s.is_some()) {
        let problem = "keeps the share of hits constant; leave cache_warm, cache_memory and cache_ttl_s out";
        return wrong("cache_hit_pct", problem.to_owned());
    }
    if *cache_eviction != Eviction::default() && cache_memory.is_none() {
        return wrong(
            "cache_eviction",
            "nothing is evicted without a limit; set cache_memory too".to_owned(),
        );
    }
    Ok(())
}
