//! Checks before an experiment, and reasons to end it early.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Place, Server, Watched, finish, line_of, signal};

/// An experiment at a server given by URL, with these arms.
fn by_url(place: &Place, target: &str, arms: &str) -> std::path::PathBuf {
    place.write("one.sql", "SELECT count(*) FROM pg_class;\n");
    place.write(
        "arms.toml",
        format!(
            "question = \"Which?\"\n[target]\nurl = \"$TEST_URL\"\n{target}\n[workload.one]\n\
             pgbench = {{ files = [\"one.sql\"] }}\n[compare]\nfactor = \"settings\"\nbase = \"stock\"\n\
             [measure]\nwarmup = \"0s\"\nduration = \"100ms\"\nrounds = 2\n[settings.stock]\n{arms}\n"
        ),
    )
}

/// pgdyno waited two minutes for a postmaster stopped together with its children, and the children stayed.
#[test]
fn a_frozen_server_is_stopped_with_its_children() {
    let place = Place::with_private("frozen");
    place.run(["target", "start", "frozen"]).expect(0);
    let of = |pid: u32| -> Option<(u32, String)> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut rest = stat.rsplit(')').next()?.split_whitespace();
        let state = rest.next()?.to_owned();
        Some((rest.next()?.parse().ok()?, state))
    };
    let pids = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let file = place.home().join("clusters/frozen/data/postmaster.pid");
    let postmaster: u32 = std::fs::read_to_string(&file).unwrap().lines().next().unwrap().parse().unwrap();
    let mut frozen: Vec<u32> =
        pids().filter(|pid| of(*pid).is_some_and(|(parent, _)| parent == postmaster)).collect();
    assert!(frozen.len() > 2, "{frozen:?}");
    frozen.insert(0, postmaster);
    frozen.iter().for_each(|pid| signal(*pid, "STOP"));
    let start = Instant::now();
    place.run(["target", "stop", "frozen"]).expect(0);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let left: Vec<_> = frozen.iter().filter(|pid| of(**pid).is_some_and(|(_, state)| state == "T")).collect();
    assert!(left.is_empty(), "{left:?}");
    place.run(["target", "destroy", "frozen"]).expect(0);
}

