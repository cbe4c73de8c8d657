//! Arguments, and the experiment files made from them.
use std::path::Path;

use lab::experiment::ExperimentFile;
use spec::Error;
use spec::plan::{Fact, Plan};

use super::base::Folder;
use super::file;
use super::file::of_bench;
use super::kind::AgainstChange;
use super::made::MadeExperiment;
use super::{BenchArgs, has_only_what_can_be_compared};
use crate::commands::{Command, parse_from};

const HERE: Fact = Fact::Host { memory_bytes: 8 << 30, cores: 2, cpus: None };

fn args(line: &str) -> BenchArgs {
    let words = line.split('|').flat_map(|part| match part.starts_with(' ') {
        // Text between bars is a single word.
        true => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        false => vec![part.to_owned()],
    });
    let words = ["pgdyno", "bench"].into_iter().map(str::to_owned).chain(words);
    match parse_from(words.map(Into::into)).unwrap_or_else(|error| panic!("{line}: {error}")).command {
        Command::Bench(args) => *args,
        _ => panic!("bench"),
    }
}

fn made(line: &str) -> Result<MadeExperiment, String> {
    let args = args(line);
    has_only_what_can_be_compared(&args).map_err(|error| error.to_string())?;
    let change = AgainstChange::parse(&args.against.compare.against[0])?;
    file::made(of_bench(&args, &change), &Folder::of(args.against.save.as_deref()))
        .map_err(|error| error.to_string())
}

