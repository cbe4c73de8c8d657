//! `pgdyno bench --against` with real servers: comparisons without a file, `--save`, more rounds, and
//! cleanup.

use crate::support::{self, Place, Server, Watched, in_one_line, signal};

/// A place and a server with pgbench's tables.
fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0);
    (place, server)
}

const FIND: &str = "\\set b random(1, 1000000)\nSELECT count(*) FROM pgbench_accounts WHERE abalance = :b;\n";
const ALL: &str = "\\set aid random(1, 100000)\nSELECT count(*) FROM pgbench_accounts WHERE bid > 0;\n";

/// Columns of the newest comparison over the whole grid, from JSON.
fn whole_grid(place: &Place, columns: &[&str]) -> Vec<String> {
    let done = place.run(["compare", "--format", "json"]);
    let row =
        done.stdout.lines().find(|line| line.contains("\"whole grid\"")).expect("a line of the whole grid");
    let value = |column: &&str| {
        let (_, behind) =
            row.split_once(&format!("\"{column}\": ")).unwrap_or_else(|| panic!("no {column} in {row}"));
        let end = behind.find(", \"").unwrap_or(behind.len());
        behind[..end].trim_end_matches(['}', ',']).trim_matches('"').to_owned()
    };
    columns.iter().map(value).collect()
}

#[test]
fn what_is_saved_goes_on_where_the_command_ended() {
    let (place, server) = prepared();
    let url = server.url();
    let command = [
        "bench",
        "-S",
        "-c",
        "2",
        "-T",
        "1",
        &url,
        "--against",
        "settings: work_mem=8MB",
        "--save",
        "saved.toml",
    ];
    let with = |more: &[&str]| place.run(command.iter().chain(more));
    let first = with(&["--rounds", "4", "-v"]);
    assert!([0, 1, 2].contains(&first.status.code().unwrap()), "{}", first.stderr);
    let first = first.says(&[
        "experiment: saved.toml",
        "what it will be able to tell is not known yet for select-only, 2 clients",
    ]);
    assert!(!first.stderr.contains('['), "no interval while it is measured:\n{}", first.stderr);
    assert!(
        in_one_line(&first.stdout).contains("work_mem 8MB: ")
            && in_one_line(&first.stdout).contains("4 rounds x 1 cell"),
        "{}",
        first.stdout
    );
    place.run(["run", "saved.toml"]).expect(64).says(&["is finished", "--rounds"]);
    // By the name in the results file.
    std::fs::copy(place.path().join("saved.toml"), place.path().join("other.toml")).unwrap();
    place.run(["run", "other.toml"]).expect(64).says(&["experiment saved (here other) is finished"]);
    // Reading again is not another look; with more runs it is.
    for _ in 0..2 {
        assert_eq!(whole_grid(&place, &["looks", "extended"]), ["1", "0"]);
        place.run(["report", "-o", "report.html"]).expect(0);
    }
    let more = place.run(["run", "saved.toml", "--rounds", "6"]);
    let more = more.says(&["12 runs, 8 of them stored before", "half-width about"]);
    assert!(in_one_line(&more.stdout).contains("looked at twice, extended once: "), "{}", more.stdout);
    let again = with(&["--rounds", "8", "--format", "md"]);
    assert!(in_one_line(&again.stdout).contains("looked at 3 times, extended twice: "), "{}", again.stdout);
    assert_eq!(place.sql("select count(*) || ' ' || max(round) from run where kind = 'client'"), "16 8");
    assert_eq!(place.sql("select count(*) from experiment where compare_factor = 'settings'"), "1");
    let command = place.sql("select command from experiment where compare_factor is not null");
    assert!(
        command.contains("--against 'settings: work_mem=8MB'") && !command.contains("--rounds"),
        "{command}"
    );
    // A user's own file stays.
    place.write("mine.toml", "question = \"mine\"\n");
    place.run(["bench", "-S", &url, "--against", "settings: jit=off", "--save", "mine.toml"]).expect(64);
    assert_eq!(std::fs::read_to_string(place.path().join("mine.toml")).unwrap(), "question = \"mine\"\n");
    let saved = std::fs::read_to_string(place.path().join("saved.toml")).unwrap();
    let changed = saved.replace("duration = \"500ms\"", "duration = \"700ms\"");
    assert_ne!(changed, saved);
    place.write("saved.toml", &changed);
    for more in [&["--rounds", "8", "--dry-run"][..], &["--rounds", "10"]] {
        with(more).expect(64).says(&["was changed since --save wrote it", "pgdyno run saved.toml"]);
    }
    assert_eq!(std::fs::read_to_string(place.path().join("saved.toml")).unwrap(), changed);
    with(&["--save=-"]).expect(64).says(&["not standard output"]);
    with(&["--save=third.toml", "--dry-run"]).expect(0).says(&["not written by --dry-run"]);
    assert!(!place.path().join("third.toml").exists() && !place.path().join("-").exists());
}

