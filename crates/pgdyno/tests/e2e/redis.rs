//! Redis alone, on a private server: figures of a cache that does not hold everything.

use crate::support::Place;

fn experiment(workloads: &str, more: &str) -> String {
    format!(
        "question = \"?\"\n[target]\nmanaged = {{ name = \"redis\", redis = true }}\n{workloads}[measure]\nwarmup = \"100ms\"\n\
         duration = \"500ms\"\nrounds = 2\n[factors]\nclients = 4\n{more}"
    )
}

#[test]
fn a_cache_that_is_too_small_has_hits_misses_and_evictions() {
    let place = Place::with_private("redis");
    let text = experiment(
        "[workload.cache]\nredis = { command = \"mixed\", set_pct = 30, value_bytes = [1000, 4000], keys = 20000, key_distribution = \
         \"zipfian\", memory = \"16MB\", eviction = \"allkeys-lru\" }\n[workload.plain]\nredis = { command = \"get\", value_bytes = 3, \
         keys = 100, pipeline = 16 }\n",
        "",
    );
    let file = place.write("cache.toml", &text);
    let done = place.run(["run", file.to_str().unwrap(), "--report", "cache.html"]).expect(0);
    assert!(done.stderr.contains(" % hits") && done.stderr.contains(" commands/s"), "{}", done.stderr);
    // Limits belong to each workload: the other one has none, and finds all its keys.
    let figures = |name: &str, workload: &str, of: &str| {
        place.sql(&format!(
            "select {of} from run_figure f join v_run using (run_id) where name = '{name}' and workload = '{workload}'"
        ))
    };
    assert_eq!(figures("redis_maxmemory_bytes", "cache", "min(value) || ' ' || count(*)"), "16777216.0 2");
    assert_eq!(figures("redis_maxmemory_bytes", "plain", "count(*)"), "0");
    assert_eq!(figures("redis_evicted_keys", "cache", "min(value) > 0"), "1");
    assert_eq!(figures("redis_memory_after_bytes", "cache", "max(value) < 17 * 1048576"), "1");
    assert_eq!(figures("hit_pct", "cache", "min(value) > 5 and max(value) < 100"), "1");
    assert_eq!(figures("commands_per_tx", "plain", "min(value)"), "16");
    assert_eq!(place.sql("select sum(failed) from v_run"), "0");
    let scripts = place.run(["table", "scripts", "--format", "csv"]).expect(0).stdout;
    for script in ["\"GET, hit\"", "\"GET, miss\"", "SET"] {
        assert!(scripts.contains(script), "{scripts}");
    }
    let cells = place.run(["table", "cells", "--format", "csv"]).expect(0).stdout;
    assert!(cells.contains("commands_per_s_mean,hit_pct,evicted_keys"), "{cells}");
    let html = std::fs::read_to_string(place.path().join("cache.html")).unwrap();
    for head in ["hits", "keys evicted", "commands per s"] {
        assert!(html.contains(&format!(">{head}<")), "the report has no {head}");
    }
    place.run(["target", "destroy", "redis"]).expect(0);
}

#[test]
fn a_redis_without_room_for_the_keys_is_told_before_anything_is_timed() {
    let place = Place::with_private("redis");
    let text = experiment(
        "[workload.cache]\nredis = { command = \"get\", value_bytes = 32000, keys = 1000, memory = \"8MB\" }\n",
        "",
    );
    let file = place.write("full.toml", &text);
    let done = place.run(["run", file.to_str().unwrap()]).expect(69);
    let done = done.says(&[
        "Redis is full: its memory (maxmemory) is 8.00 MB, and 1000 keys of 32000 bytes take 30.5 MB",
    ]);
    assert!(!done.stderr.contains("1/2"), "{}", done.stderr);
    place.run(["target", "destroy", "redis"]).expect(0);
}

#[test]
fn keys_that_expire_are_missed_and_longer_pipelines_compared_by_their_commands() {
    let place = Place::with_private("redis");
    let text = experiment(
        "[workload.short]\nredis = { command = \"get\", value_bytes = 3, keys = 100, ttl_s = 2 }\n",
        "\"short.pipeline\" = [1, 50]\n[compare]\nfactor = \"short.pipeline\"\nbase = \"1\"\n",
    );
    let text = text.replace("500ms", "2500ms");
    let file = place.write("short.toml", &text);
    let done = place.run(["run", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    done.says(&["no slices: each run begins with a Redis of its own memory and fresh keys"]);
    let expired = "select min(value) from run_figure where name = 'redis_expired_keys'";
    assert!(place.sql(expired).parse::<f64>().unwrap() >= 100.0, "{}", place.sql(expired));
    let hits = "select min(value) > 0 and max(value) < 100 from run_figure where name = 'hit_pct'";
    assert_eq!(place.sql(hits), "1");
    let compared = place.run(["compare", "--format", "json"]).stdout;
    let ratio = place.sql(
        "select avg(tps * case arm when '1' then 0 else 50 end) * 2 > avg(case arm when '1' then tps else 0 end) * 2 from v_run",
    );
    assert_eq!(ratio, "1", "{compared}");
    assert!(!compared.contains("\"slower\""), "{compared}");
    place.run(["target", "destroy", "redis"]).expect(0);
}
