//! Server CPU per transaction on real servers: each arm has it, with an interval and a verdict.

use crate::support::{Place, in_one_line};

/// Two servers of one build, whose only difference has no effect here.
const SAME: &str = r#"
question = "Is it the same?"
[target]
managed = {}
[prepare]
pgbench = { scale = 1 }
[workload.reads]
pgbench = { builtin = "select-only", mode = "prepared" }
[factors]
clients = 2
[compare]
factor = "settings"
base = "a"
[settings.a]
shared_buffers = "64MB"
[settings.b]
shared_buffers = "65MB"
[measure]
warmup = "200ms"
duration = "600ms"
rounds = 4
"#;

/// µs of server CPU per transaction of each run of an experiment, in order.
fn per_transaction(place: &Place, experiment: u32) -> Vec<f64> {
    let each = format!(
        "select 1e6 * f.value / c.value as us from run r join run_figure f using (run_id) join run_count c using (run_id) \
         where experiment_id = {experiment} and kind = 'client' and f.name = 'server_cpu_s' and c.name = 'ok' order by us"
    );
    let all = place.sql(&format!("select group_concat(us, ' ') from ({each})"));
    all.trim_matches('"').split_whitespace().map(|us| us.parse().unwrap()).collect()
}

/// In comparisons of a build with itself, a fifth of the figures were a half to a twentieth of the others,
/// because backends had ended before they were read.
#[test]
fn cpu_per_transaction_of_each_arm_has_an_interval_and_a_verdict() {
    let place = Place::with_private("default");
    let file = place.write("same.toml", SAME).to_str().unwrap().to_owned();
    let done = place.run(["run", &file, "-v"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let answer = in_one_line(&done.stdout);
    assert!(answer.contains("throughput against a"), "{answer}");
    assert!(answer.contains("By server CPU per transaction: "), "{answer}");
    assert!(answer.contains("reliable here"), "{answer}");
    let without =
        "select count(*) from slice left join slice_cpu using (run_id, position) where server_cpu_us is null";
    assert_eq!(place.sql(without), "0");
    // Slices add up to the run, and arms are read separately.
    let off = "select count(*) from run r join run_figure f using (run_id) where f.name = 'server_cpu_s' and kind = 'client' \
               and abs(f.value * 1e6 - (select sum(server_cpu_us) from slice_cpu s where s.run_id = r.run_id)) > 1";
    assert_eq!(place.sql(off), "0");
    let by_cpu = place.run(["compare", "--metric", "cpu", "--format", "json"]);
    assert!(matches!(by_cpu.status.code(), Some(0..=2)), "{}", by_cpu.stderr);
    let lines: serde_json::Value = serde_json::from_str(&by_cpu.stdout).unwrap();
    let whole = lines.as_array().unwrap().iter().find(|line| line["workload"] == "whole grid").unwrap();
    let [low, high] = ["low_pct", "high_pct"].map(|end| whole[end].as_f64().unwrap());
    assert!(low < high, "{whole}");
    assert_ne!(whole["verdict"], "invalid");
    assert_eq!(whole["other_metric"], "tps");
    assert!(whole["other_low_pct"].as_f64() < whole["other_high_pct"].as_f64(), "{whole}");
    assert!(whole["more_reliable"].is_string(), "{whole}");
    let table = in_one_line(&place.run(["compare", "--metric", "cpu"]).stdout);
    assert!(table.contains("By throughput: "), "{table}");
    // What another comparison by CPU will be able to tell.
    let planned = place.run(["run", "--dry-run", &file, "--metric", "cpu"]).expect(0);
    let words = planned.words();
    assert!(words.contains("4 pairs seen here earlier"), "{words}");
    // The same as the answer, in runs that are not cut.
    let uncut = place.run(["run", &file, "--metric", "cpu", "--slices", "false", "--rounds", "2", "-v"]);
    assert!(matches!(uncut.status.code(), Some(0..=2)), "{}", uncut.stderr);
    let answer = in_one_line(&uncut.stdout);
    assert!(answer.contains("server CPU per transaction against a"), "{answer}");
    assert!(answer.contains("By throughput: "), "{answer}");
    for (experiment, runs) in [(1, 8), (2, 4)] {
        let each = per_transaction(&place, experiment);
        assert_eq!(each.len(), runs, "{each:?}");
        // A busy host changes the cost by a factor of 2 to 3; backends that were not read left a tenth.
        assert!(each[runs - 1] < 5.0 * each[0], "experiment {experiment}: {each:?} µs");
    }
}

#[test]
fn a_metric_needs_a_comparison() {
    let place = Place::new();
    let (alone, _) = SAME.split_once("[compare]").unwrap();
    let file = place.write("alone.toml", alone);
    let refused = place.run(["run", "--dry-run", file.to_str().unwrap(), "--metric", "cpu"]);
    assert!(refused.stderr.contains("no [compare]"), "{}", refused.stderr);
    let alone = place.run(["bench", "--metric", "cpu"]);
    assert_eq!(alone.status.code(), Some(64), "{}", alone.stderr);
    let odd = SAME.replace("base = \"a\"\n", "base = \"a\"\nmetric = \"p99\"\n");
    let odd = place.write("odd.toml", odd);
    let refused = place.run(["run", "--dry-run", odd.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(65), "{}", refused.stderr);
    assert!(refused.stderr.contains("metric"), "{}", refused.stderr);
}
