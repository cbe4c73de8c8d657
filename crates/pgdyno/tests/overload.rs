//! An open load that the server cannot do: every output says so, with a promise and without, in `bench` and in `run`.

mod support;

use support::{Place, Server};

/// Two clients can do 40 of these a second, on any host.
const SLEEPS: &str = "SELECT pg_sleep(0.05), 1;\n";

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

fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    place.write("sleeps.sql", SLEEPS);
    (place, server)
}

#[test]
fn an_overload_of_a_bench_is_told_with_a_promise_and_without() {
    let (place, server) = prepared();
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
    // A number of transactions takes as long as it takes; what was asked for is the rate.
    let done = bench(&["-t", "20"]);
    assert!(
        done.stdout.contains("rate offered = 400.000/s") && done.stderr.contains("overloaded"),
        "{}",
        done.stdout
    );
    let done = bench(&["-T", "1", "--format", "csv"]);
    let (head, row) = done.stdout.trim_end().split_once("\r\n").expect("a row");
    let of = |name: &str| head.split(',').position(|own| own == name).and_then(|at| row.split(',').nth(at));
    let number = |name: &str| of(name).and_then(|text| text.parse::<f64>().ok()).expect(name);
    assert!(number("offered_tps") > 300.0 && number("achieved_tps") < 45.0, "{row}");
    assert_eq!((of("percentiles_of"), of("validity")), (Some("started only"), Some("suspect")));
    // Closed load offers nothing.
    let done = place.run(["bench", "-n", "-f", "sleeps.sql", "-c", "2", "-t", "2", &url]).expect(0);
    assert!(!done.stdout.contains("offered"), "{}", done.stdout);
}

#[test]
fn an_overloaded_rate_of_a_ladder_is_suspect_and_the_others_are_not_called_so() {
    let (place, server) = prepared();
    let file = place.write("ladder.toml", LADDER.replace("URL", &server.url()));
    let done = place.run(["run", file.to_str().unwrap(), "--report", "ladder.html"]).expect(0);
    // The line of the run, and the summary.
    for words in [" of those started; offered ", "/s, in time ", " skipped ", "suspect: overloaded"] {
        assert!(done.stderr.contains(words), "no {words:?} in\n{}", done.stderr);
    }
    let summary = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
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
    let (place, server) = prepared();
    let text = LADDER.replace("URL", &server.url()).replace("[load]\npromise = \"300ms\"\n", "");
    // 120 of them are due in the measured 2 s; 80 are done in it, and the rest before the drain is over.
    let file = place.write("open.toml", text.replace("400", "60"));
    place.run(["run", file.to_str().unwrap()]).expect(0);
    let told = "select (ok = due) || ' ' || validity || ' ' || (doubts like 'overloaded: %only when the run was over%') \
                from v_run where json_extract(factors, '$.rate') = '60'";
    assert_eq!(place.sql(told), "1 suspect 1");
}
