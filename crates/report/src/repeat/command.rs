//! The command line that an experiment without a file came from.

use std::collections::BTreeSet;

use record::TextKind;
use serde_json::Value;

use super::{Places, shell};
use crate::data::ReportData;
use crate::numbers;

/// What it was called with, as far as it makes the experiment.
pub(super) fn of(data: &ReportData, places: &Places) -> String {
    let plan: Value = serde_json::from_str(&data.experiment.plan_json).unwrap_or_default();
    match data.experiment.name.as_str() {
        "bench" => clients("pgdyno bench", &plan, data, places),
        "pgbench" => clients("pgdyno pgbench", &plan, data, places),
        "bench -i" => initialize(&plan["prepare"]["pgbench"], &data.target.dsn_redacted),
        "osm load" => {
            let url = Some(&data.target.dsn_redacted).filter(|_| data.target.kind != "managed");
            osm_load(&plan["prepare"]["osm"], url.map(String::as_str), places)
        }
        // Its options are in the plan.
        other => format!("pgdyno {other} …"),
    }
}

/// pgbench's tables with all that is not as usual.
fn initialize(asked: &Value, url: &str) -> String {
    let text = |key: &str| asked[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let other_than =
        |key: &str, usual: u64| whole(&asked[key]).filter(|_| asked[key].as_u64() != Some(usual));
    let options = [
        ("-s", whole(&asked["scale"])),
        ("-I", text("steps").filter(|steps| steps != "dtgvp")),
        ("-F", other_than("fillfactor", 100)),
        ("--partitions", other_than("partitions", 0)),
        ("--partition-method", text("partition_method").filter(|_| asked["partitions"].as_u64() != Some(0))),
        ("--tablespace", text("tablespace")),
        ("--index-tablespace", text("index_tablespace")),
    ];
    let mut words = vec!["pgdyno bench -i".to_owned()];
    for (name, value) in options {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), shell(&value)]));
    }
    let flags = [("unlogged", "--unlogged-tables"), ("foreign_keys", "--foreign-keys")];
    let set = flags.iter().filter(|(key, _)| asked[*key] == Value::Bool(true));
    words.extend(set.map(|(_, flag)| (*flag).to_owned()));
    words.push(shell(url));
    words.join(" ")
}

/// An OSM load with all that is not as usual. Earlier results hold one load, later ones a list of one.
fn osm_load(loads: &Value, url: Option<&str>, places: &Places) -> String {
    let load = loads.get(0).unwrap_or(loads);
    let mut words = vec!["pgdyno osm load".to_owned()];
    let text = |key: &str| load[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let file = |key: &str| text(key).map(|name| places.of_name(&name));
    let number = |key: &str| whole(&load[key]).or_else(|| load[key].as_f64().map(numbers::as_given));
    let options = [
        ("--scale", number("scale")),
        ("--seed", number("seed")),
        ("--prefix", text("prefix").filter(|prefix| prefix != "planet_osm")),
        ("--output", text("output")),
        ("--style", file("style")),
        ("--cache", number("cache_mb")),
        ("--number-processes", number("processes")),
        ("--flat-nodes", text("flat_nodes")),
        ("--args", text("args")),
        ("--program", text("program")),
    ];
    for (name, value) in options {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), shell(&value)]));
    }
    let is = |key: &str, on: bool| load[key] == Value::Bool(on);
    let flags = [
        ("--no-slim", is("slim", false)),
        ("--drop", is("drop", true)),
        ("--hstore", is("hstore", true)),
        ("--replace", is("replace", true)),
    ];
    words.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| (*name).to_owned()));
    for schema in load["schemas"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        words.extend(["--schema".to_owned(), shell(schema)]);
    }
    words.extend(url.into_iter().flat_map(|url| ["--url".to_owned(), shell(url)]));
    words.extend(text("extract").filter(|_| load["scale"].is_null()).map(|extract| shell(&extract)));
    words.join(" ")
}

/// Seeds have more digits than a number with a fraction holds.
fn whole(value: &Value) -> Option<String> {
    value.as_u64().map(|number| number.to_string())
}

