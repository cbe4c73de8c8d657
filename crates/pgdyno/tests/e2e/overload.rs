//! An overloaded open load: every output reports it, with a promise and without, in `bench` and in `run`.

use crate::support::pooler::Pooler;
use crate::support::{Place, in_one_line, sleeping};

/// Two clients can do 40 of these a second.
const SECONDS: f64 = 0.05;

const LADDER: &str = r#"
question = "Up to which rate does it sleep in time?"
[target]
url = "URL"
[workload.sleeps]
pgbench = { files = "sleeps.sql" }
[factors]
clients = 2
rate = [2, 400]
[load]
promise = "300ms"
[measure]
warmup = "0s"
duration = "2s"
rounds = 1
"#;

#[test]
fn an_overload_of_a_bench_is_told_with_a_promise_and_without() {
    let (place, server) = sleeping(SECONDS);
    let url = server.url();
    let bench = |more: &[&str]| {
        let load = ["bench", "-n", "-f", "sleeps.sql", "-c", "2", "-R", "400"];
        place.run(load.iter().chain(more).chain([&url.as_str()])).expect(0)
    };
    for promise in [&[][..], &["-L", "300"]] {
        let done = bench(&[&["-T", "1"], promise].concat());
        for words in [
            "rate offered = ",
            "achieved in time = ",
            " due = ",
            " skipped + ",
            "percentiles of those started",
        ] {
            assert!(done.stdout.contains(words), "{promise:?}: no {words:?} in\n{}", done.stdout);
        }
        assert!(done.stderr.contains("warning: overloaded: "), "{}", done.stderr);
        assert_eq!(place.sql("select validity from v_run order by run_id desc limit 1"), "suspect");
    }
    // With a fixed number of transactions, the rate is what counts.
    let done = bench(&["-t", "20"]);
    assert!(
        in_one_line(&done.stdout).contains("rate offered = 400.000/s") && done.stderr.contains("overloaded"),
        "{}",
        done.stdout
    );
    let done = bench(&["-T", "1", "--format", "csv"]);
    let (head, row) = done.stdout.trim_end().split_once("\r\n").expect("a row");
    let of = |name: &str| head.split(',').position(|own| own == name).and_then(|at| row.split(',').nth(at));
    let number = |name: &str| of(name).and_then(|text| text.parse::<f64>().ok()).expect(name);
    assert!(number("offered_tps") > 300.0 && number("achieved_tps") < 45.0, "{row}");
    assert_eq!((of("percentiles_of"), of("validity")), (Some("started only"), Some("suspect")));
    // Closed load has no offered rate.
    let done = place.run(["bench", "-n", "-f", "sleeps.sql", "-c", "2", "-t", "2", &url]).expect(0);
    assert!(!done.stdout.contains("offered"), "{}", done.stdout);
}

#[test]
fn an_overloaded_rate_of_a_ladder_is_suspect_and_the_others_are_not_called_so() {
    let (place, server) = sleeping(SECONDS);
    let file = place.write("ladder.toml", LADDER.replace("URL", &server.url()));
    let done = place.run(["run", file.to_str().unwrap(), "--report", "ladder.html", "-v"]).expect(0);
    // The line of the run, and the summary.
    for words in [" of those started; offered ", "/s, in time ", " skipped ", "suspect: overloaded"] {
        assert!(done.stderr.contains(words), "no {words:?} in\n{}", done.stderr);
    }
    let summary = in_one_line(&done.stdout);
    assert!(
        summary.contains("rate 400, 2 clients: offered ") && summary.contains("; overloaded"),
        "{summary}"
    );
    let overloaded = "select group_concat(json_extract(factors, '$.rate')) from v_run \
                      where doubts like 'overloaded: %'";
    assert_eq!(place.sql(overloaded), "400");
    assert_eq!(place.sql("select distinct value from run_figure where name = 'promise_ms'"), "300");
    let page = std::fs::read_to_string(place.path().join("ladder.html")).expect("the report");
    for words in ["Overloaded: ", "achieved over offered rate", "promise 300 ms", "started only"] {
        assert!(page.contains(words), "the page does not say {words:?}");
    }
    for kind in ["runs", "cells"] {
        let table = place.run(["table", kind, "--format", "csv"]).expect(0).stdout;
        assert!(
            table.contains("promise_ms,offered_tps,achieved_tps,late,late_share_pct,skipped,unfinished"),
            "{table}"
        );
        assert!(table.contains(",started only,"), "{table}");
    }
}

