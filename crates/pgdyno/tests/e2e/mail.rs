//! The report for a mailing list, and the exported experiment that others on this machine run.

use std::os::unix::fs::symlink;

use crate::support::{Place, finish, programs};

const STUDY: &str = r#"
question = "Is more memory faster?"
[target]
managed = { name = "mail" }
[version.mine]
bin = "pg"
[workload.ask]
pgbench = { files = ["ask.sql"] }
[factors]
version = ["mine"]
clients = [1, 2]
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

/// An exported experiment named its build relative to a folder that nobody knew any more.
#[test]
fn a_mail_has_its_rounds_and_an_export_runs_from_another_folder() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("study")).unwrap();
    symlink(programs(), place.path().join("study/pg")).unwrap();
    place.write("study/ask.sql", "SELECT 1;\n");
    place.write("study/memory.toml", STUDY);
    let mut run = place.command(["run", "memory.toml", "--allow-commands"]);
    run.current_dir(place.path().join("study"));
    let done = finish(run);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);

    place.run(["report", "--format", "mail", "-o", "x.txt"]).expect(0).says(&["x.txt", "x.csv"]);
    let [mail, csv] =
        ["x.txt", "x.csv"].map(|name| std::fs::read_to_string(place.path().join(name)).unwrap());
    for words in [
        "Is more memory faster?",
        "95 % intervals from pairs of a round",
        "Server: PostgreSQL ",
        "Settings: small -> large: work_mem 64kB -> 4MB",
        "the others at the default",
        "load while measuring: ",
        "pgdyno run memory.toml",
        "Attached: x.csv",
    ] {
        assert!(mail.contains(words), "{words}\n{mail}");
    }
    assert!(mail.is_ascii() && mail.lines().all(|line| line.len() <= 78), "{mail}");
    // `initdb` wrote it.
    assert!(!mail.contains("max_connections"), "{mail}");
    assert_eq!(csv.lines().filter(|line| line.contains(",ask,")).count(), 8, "{csv}");
    let printed = place.run(["report", "--format", "mail"]).expect(0).stdout;
    assert!(printed.contains("Not attached"), "{printed}");
    // Nobody asked to replace this file.
    place.write("y.csv", "mine\n");
    place.run(["report", "--format", "mail", "-o", "y.txt"]).expect(74).says(&["y.csv exists"]);

    place.run(["export", "experiment", "memory", "out"]).expect(0).says(&["it is the same experiment"]);
    let folder = place.path().join("out");
    let file = std::fs::read_to_string(folder.join("memory.toml")).unwrap();
    let bin = format!("bin = \"{}\"", place.path().canonicalize().unwrap().join("study/pg").display());
    for words in [
        bin.as_str(),
        "# ask.sql: SHA-256 ",
        "# SHA-256 of its postgres: ",
        "#   version: PostgreSQL ",
        "#   CFLAGS: ",
    ] {
        assert!(file.contains(words), "{words}\n{file}");
    }
    let file = folder.join("memory.toml");
    let mut again = place.command(["run", file.to_str().unwrap(), "--allow-commands", "--again"]);
    again.current_dir("/");
    let done = finish(again);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
}
