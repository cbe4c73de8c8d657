//! Transactions that count at the end of a run, and time that is not the server's.

use std::time::Duration;

use crate::support::{Place, Server, Watched, signal};

/// With weights 49 and 1 of `select 1` and `select pg_sleep(2)`, none was above the limit and the maximum was
/// 0.9 ms.
#[test]
fn transactions_that_were_open_at_the_end_were_in_no_figure() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "select 1;\n");
    place.write("long.sql", "select pg_sleep(2);\n");
    let args = [
        "bench",
        "-n",
        "-c",
        "4",
        "-T",
        "1",
        "-L",
        "100",
        "-f",
        "one.sql@49",
        "-f",
        "long.sql",
        "--format",
        "json",
    ];
    let url = server.url();
    place.run(args.into_iter().chain([url.as_str()])).expect(0);
    let run = "select (late >= 4) || ' ' || (max_us > 1900000) || ' ' || (due = ok + late + failed + skipped + unfinished) from v_run";
    assert_eq!(place.sql(run), "1 1 1");
    let time = "select round(sum(value), 1) from run_figure where name in
        ('time_counted_s', 'time_elsewhere_s', 'time_thinking_s', 'time_connecting_s', 'time_idle_s')";
    assert_eq!(place.sql(time), "4", "4 clients for a second");
    let ended = "select value between 1 and (select ok + late - 4 from v_run) from run_count where name = 'completed'";
    assert_eq!(place.sql(ended), "1", "throughput counts what ended");
    // With a duration shorter than the transactions, their time is in no figure.
    let args = ["bench", "-n", "-c", "2", "--warmup", "1", "-T", "1", "-f", "long.sql", "--format", "json"];
    place.run(args.into_iter().chain([url.as_str()]));
    let doubts = place.sql("select doubts from v_run order by run_id desc limit 1");
    assert!(doubts.contains("too_short"), "{doubts}");
}

/// The run was valid, and its stall counted as the server's latency.
#[test]
fn a_stop_of_the_generator_was_the_servers_latency() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "select 1;\n");
    let url = server.url();
    for driver in ["portable", "io_uring"] {
        let bench = place.command([
            "bench", "-n", "-c", "2", "-T", "4", "-P", "1", "--driver", driver, "-f", "one.sql", &url,
        ]);
        let mut bench = Watched::start(bench);
        if !bench.until("progress") {
            let (_, said) = bench.end();
            // Some kernels lack it.
            assert!(driver == "io_uring" && said.contains("io_uring"), "{said}");
            continue;
        }
        signal(bench.child.id(), "STOP");
        std::thread::sleep(Duration::from_millis(1500));
        signal(bench.child.id(), "CONT");
        bench.end();
        let seen = place.sql("select validity || ' ' || (doubts like '%: generator stalled 1._ s, %') from v_run order by run_id desc limit 1");
        assert_eq!(seen, "invalid 1");
    }
}

#[test]
fn a_server_that_stopped_is_no_stalled_generator() {
    let (place, server) = (Place::new(), Server::start());
    place.write("self.sql", "select pg_sleep(case when random() < 0.001 then 1 else 0 end);\n");
    let url = server.url();
    place.run(["bench", "-n", "-c", "1", "-T", "3", "-f", "self.sql", &url]);
    // A busy host may stall this process, but not for as long as the server slept.
    let stalled =
        place.sql("select coalesce(max(value), 0) < 0.9 from run_figure where name = 'generator_stalled_s'");
    assert_eq!(stalled, "1");
}