#[test]
fn what_is_done_only_after_the_end_is_not_done_in_time() {
    let (place, server) = sleeping(SECONDS);
    let text = LADDER.replace("URL", &server.url()).replace("[load]\npromise = \"300ms\"\n", "");
    // 120 are due in the measured 2 s; 80 are done in it, and the rest before the end of the drain.
    let file = place.write("open.toml", text.replace("400", "60"));
    place.run(["run", file.to_str().unwrap()]).expect(0);
    let told = "select (ok = due) || ' ' || validity || ' ' || (doubts like 'overloaded: %only when the run was over%') \
                from v_run where json_extract(factors, '$.rate') = '60'";
    assert_eq!(place.sql(told), "1 suspect 1");
}

/// One command makes a ladder for each promise; the worst result determines the exit code.
#[test]
fn a_command_climbs_a_ladder_for_each_promise() {
    let (place, server) = sleeping(SECONDS);
    let url = server.url();
    let ladder = |more: &[&str], code: i32| {
        let all = ["ladder", "-n", "-f", "sleeps.sql", "-T", "1", "--warmup", "0", "--rounds", "1"];
        place.run(all.iter().chain(more).chain([&url.as_str()])).expect(code)
    };
    let in_step = ["-c", "1,2", "--rate-per-client", "8", "--promise", "2s,10ms"];
    let done = ladder(&[&in_step[..], &["--report", "ladder.html", "--save", "ladder.toml"]].concat(), 1);
    for words in [
        "sleeps, p99 < 2000ms",
        "Quality holds on every rung, up to 2 clients, 16/s (bound 1 %).",
        "sleeps, p99 < 10ms",
        "BREAKS",
        "Quality is broken from the first rung on, 1 client, 8/s: ",
    ] {
        assert!(done.stdout.contains(words), "no {words:?} in\n{}", done.stdout);
    }
    let page = std::fs::read_to_string(place.path().join("ladder.html")).expect("the report");
    assert!(page.contains("Ladder: sleeps, p99 &lt; 10ms") && page.contains("achieved over offered rate"));
    let csv = place.run(["table", "ladder", "--format", "csv"]).expect(0).stdout;
    let qualities = ["kept", "breaks here", "broken"]
        .map(|quality| csv.lines().filter(|line| line.contains(&format!(",{quality},"))).count());
    assert_eq!(qualities, [2, 1, 1], "{csv}");
    // The saved file is the same experiment, which is finished.
    let again = place.run(["run", "ladder.toml"]);
    assert!(!again.status.success() && again.stderr.contains("is finished"), "{}", again.stderr);

    let done = ladder(&["-c", "1,2,4", "-v"], 0);
    for words in ["contention", "it does not describe p99", "say little: measure six or more"] {
        assert!(done.stdout.contains(words), "no {words:?} in\n{}", done.stdout);
    }
    let csv = place.run(["table", "scaling", "--format", "csv"]).expect(0).stdout;
    let (head, row) = csv.trim_end().split_once("\r\n").expect("a row");
    let at = |name: &str| head.split(',').position(|own| own == name).and_then(|at| row.split(',').nth(at));
    let number = |name: &str| at(name).and_then(|text| text.parse::<f64>().ok()).expect(name);
    // Sleeping causes no contention: each client does 20 a second.
    assert!(number("sigma") < 0.2 && (12.0..25.0).contains(&number("lambda")), "{csv}");
}