#[test]
fn an_inconclusive_answer_ends_with_what_to_type() {
    let (mut place, server) = prepared();
    let url = server.url();
    // A against A, with a margin that is never met. Chance decides one in twenty all the same.
    let args = ["bench", "-S", "-T", "1", &url, "--rounds", "2", "--same", "--margin", "0.001"];
    let compare = |place: &Place| place.run(args.iter().chain(&["--against", "settings: work_mem=4MB"]));
    let mut done = compare(&place);
    for _ in 0..3 {
        if done.status.code() != Some(2) {
            place = Place::new();
            done = compare(&place);
        }
    }
    let done = done.expect(2);
    let said = in_one_line(&done.stdout);
    assert!(said.contains("next: too few rounds to know the spread; 8 rounds show it"), "{}", done.stdout);
    let wanted = format!(
        "    pgdyno bench -S -T 1 '{url}' --same --margin 0.001 --against 'settings: work_mem=4MB' --rounds 8"
    );
    let is_wanted = |line: &str| line.replace('\'', "") == wanted.replace('\'', "");
    assert!(done.stdout.lines().any(is_wanted), "no {wanted} in {}", done.stdout);
    assert!(!in_one_line(&done.stdout).contains("more pair"), "{}", done.stdout);
    let [rounds, command] = &whole_grid(&place, &["rounds_needed", "next_command"])[..] else {
        panic!("two")
    };
    assert!(rounds == "8" && command.ends_with("--rounds 8"), "{rounds} {command}");
    let page = place.run(["report", "-o", "-"]).expect(0).stdout;
    assert!(
        page.contains("<strong>next: </strong>too few rounds") && page.contains("--rounds 8</code>"),
        "the page"
    );
}

/// Errors named lines of a file that nobody had written.
#[test]
fn mistakes_are_told_as_of_the_options_that_made_them() {
    let place = Place::new();
    let cases: [(&[&str], i32, &str); 16] = [
        (
            &["--slices", "30ms"],
            64,
            "'--slices <WHICH>': must be auto, true, false or a length from 50 ms to 1 s",
        ),
        (
            &["--slices", "banana"],
            64,
            "must be auto, true, false or a length from 50 ms to 1 s with its unit",
        ),
        (&["-T", "0.3"], 64, "'--time <SEC>': must be whole seconds, at least 1, as pgbench has it"),
        (&["--margin", "0"], 64, "'--margin <PCT>': must be a number of percent above 0 and below 100"),
        (&["--margin", "-3"], 64, "'--margin <PCT>': must be"),
        (&["--warmup", "1e9"], 64, "--warmup (seconds) must be from 0"),
        (&["--warmup", "-1"], 64, "--warmup (seconds) must be from 0"),
        (&["-R", "0"], 64, "-R must be from"),
        (&["-L", "0"], 64, "--latency-limit (ms) must be from"),
        (&["-j", "5000"], 64, "--jobs must be from"),
        (&["--managed=a b"], 64, "--managed: "),
        (&["--managed", "-I", "xyz"], 64, "-I: unrecognized initialization step"),
        (&["--managed", "-s", "4000000000"], 64, "-s must be at least 1"),
        (&["--managed", "--prepare", "no.sql"], 65, "--prepare: no.sql cannot be read"),
        (&["-f", "no.sql"], 65, "-f: no.sql: cannot be read"),
        (&["-D", "1x=2"], 64, "-D: invalid variable name"),
    ];
    for (options, code, words) in cases {
        let command = ["bench", "-S", "--dry-run", "--against", "settings: jit=off"];
        let refused = place.run(command.iter().chain(options)).expect(code).says(&[words]);
        assert!(!refused.stderr.contains("--against:"), "{options:?}: {}", refused.stderr);
    }
    let names = ["bench", "-S", "--managed", "--against", "settings: client_encoding=latin1"];
    place.run(names).expect(65).says(&["--against 'settings: …': ", "client_encoding", "cannot be a factor"]);
}

