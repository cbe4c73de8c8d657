//! `--redact`: an experiment that can be sent to others. Literals of scripts and SQL are replaced, commands
//! and comments removed, and addresses lose host, user and password. The result shows how it was measured,
//! but cannot run.

use protocol::postgres::conninfo::ConnectionString;
use report::ReportData;
use script::without_literals;
use serde_json::Value as Json;
use spec::plan::{Plan, Recorded, TargetSpec, WorkloadOptions};
use toml::{Table, Value};

const REDACTED: &str = "redacted";

pub(super) const NOTE: &str = "It is redacted: literals in scripts and SQL, commands, comments, and hosts and users of addresses are \
     replaced. It can be read, and not be run.";

/// Extensions of files that are neither scripts nor SQL: their text is removed.
const OTHERS: [&str; 4] = [".lua", ".style", ".json", ".map"];

pub(super) fn redacted(mut data: ReportData) -> ReportData {
    for text in &mut data.texts {
        let is_other = OTHERS.iter().any(|end| text.name.ends_with(end));
        text.text = text.text.take().filter(|_| !is_other).map(|text| without_literals(&text));
        text.replaced.clear();
    }
    let experiment = &mut data.experiment;
    if let Some(plan) = experiment.plan.plan() {
        experiment.question = without_servers(&experiment.question, plan);
    }
    // Parsing and printing removes comments and sorts keys.
    match experiment.file_text.parse::<Table>() {
        Ok(mut file) => {
            for statement in statements(&file) {
                let shown = without_literals(&statement);
                experiment.question = experiment.question.replace(&statement, &shown);
            }
            redact(&mut file, &mut Vec::new());
            if let Some(question) = file.get_mut("question") {
                *question = experiment.question.clone().into();
            }
            experiment.file_text = toml::to_string(&file).unwrap_or_default();
        }
        Err(_) => experiment.file_text.clear(),
    }
    redact_plan(&mut experiment.plan);
    // The typed command may contain anything.
    data.course.command = None;
    data.target.dsn_redacted = address(&data.target.dsn_redacted);
    if let Ok(commands) = &mut data.commands {
        commands.iter_mut().filter(|command| command.by.is_some()).for_each(|command| {
            REDACTED.clone_into(&mut command.runs);
        });
    }
    data
}

/// The generated question of a probe names its servers.
fn without_servers(question: &str, plan: &Plan) -> String {
    let servers = plan.content.named.servers.values().chain([&plan.content.target]);
    let by_url = servers.filter(|server| matches!(server, TargetSpec::Url { .. })).map(TargetSpec::called);
    by_url
        .filter(|shown| !shown.is_empty())
        .fold(question.to_owned(), |question, shown| question.replace(&shown, &address(&shown)))
}

/// The SQL of changes; a generated question quotes it.
fn statements(file: &Table) -> Vec<String> {
    let levels = file.get("change").and_then(Value::as_table).into_iter().flatten();
    let levels = levels.filter_map(|(_, levels)| levels.as_table()).flatten();
    let steps = levels.filter_map(|(_, level)| level.as_table()).flatten();
    steps.filter_map(|(_, step)| step.as_str()).filter(|step| !step.is_empty()).map(str::to_owned).collect()
}

fn redact(table: &mut Table, path: &mut Vec<String>) {
    for (key, value) in table.iter_mut() {
        path.push(key.clone());
        redact_value(value, path);
        path.pop();
    }
}

fn redact_value(value: &mut Value, path: &mut Vec<String>) {
    let key = path.last().map_or("", String::as_str);
    let is_variable = path.iter().any(|step| step == "define");
    let is_sql = path.len() > 1 && is_sql(&path[path.len() - 2], key);
    match value {
        Value::Table(table) => redact(table, path),
        Value::Array(list) => list.iter_mut().for_each(|value| redact_value(value, path)),
        Value::String(text) if key == "command" => REDACTED.clone_into(text),
        Value::String(text) if is_variable => *text = variable(text),
        Value::String(text) if is_sql || path[0] == "change" => *text = without_literals(text),
        Value::String(text) if matches!(key, "url" | "redis") || is_address(text) => *text = address(text),
        Value::Integer(number) if is_variable => *number = 0,
        Value::Float(number) if is_variable => *number = 0.0,
        _ => {}
    }
}

fn redact_plan(plan: &mut Recorded) {
    let options: Vec<&mut WorkloadOptions> = match plan {
        Recorded::Plan(plan) => {
            plan.content.workloads.values_mut().map(|workload| &mut workload.spec).collect()
        }
        Recorded::Unknown(plan) => return redact_variables(plan),
    };
    for options in options {
        let mut table = Json::Object(std::mem::take(options.table_mut()));
        redact_variables(&mut table);
        *options.table_mut() = table.as_object().cloned().unwrap_or_default();
    }
}

fn redact_variables(plan: &mut Json) {
    match plan {
        Json::Array(list) => list.iter_mut().for_each(redact_variables),
        Json::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                match value {
                    Json::Object(rows) if key == "variables" => without_literals_at(rows, "query"),
                    Json::Array(scripts) if key == "scripts" => {
                        let tables = scripts.iter_mut().filter_map(Json::as_object_mut);
                        tables.for_each(|script| without_literals_at(script, "text"));
                    }
                    Json::Object(variables) if key == "define" => {
                        variables.values_mut().for_each(|value| *value = variable(&value.to_string()).into());
                    }
                    value => redact_variables(value),
                }
            }
        }
        _ => {}
    }
}