/// Eight clients can do 400 of these a second: enough in a trial of one second to make chance effects small.
const NAPS: &str = "SELECT pg_sleep(0.02), 1;\n";

/// The result of a search for a script's limit: state, lower and upper bound.
fn searched(script: &str, promise: &str, more: &str, code: i32) -> (Place, [String; 3]) {
    let (place, server) = sleeping(SECONDS);
    place.write("naps.sql", NAPS);
    let url = server.url();
    let search = ["limit", "-n", "-T", "1", "--warmup", "0", "--format", "csv", "-f", script];
    let args: Vec<&str> =
        search.into_iter().chain(more.split(' ')).chain(["--promise", promise, &url]).collect();
    let done = place.run(&args);
    // Tests run next to each other: where other programs broke the promise at the lowest rate, it is undecided.
    let is_undecided = code == 1 && done.status.code() == Some(2) && done.stdout.contains(",other programs,");
    let done = if is_undecided { done } else { done.expect(code) };
    let row = done.stdout.lines().nth(1).unwrap_or_default().to_owned();
    // The cell contains a comma, and so is quoted; arm and promise follow.
    let (_, rest) = row.split_once("\",").expect("a cell in quotes");
    let mut rest = rest.split(',').skip(2).map(str::to_owned);
    let found = [(); 3].map(|()| rest.next().unwrap_or_default());
    // The same command has nothing to add.
    let again = place.run(&args);
    assert!(again.stderr.contains(" is finished: all its "), "{}", again.stderr);
    (place, found)
}

#[test]
fn the_limit_of_a_server_of_known_capacity_is_found() {
    let bounds = "-c 8 --width 20 --lowest 50 --highest 800";
    let (place, [state, lower, upper]) = searched("naps.sql", "p75 < 100ms", bounds, 0);
    let [lower, upper] = [lower, upper].map(|rate| rate.parse::<f64>().expect("a rate"));
    assert_eq!(state, "found");
    // On a machine with little CPU, naps take longer: compare with the peak.
    let peak =
        place.sql("select value from run_figure where name = 'peak_per_s'").parse::<f64>().expect("a peak");
    assert!(peak <= 400.0 && upper / lower < 1.26, "{lower} {upper} {peak}");
    assert!(0.5 * peak < lower && upper < 1.5 * peak, "{lower} {upper} {peak}");
    let trials = "select count(*) from v_run where offered_rate is not null";
    assert!(place.sql(trials).parse::<u32>().is_ok_and(|trials| trials >= 6));
    // A single trial decides nothing.
    let kept = format!(
        "select count(*) from v_run join run_figure using (run_id) where name = 'promise_kept' and value = 1 \
         and offered_rate = {lower}"
    );
    assert!(place.sql(&kept).parse::<u32>().is_ok_and(|kept| kept >= 3), "{}", place.sql(&kept));
}

/// A script that was slow in the client was reported as the server's limit, with exit code 0.
#[test]
fn a_limit_of_the_generator_is_none_of_the_server() {
    let (place, server) = sleeping(SECONDS);
    let work = "\\set a (:a * 3 + 5) % 100003\n".repeat(20_000);
    place.write("thinks.sql", format!("\\set a 7\n{work}SELECT 1;\n"));
    let url = server.url();
    let search = ["limit", "-n", "-T", "1", "--warmup", "0.2", "-f", "thinks.sql", "-c", "8", "-j", "8"];
    // Several threads use much of the CPU time, whatever else runs.
    let bounds = ["--width", "30", "--promise", "p99 < 1s", &url];
    let done = place.run(search.iter().chain(&bounds)).expect(2);
    assert!(in_one_line(&done.stdout).contains("the generator ended it"), "{}", done.stdout);
    assert!(done.stderr.contains(" left"), "{}", done.stderr);
    let json = place.run(["table", "limits", "--format", "json"]).expect(0).stdout;
    for words in ["\"upper_per_s\": null", "\"broke_first\": \"client\"", "\"generator\": \""] {
        assert!(json.contains(words), "no {words} in {json}");
    }
    let page = place.run(["report", "-o", "-"]).expect(0).stdout;
    assert!(page.contains("the generator ended it"), "the report does not say it");
}