fn read(text: &str) -> ExperimentFile {
    let file = ExperimentFile::of_text(Path::new("x.toml"), text);
    file.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn plan(text: &str) -> Plan {
    plan_of(&read(text)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn plan_of(file: &ExperimentFile) -> Result<Plan, Error> {
    lab::plan::resolve(file, &lab::facts::of_files_on(HERE, file)?)
}

struct Case {
    line: &'static str,
    says: &'static [&'static str],
    arms: [&'static str; 2],
}

/// The private server allowed too few connections, and the advice was about a file.
#[test]
fn a_private_server_lets_in_as_many_clients_as_are_asked_for() {
    let text = |line: &str| made(line).unwrap().text();
    let both = text(" -S --managed -c 120 --against |settings: jit=off");
    assert_eq!(both.matches("max_connections = 130").count(), 2, "{both}");
    let own = text(" -S --managed -c 120 --against |settings: max_connections=200");
    assert!(own.contains("max_connections = 130") && own.contains("max_connections = 200"), "{own}");
    let room = text(" -S --managed -c 120 --against |script: simple-update");
    assert!(room.contains("[settings.room]\nmax_connections = 130"), "{room}");
    assert!(!text(" -S --managed -c 90 --against |settings: jit=off").contains("max_connections"));
}

/// Lists of clients and of query modes are factors, and a private server has room for the most clients.
#[test]
fn lists_are_factors() {
    let text =
        made(" -S -c 1,16,120 -M simple,prepared --managed --against |settings: jit=off").unwrap().text();
    for wanted in
        ["clients = [1, 16, 120]\n", "mode = [\"simple\", \"prepared\"]\n", "max_connections = 130\n"]
    {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
    assert_eq!(text.matches("mode =").count(), 1, "{text}");
    let plan = plan(&text);
    let cells: std::collections::BTreeSet<_> =
        plan.runs.iter().map(|run| (run.factors.get("clients"), run.factors.get("mode"))).collect();
    assert_eq!(cells.len(), 6, "{cells:?}");
    // One value is written as before.
    let text = made(" -S -c 4 -M prepared shop --against |settings: jit=off").unwrap().text();
    assert!(
        text.contains("clients = 4\n") && text.contains("builtin = \"select-only\"\nmode = \"prepared\"\n"),
        "{text}"
    );
}

#[test]
fn every_kind_becomes_a_file_that_can_be_read() {
    let cases = [
        Case {
            line: " -S -c 4 -j 2 -M prepared shop --against |settings: jit=off",
            says: &[
                "url = \"shop\"\n",
                "[workload.select-only.pgbench]\nbuiltin = \"select-only\"\nmode = \"prepared\"\n",
                "clients = 4\n",
                "[settings.base]\n",
                "[settings.\"jit off\"]\njit = \"off\"\n",
                "warmup = \"500ms\"\nduration = \"2.5s\"\nrounds = 12\nthreads = 2\n",
            ],
            arms: ["base", "jit off"],
        },
        Case {
            line: " -T 60 --warmup 2 --rounds 24 --margin 1.5 --slices 200ms -R 100 -L 20 -n --against |settings: work_mem='64 MB', jit=1",
            says: &[
                "url = \"\"\n",
                "vacuum = false",
                "builtin = \"tpcb-like\"",
                "[load]\nrate = 100.0\npromise = \"20ms\"\n",
                "work_mem = \"64 MB\"\njit = 1\n",
                "margin = \"1.5%\"",
                "warmup = \"2s\"\nduration = \"30s\"\nrounds = 24\nslices = \"200ms\"\n",
            ],
            arms: ["base", "work_mem 64 MB and jit 1"],
        },
        Case {
            line: " -h db1 -U me -S shop --against |url: postgres://me@db2/shop",
            says: &[
                "[server.base]\nurl = \"host='db1' user='me' dbname='shop'\"\n",
                "[server.other]\nurl = \"postgres://me@db2/shop\"\n",
                "factor = \"server\"\n",
            ],
            arms: ["base", "other"],
        },
        Case {
            line: " -b tpcb -s 10 --managed --against |script: simple-update, select-only@3",
            says: &[
                "[target.managed]\nname = \"default\"\n",
                "[prepare.pgbench]\nscale = 10\n",
                "[workload.tpcb-like.pgbench]\nbuiltin = \"tpcb-like\"\n",
                "[workload.\"simple-update and select-only\".pgbench]\nbuiltin = [\"simple-update\", \"select-only@3\"]\n",
            ],
            arms: ["tpcb-like", "simple-update and select-only"],
        },
        Case {
            line: " -S --managed=mine -F 90 --foreign-keys --partitions 4 --continue-on-error --against |version: 15, 18",
            says: &[
                "[target.managed]\nname = \"mine\"\n",
                "[prepare.pgbench]\nfillfactor = 90\nforeign_keys = true\npartitions = 4\nscale = 1\n",
                "builtin = \"select-only\"\ncontinue_on_error = true\n",
                "version = [15, 18]\n",
                "base = 15\n",
            ],
            arms: ["15", "18"],
        },
        Case {
            line: " -N --managed --against |sql: create index on t (\"a:b\")",
            says: &["[change.sql.before]\n\n[change.sql.after]\ndo = 'create index on t (\"a:b\")'\n"],
            arms: ["before", "after"],
        },
        Case {
            line: " -N shop --change-server --undo |drop index i| --against |sql: create index i on t (a)",
            says: &["change_server = true\n", "undo = \"drop index i\"\n"],
            arms: ["before", "after"],
        },
    ];
    for Case { line, says, arms } in cases {
        let text = made(line).unwrap_or_else(|why| panic!("{line}: {why}")).text();
        for wanted in says {
            assert!(text.contains(wanted), "{line}: no {wanted:?} in\n{text}");
        }
        let plan = plan(&text);
        let found: std::collections::BTreeSet<_> =
            plan.runs.iter().filter_map(|run| run.arm.as_deref()).collect();
        assert_eq!(found, arms.into(), "{line}");
        assert_eq!(lab::plan::equal_arms(&plan), None, "{line}");
    }
}

/// The warm-up was half a second, without a message.
#[test]
fn no_warm_up_is_none_or_what_slices_need() {
    for (line, wanted) in [
        (
            " -S --warmup 0 shop --against |settings: jit=off",
            "(warm-up 0 s, 0.1 s where arms take turns: it tells how",
        ),
        (" -S --warmup 0 --slices false shop --against |settings: jit=off", "(warm-up 0 s), "),
        (" -S shop --against |settings: jit=off", "(warm-up 0.5 s), "),
    ] {
        let words = lab::plan::length_words(&plan(&made(line).unwrap().text()), &Default::default());
        assert!(words.iter().any(|words| words.contains(wanted)), "{line}: {words:?}");
    }
}

#[test]
fn what_is_saved_is_the_same_experiment() {
    let line = |more: &str| format!(" -S shop {more} --against |settings: jit=off");
    let [plain, saved, more] =
        ["", "--save x.toml", "--rounds 24"].map(|more| plan(&made(&line(more)).unwrap().text()));
    let hash = |plan: &Plan| lab::plan::hash(&plan.content);
    assert_eq!(hash(&plain), hash(&saved));
    assert_eq!((hash(&plain), plain.rounds, more.rounds), (hash(&more), 12, 24));
    let [other, longer] = ["-c 2", "-T 10"].map(|more| hash(&plan(&made(&line(more)).unwrap().text())));
    assert!(other != hash(&plain) && longer != hash(&plain));
}

#[test]
fn scripts_are_found_from_where_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("a b.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    let line = format!(" -S shop --against |script: '{}@2'", script.display());
    let made = made(&line).unwrap();
    let text = made.text();
    assert!(text.contains(&format!("files = \"{}@2\"", script.display())), "{text}");
    assert!(text.contains("[workload.\"a b\".pgbench]"), "{text}");
    assert_eq!(made.name, "select-only-against-a-b");
    assert_eq!(Folder::of(Some(Path::new("x.toml"))).path("a.sql"), "a.sql");
    let absolute = Folder::of(Some(&folder.path().join("x.toml"))).path("a.sql");
    assert!(Path::new(&absolute).is_absolute(), "{absolute}");
}

#[test]
fn no_password_is_written() {
    for (line, login) in [
        (" postgres://me:geheim@h/shop --against |settings: jit=off", "postgres://me:geheim@h/shop"),
        (
            " -S postgres://me@h/shop --against |url: postgres://me:geheim@g/shop",
            "postgres://me:geheim@g/shop",
        ),
        (" |host=h password=geheim| --against |settings: jit=off", "host=h password=geheim"),
    ] {
        let written = made(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert!(!written.text().contains("geheim") && !written.name.contains("geheim"), "{}", written.text());
        assert!(
            written.left_out && written.logins.iter().any(|known| known.with_secrets() == login),
            "{:?}",
            written.logins
        );
        let mut file = read(&written.text());
        let before = lab::plan::hash(&plan(&written.text()).content);
        file.log_in_by(&written.logins);
        assert_eq!(lab::plan::hash(&plan_of(&file).unwrap().content), before);
    }
}

#[test]
fn an_address_among_settings_is_named_without_its_password() {
    let line = " -S --managed --against |settings: primary_conninfo='host=h password=geheim'";
    let written = made(line).unwrap();
    assert!(!written.name.contains("geheim"), "{}", written.name);
    let question = written.experiment.question.clone().unwrap();
    assert!(question.contains("primary_conninfo = host=h"), "{question}");
    assert!(
        !question.contains("geheim") && !read(&written.text()).kept_text().contains("geheim"),
        "{question}"
    );
}

/// The option was refused: "all runs have the same one anyway".
#[test]
fn one_driver_and_one_way_of_waiting_can_be_asked_for() {
    let line = " -S --driver portable --wait sleep shop --against |settings: jit=off";
    let table: toml::Table = made(line).unwrap().text().parse().unwrap();
    assert_eq!(table["measure"]["driver"].as_str(), Some("portable"));
    assert_eq!(table["measure"]["wait"].as_str(), Some("sleep"));
}

#[test]
fn what_cannot_be_compared_is_told() {
    for (line, wanted) in [
        (" -S -t 5 shop --against |settings: jit=off", "-t cannot be used"),
        (" -S -r shop --against |settings: jit=off", "-r cannot be used"),
        (" -i shop --against |settings: jit=off", "-i cannot be used"),
        (" -S -P 1 shop --against |settings: jit=off", "-P cannot be used"),
        (" -f - shop --against |settings: jit=off", "-f - cannot be used"),
        (" -S --random-seed rand shop --against |settings: jit=off", "--random-seed must be a number"),
        (" -S shop --against |version: 18", "need a private server"),
        (" -S --managed --against |version: 15, 15", "both sides are PostgreSQL 15"),
        (" -S shop --against |sql: create index on t (a)", "changes a server that is not pgdyno's"),
        (" -S shop --undo x --against |sql: create index on t (a)", "changes a server that is not pgdyno's"),
        (" -S shop --undo x --against |settings: jit=off", "--undo undoes 'sql: …'"),
        (" -S --managed --change-server --against |settings: jit=off", "--change-server is for"),
        (" -S shop --change-server --against |script: simple-update", "--change-server is for"),
        (" -S shop --managed --against |settings: jit=off", "a database or server is given too"),
        (" -S --managed --against |url: shop", "is not on the other one"),
        (" -S postgres://h/shop --against |url: host=h dbname=shop", "the same server"),
        (" -S shop --against |url: host=h nonsense=1", "--against 'url: …': invalid connection option"),
        // Without its secrets only the environment would be left, which is another server.
        (" -S postgres://h:54321x/shop --against |settings: jit=off", "invalid port value"),
        (" -S |host=h port=abc| --against |settings: jit=off", "invalid port value"),
        (" -S postgres://h/shop?sslmode=nope --against |settings: jit=off", "sslmode"),
        (
            " -S shop --against |url: postgres://h:99999/shop",
            "--against 'url: …': connection string: invalid port",
        ),
        (" --managed -f own.sql -F 50 --against |settings: jit=off", "-F is for pgbench's tables"),
    ] {
        let why = made(line).expect_err(line);
        assert!(why.contains(wanted), "{line}: {why}");
    }
    for line in [" -S --rounds 4 shop", " --prepare x.sql shop --against |settings: jit=off"] {
        let words = line.split('|').flat_map(str::split_whitespace);
        let words = ["pgdyno", "bench"].into_iter().chain(words);
        assert!(parse_from(words.map(Into::into)).is_err(), "{line}");
    }
}