/// Clients from the command line.
fn clients(program: &str, plan: &Value, data: &ReportData, places: &Places) -> String {
    let mut words = vec![program.to_owned()];
    let files: BTreeSet<&str> =
        data.texts.iter().filter(|text| text.kind == TextKind::File).map(|text| text.name.as_str()).collect();
    for script in plan["scripts"].as_array().into_iter().flatten() {
        let (name, weight) = (script[0].as_str().unwrap_or_default(), script[2].as_u64().unwrap_or(1));
        let weight = if weight == 1 { String::new() } else { format!("@{weight}") };
        let builtin = name.strip_prefix("<builtin: ").and_then(|name| name.strip_suffix('>'));
        match builtin {
            Some(of) => words.extend(["-b".to_owned(), shell(&format!("{}{weight}", builtin_name(of)))]),
            None if files.contains(name) => {
                words.extend(["-f".to_owned(), shell(&format!("{}{weight}", places.of_name(name)))]);
            }
            None => words.extend(["-f".to_owned(), shell(&format!("{name}{weight}"))]),
        }
    }
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), shell(&value)]));
    };
    let number = |value: &Value| value.as_f64().map(numbers::as_given);
    let other_than = |value: &Value, usual: f64| number(value).filter(|_| value.as_f64() != Some(usual));
    option("-c", number(&plan["clients"]));
    option("-j", other_than(&plan["threads"], 1.0));
    option("-T", number(&plan["until"]["elapsed_s"]));
    option("-t", number(&plan["until"]["per_client"]));
    option("--warmup", other_than(&plan["warmup_s"], 0.0));
    option("-R", plan["rate"].as_str().map(str::to_owned).or_else(|| number(&plan["rate"])));
    option("-L", plan["limit_s"].as_f64().map(|seconds| numbers::as_given(seconds * 1e3)));
    let workload = &plan["workload"];
    option("-M", workload["mode"].as_str().filter(|mode| *mode != "simple").map(str::to_owned));
    option("-s", number(&workload["scale"]));
    option("--max-tries", other_than(&workload["max_tries"], 1.0));
    for (name, value) in workload["define"].as_object().into_iter().flatten() {
        option("-D", Some(format!("{name}={}", value.as_str().unwrap_or_default())));
    }
    let set = |key: &str| workload[key] == Value::Bool(true);
    let flags = [
        ("reconnect", "-C"),
        ("reconnect_lost", "--reconnect"),
        ("continue_on_error", "--continue-on-error"),
        ("may_be_empty", "--may-be-empty"),
    ];
    words.extend(flags.iter().filter(|(key, _)| set(key)).map(|(_, flag)| (*flag).to_owned()));
    if workload["vacuum"] == Value::Bool(false) {
        words.push("-n".to_owned());
    }
    words.push(format!("--random-seed={}", data.experiment.seed));
    words.push(shell(&data.target.dsn_redacted));
    words.join(" ")
}

/// The name that pgbench's description of a builtin script stands for.
fn builtin_name(description: &str) -> &str {
    match description {
        "TPC-B (sort of)" => "tpcb-like",
        "simple update" => "simple-update",
        "select only" => "select-only",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// It was `pgdyno osm load …`.
    #[test]
    fn a_load_is_repeated_by_its_own_command() {
        let places = Places::of(["/styles/my.lua"].into_iter());
        let plain = json!({ "extract": "a b.osm.pbf", "prefix": "planet_osm", "slim": true, "drop": false, "hstore": false });
        assert_eq!(osm_load(&plain, None, &places), "pgdyno osm load 'a b.osm.pbf'");
        let all = json!([{
            "extract": "", "scale": 0.5, "seed": 9_007_199_254_740_993_u64, "prefix": "x", "output": "flex",
            "style": "/styles/my.lua", "slim": false, "cache_mb": 100, "processes": 2, "hstore": true,
            "args": "--latlong --verbose", "schemas": ["themes"]
        }]);
        assert_eq!(
            osm_load(&all, Some("host=/run port=5433"), &places),
            "pgdyno osm load --scale 0.5 --seed 9007199254740993 --prefix x --output flex --style files/my.lua --cache 100 \
             --number-processes 2 --args '--latlong --verbose' --no-slim --hstore --schema themes --url 'host=/run port=5433'"
        );
    }

    #[test]
    fn tables_of_pgbench_are_made_again_by_their_own_command() {
        let asked = json!({
            "scale": 10, "steps": "dtgvp", "fillfactor": 90, "unlogged": true, "foreign_keys": false, "partitions": 0,
            "partition_method": "range", "tablespace": null, "index_tablespace": null
        });
        assert_eq!(initialize(&asked, "dbname=x"), "pgdyno bench -i -s 10 -F 90 --unlogged-tables dbname=x");
    }
}
