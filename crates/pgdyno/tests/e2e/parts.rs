//! Parts of an experiment on several hosts: whole cells are dealt, or each run's load is shared.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::pooler::Pooler;
use crate::support::{Finished, Place, Server, Watched, finish, signal};

/// What it sends is in a table afterwards: who, and what it drew.
const NOTES: &str = "\\set a random(1, 1000000)\nINSERT INTO sent VALUES (:client_id, :a);\n";
const OTHERS: &str = "\\set a random_gaussian(1, 1000, 3)\nINSERT INTO sent VALUES (:client_id, -:a);\n";

struct Hosts {
    place: Place,
    server: Server,
}

impl Hosts {
    fn new() -> Self {
        let (place, server) = (Place::new(), Server::start());
        place.write("notes.sql", NOTES);
        place.write("others.sql", OTHERS);
        server.psql("CREATE TABLE sent (client int, drawn int)");
        Self { place, server }
    }

    fn bench(&self, part: &str, more: &[&str]) -> Command {
        let url = self.server.url();
        // Clients of one thread share the choice of scripts, as in pgbench: which of them gets which is a matter of time.
        let load = ["bench", "-n", "-f", "notes.sql@1", "-f", "others.sql@3", "-c", "8", "-j", "8"];
        let part = ["--share", "load", "--part", part];
        self.place.command(load.iter().chain(more).chain(&part).chain([&url.as_str()]))
    }

    /// All parts at one time.
    fn all(&self, of: u32, more: &[&str]) -> Vec<Finished> {
        thread::scope(|scope| {
            let parts: Vec<_> = (1..=of)
                .map(|number| {
                    let command = self.bench(&format!("{number}/{of}"), more);
                    scope.spawn(move || finish(command))
                })
                .collect();
            parts.into_iter().map(|part| part.join().expect("it ends")).collect()
        })
    }

    fn file(&self, number: u32, of: u32) -> PathBuf {
        self.place.path().join(format!("results.part-{number}-of-{of}.sqlite"))
    }

    /// A hash of all that was sent since the last time, in no order.
    fn sent(&self) -> String {
        let all = "SELECT count(*) || ' ' || md5(string_agg(client || ' ' || drawn, ',' ORDER BY client, drawn)) FROM sent";
        let found = self.server.psql(all);
        self.server.psql("TRUNCATE sent");
        found
    }

    fn nothing_is_left(&self) {
        self.place.wait_until_quiet(Duration::from_secs(20));
        let left = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
        assert_eq!(self.server.psql(left).trim(), "0");
    }
}

/// A busy machine may make a run invalid (3).
#[track_caller]
fn measured(done: Finished) -> Finished {
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}\n{}", done.stdout, done.stderr);
    done
}