/// Errors about settings and SQL refused by the server did so, too.
#[test]
fn what_a_server_refuses_is_told_as_of_the_option() {
    let (place, server) = prepared();
    for (against, words) in [
        ("settings: jjit=off", "--against: [settings.jjit off] "),
        ("sql: create index on nowhere (x)", "--against 'sql: …': [change.sql.after] "),
    ] {
        let url = server.url();
        let undo: &[&str] =
            if against.starts_with("sql") { &["--change-server", "--undo", "select 1"] } else { &[] };
        let command = ["bench", "-n", "-b", "select-only", "--against", against, &url];
        let refused = place.run(command.iter().chain(undo));
        assert!(refused.status.code().is_some_and(|code| code >= 64), "{}", refused.stdout);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn another_script_is_slower_and_a_script_of_its_own_is_refused() {
    let (place, server) = prepared();
    place.write("all.sql", ALL);
    let url = server.url();
    let against = |script: &str| {
        place.run([
            "bench",
            "-S",
            "-T",
            "1",
            &url,
            "--rounds",
            "4",
            "--against",
            &format!("script: {script}"),
        ])
    };
    let done = against("all.sql").expect(1);
    let said = in_one_line(&done.stdout);
    assert!(said.contains("all is slower than select-only: -") && said.contains("4 rounds"), "{said}");
    against("select-only").expect(65).says(&["are the same", "--same"]);
    against("al.sql").expect(64).says(&["there is no file al.sql"]);
    let dry = ["bench", "-S", &url, "--dry-run", "--against", "script: all.sql"];
    let planned = place
        .run(dry)
        .expect(0)
        .says(&["compared: workload = select-only, all", "what it will be able to tell"]);
    assert_eq!(
        planned.stdout.lines().filter(|line| line.starts_with("run ")).count(),
        24,
        "{}",
        planned.stdout
    );
}

#[test]
fn sql_runs_on_a_copy_of_the_private_server() {
    let place = Place::with_private("default");
    place.write("find.sql", FIND);
    let against = ["--against", "sql: create index found on pgbench_accounts (abalance)"];
    let command = ["bench", "-f", "find.sql", "-s", "2", "--managed", "-T", "1", "--rounds"];
    let done = place.run(command.iter().chain(&["4"]).chain(&against)).expect(0);
    assert!(in_one_line(&done.stdout).contains("(abalance) is faster than without: "), "{}", done.stdout);
    assert_eq!(place.clusters(), ["default"], "copies are gone");
    let more = place.run(command.iter().chain(&["6"]).chain(&against)).expect(0);
    let said = in_one_line(&more.stdout);
    assert!(said.contains("6 rounds") && said.contains("extended once"), "{said}");
    let found =
        "select group_concat(distinct arm) from run r join relation f using (run_id) where f.name = 'found'";
    assert_eq!(place.sql(found), "after");
    place.wait_until_quiet(std::time::Duration::from_secs(15));
}

#[test]
fn sql_at_a_url_is_undone() {
    let (place, server) = prepared();
    place.write("find.sql", FIND);
    let url = server.url();
    let against = ["--against", "sql: create index found on pgbench_accounts (abalance)"];
    let command = ["bench", "-f", "find.sql", "-T", "1", "--rounds", "2", &url];
    place.run(command.iter().chain(&against)).expect(64).says(&["--undo", "--change-server", "--managed"]);
    let undo = ["--undo", "drop index if exists found", "--change-server"];
    let done = place.run(command.iter().chain(&against).chain(&undo));
    assert!(done.stdout.contains("\n  after "), "{}{}", done.stdout, done.stderr);
    assert_eq!(server.psql("select count(*) from pg_indexes where indexname = 'found'"), "0");
}

#[test]
fn a_password_given_in_a_url_is_used_and_kept_nowhere() {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0);
    server.psql("grant all on all tables in schema public to scram");
    let url = |database: &str| format!("postgres://scram:geheim@127.0.0.1:{}/{database}", server.port);
    let done = place.run([
        "bench",
        "-S",
        "-n",
        "-T",
        "1",
        "--rounds",
        "2",
        "--same",
        // So narrow that two rounds decide nothing, which gives `next:`.
        "--margin",
        "0.001",
        "--save",
        "saved.toml",
        &url("postgres"),
        "--against",
        "settings: work_mem=8MB",
        "--report",
        "page.html",
    ]);
    let done = done.says(&["kept nowhere", "the same command and its file can do without it"]);
    let dry = ["bench", "-S", "--dry-run", "--against", "settings: work_mem=8MB", &url("postgres")];
    place.run(dry).expect(0).says(&["the same command can do without it"]);
    let said = in_one_line(&done.stdout);
    // In one of twenty cases two rounds decide by chance; then there is no next step.
    let is_decided = matches!(done.status.code(), Some(0 | 1));
    assert!((is_decided || said.contains("next: ")) && said.contains(", 2 rounds"), "{said}");
    let mut texts = vec![done.stdout.into_bytes(), done.stderr.into_bytes()];
    for name in ["saved.toml", "results.sqlite", "results.sqlite-wal", "page.html"] {
        texts.extend(std::fs::read(place.path().join(name)));
    }
    assert!(texts.len() >= 5);
    for text in texts {
        assert!(!text.windows(6).any(|part| part == b"geheim"));
    }
    // The file takes the password from the environment.
    place.run(["run", "saved.toml", "--rounds", "4"]).expect(67);
    // An address in a file gets it only with consent: the file may come from somebody else.
    let with = |args: &[&str]| {
        let mut with = place.command(["run", "saved.toml", "--rounds", "4"].iter().chain(args));
        with.env("PGPASSWORD", "geheim");
        support::finish(with)
    };
    with(&[]).expect(64).says(&["target.url: the password of PGPASSWORD", "--allow-commands"]);
    let more = with(&["--allow-commands"]);
    assert!(in_one_line(&more.stdout).contains(", 4 rounds"), "{}{}", more.stdout, more.stderr);
}

/// Two processes stored eight runs instead of four, measured under each other's load, as valid.
#[test]
fn the_same_is_not_measured_twice_at_once() {
    let (place, server) = prepared();
    let url = server.url();
    let command =
        ["bench", "-S", "-n", "-T", "2", "--rounds", "2", &url, "--against", "settings: work_mem=9MB"];
    let mut first = Watched::start(place.command(command.iter().chain(&["--verbose"])));
    assert!(first.until("step: measure"), "{}", first.seen);
    let pid = first.child.id();
    let words = ["another pgdyno", &format!("(pid {pid})"), "wait for it", "--results"];
    place.run(command).expect(67).says(&words);
    place.run(command.iter().chain(&["--again"])).expect(67).says(&words);
    // Readers and other runs are not blocked.
    place.run(["table", "runs"]).expect(0);
    place.run(["bench", "-S", "-n", "-t", "1", "--beside", &url]).expect(0);
    signal(pid, "KILL");
    first.end();
    let more = place.run(command);
    assert!([0, 1, 2].contains(&more.status.code().unwrap()), "{}", more.stderr);
    let runs = "select count(*) from run join experiment using (experiment_id) where compare_factor is not null and kind = 'client'";
    assert_eq!(place.sql(runs), "4");
    let left = std::fs::read_dir(place.path()).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("-lock-")));
}