#[test]
fn a_promise_that_never_or_always_holds_is_said_to() {
    let bounds = "-c 2 --lowest 10 --highest 20 --width 20";
    let (_, found) = searched("sleeps.sql", "p99 < 20ms", bounds, 1);
    assert_eq!(found, ["never holds", "", "10"]);
    let confirm = format!("{bounds} --confirm ramp,0.5..1,over,1s");
    let (place, found) = searched("sleeps.sql", "p50 < 1s", &confirm, 0);
    assert_eq!(found, ["always holds", "20", ""]);
    // The shape has separate trials at the limit; one that the host disturbed is measured again.
    let shaped = "select count(*) from run join cell_factor using (cell_id) join run_figure using (run_id) \
                  where cell_factor.name = 'rate' and cell_factor.value = 'ramp 10..20 over 1s' \
                  and run_figure.name = 'promise_kept' and run_figure.value = 1";
    let shaped = place.sql(shaped);
    assert!(shaped.parse::<u32>().is_ok_and(|kept| kept >= 3), "{shaped}");
    let told = place.run(["table", "limits", "--format", "csv"]).expect(0).stdout;
    assert!(told.contains("ramp 0.5..1 over 1s: holds"), "{told}");
}

/// A pooler that allows fewer clients than its server ends the growth of clients, not the search.
#[test]
fn clients_grow_until_a_pooler_lets_no_more_in() {
    let (place, server) = sleeping(SECONDS);
    let pooler =
        Pooler::start(&server, "max_client_conn = 14\npool_mode = transaction\ndefault_pool_size = 14");
    let url = pooler.url();
    let search = ["limit", "-n", "-T", "1", "--warmup", "0", "-f", "sleeps.sql", "-c", "auto"];
    let bounds = ["--width", "30", "--lowest", "20", "--highest", "400", "--promise", "p75 < 150ms", &url];
    let done = place.run(search.iter().chain(&bounds));
    // The result does not matter here.
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(in_one_line(&done.stdout).contains("the server accepts no more"), "{}", done.stdout);
    let clients =
        "select group_concat(distinct clients || ' ' || validity) from v_run where offered_rate is null";
    let peaks = place.sql(clients);
    assert!(!peaks.contains("8 invalid") && peaks.contains("16 invalid"), "{peaks}");
    let why = "select detail from run_doubt where detail like '%max_client_conn%' limit 1";
    assert!(place.sql(why).contains("not as many clients are let in"), "{}", place.sql(why));
    assert_eq!(place.sql("select distinct clients from v_run where offered_rate is not null"), "8");
    // More clients than that from the beginning is a usage error.
    let too_many =
        ["limit", "-n", "-T", "1", "-f", "sleeps.sql", "-c", "20", "--promise", "p75 < 150ms", &url];
    let done = place.run(too_many).expect(67);
    assert!(done.stderr.contains("max_client_conn"), "{}", done.stderr);
}

#[test]
fn a_promise_of_a_script_that_is_not_there_is_refused() {
    let (place, server) = sleeping(SECONDS);
    let url = server.url();
    let line =
        ["limit", "-n", "-T", "1", "-f", "sleeps.sql", "--promise", "p99 < 2s and sleep.sql: p99 < 1s", &url];
    // The error needs no server.
    for more in [&[][..], &["--dry-run"]] {
        let done = place.run(line.iter().chain(more)).expect(65);
        assert!(
            done.stderr.contains("\"sleep.sql: p99 < 1s\" is of a script that nothing has"),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains("sleeps.sql"), "{}", done.stderr);
    }
}