fn asked(file: &PathBuf, query: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    command.args(["sql", "--format", "csv", "--results"]).arg(file).arg(query);
    let done = finish(command).expect(0);
    done.stdout.lines().skip(1).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn one_load_by_one_two_and_four_parts_sends_the_same() {
    let hosts = Hosts::new();
    let mut all = BTreeSet::new();
    for of in [1, 2, 4] {
        let mut codes = hosts.all(of, &["-t", "25", "--random-seed", "77"]).into_iter();
        assert!(
            codes.all(|done| measured(done).stdout.contains(&format!("number of clients: {}\n", 8 / of)))
        );
        let sent = hosts.sent();
        assert!(sent.starts_with("200 "), "{of} parts sent {sent}");
        all.insert(sent);
        let mut loads = BTreeSet::new();
        for number in 1..=of {
            let file = hosts.file(number, of);
            let (load, rest) = asked(
                &file,
                "select run_part.load || ' ' || part || ' ' || parts || ' ' || clients || ' ' || \
                (select sum(value) from run_count c where c.run_id = run.run_id and name = 'ok') \
                from run_part join run using (run_id)",
            )
            .split_once(' ')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("a row");
            loads.insert(load);
            // -t counts all that its clients did.
            assert_eq!(rest, format!("{number} {of} {} {}", 8 / of, 200 / of));
        }
        assert_eq!(loads.len(), 1, "one load");
        let all = format!("all{of}.sqlite");
        let files: Vec<String> =
            (1..=of).map(|number| hosts.file(number, of).display().to_string()).collect();
        let merge = ["merge", "-o", &all].into_iter().chain(files.iter().map(String::as_str));
        hosts.place.run(merge).expect(0);
        let run = "select clients || ' ' || threads || ' ' || ok || ' ' || (select count(*) from run_part) from v_run";
        assert_eq!(asked(&hosts.place.path().join(&all), run), format!("8 8 200 {of}"));
    }
    assert_eq!(all.len(), 1, "{all:?}");
    hosts.nothing_is_left();
}

#[test]
fn parts_that_differ_or_do_not_come_are_named_and_nothing_is_left() {
    let hosts = Hosts::new();
    let short = ["-t", "5", "--patience", "1"];
    finish(hosts.bench("2/3", &short)).expect(68).says(&["parts 1 and 3 of 3 did not come within 1 s"]);
    // Another number of clients is another plan; another number of parts is another load.
    for (one, other, what) in [
        ("1/2", ("2/2", &["-t", "6"][..]), "part 2 is there with another plan"),
        ("1/2", ("2/3", &["-t", "5"][..]), "part 2 is there with another number of parts"),
        ("2/2", ("1/2", &["-t", "5", "--random-seed", "8"][..]), "part 1 is there with another seed"),
    ] {
        let (part, more) = other;
        let mut first = Watched::start(hosts.bench(part, &[more, &["--patience", "30"]].concat()));
        assert!(first.until("waiting for"));
        finish(hosts.bench(one, &short)).expect(64).says(&[what, "the same command, file and version"]);
        // The same part again, while it waits.
        let again = finish(hosts.bench(part, &[more, &["--patience", "1"][..]].concat()));
        again.expect(64).says(&["is there already"]);
        signal(first.child.id(), "INT");
        assert_eq!(first.end().0.code(), Some(75));
    }
    hosts.nothing_is_left();
    assert_eq!(hosts.sent().trim(), "");
}

#[test]
fn a_server_that_ends_while_parts_wait_ends_them() {
    let mut hosts = Hosts::new();
    let mut waits = Watched::start(hosts.bench("1/2", &["-t", "5"]));
    assert!(waits.until("waiting for part 2 of 2"));
    hosts.server.end("INT");
    let (status, said) = waits.end();
    assert_eq!(status.code(), Some(66), "{said}");
}

const GRID: &str = r#"
question = "How fast are the cells?"
[target]
url = "URL"
[workload.one]
pgbench = { files = "notes.sql" }
[workload.other]
pgbench = { files = "others.sql" }
[factors]
clients = [1, 2, 3]
[measure]
warmup = "0s"
duration = "100ms"
rounds = 2
"#;

#[test]
fn cells_are_dealt_whole_and_each_part_has_a_file() {
    let hosts = Hosts::new();
    hosts.place.write("grid.toml", GRID.replace("URL", &hosts.server.url()));
    let run = |more: &[&str]| hosts.place.run(["run", "grid.toml"].iter().chain(more));
    let mut cells = BTreeSet::new();
    for number in 1..=4 {
        let part = format!("{number}/4");
        let done = measured(run(&["--part", &part]));
        assert!(done.stderr.contains(&format!("part {number} of 4 is in")), "{}", done.stderr);
        let of_part = asked(
            &hosts.file(number, 4),
            "select workload || ' ' || clients || ' ' || count(distinct round) from v_run group by workload, clients",
        );
        // 6 cells: two parts have two of them. Both rounds of a cell are in one file.
        let own: Vec<&str> = of_part.lines().collect();
        assert_eq!(own.len(), if number <= 2 { 2 } else { 1 }, "{of_part}");
        assert!(own.iter().all(|cell| cell.ends_with(" 2") && cells.insert((*cell).to_owned())), "{of_part}");
    }
    assert_eq!(cells.len(), 6);
    // It goes on where it stopped, which is at the end; another host may do a lost part.
    run(&["--part", "2/4"]).expect(64).says(&["is finished"]);
    let mut lost =
        hosts.place.command(["run", "grid.toml", "--part", "auto", "--results", "elsewhere.sqlite"]);
    lost.env("SLURM_ARRAY_TASK_ID", "8").env("SLURM_ARRAY_TASK_COUNT", "4");
    lost.env("SLURM_ARRAY_TASK_MIN", "6").env("SLURM_ARRAY_TASK_MAX", "9");
    measured(finish(lost)).says(&["elsewhere.part-3-of-4.sqlite"]);
    let two = "select group_concat(workload || clients) from (select distinct workload, clients from v_run order by 1, 2)";
    assert_eq!(
        asked(&hosts.place.path().join("elsewhere.part-3-of-4.sqlite"), two),
        asked(&hosts.file(3, 4), two)
    );
}

#[test]
fn what_cannot_be_divided_is_refused_with_its_reason() {
    let hosts = Hosts::new();
    let grid = GRID.replace("URL", &hosts.server.url());
    let of = |text: &str, more: &[&str], words: &str| {
        hosts.place.write("e.toml", text);
        let options = ["run", "e.toml", "--dry-run", "--part"];
        hosts.place.run(options.iter().chain(more)).expect(64).says(&[words]);
    };
    of(&grid, &["1/7"], "it has 6 cells");
    let shared = |text: &str, words: &str| of(text, &["1/2", "--share", "load"], words);
    shared(&grid, "a run has 1 client, and each part needs one");
    let many = grid.replace("[1, 2, 3]", "[4, 8]");
    let url = format!("url = \"{}\"", hosts.server.url());
    shared(&many.replace(&url, "managed = {}"), "each part would start its own server");
    shared(
        &format!("{many}slices = true\n[compare]\nfactor = \"workload\"\nbase = \"one\"\n"),
        "cannot be held",
    );
    shared(&format!("{many}[prepare]\npgbench = {{ scale = 1 }}\n"), "each part would prepare the data");
    shared(
        &format!(
            "{many}[settings.a]\n[settings.b]\nwork_mem = \"1MB\"\n[compare]\nfactor = \"settings\"\nbase = \"a\"\n"
        ),
        "settings or state",
    );
    let limit = many.replace("rounds = 2\n", "") + "[load]\nsearch = { promise = \"p99 < 1s\" }\n";
    shared(&limit, "a search decides its next rate");
    let done = hosts.place.run(["run", "e.toml", "--part", "3/2"]).expect(64);
    assert!(done.stderr.contains("must be K/N"), "{}", done.stderr);
    let done = hosts.place.run(["run", "e.toml", "--part", "auto"]).expect(64);
    assert!(done.stderr.contains("no variable of Slurm"), "{}", done.stderr);
}

#[test]
fn parts_load_a_standby_and_a_server_behind_a_transaction_pooler() {
    let hosts = Hosts::new();
    let standby = hosts.server.replica("standby");
    let pooler = Pooler::start(&hosts.server, "pool_mode = transaction\ndefault_pool_size = 20");
    hosts.place.write("one.sql", "SELECT 1;\n");
    for (name, url) in [("standby", standby.url()), ("pooled", pooler.url())] {
        let results = format!("{name}.sqlite");
        let load = ["bench", "-n", "-f", "one.sql", "-c", "4", "-j", "2", "-t", "50", "--share", "load"];
        let of = |part: &str| {
            let more = ["--results", &results, "--part", part, &url];
            hosts.place.command(load.iter().chain(&more))
        };
        let (one, two) = (of("1/2"), of("2/2"));
        let other = thread::spawn(move || finish(one));
        measured(finish(two));
        measured(other.join().expect("it ends"));
        let files = [1, 2].map(|number| format!("{name}.part-{number}-of-2.sqlite"));
        let all = format!("all-{name}.sqlite");
        hosts.place.run(["merge", &files[0], &files[1], "-o", &all]).expect(0);
        let run = "select clients || ' ' || ok || ' ' || (select count(*) from run_part) from v_run";
        assert_eq!(asked(&hosts.place.path().join(&all), run), "4 200 2", "{name}");
    }
    hosts.nothing_is_left();
}

#[test]
fn parts_that_stopped_at_different_runs_go_on_at_the_first_that_not_all_have() {
    let hosts = Hosts::new();
    hosts.place.write("one.sql", "SELECT 1;\n");
    let file = format!(
        "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.one]\npgbench = {{ files = \"one.sql\" }}\n[factors]\nclients = 2\n\
         [measure]\nwarmup = \"0s\"\nduration = \"500ms\"\nrounds = 3\n",
        hosts.server.url()
    );
    hosts.place.write("e.toml", &file);
    let all = |rounds: &str| {
        let [one, other] = ["1/2", "2/2"].map(|part| {
            let load = ["run", "e.toml", "--share", "load", "--part", part, "--rounds", rounds];
            hosts.place.command(load)
        });
        let other = thread::spawn(move || finish(other));
        [finish(one), other.join().expect("it ends")].map(measured)
    };
    all("1");
    let kept = hosts.place.path().join("kept.sqlite");
    std::fs::copy(hosts.file(2, 2), &kept).expect("a copy");
    all("2");
    std::fs::rename(&kept, hosts.file(2, 2)).expect("the earlier state");
    let [ahead, behind] = all("3");
    assert!(
        ahead.stderr.contains("1 run of this part: another part of the load lacks this run"),
        "{}",
        ahead.stderr
    );
    assert!(!behind.stderr.contains("lacks this run"), "{}", behind.stderr);
    let files = [1, 2].map(|number| hosts.file(number, 2).display().to_string());
    hosts.place.run(["merge", &files[0], &files[1], "-o", "all.sqlite"]).expect(0);
    let whole = "select count(*) from run where set_aside is null and \
                 (select count(*) from run_part p where p.run_id = run.run_id) = 2";
    assert_eq!(asked(&hosts.place.path().join("all.sqlite"), whole), "3");
    hosts.nothing_is_left();
}
