//! The command line that an experiment without a file came from.

use std::collections::BTreeSet;

use spec::TextKind;
use spec::plan::{Options, SingleEnd, SingleLoad};
use spec::shell::{self, Command};

use super::Places;
use crate::data::ReportData;
use crate::numbers;

/// What it was called with, as far as it makes the experiment.
pub(super) fn of(data: &ReportData, places: &Places) -> String {
    let name = data.experiment.name.as_str();
    let command = data.experiment.plan.single().and_then(|plan| {
        let job = |name: &str| plan.prepare.as_ref()?.jobs.tables(name).into_iter().next();
        match name {
            "bench" | "pgbench" => Some(clients(name, plan.load.as_ref()?, data, places)),
            "bench -i" => Some(initialize(&job("pgbench")?, &data.target.dsn_redacted)),
            "osm load" => {
                let url = Some(&data.target.dsn_redacted).filter(|_| data.target.kind != "managed");
                Some(osm_load(&job("osm")?, url.map(String::as_str), places))
            }
            _ => None,
        }
    });
    // Its options are in the plan.
    command.map_or_else(|| format!("pgdyno {} …", shell::word(name)), |command| command.to_string())
}

/// pgbench's tables with all that is not as usual.
fn initialize(asked: &Options, url: &str) -> Command {
    let text = |key: &str| asked.text(key).map(str::to_owned);
    let whole = |key: &str| asked.whole(key).map(|number| number.to_string());
    let other_than = |key: &str, usual: u64| whole(key).filter(|_| asked.whole(key) != Some(usual));
    let options = [
        ("-s", whole("scale")),
        ("-I", text("steps").filter(|steps| steps != "dtgvp")),
        ("-F", other_than("fillfactor", 100)),
        ("--partitions", other_than("partitions", 0)),
        ("--partition-method", text("partition_method").filter(|_| asked.whole("partitions") != Some(0))),
        ("--tablespace", text("tablespace")),
        ("--index-tablespace", text("index_tablespace")),
    ];
    let is = |key: &str| asked.is_on(key) == Some(true);
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

/// An OSM load with all that is not as usual.
fn osm_load(load: &Options, url: Option<&str>, places: &Places) -> Command {
    let text = |key: &str| load.text(key).map(str::to_owned);
    let file = |key: &str| text(key).map(|name| places.of_name(&name));
    let whole = |key: &str| load.whole(key).map(|number| number.to_string());
    let number = |key: &str| whole(key).or_else(|| load.number(key).map(numbers::as_given));
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
    let is = |key: &str, on: bool| load.is_on(key) == Some(on);
    let flags = [
        ("--no-slim", is("slim", false)),
        ("--drop", is("drop", true)),
        ("--hstore", is("hstore", true)),
        ("--replace", is("replace", true)),
    ];
    let command = with(Command::new("osm load"), options, flags);
    let command = load.texts("schemas").fold(command, |command, schema| command.option("--schema", schema));
    let command = url.into_iter().fold(command, |command, url| command.option("--url", url));
    let extract = text("extract").filter(|_| load.number("scale").is_none());
    extract.into_iter().fold(command, |command, extract| command.path(&extract))
}

fn clients(program: &str, plan: &SingleLoad, data: &ReportData, places: &Places) -> Command {
    let mut options: Vec<(&str, Option<String>)> = Vec::new();
    let files: BTreeSet<&str> =
        data.texts.iter().filter(|text| text.kind == TextKind::File).map(|text| text.name.as_str()).collect();
    for (name, _, weight) in &plan.scripts {
        let weight = if *weight == 1 { String::new() } else { format!("@{weight}") };
        let builtin = name.strip_prefix("<builtin: ").and_then(|name| name.strip_suffix('>'));
        options.push(match builtin {
            Some(of) => ("-b", Some(format!("{}{weight}", builtin_name(of)))),
            None if files.contains(name.as_str()) => {
                ("-f", Some(format!("{}{weight}", places.of_name(name))))
            }
            None => ("-f", Some(format!("{name}{weight}"))),
        });
    }
    let workload = &plan.workload;
    let number = |name: &str| workload.number(name).map(numbers::as_given);
    let (seconds, transactions) = match plan.until {
        SingleEnd::Elapsed(seconds) => (Some(numbers::as_given(seconds)), None),
        SingleEnd::PerClient(count) => (None, Some(count.to_string())),
        SingleEnd::Told => (None, None),
    };
    options.extend([
        ("-c", Some(plan.clients.to_string())),
        ("-j", Some(plan.threads).filter(|threads| *threads != 1).map(|threads| threads.to_string())),
        ("-T", seconds),
        ("-t", transactions),
        ("--warmup", Some(plan.warmup_s).filter(|seconds| *seconds != 0.0).map(numbers::as_given)),
        ("-R", plan.rate.as_ref().map(ToString::to_string)),
        ("-L", plan.promise_s.map(|seconds| numbers::as_given(seconds * 1e3))),
        ("-M", workload.text("mode").filter(|mode| *mode != "simple").map(str::to_owned)),
        ("-s", number("scale")),
        ("--max-tries", number("max_tries").filter(|_| workload.number("max_tries") != Some(1.0))),
    ]);
    for variables in workload.tables("define") {
        let set = |name: &str| format!("{name}={}", variables.text(name).unwrap_or_default());
        options.extend(variables.iter().map(|(name, _)| ("-D", Some(set(name)))));
    }
    let is = |key: &str, on: bool| workload.is_on(key) == Some(on);
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
        assert_eq!(
            osm_load(&Options::of(&plain), None, &places).to_string(),
            "pgdyno osm load 'a b.osm.pbf'"
        );
        let all = json!({
            "extract": "", "scale": 0.5, "seed": 9_007_199_254_740_993_u64, "prefix": "x", "output": "flex",
            "style": "/styles/my.lua", "slim": false, "cache_mb": 100, "processes": 2, "hstore": true,
            "args": "--latlong --verbose", "schemas": ["themes"]
        });
        assert_eq!(
            osm_load(&Options::of(&all), Some("host=/run port=5433"), &places).to_string(),
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
        let command = initialize(&Options::of(&asked), "dbname=x").to_string();
        assert_eq!(command, "pgdyno bench -i -s 10 -F 90 --unlogged-tables dbname=x");
    }
}
