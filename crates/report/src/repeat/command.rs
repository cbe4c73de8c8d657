//! The command line that an experiment without a file came from.

use std::collections::BTreeSet;

use serde_json::Value;
use spec::TextKind;
use spec::shell::{self, Command};

use super::Places;
use crate::numbers;
use results::ReportData;

/// What it was called with, as far as it makes the experiment.
pub(super) fn of(data: &ReportData, places: &Places) -> String {
    let plan: Value = serde_json::from_str(&data.experiment.plan_json).unwrap_or_default();
    let command = match data.experiment.name.as_str() {
        "bench" => clients("bench", &plan, data, places),
        "pgbench" => clients("pgbench", &plan, data, places),
        "bench -i" => initialize(&plan["prepare"]["pgbench"], &data.target.dsn_redacted),
        "osm load" => {
            let url = Some(&data.target.dsn_redacted).filter(|_| data.target.kind != "managed");
            osm_load(&plan["prepare"]["osm"], url.map(String::as_str), places)
        }
        // Its options are in the plan.
        other => return format!("pgdyno {} …", shell::word(other)),
    };
    command.to_string()
}

/// pgbench's tables with all that is not as usual.
fn initialize(asked: &Value, url: &str) -> Command {
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
    let is = |key: &str| asked[key] == Value::Bool(true);
    let flags = [("--unlogged-tables", is("unlogged")), ("--foreign-keys", is("foreign_keys"))];
    with(Command::new("bench -i"), options, flags).operand(url)
}

/// The command with the options that have a value, and with the flags that are set.
fn with<'n>(
    command: Command,
    options: impl IntoIterator<Item = (&'n str, Option<String>)>,
    flags: impl IntoIterator<Item = (&'n str, bool)>,
) -> Command {
    let command = options.into_iter().fold(command, |command, (name, value)| match value {
        Some(value) => command.option(name, &value),
        None => command,
    });
    flags.into_iter().filter(|(_, set)| *set).fold(command, |command, (name, _)| command.flag(name))
}

/// An OSM load with all that is not as usual. Earlier results hold one load, later ones a list of one.
fn osm_load(loads: &Value, url: Option<&str>, places: &Places) -> Command {
    let load = loads.get(0).unwrap_or(loads);
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
    let is = |key: &str, on: bool| load[key] == Value::Bool(on);
    let flags = [
        ("--no-slim", is("slim", false)),
        ("--drop", is("drop", true)),
        ("--hstore", is("hstore", true)),
        ("--replace", is("replace", true)),
    ];
    let command = with(Command::new("osm load"), options, flags);
    let schemas = load["schemas"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let command = schemas.fold(command, |command, schema| command.option("--schema", schema));
    let command = url.into_iter().fold(command, |command, url| command.option("--url", url));
    let extract = text("extract").filter(|_| load["scale"].is_null());
    extract.into_iter().fold(command, |command, extract| command.path(&extract))
}

/// Seeds have more digits than a number with a fraction holds.
fn whole(value: &Value) -> Option<String> {
    value.as_u64().map(|number| number.to_string())
}

fn clients(program: &str, plan: &Value, data: &ReportData, places: &Places) -> Command {
    let mut options: Vec<(&str, Option<String>)> = Vec::new();
    let files: BTreeSet<&str> =
        data.texts.iter().filter(|text| text.kind == TextKind::File).map(|text| text.name.as_str()).collect();
    for script in plan["scripts"].as_array().into_iter().flatten() {
        let (name, weight) = (script[0].as_str().unwrap_or_default(), script[2].as_u64().unwrap_or(1));
        let weight = if weight == 1 { String::new() } else { format!("@{weight}") };
        let builtin = name.strip_prefix("<builtin: ").and_then(|name| name.strip_suffix('>'));
        options.push(match builtin {
            Some(of) => ("-b", Some(format!("{}{weight}", builtin_name(of)))),
            None if files.contains(name) => ("-f", Some(format!("{}{weight}", places.of_name(name)))),
            None => ("-f", Some(format!("{name}{weight}"))),
        });
    }
    let number = |value: &Value| value.as_f64().map(numbers::as_given);
    let other_than = |value: &Value, usual: f64| number(value).filter(|_| value.as_f64() != Some(usual));
    let workload = &plan["workload"];
    options.extend([
        ("-c", number(&plan["clients"])),
        ("-j", other_than(&plan["threads"], 1.0)),
        ("-T", number(&plan["until"]["elapsed_s"])),
        ("-t", number(&plan["until"]["per_client"])),
        ("--warmup", other_than(&plan["warmup_s"], 0.0)),
        ("-R", plan["rate"].as_str().map(str::to_owned).or_else(|| number(&plan["rate"]))),
        ("-L", plan["limit_s"].as_f64().map(|seconds| numbers::as_given(seconds * 1e3))),
        ("-M", workload["mode"].as_str().filter(|mode| *mode != "simple").map(str::to_owned)),
        ("-s", number(&workload["scale"])),
        ("--max-tries", other_than(&workload["max_tries"], 1.0)),
    ]);
    for (name, value) in workload["define"].as_object().into_iter().flatten() {
        options.push(("-D", Some(format!("{name}={}", value.as_str().unwrap_or_default()))));
    }
    let is = |key: &str, on: bool| workload[key] == Value::Bool(on);
    let flags = [
        ("-C", is("reconnect", true)),
        ("--reconnect", is("reconnect_lost", true)),
        ("--continue-on-error", is("continue_on_error", true)),
        ("--may-be-empty", is("may_be_empty", true)),
        ("-n", is("vacuum", false)),
    ];
    with(Command::new(program), options, flags)
        .flag(&format!("--random-seed={}", data.experiment.seed))
        .operand(&data.target.dsn_redacted)
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
        assert_eq!(osm_load(&plain, None, &places).to_string(), "pgdyno osm load 'a b.osm.pbf'");
        let all = json!([{
            "extract": "", "scale": 0.5, "seed": 9_007_199_254_740_993_u64, "prefix": "x", "output": "flex",
            "style": "/styles/my.lua", "slim": false, "cache_mb": 100, "processes": 2, "hstore": true,
            "args": "--latlong --verbose", "schemas": ["themes"]
        }]);
        assert_eq!(
            osm_load(&all, Some("host=/run port=5433"), &places).to_string(),
            "pgdyno osm load --scale 0.5 --seed 9007199254740993 --prefix x --output flex --style files/my.lua --cache 100 \
             --number-processes 2 '--args=--latlong --verbose' --no-slim --hstore --schema themes --url 'host=/run port=5433'"
        );
    }

    #[test]
    fn tables_of_pgbench_are_made_again_by_their_own_command() {
        let asked = json!({
            "scale": 10, "steps": "dtgvp", "fillfactor": 90, "unlogged": true, "foreign_keys": false, "partitions": 0,
            "partition_method": "range", "tablespace": null, "index_tablespace": null
        });
        let command = initialize(&asked, "dbname=x").to_string();
        assert_eq!(command, "pgdyno bench -i -s 10 -F 90 --unlogged-tables dbname=x");
    }
}