/// `--dry-run` accepted them; the error came after the first runs.
#[test]
fn settings_that_cannot_be_are_found_before_anything_is_done() {
    let (place, server) = (Place::new(), Server::start());
    let settings = "select md5(string_agg(name || setting, ',' order by name)) from pg_settings";
    let before = server.psql(settings);
    let cases = [
        ("", "shared_buffers = \"1GB\"", 64, "shared_buffers: a change takes a restart"),
        ("change_server = true", "shared_buffers = \"1GB\"", 64, "shared_buffers: a change takes a restart"),
        ("", "checkpoint_timeout = \"1min\"", 64, "write change_server = true into [target]"),
        ("", "work_men = \"1MB\"", 65, "no setting work_men; did you mean work_mem?"),
        ("", "work_mem = \"much\"", 65, "it takes a whole number from 64"),
        ("", "plan_cache_mode = \"never\"", 65, "it takes auto, force_generic_plan"),
    ];
    for (target, setting, code, words) in cases {
        let file = by_url(&place, target, &format!("[settings.other]\n{setting}"));
        let at = format!("{}: [settings.other]", line_of(&file, setting));
        for mode in [&["--dry-run"][..], &[]] {
            let mut command = place.command(["run", file.to_str().unwrap()]);
            command.args(mode).env("TEST_URL", server.url());
            finish(command).expect(code).says(&[words, &at]);
        }
    }
    assert_eq!(before, server.psql(settings));
    assert_eq!(place.sql("select count(*) from experiment"), "0", "experiments without a run do not stay");

    let all = "[settings.other]\nwork_men = \"1MB\"\njit = \"maybe\"\n[settings.third]\nport = 1";
    let file = by_url(&place, "", all);
    let mut command = place.command(["run", "--dry-run", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    // Errors that need no server are reported first, with the line in the file.
    finish(command).expect(65).says(&[&format!("{}:1: `port` cannot be a factor", line_of(&file, "port"))]);
    let file = by_url(&place, "", &all.replace("port = 1", "wal_level = \"minimal\""));
    let mut command = place.command(["run", "--dry-run", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    let jit = format!("{}: [settings.other] jit = maybe", line_of(&file, "jit"));
    finish(command).expect(65).says(&[&line_of(&file, "work_men"), &jit, &line_of(&file, "wal_level")]);

    let file = by_url(&place, "", "[settings.other]\nwork_mem = \"1MB\"");
    let mut command = place.command(["run", "--dry-run", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    finish(command).expect(0).says(&["settings: the server at hand can be brought to all of them"]);
    let mut command = place.command(["run", "--dry-run", file.to_str().unwrap()]);
    command.env("TEST_URL", format!("postgres:///x?host={}", place.path().display()));
    finish(command).expect(0).says(&["the settings could not be checked, no server is at hand"]);
}

/// A managed server is checked as soon as it runs, before an invalid experiment is prepared.
#[test]
fn a_managed_server_is_asked_before_data_are_loaded() {
    let place = Place::new();
    let file = place.write(
        "managed.toml",
        "question = \"Which?\"\n[target]\nmanaged = { name = \"checks\" }\n[prepare]\npgbench = { scale = 1 }\n\
         [workload.one]\npgbench = { builtin = \"select-only\" }\n[compare]\nfactor = \"settings\"\nbase = \"stock\"\n\
         [measure]\nduration = \"100ms\"\nrounds = 2\n[settings.stock]\n[settings.other]\nwork_men = 1\n",
    );
    let at = format!("{}: [settings.other]", line_of(&file, "work_men"));
    let file = file.to_str().unwrap();
    place.run(["run", "--dry-run", file]).expect(0).says(&["managed server \"checks\" does not run now"]);
    let done = place.run(["run", file]).expect(65).says(&["did you mean work_mem?"]);
    assert!(!done.stderr.contains(" prepare  "), "{}", done.stderr);
    assert_eq!(place.sql("select count(*) from experiment"), "0");
    // A running server is only read, and continues unchanged.
    place.run(["target", "start", "checks"]).expect(0);
    place.run(["run", "--dry-run", file]).expect(65).says(&[&at, "work_mem"]);
    let status = place.run(["target", "status"]).expect(0).stdout;
    assert!(status.contains("running"), "{status}");
    place.run(["target", "destroy", "checks"]).expect(0);
    place.wait_until_quiet(Duration::from_secs(10));
}

/// `osm load nofile` mentioned the experiment file's folder; `bench` accepted rates of 309 digits.
#[test]
fn what_cannot_be_meant_is_told_before_a_server_is_asked() {
    let place = Place::new();
    let tried = place.path().canonicalize().unwrap().join("nofile");
    let told = place.run(["osm", "load", "nofile"]).expect(65);
    assert!(told.stderr.contains(&format!("{}: cannot be opened", tried.display())), "{}", told.stderr);
    assert!(!told.stderr.contains("experiment file"), "{}", told.stderr);
    for option in ["-R 1e308", "-R nan", "-L inf", "-c 4000000000", "-T 99999999999", "--warmup 1e308"] {
        let args = ["bench"].into_iter().chain(option.split(' ')).chain(["postgres://127.0.0.1:1/x"]);
        place.run(args).expect(64).says(&["must be from"]);
    }
}

/// The former name of a key causes a warning, not an error.
#[test]
fn a_limit_is_read_as_a_promise() {
    let place = Place::new();
    let file = |key: &str| {
        format!(
            "question = \"?\"\n[target]\nurl = \"postgres://127.0.0.1:1/x\"\n[workload.a]\n\
             pgbench = {{ builtin = \"select-only\" }}\n[load]\n{key} = \"20ms\"\n"
        )
    };
    let [former, now] = ["limit", "promise"].map(|key| {
        place.write("promise.toml", file(key));
        place.run(["run", "--dry-run", "promise.toml"]).expect(0)
    });
    let word = "load.limit is now load.promise; the experiment is the same\n";
    assert!(former.stderr.contains(word) && !now.stderr.contains(word), "{}\n{}", former.stderr, now.stderr);
    assert_eq!(former.stdout, now.stdout);
}

/// The report's missing folder was noticed after all measurements, with the exit code of bad input.
#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_done() {
    let place = Place::new();
    let file = place.write(
        "one.toml",
        "question = \"How fast?\"\n[target]\nurl = \"postgres://127.0.0.1:1/x\"\n[workload.one]\npgbench = { builtin = \"select-only\" }\n",
    );
    let there = place.write("there.html", "mine");
    let within = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    for (report, words) in [
        (within("nodir/r.html"), "make the folder"),
        (within("there.html/r.html"), "there.html"),
        (place.path().to_str().unwrap().to_owned(), "it is a folder"),
    ] {
        let wanted = ["the report", &report, "cannot be written", words];
        // Neither the server nor the results file is read: they do not exist.
        place.run(["run", file.to_str().unwrap(), "--report", &report]).expect(74).says(&wanted);
        place.run(["report", "-o", &report]).expect(74).says(&wanted);
    }
    // A writable file stays unchanged until there is something to write.
    place.run(["report", "-o", there.to_str().unwrap()]).expect(65);
    place.run(["report", "-o", &within("new.html")]).expect(65);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    assert!(!place.path().join("new.html").exists() && !place.path().join("nodir").exists());
    assert!(!place.results().exists());
}

/// All remaining rounds were measured as invalid.
#[test]
fn a_table_dropped_in_mid_run_ends_it_after_the_second_invalid_run() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("create table things as select generate_series(1, 100) as id");
    place.write("things.sql", "SELECT count(*) FROM things;\n");
    place.write("other.sql", "SELECT 1;\n");
    let file = place.write(
        "things.toml",
        "question = \"How fast?\"\n[target]\nurl = \"$TEST_URL\"\n[workload.things]\npgbench = { files = [\"things.sql\"] }\n\
         [workload.other]\npgbench = { files = [\"other.sql\"] }\n[factors]\nworkload = [\"things\", \"other\"]\n\
         [measure]\nwarmup = \"0s\"\nduration = \"500ms\"\nrounds = 8\norder = \"listed\"\n",
    );
    let report = place.path().join("things.html");
    let report_to = report.to_str().unwrap();
    let mut command = place.command(["run", "--verbose", file.to_str().unwrap(), "--report", report_to]);
    command.env("TEST_URL", server.url());
    let mut running = Watched::start(command);
    assert!(running.until("step: store") && running.until("step: measure"), "{}", running.seen);
    server.psql("drop table things");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(69), "{stderr}");
    for words in [
        "things, 1 client: two runs in a row are invalid for the same cause (",
        "1 client gave up; the first:",
        "its other runs are left for later",
        "check the search_path",
        "the same command measures those runs again and goes on",
    ] {
        assert!(stderr.contains(words), "no {words:?} in:\n{stderr}");
    }
    let count =
        |which: &str| place.sql(&format!("select count(*) from v_run where {which}")).parse::<u32>().unwrap();
    assert_eq!(count("validity = 'invalid'"), 2);
    assert_eq!(count("workload = 'other'"), 8, "one bad workload must not cost the others");
    let good = count("workload = 'things' and validity <> 'invalid'");
    let told = format!("{} of 16 runs are kept, 2 more are stored and are to be measured again", good + 8);
    assert!(stderr.contains(&told), "{stderr}");
    // It ended without a summary, and without the report.
    assert!(stderr.contains("results: ") && stderr.contains("report:  "), "{stderr}");
    assert!(std::fs::read_to_string(&report).unwrap().contains("other"));

    // Nothing is measured while the table is missing.
    let again = || {
        let mut command = place.command(["run", file.to_str().unwrap()]);
        command.env("TEST_URL", server.url());
        finish(command)
    };
    again().expect(65).says(&["relation \"things\" does not exist"]);
    server.psql("create table things as select generate_series(1, 100) as id");
    again().expect(0);
    assert_eq!(count("workload = 'things' and validity <> 'invalid'"), 8, "each round once");
    assert_eq!((count("validity = 'invalid'"), count("true")), (2, 18));
    again().expect(64).says(&["finished"]);
}

/// Opening a pipe waits for a writer, and a device may never end: both hung, even after Ctrl-C.
#[test]
fn pipes_and_devices_are_no_files_to_read() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in [pipe.as_path(), Path::new("/dev/zero")] {
        let shown = file.to_str().unwrap();
        place.run(["osm", "load", shown]).expect(65).says(&[shown, "a pipe or a device, not a file"]);
        let url = format!("postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert={shown}");
        place.run(["bench", &url, "-t", "1"]).says(&[shown, "a pipe or a device"]);
        let text = format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[prepare]\nsql = {shown:?}\n[workload.a]\n\
             pgbench = {{ builtin = \"select-only\" }}\n"
        );
        let experiment = place.write("pipe.toml", text);
        place
            .run(["run", "--dry-run", experiment.to_str().unwrap()])
            .expect(65)
            .says(&["a pipe or a device"]);
    }
}

/// The server continued to run, without a message.
#[test]
fn a_server_that_could_not_be_given_its_extensions_is_stopped_again() {
    let place = Place::new();
    place.run(["target", "start", "bare", "--extensions", "nosuch"]).expect(68).says(&["nosuch"]);
    place.wait_until_quiet(Duration::from_secs(10));
    let status = place.run(["target", "status", "--format", "csv"]).expect(0).stdout;
    assert!(status.contains("bare,stopped"), "{status}");
    place.run(["target", "destroy", "bare"]).expect(0);
}

/// The message said that there was no server.
#[test]
fn a_home_that_may_not_be_looked_into_is_told() {
    let place = Place::new();
    let clusters = place.home().join("clusters");
    std::fs::create_dir_all(place.home()).unwrap();
    // That it is not a folder can be seen without permissions.
    std::fs::write(&clusters, "").unwrap();
    let told = place.run(["target", "status"]);
    assert!(!told.stderr.contains("no private server"), "{}", told.stderr);
    assert!(told.stderr.contains(clusters.to_str().unwrap()), "{}", told.stderr);
}