/// Whether a key of this table has SQL.
fn is_sql(table: &str, key: &str) -> bool {
    matches!((table, key), ("variables", "query") | ("scripts", "text"))
}

fn without_literals_at(table: &mut serde_json::Map<String, Json>, key: &str) {
    if let Some(Json::String(text)) = table.get_mut(key) {
        *text = without_literals(text);
    }
}

fn variable(value: &str) -> String {
    let is_number = value.trim_matches('"').parse::<f64>().is_ok();
    if is_number { "0" } else { "x" }.to_owned()
}

/// Whether a value is an address: a URL, or a connection string with more than a database.
fn is_address(value: &str) -> bool {
    value.contains("://") || (value.contains('=') && ConnectionString::parse(value).is_ok())
}

/// An address without host, user and password. The name of a variable stays.
fn address(value: &str) -> String {
    let is_variable = value.strip_prefix('$').is_some_and(|name| !name.contains("://"));
    match (ConnectionString::parse(value), value.split_once("://")) {
        _ if is_variable || value.is_empty() => value.to_owned(),
        (Ok(string), _) => string.without_place(),
        (Err(_), Some((scheme, rest))) => {
            let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
            format!("{scheme}://{REDACTED}{}", path.split('?').next().unwrap_or_default())
        }
        (Err(_), None) => REDACTED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use spec::plan::{Content, PlannedWorkload};

    use super::*;

    #[test]
    fn an_experiment_file_loses_values_addresses_and_commands() {
        let mut file: Table =
            "question = \"? 5\" # geheim\n[target]\nurl = \"postgres://geheim:geheim@geheim:1/shop\"\n\
             redis = \"redis://geheim:6379\"\n\
             [workload.w]\npgbench = { files = [\"a.sql@2\"], define = { a = \"geheim\", b = 7 }, variables = { query = \"SELECT 'geheim' AS a\" }, \
             scripts = [{ text = \"SELECT 'geheim';\" }] }\n\
             [workload.h]\nhttp = { url = \"http://me:geheim@geheim:80/{z}/{x}/{y}?key=geheim\" }\n\
             [change.c.l]\ndo = \"ALTER ROLE r PASSWORD 'geheim'\"\nundo = { command = \"psql geheim\" }\n\
             [settings.s]\nprimary_conninfo = \"host=geheim user=geheim\"\nwork_mem = \"4MB\"\n\
             [server.a]\nurl = \"$DB\"\n"
                .parse()
                .unwrap();
        redact(&mut file, &mut Vec::new());
        let text = toml::to_string(&file).unwrap();
        assert!(!text.contains("geheim"), "{text}");
        for kept in [
            "url = \"host=redacted port=1 dbname=shop\"",
            "redis = \"redis://redacted\"",
            "url = \"http://redacted/{z}/{x}/{y}\"",
            "do = \"ALTER ROLE r PASSWORD 'x'\"",
            "command = \"redacted\"",
            "primary_conninfo = \"host=redacted\"",
            "work_mem = \"4MB\"",
            "url = \"$DB\"",
            "a.sql@2",
            "b = 0",
            "query = \"SELECT 'x' AS a\"",
            "text = \"SELECT 'x';\"",
        ] {
            assert!(text.contains(kept), "{kept}\n{text}");
        }
    }

    /// A question that was made from a target named its host and user.
    #[test]
    fn a_question_loses_the_servers_that_it_names() {
        let shown = "host=geheim user=geheim dbname=shop".to_owned();
        let target = TargetSpec::Url {
            place: String::new(),
            redis: None,
            change_server: false,
            tile_servers: Vec::new(),
            replicas: Vec::new(),
            shown: shown.clone(),
        };
        let plan = Plan { content: Content { target, ..Content::default() }, ..Plan::default() };
        let question = without_servers(&format!("What is the hardware of {shown} worth?"), &plan);
        assert_eq!(question, "What is the hardware of host=redacted dbname=shop worth?");
    }

    #[test]
    fn variables_of_a_plan_lose_their_values() {
        let workload = |define: serde_json::Value| PlannedWorkload {
            spec: WorkloadOptions::of(&serde_json::json!({"pgbench": {"define": define, "scale": 3}})),
            scripts: BTreeMap::new(),
            levels: BTreeMap::new(),
        };
        let plan = |define| {
            let content =
                Content { workloads: [("w".to_owned(), workload(define))].into(), ..Content::default() };
            Recorded::from(Plan { content, ..Plan::default() })
        };
        let mut redacted = plan(serde_json::json!({"a": "geheim", "n": "12"}));
        redact_plan(&mut redacted);
        assert_eq!(redacted, plan(serde_json::json!({"a": "x", "n": "0"})));
        let mut sql = serde_json::json!({"variables": {"query": "SELECT 'geheim'"}, "scripts": [{"text": "SELECT 7;"}]});
        redact_variables(&mut sql);
        assert_eq!(
            sql,
            serde_json::json!({"variables": {"query": "SELECT 'x'"}, "scripts": [{"text": "SELECT 0;"}]})
        );
    }
}
