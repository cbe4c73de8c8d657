//! Exports an experiment with its files from the results file alone, and runs it again.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Place, Server, in_one_line};

const STUDY: &str = r#"
question = "Does more memory help?"
[target]
managed = { name = "repeat" }
[prepare]
sql = ["../sql/notes.sql"]
[workload.sorts]
pgbench = { files = ["ask.sql@2", "../sql/count.sql"] }
[compare]
factor = "settings"
base = "small"
[settings.small]
work_mem = "64kB"
[settings.large]
work_mem = "4MB"
[measure]
warmup = "50ms"
duration = "400ms"
rounds = 2
"#;

const NOTES: &str =
    "CREATE TABLE notes AS SELECT i, md5(i::text) AS text FROM generate_series(1, 100) i; ANALYZE notes;";

#[test]
fn an_experiment_is_repeated_from_its_results_alone() {
    let place = Place::with_private("repeat");
    for folder in ["sql", "study"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    place.write("sql/notes.sql", NOTES);
    place.write("sql/count.sql", "SELECT count(*) FROM notes;\n");
    place.write("study/ask.sql", "\\set i random(1, 100)\nSELECT text FROM notes WHERE i = :i;\n");
    let file = place.write("study/memory.toml", STUDY);
    // Its scripts are in another folder than the file.
    place
        .run(["run", file.to_str().unwrap()])
        .expect(64)
        .says(&["../sql/notes.sql, outside", "--allow-commands"]);
    let done = place.run(["run", "--allow-commands", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    for folder in ["sql", "study"] {
        std::fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    // With so little memory pgdyno's own queries used temporary files, which counted for the runs.
    assert_eq!(place.sql("select max(value) from run_figure where name = 'temp_files'"), "0");

    let folder = place.path().join("again");
    let exported = place.run(["export", "experiment", "memory", folder.to_str().unwrap()]).expect(0);
    exported.says(&[
        "again/in/memory.toml",
        "again/sql/notes.sql",
        "it is the same experiment",
        "pgdyno run in/memory.toml --allow-commands",
    ]);
    let file = std::fs::read_to_string(folder.join("in/memory.toml")).unwrap();
    let uncommented: String = file.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
    assert_eq!(uncommented, STUDY);
    assert_eq!(std::fs::read_to_string(folder.join("sql/notes.sql")).unwrap(), NOTES);
    let file = folder.join("in/memory.toml");
    let repeated = ["run", "--allow-commands", file.to_str().unwrap()];
    place.run(repeated).expect(64).says(&["--again"]);
    let done = place.run([&repeated[..], &["--again"]].concat());
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(
        place.sql("select count(distinct hash) || ' ' || count(*) from experiment").trim_matches('"'),
        "1 2"
    );
    assert_eq!(place.sql("select count(*) from text"), "3", "each text once");
    two_experiments_are_compared(&place);
    // A folder that is not empty stays unchanged.
    place
        .run(["export", "experiment", "memory", folder.to_str().unwrap()])
        .expect(74)
        .says(&["is not empty"]);
    // A folder that cannot be created was reported as bad input.
    place.run(["export", "experiment", "memory", "/proc/nope"]).expect(74).says(&["cannot make the folder"]);
    place.run(["export", "experiment", "99", "-"]).expect(64).says(&["no experiment 99"]);
    for (format, words) in [
        ("text", "== in/ask.sql: workload sorts"),
        ("md", "## in/ask.sql: workload sorts"),
        ("json", "\"path\": \"in/ask.sql\""),
    ] {
        let printed = place.run(["export", "experiment", "1", "-", "--format", format]).expect(0).stdout;
        assert!(printed.contains(words) && printed.contains("SELECT text FROM notes"), "{printed}");
    }
    place.run(["target", "destroy", "repeat"]).expect(0);
}

/// By number, and as the newest of two files: every output says that drift is not cancelled.
fn two_experiments_are_compared(place: &Place) {
    let page = place.path().join("apart.html");
    let compared = |args: &[&str]| {
        let done = place.run(["compare"].iter().chain(args));
        assert!(matches!(done.status.code(), Some(0..=3)), "{}", done.stderr);
        done.says(&["not interleaved: "])
    };
    let text = compared(&["1", "2", "--report", page.to_str().unwrap()]);
    let head = "experiment 2 (memory) against experiment 1 (memory), not interleaved";
    assert!(text.stderr.contains(head), "{}", text.stderr);
    let text = text.stdout;
    assert!(
        text.contains("settings") && text.contains("large") && text.contains("but: not interleaved"),
        "{text}"
    );
    assert!(compared(&["1", "2", "--format", "md"]).stdout.starts_with("**"));
    let json = compared(&["1", "2", "--format", "json"]).stdout;
    assert!(
        json.contains(r#""cell": "clients 1, settings large""#) && json.contains(r#""interleaved": "no""#),
        "{json}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("(not interleaved)")
            && page.contains("Welch")
            && page.contains("These are two experiments")
    );
    let within = place.run(["compare", "2", "--format", "json"]);
    assert!(within.stdout.contains(r#""interleaved": "yes""#) && !within.stderr.contains("not interleaved"));

    let other = place.path().join("other.sqlite");
    std::fs::copy(place.results(), &other).unwrap();
    let [own, other_file] = [place.results(), other.clone()].map(|path| path.display().to_string());
    let csv = compared(&[&own, &other_file, "--experiment", "memory", "--format", "csv"]).stdout;
    assert!(csv.contains("other.sqlite,sorts,"), "{csv}");
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        drop(place.run(["compare"].iter().chain(args)).expect(code).says(words));
    };
    refused(&["1", "99"], 64, &["no experiment 99; there are: 1 memory, 2 memory"]);
    refused(&["2", "2"], 65, &["2 and 2 are one experiment"]);
    refused(&["1", "2", "-e", "1"], 64, &["names an experiment already"]);
    refused(&["1", "nowhere.sqlite"], 65, &["nowhere.sqlite: no results file there"]);
    refused(&["1", "2", "3"], 64, &["unexpected value"]);
    // The schema version in SQLite's header.
    let mut bytes = std::fs::read(&other).unwrap();
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&other, bytes).unwrap();
    refused(&["1", &other_file], 65, &["written by a newer pgdyno (schema 999"]);
}

const TWO: &str = r#"
question = "Does the planner's setting matter?"
[target]
url = "URL"
[workload.ask]
pgbench = { files = ["ask.sql"] }
[compare]
factor = "settings"
base = "one"
[settings.one]
geqo_threshold = 10
[settings.other]
geqo_threshold = 11
[measure]
warmup = "50ms"
duration = "400ms"
rounds = 4
"#;

/// The printed command lacked `--slices` and `--rounds`, and so made another experiment; an exported
/// experiment began again instead of continuing; and hints named the newest experiment.
#[test]
fn options_of_the_command_line_are_in_the_experiment_that_is_exported() {
    let place = Place::new();
    let server = Server::start();
    place.write("ask.sql", "SELECT 1;\n");
    let file = place.write("two.toml", TWO.replace("URL", &server.url())).display().to_string();
    let run = |args: &[&str]| {
        let done = place.run(["run"].iter().chain(args));
        assert!(matches!(done.status.code(), Some(0..=3)), "{}", done.stderr);
        done
    };
    let plain = ["compare", "-e", "two"];
    let done = run(&[&file, "--slices", "100ms", "--rounds", "2", "-v"]);
    let text = place.run(plain.iter().chain(&["-v"]));
    // Regression: it left out the cells, slices and remarks that the run had printed.
    let answer = done.stdout.lines().next().expect("an answer");
    assert!(text.stdout.contains(answer), "{answer}\n{}", text.stdout);
    let sliced = |text: &str| in_one_line(text).contains("in slices of");
    assert!(sliced(&done.stdout) && sliced(&text.stdout), "{}\n{}", done.stdout, text.stdout);
    assert!(!text.stderr.contains("of that name"), "{}", text.stderr);
    run(&[&file, "--slices", "100ms", "--rounds", "6"]);

    let folder = place.path().join("again");
    let exported = place.run(["export", "experiment", "two", folder.to_str().unwrap()]).expect(0);
    let repeat = "pgdyno run two.toml";
    let results = place.results().display().to_string();
    let exported = exported.says(&["it is the same experiment", &format!("--results {results}"), repeat]);
    assert!(!exported.stderr.contains("another experiment"), "{}", exported.stderr);
    let json = place.run(["export", "experiment", "two", "-", "--format", "json"]).expect(0).stdout;
    assert!(json.contains(repeat) && json.contains(r#"slices = \"100ms\""#), "{json}");
    let page = place.path().join("page.html");
    place.run(["report", "-e", "two", "-o", page.to_str().unwrap()]).expect(0);
    assert!(std::fs::read_to_string(page).unwrap().contains(repeat));
    let again = folder.join("two.toml").display().to_string();
    let finished = |rounds: &[&str], words: &[&str]| {
        let args = ["run", &again].into_iter().chain(rounds.iter().copied());
        drop(place.run(args).expect(64).says(words));
    };
    finished(&["--rounds", "6"], &["is finished: all its 12 runs", "pgdyno compare -e two"]);
    finished(&[], &["is finished: all its 12 runs"]);

    run(&[&file, "--rounds", "2"]);
    place.run(plain).says(&["two is experiment 2, the newest of 2 of that name; the others: 1"]);
}

#[test]
fn scripts_of_a_single_run_are_kept_as_they_are() {
    let place = Place::new();
    let server = Server::start();
    let script = "-- as in: dblink('host=other password=geheim')\nSELECT 1;\n";
    let file = place.write("one.sql", script);
    let run = |file: &str| {
        let results = place.results();
        let options = ["-t", "3", "-c", "2", "-n", "--results", results.to_str().unwrap()];
        place.run(["bench", "-f", file].into_iter().chain(options).chain([server.url().as_str()])).expect(0)
    };
    run(file.to_str().unwrap());
    let folder = place.path().join("again");
    let exported = place.run(["export", "experiment", "bench", folder.to_str().unwrap()]).expect(0);
    let exported = exported.says(&["it is the same experiment", "&& pgdyno run bench.toml"]);
    assert!(!exported.stderr.contains("outside"), "{}", exported.stderr);
    let written = folder.join("files/one.sql");
    assert_eq!(std::fs::read_to_string(&written).unwrap(), script);
    for file in [&place.results(), &written] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    run(written.to_str().unwrap());

    // The exported command named the script of another folder, and the results file that it was stored in.
    std::fs::create_dir(place.path().join("below")).unwrap();
    std::fs::write(place.path().join("up.sql"), "SELECT 2;\n").unwrap();
    let results = place.results().display().to_string();
    let options = ["bench", "-f", "../up.sql", "-t", "3", "-n", "--results", &results, &server.url()];
    let done = place.command(options).current_dir(place.path().join("below")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let folder = place.path().join("third");
    let exported = place.run(["export", "experiment", "bench", folder.to_str().unwrap()]).expect(0);
    exported.says(&["it is the same experiment", "&& pgdyno run in/bench.toml"]);
    assert!(folder.join("up.sql").is_file());
}

/// A results file contained data that its author did not want to send.
#[test]
fn an_experiment_can_be_sent_to_others_without_its_values() {
    let place = Place::new();
    let server = Server::start();
    place
        .write("one.sql", "-- for geheim\n\\set a 471147110\nSELECT 'geheim', :a, :b WHERE 471147110 > 0;\n");
    let url = server.network_url("scram", "geheim", "?sslmode=disable");
    let variable = "b=471147110";
    place.run(["bench", "-f", "one.sql", "-n", "-t", "2", "-D", variable, &url]).expect(0);
    place.write(
        "two.toml",
        format!(
            "question = \"?\" # geheim\n[target]\nurl = \"{url}\"\nchange_server = true\n\
             [workload.w]\npgbench = {{ files = [\"one.sql\"], define = {{ b = 471147110 }}, vacuum = false }}\n\
             [change.c.x]\n[change.c.y]\ndo = \"SELECT 'geheim' AS geheime_namen\"\n\
             undo = {{ command = \"true geheim\" }}\n[factors]\nc = [\"x\", \"y\"]\n\
             [measure]\nwarmup = \"0s\"\nduration = \"200ms\"\nrounds = 1\n"
        ),
    );
    let done = place.run(["run", "two.toml", "--allow-commands"]);
    assert!(matches!(done.status.code(), Some(0..=3)), "{}", done.stderr);
    for experiment in ["1", "2"] {
        let folder = place.path().join(format!("redacted-{experiment}"));
        let args = ["export", "experiment", experiment, folder.to_str().unwrap(), "--redact"];
        let done = place.run(args).expect(0).says(&["It is redacted", "can be read, and not be run"]);
        assert!(!done.stderr.contains("repeat it"), "{}", done.stderr);
        let script = std::fs::read_to_string(folder.join("one.sql")).unwrap();
        assert_eq!(script, "--\n\\set a 0\nSELECT 'x', :a, :b WHERE 0 > 0;\n");
        for format in ["text", "json", "md"] {
            let args = ["export", "experiment", experiment, "-", "--redact", "--format", format];
            let shown = place.run(args).expect(0).stdout;
            for private in ["'geheim", "geheim'", "geheim\"", "471147110", "127.0.0.1", "scram"] {
                assert!(!shown.contains(private), "{private} in {format}\n{shown}");
            }
            assert!(shown.contains("SELECT 'x', :a, :b WHERE 0 > 0;"), "{shown}");
        }
    }
    let file = std::fs::read_to_string(place.path().join("redacted-2/two.toml")).unwrap();
    for kept in ["SELECT 'x' AS geheime_namen", "command = \"redacted\"", "dbname=postgres"] {
        assert!(file.contains(kept), "{kept}\n{file}");
    }
}

/// Its plan would be made of what is found now, not of what it began with.
#[test]
fn an_experiment_without_its_facts_does_not_go_on() {
    let place = Place::with_private("facts");
    let text = "question = \"?\"\n[target]\nmanaged = { name = \"facts\" }\n[workload.w]\npgbench = { files = \"a.sql\" }\n\
                [factors]\nclients = [1, 2]\n[measure]\nwarmup = \"10ms\"\nduration = \"100ms\"\nrounds = 1\n";
    place.write("a.sql", "SELECT 1;\n");
    let file = place.write("facts.toml", text);
    let run = |more: &[&str]| place.run(["run", file.to_str().unwrap()].iter().chain(more));
    assert!(matches!(run(&[]).status.code(), Some(0..=2)));
    // A dry run ended with 0, and told nothing of all this.
    run(&["--dry-run"]).expect(64).says(&["is finished: all its 2 runs", "--rounds"]);
    for (at, code, told) in [
        ("junk.sqlite", 65, "not a results file"),
        ("nowhere/x.sqlite", 74, "there is no folder"),
        ("new.sqlite", 0, "2 runs of 0.1 s"),
    ] {
        place.write("junk.sqlite", "junk that is long enough for a head of SQLite");
        run(&["--dry-run", "--results", at]).expect(code).says(&[told]);
    }
    assert!(!place.path().join("new.sqlite").exists());
    let decisions = place.run(["table", "decisions", "--format", "csv"]).expect(0).stdout.clone();
    for told in ["\nseed,", "made from the content", "all of it can be run here"] {
        assert!(decisions.contains(told), "no {told:?} in {decisions}");
    }
    let facts = "select count(*) from fact where json_extract(fact, '$.texts.workload') = 'w'";
    assert_eq!(place.sql(facts), "1");
    let results = rusqlite::Connection::open(place.results()).unwrap();
    for (change, code, told) in [
        ("'$.server_version.version', '9.6'", 64, "began with PostgreSQL 9.6"),
        ("'$.repetition.repetition', 7", 65, "began with seed"),
        ("'$.host.cpus', json('[0, 999]')", 64, "began on CPUs 0,999"),
        ("'$.host.memory_bytes', 1048576", 64, "began with 1.00 MB of memory"),
    ] {
        let like = format!("{{\"{}\"%", change.split('.').nth(1).unwrap());
        place.with_fact(&like, change, || {
            run(&["--rounds", "2"]).expect(code).says(&[told, "--again"]);
        });
    }
    // Another kernel reports another size of the same memory.
    place.with_fact(
        "{\"host\"%",
        "'$.host.memory_bytes', cast(fact ->> '$.host.memory_bytes' * 1.01 as integer)",
        || {
            run(&["--rounds", "2", "--dry-run"]).expect(0);
        },
    );
    let host = |uuid: &str| results.execute("UPDATE host SET uuid = ?1", [uuid]).unwrap();
    let here = place.sql("select uuid from host");
    host("another");
    for more in [&["--rounds", "2"][..], &["--rounds", "2", "--dry-run"]] {
        run(more).expect(64).says(&["began on another host", "--again"]);
    }
    host(&here);
    run(&["--rounds", "2", "--dry-run"]).expect(0).says(&["2 of 4 runs are stored"]);
    results.execute("UPDATE fact SET fact = '{' WHERE number = 1", []).unwrap();
    run(&["--rounds", "2"]).expect(65).says(&["a fact of experiment 1", "--again"]);
    results.execute("DELETE FROM fact", []).unwrap();
    run(&["--rounds", "2"]).expect(64).says(&["began with an earlier pgdyno", "--again"]);
    // Killed before its first run was stored.
    let of_runs = "SELECT group_concat(DISTINCT 'DELETE FROM ' || s.name) FROM sqlite_schema s \
                   JOIN pragma_table_info(s.name) c ON c.name IN ('run_id', 'script_id') WHERE s.type = 'table'";
    let delete: String = results.query_row(of_runs, [], |row| row.get(0)).unwrap();
    results.execute_batch(&format!("PRAGMA foreign_keys = off; {}", delete.replace(',', ";"))).unwrap();
    let begun = run(&[]);
    assert!(matches!(begun.status.code(), Some(0..=2)), "{}", begun.stderr);
    assert_eq!(place.sql("select count(*) from run"), "2");
    assert_eq!(place.sql("select count(*) from experiment"), "1");
}