/// Weights were taken for a password: the next command was shown as `--against ...`, and our own text was
/// hidden.
#[test]
fn a_comparison_of_scripts_with_weights_can_be_typed_again() {
    let (place, server) = prepared();
    place.write("me@ad.sql", "SELECT 1;\n");
    let url = server.url();
    let command = ["bench", "-S", "-T", "1", "--rounds", "2", "--same", "--margin", "0.001", &url];
    let change = "script: 'me@ad.sql@2', select-only@3";
    let done = place.run(command.iter().chain(&["--against", change]));
    assert!([1, 2, 0].contains(&done.status.code().unwrap()), "{}", done.stderr);
    for text in [&done.stdout, &done.stderr] {
        assert!(!text.contains("hidden"), "{text}");
    }
    let kept = place.sql("select command from experiment where compare_factor is not null");
    let quoted = change.replace('\'', "'\\''");
    assert!(kept.contains(&format!("--against '{quoted}'")), "{kept}");
    place
        .run(["bench", "-S", &url, "--against", "script: we@ad.sql"])
        .expect(64)
        .says(&["weight after its @"]);
    let url_to_itself = format!("url: {}", url.replace('\'', ""));
    place.run(["bench", "-S", &url, "--against", &url_to_itself]).expect(64).says(&["the same server"]);
}

