//! `pgdyno gate`, and the steps of its action for GitHub and its template for GitLab.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_norway::Value;

use crate::support::{Finished, Place, in_one_line};

/// Two arms that wait for different times, by a setting that nothing else uses; the second is the new one.
fn file(place: &Place, base_ms: f64, new_ms: f64) {
    place.write("wait.sql", "SELECT pg_sleep(current_setting('cursor_tuple_fraction')::float8);\n");
    place.write(
        "waits.toml",
        format!(
            "question = \"Do the new waits take longer?\"\n[target]\nmanaged = {{ name = \"gate\" }}\n\
             [workload.wait]\npgbench = {{ files = [\"wait.sql\"] }}\n[factors]\nclients = 2\n\
             [compare]\nfactor = \"settings\"\nbase = \"old\"\n[settings.old]\ncursor_tuple_fraction = {}\n\
             [settings.new]\ncursor_tuple_fraction = {}\n[measure]\nwarmup = \"0.1s\"\nduration = \"0.5s\"\nrounds = 4\n",
            base_ms / 1000.0,
            new_ms / 1000.0
        ),
    );
}

fn gate(place: &Place, more: &[&str]) -> Finished {
    place.run(["gate", "waits.toml", "--output", "out", "--budget", "0"].iter().chain(more))
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_slower_change_fails_and_a_faster_one_passes() {
    let place = Place::with_private("gate");
    file(&place, 2.0, 20.0);
    let done = gate(&place, &["--commit", "c1", "--base-commit", "c0"]).expect(1);
    assert!(done.stdout.starts_with("waits: worse: new against old: throughput -"), "{}", done.stdout);
    let summary = read(&place, "out/summary.md");
    assert!(summary.starts_with("## ❌ worse: new against old: throughput"), "{summary}");
    let json: serde_json::Value = serde_json::from_str(&read(&place, "out/gate.json")).unwrap();
    assert_eq!((json["outcome"].as_str(), json["exit_code"].as_i64()), (Some("worse"), Some(1)));
    assert!(json["change_pct"].as_f64().unwrap() < -30.0, "{json}");
    for name in json["files"].as_array().unwrap() {
        assert!(!read(&place, &format!("out/{}", name.as_str().unwrap())).is_empty());
    }
    assert!(json["files"].as_array().unwrap().iter().any(|name| name.as_str().unwrap().ends_with(".svg")));

    // The same for another commit is judged from what is stored.
    let runs = place.sql("select count(*) from run");
    let again = gate(&place, &["--commit", "c2", "--base-commit", "c0", "--format", "json"]).expect(1);
    let json: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(json["history"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(place.sql("select count(*) from run"), runs);
    assert!(read(&place, "out/history.svg").contains("<svg"));

    file(&place, 20.0, 2.0);
    gate(&place, &["--commit", "c3"]).expect(0);
    assert_eq!(place.sql("select outcome from gate where commit_id = 'c3'"), "better");
}

/// A base and a new script; the new one fails.
fn scripts(place: &Place, new: &str) {
    place.write("base.sql", "SELECT count(*) FROM pg_class;\n");
    place.write("new.sql", new);
    place.write(
        "waits.toml",
        "question = \"Is the new script slower?\"\n[target]\nmanaged = { name = \"gate\" }\n\
         [workload.base]\npgbench = { files = [\"base.sql\"] }\n[workload.new]\npgbench = { files = [\"new.sql\"] }\n\
         [factors]\nclients = 2\nworkload = [\"base\", \"new\"]\n[compare]\nfactor = \"workload\"\nbase = \"base\"\n\
         [measure]\nwarmup = \"0.1s\"\nduration = \"0.5s\"\nrounds = 4\n",
    );
}

/// They ended with 66, 65 and 69, without a summary, and a job showed an error of pgdyno.
#[test]
fn a_new_arm_that_fails_at_its_first_execution_is_worse() {
    let place = Place::with_private("gate");
    let crash = "COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; kill -ABRT $PPID';\n";
    for (new, said) in [
        ("SELECT no_such_column FROM pg_class;\n", "no_such_column"),
        (crash, "terminated by signal 6"),
        ("SELECT 1 / (random() * 0)::int;\n", "division by zero"),
    ] {
        scripts(&place, new);
        let done = gate(&place, &["--commit", "c1"]).expect(1);
        assert!(done.stdout.starts_with("waits: worse: new against base: "), "{}", done.stdout);
        let summary = read(&place, "out/summary.md");
        assert!(
            summary.starts_with("## ❌ worse: new against base: ") && summary.contains(said),
            "{summary}"
        );
        let json: serde_json::Value = serde_json::from_str(&read(&place, "out/gate.json")).unwrap();
        assert_eq!(json["outcome"].as_str(), Some("worse"), "{json}");
    }
    // If the base fails, nothing is known of the new one.
    scripts(&place, "SELECT 1;\n");
    place.write("base.sql", "SELECT no_such_column FROM pg_class;\n");
    let failed = gate(&place, &["--commit", "c1"]);
    assert!(failed.status.code().unwrap() >= 64, "{}", failed.stderr);
    assert!(!place.path().join("out/summary.md").exists());
}

/// The base ended with 69 and no summary, and a crash of the base was "a larger budget would decide".
#[test]
fn what_more_rounds_do_not_mend_is_said() {
    let place = Place::with_private("gate");
    // The first execution is that of client 0.
    let late = "SELECT 1 / (1 - :client_id);\n";
    scripts(&place, late);
    place.write("base.sql", format!("SELECT 1;\n{late}"));
    let done = gate(&place, &["--commit", "c1"]);
    assert!([2, 3].contains(&done.status.code().unwrap()), "{}{}", done.stdout, done.stderr);
    assert!(
        in_one_line(&done.stdout).contains("division by zero")
            && !in_one_line(&done.stdout).contains("larger budget"),
        "{}",
        done.stdout
    );
    assert!(read(&place, "out/summary.md").contains("division by zero"));
}

#[test]
fn what_is_the_same_byte_for_byte_is_not_measured() {
    let place = Place::with_private("gate");
    file(&place, 2.0, 2.0);
    let done = gate(&place, &["--commit", "c1"]).expect(0);
    assert!(
        in_one_line(&done.stdout).contains("same: new against old")
            && in_one_line(&done.stdout).contains("nothing was measured")
    );
    assert!(read(&place, "out/summary.md").starts_with("## ✅ same"));
}

#[test]
fn a_base_that_was_measured_before_needs_a_control() {
    let place = Place::with_private("gate");
    let three = |new: &str, ms: &str| {
        // Long waits: the machine's own load is a small part of them.
        file(&place, 8.0, 8.0);
        let text = read(&place, "waits.toml");
        let text = text.replace(
            "[settings.new]\ncursor_tuple_fraction = 0.008",
            &format!("[settings.{new}]\ncursor_tuple_fraction = {ms}"),
        );
        place.write("waits.toml", text);
    };
    three("v1", "0.05");
    gate(&place, &["--results", "before.sqlite", "--commit", "c1"]).expect(1);
    // Against "old" it is slower; against v1, which was measured before, it is faster.
    three("v2", "0.02");
    let done = gate(&place, &["--base", "before.sqlite", "--commit", "c2"]).expect(0);
    assert!(in_one_line(&done.stdout).contains("better: v2 against v1"), "{}", done.stdout);
    assert!(in_one_line(&done.stdout).contains("the control old changed by"), "{}", done.stdout);
    assert!(read(&place, "out/summary.md").contains("before.sqlite"), "the table shows the stored base");
    // Data that were prepared differently are no change of the arm.
    let text = read(&place, "waits.toml");
    place.write("waits.toml", text.clone() + "[prepare]\npgbench = { scale = 1 }\n");
    let done = gate(&place, &["--base", "before.sqlite", "--commit", "c2"]).expect(2);
    assert_eq!(done.stdout.matches("Not prepared alike: pgbench only now").count(), 1, "{}", done.stdout);
    place.write("waits.toml", text);
    // Without an arm in common.
    place.write(
        "waits.toml",
        read(&place, "waits.toml").replace("\"old\"", "\"former\"").replace(".old]", ".former]"),
    );
    gate(&place, &["--base", "before.sqlite"]).expect(65).says(&["no arm in common", "the control"]);
}

#[test]
fn a_gate_that_cannot_judge_says_why_before_it_measures() {
    let place = Place::new();
    place.write(
        "alone.toml",
        "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n",
    );
    let gate = |more: &[&str]| place.run(["gate"].iter().chain(more));
    gate(&["alone.toml"]).expect(65).says(&["compares nothing: a gate needs a base", "--save"]);
    gate(&["nothing.toml"]).expect(65).says(&["nothing.toml"]);
    file(&place, 1.0, 2.0);
    gate(&["waits.toml", "--base", "none.sqlite"]).expect(65).says(&["none.sqlite"]);
    gate(&["waits.toml", "--budget", "a lot"]).expect(64);
    place.write("taken", "a file");
    gate(&["waits.toml", "--output", "taken"]).expect(74).says(&["taken", "--output"]);
    assert!(!place.home().join("clusters").exists(), "no server was made");
}

/// A step or a script as a shell runs it.
fn shell(place: &Place, script: &str, variables: &HashMap<String, String>) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_pgdyno"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(place.path());
    command.env("PATH", path).env("PGDYNO_HOME", place.home()).envs(variables).output().expect("bash")
}

fn yaml(name: &str) -> Value {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/gate").join(name);
    serde_norway::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The value of an expression such as `${{ inputs.file }}`.
fn evaluated(text: &str, inputs: &HashMap<&str, String>) -> String {
    match text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) {
        Some(expression) => {
            inputs.get(expression).cloned().unwrap_or_else(|| panic!("{expression} is not known"))
        }
        None => text.to_owned(),
    }
}

#[test]
fn the_steps_of_the_github_action_end_as_the_gate_does() {
    let place = Place::with_private("gate");
    file(&place, 2.0, 20.0);
    let action = yaml("action.yml");
    let mut known: HashMap<&str, String> = HashMap::new();
    for (name, input) in action["inputs"].as_mapping().unwrap() {
        let key: &'static str = Box::leak(format!("inputs.{}", name.as_str().unwrap()).into_boxed_str());
        known.insert(key, input.get("default").and_then(Value::as_str).unwrap_or_default().to_owned());
    }
    known.insert("inputs.file", "waits.toml".into());
    known.insert("inputs.budget", "0".into());
    known.insert("github.event.pull_request.head.sha || github.sha", "0123abc".into());
    known.insert("github.event.pull_request.base.sha || github.event.before", "fedc987".into());
    let place_of = |name: &str| place.path().join(name).display().to_string();
    let mut codes = Vec::new();
    for step in action["runs"]["steps"].as_sequence().unwrap() {
        let Some(script) = step.get("run").and_then(Value::as_str) else { continue };
        let mut variables: HashMap<String, String> = [
            ("GITHUB_OUTPUT".to_owned(), place_of("outputs")),
            ("GITHUB_STEP_SUMMARY".to_owned(), place_of("step-summary")),
        ]
        .into();
        for (name, value) in step.get("env").and_then(Value::as_mapping).into_iter().flatten() {
            let value = evaluated(value.as_str().unwrap(), &known);
            variables.insert(name.as_str().unwrap().to_owned(), value);
        }
        let done = shell(&place, script, &variables);
        codes.push(done.status.code().unwrap());
        for line in std::fs::read_to_string(place_of("outputs")).unwrap_or_default().lines() {
            let (name, value) = line.split_once('=').unwrap();
            let key: &'static str = Box::leak(format!("steps.gate.outputs.{name}").into_boxed_str());
            known.insert(key, value.to_owned());
        }
    }
    assert_eq!(codes, [0, 0, 1], "install, measure, end");
    assert_eq!(known["steps.gate.outputs.outcome"], "worse");
    assert!(read(&place, "step-summary").starts_with("## ❌ worse"));
    assert_eq!(
        place
            .run([
                "sql",
                "--results",
                ".pgdyno/gate.sqlite",
                "select commit_id, base_commit from gate",
                "--format",
                "csv"
            ])
            .stdout
            .trim(),
        "commit_id,base_commit\r\n0123abc,fedc987"
    );
}

#[test]
fn the_script_of_the_gitlab_template_ends_as_the_gate_does() {
    let place = Place::with_private("gate");
    file(&place, 20.0, 2.0);
    let template = yaml("gitlab.yml");
    let job = &template[".pgdyno-gate"];
    let mut variables: HashMap<String, String> = job["variables"]
        .as_mapping()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str().unwrap().to_owned(), value.as_str().unwrap().to_owned()))
        .collect();
    variables.extend([
        ("GATE_FILE".to_owned(), "waits.toml".to_owned()),
        ("GATE_BUDGET".to_owned(), "0".to_owned()),
        ("CI_COMMIT_SHA".to_owned(), "0123abc".to_owned()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA".to_owned(), String::new()),
    ]);
    let lines: Vec<&str> =
        job["script"].as_sequence().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let done = shell(&place, &lines.join("\n"), &variables);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(read(&place, "gate/summary.md").starts_with("## ✅ better"));
    let kept = job["artifacts"]["paths"][0].as_str().unwrap();
    assert_eq!(kept.trim_end_matches('/'), variables["GATE_OUTPUT"]);
}
