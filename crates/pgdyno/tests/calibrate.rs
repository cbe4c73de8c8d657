//! `pgdyno calibrate`: short, and only its form; what it finds is the machine's.

mod support;

use std::time::Duration;

use support::{Place, Watched, signal};

#[test]
fn a_host_is_calibrated_and_every_measurement_kept() {
    let place = Place::new();
    let done = place
        .run(["calibrate", "--seconds", "5", "--clients", "2,1", "--format", "csv"])
        .expect(0)
        .says(&["about ", "point read, 2 clients", "nothing to do at 5000/s", "results:"]);
    let lines: Vec<&str> = done.stdout.lines().collect();
    let (cells, others) =
        (8, ["nothing to do,64,", "start lag,64,", "highest clean rate,", "highest kept rate,"]);
    let first = ["what,clients,driver,cpu_us,per_s,", "\"null sink, simple\",1,"];
    let last_cell = lines.get(cells).is_some_and(|line| line.starts_with("prepared point read,2,"));
    assert!(last_cell, "{}", done.stdout);
    for (line, wanted) in lines.iter().zip(first).chain(lines[1 + cells..].iter().zip(others)) {
        assert!(line.starts_with(wanted), "{wanted}: {}", done.stdout);
    }
    // Placements follow, each measured at two numbers of clients or not available for a reason, and the advice.
    let about_placement = &lines[1 + cells + others.len()..];
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    for level in ["free", "same", "apart", "awake"] {
        let own: Vec<_> =
            about_placement.iter().filter(|line| line.contains(&format!(",{level},"))).collect();
        let told = own.iter().filter(|line| line.starts_with("placement,")).count();
        let not = own.iter().filter(|line| line.contains("not available: ")).count();
        assert!((told, not) == (2, 0) || (told, not) == (1, 1), "{level}: {}", done.stdout);
        assert!(level == "awake" || not == usize::from(!two), "{level}: {}", done.stdout);
    }
    let advice = about_placement.last().is_some_and(|line| line.starts_with("advised placement,"));
    assert_eq!(advice, two, "{}", done.stdout);
    let placed = place.sql("SELECT count(*) FROM v_run WHERE factors LIKE '%\"part\":\"placement\"%'");
    let placed: usize = placed.parse().unwrap();
    assert_eq!(placed > 0, two);
    let home = std::fs::read_to_string(place.home().join("host.json")).unwrap();
    assert_eq!(home.contains("\"level\""), two, "{home}");

    // A cost and a lateness for each of 8 cells, the start lag, twice with nothing to do, and at least two tries of a rate.
    assert_eq!(place.sql("SELECT count(*) FROM v_run WHERE load = 'closed'"), (8 + placed).to_string());
    assert_eq!(place.sql("SELECT count(*) >= 13 FROM v_run WHERE load = 'rate'"), "1");
    // Where there is nothing to do, arrivals are counted and nothing is received.
    let idle = "SELECT count(*), max(clients) FROM v_run WHERE workload = 'nothing to do' AND load = 'rate'";
    assert_eq!(place.sql(idle), "2,64");
    for figure in ["client_cpu_us_per_tx", "client_cpu_pct", "client_busiest_thread_pct"] {
        let query = format!(
            "SELECT count(*) FROM run_figure JOIN v_run USING (run_id) WHERE name = '{figure}' AND value > 0 AND ok > 0"
        );
        // On a machine that is overloaded a try of a rate may do nothing at all.
        assert_eq!(place.sql(&query), place.sql("SELECT count(*) FROM v_run WHERE ok > 0"), "{figure}");
    }
    let late = "SELECT count(DISTINCT name) FROM run_figure WHERE name IN ('timer_lateness_p50_us', \
                'timer_lateness_p99_us', 'start_lag_p50_us', 'start_lag_p99_us')";
    assert_eq!(place.sql(late), "4");
    assert_eq!(place.sql("SELECT count(*) FROM v_experiment WHERE name = 'calibrate' AND rounds = 1"), "1");

    // What was found stands in the page's headline, and nothing is left running.
    let page = place.run(["report", "--output", "-"]).expect(0).stdout;
    assert!(page.contains("runs are valid") || page.contains("suspect ("), "no verdict in the page");
    place.wait_until_quiet(Duration::from_secs(10));
}

/// After a stop the cost of an operation was there without its lateness.
#[test]
fn a_stopped_calibration_keeps_whole_measurements() {
    let place = Place::new();
    let mut running =
        Watched::start(place.command(["calibrate", "--seconds", "20", "--clients", "1", "--verbose"]));
    // The first run of the second measurement of an operation; the look at placements is over.
    assert!(running.until("null sink, simple, 1 client:"), "{}", running.seen);
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "INT");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    let placed = place.sql("SELECT count(*) FROM v_run WHERE factors LIKE '%\"part\":\"placement\"%'");
    let whole = if placed == "0" { "2 of 8 measurements are kept" } else { "3 of 9 measurements are kept" };
    assert!(stderr.contains(whole), "{stderr}");
    let others = "SELECT count(*) FROM v_run WHERE factors NOT LIKE '%\"part\":\"placement\"%'";
    assert_eq!(place.sql(others), "4");
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = Place::new();
    place.run(["calibrate", "--seconds", "1"]).expect(64).says(&["--seconds"]);
    place.run(["calibrate", "--clients", "0"]).expect(64).says(&["--clients"]);
    place.run(["calibrate", "--pg-bin", "/nowhere"]).expect(68);
}