/// The message did not say which of the two servers it was.
#[test]
fn the_server_that_went_away_is_named() {
    let (place, server) = prepared();
    let mut other = Server::start();
    place.run(["bench", "-i", "-s", "1", &other.url()]).expect(0);
    let against = format!("url: {}", other.url());
    let mut running = Watched::start(place.command([
        "bench",
        "-S",
        "-n",
        "-T",
        "4",
        "--rounds",
        "2",
        "--verbose",
        &server.url(),
        "--against",
        &against,
    ]));
    assert!(running.until("step: measure"), "{}", running.seen);
    other.end("KILL");
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(66), "{said}");
    assert!(
        said.contains(&format!("no connection can be made to other (host={}", other.socket.display())),
        "{said}"
    );
}

/// 635,000 orders were compared with 403,000: "faster +32.6 %, all valid".
#[test]
fn two_servers_that_do_not_hold_the_same_data_are_told_on_terminal_and_page() {
    let (place, server) = (Place::new(), Server::start());
    let other = Server::start_with(&["work_mem=16MB"]);
    let orders = |server: &Server, rows: u32| {
        server.psql(&format!(
            "create table orders as select id, id % 100 as customer from generate_series(1, {rows}) id; \
             create index on orders (id); create view sales as select * from orders; analyze orders"
        ));
    };
    orders(&server, 20_000);
    orders(&other, 12_000);
    other.psql("create index on orders (customer)");
    place.write("sales.sql", "\\set id random(1, 12000)\nSELECT customer FROM sales WHERE id = :id;\n");
    let against = format!("url: {}", other.url());
    let page = place.path().join("two.html");
    let args = ["bench", "-n", "-f", "sales.sql", "-T", "1", "--rounds", "2", "--report"];
    let args = args.iter().map(|arg| (*arg).to_owned());
    let rest = [page.display().to_string(), server.url(), "--against".to_owned(), against];
    let done = place.run(args.chain(rest));
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let page = std::fs::read_to_string(&page).unwrap();
    let terminal = done.words();
    for wanted in [
        "rows of orders: other 12,000, base 20,000",
        "an index of orders is only at other: USING btree (customer)",
        "work_mem: other 16MB, base 4MB",
    ] {
        assert!(terminal.contains(wanted), "no {wanted} in {terminal}");
        assert!(page.contains(wanted), "no {wanted} on the page");
    }
    let csv = place.run(["compare", "--format", "csv"]).stdout;
    assert!(csv.contains("rows of orders: other 12,000"), "{csv}");
}

#[test]
fn lists_make_a_grid_whose_mail_fits_a_screen() {
    let (place, server) = prepared();
    let url = server.url();
    let lists = ["bench", "-S", "-c", "1,2", "-M", "simple,prepared", "-T", "1", &url];
    place.run(lists).expect(64).says(&["-c 1,2 lists several values", "--against", "pgdyno ladder -c"]);
    let done = place.run(lists.iter().chain(&["--rounds", "4", "--against", "settings: work_mem=8MB"]));
    assert!([0, 1, 2].contains(&done.status.code().unwrap()), "{}", done.stderr);
    assert!(in_one_line(&done.stdout).contains("4 rounds of 4 cells"), "{}", done.stdout);
    let cells = "select group_concat(value, ' ') from (select distinct name || value value from cell_factor \
                 where name in ('clients', 'mode') order by 1)";
    assert_eq!(place.sql(cells), "clients1 clients2 modeprepared modesimple");
    let mail = place.run(["report", "--format", "mail"]).expect(0).stdout;
    assert!(mail.lines().count() <= 50 && mail.lines().filter(|line| line.len() > 78).count() <= 2, "{mail}");
    for wanted in ["all 4 of a", "simple", "prepared", "-c 1,2", "--rounds 4"] {
        assert!(mail.contains(wanted), "no {wanted:?} in\n{mail}");
    }
}
