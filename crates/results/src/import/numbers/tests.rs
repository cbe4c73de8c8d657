use std::io::Cursor;

use super::*;

fn all(tool: Tool, text: &str) -> Vec<FoundRun> {
    assert_eq!(Tool::of(text.as_bytes()), Some(tool), "{text}");
    let input = Cursor::new(text.to_owned().into_bytes());
    read(tool, Path::new("out.txt"), input, 0, &mut ImportProgress::new(&mut |_, _| {})).unwrap()
}

#[test]
fn hammerdb_gives_new_orders_of_both_forms() {
    let text = "HammerDB CLI v4.9\nInstance: big\nVuser 1:16 Active Virtual Users configured\n\
                Vuser 1:TEST RESULT : System achieved 45660 NOPM from 104321 PostgreSQL TPM\n\
                Instance: small\nVuser 1:TEST RESULT : System achieved 20000 PostgreSQL TPM at 9000 NOPM\n";
    let found = all(Tool::HammerDb, text);
    let [big, small] = &found[..] else { panic!("{found:?}") };
    assert_eq!((big.run().tps(), small.run().tps()), (Some(761.0), Some(150.0)));
    assert_eq!(big.run().figures.named("tpm"), Some(104_321.0));
    assert_eq!((big.run().clients, big.run().driver.as_str()), (16, "HammerDB 4.9"));
    assert_eq!(
        (big.run().factors["instance"].as_str(), small.run().factors["instance"].as_str()),
        ("big", "small")
    );
    assert_eq!((big.run().validity, big.run().doubts.len()), (Validity::Suspect, 1));
    assert_ne!(big.hashes, small.hashes);
}

/// Regression: a test some of whose users had no connection counted like any other, and had no length.
#[test]
fn a_test_of_hammerdb_with_failed_users_is_invalid() {
    let test = |users: u32, error: &str, nopm: u32| {
        format!(
            "Vuser 1:RUNNING\n{error}Vuser 1:Beginning rampup time of 2 minutes\nVuser 1:Timing test period of 7 in minutes\n\
             Vuser 1:{users} Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved {nopm} NOPM from {} PostgreSQL TPM\nVuser 2:FINISHED SUCCESS\n",
            nopm * 2
        )
    };
    let last = "Vuser 1:2 Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved 60 NOPM from 120 PostgreSQL TPM\n";
    let found = all(Tool::HammerDb, &format!("{}{last}", test(4, "", 6000)));
    assert_eq!(
        (found[0].run().measured_s, found[1].run().measured_s),
        (420.0, 0.0),
        "not that of the test before"
    );
    let failed = "Vuser 4:Error in Virtual User 4: FATAL:  remaining connection slots are reserved\n";
    for text in [
        format!("{}{}{}", test(4, "", 6000), test(32, failed, 9000), test(8, "", 7200)),
        format!(
            "{}{}Vuser 4:FINISHED FAILED\nALL VIRTUAL USERS COMPLETE\n{}",
            test(4, "", 6000),
            test(32, "", 9000),
            test(8, "", 7200)
        ),
    ] {
        let found = all(Tool::HammerDb, &text);
        let validities: Vec<Validity> = found.iter().map(|found| found.run().validity).collect();
        assert_eq!(validities, [Validity::Suspect, Validity::Invalid, Validity::Suspect], "{text}");
        let detail = &found[1].run().doubts.last().unwrap().detail;
        assert!(detail.starts_with("1 line of users that failed") && detail.contains("Vuser 4:"), "{detail}");
        let clients: Vec<(u32, f64)> =
            found.iter().map(|found| (found.run().clients, found.run().measured_s)).collect();
        assert_eq!(clients, [(4, 420.0), (32, 420.0), (8, 420.0)]);
    }
}

const SYSBENCH: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n\
Number of threads: 8\n\nSQL statistics:\n    queries performed:\n        read:                            140000\n\
        total:                           200000\n    transactions:                        10000  (999.31 per sec.)\n\
    queries:                             200000 (19986.12 per sec.)\n    ignored errors:                      3      (0.30 per sec.)\n\
\nGeneral statistics:\n    total time:                          10.0069s\n    total number of events:              10000\n\n\
Latency (ms):\n         min:                                    2.50\n         avg:                                    8.00\n\
         max:                                  100.30\n         95th percentile:                       11.65\n\
         sum:                                79000.00\n\nThreads fairness:\n    events (avg/stddev):           1250.0/3.1\n";

#[test]
fn sysbench_gives_rate_counts_and_latencies() {
    let twice = format!(
        "$ sysbench oltp_read_only --threads=4 run\n{SYSBENCH}{}",
        SYSBENCH.replace("999.31", "1010.5")
    );
    let found = all(Tool::Sysbench, &twice);
    let rates: Vec<_> = found.iter().map(|found| found.run().tps().unwrap()).collect();
    assert_eq!(rates, [999.31, 1010.5]);
    let run = found[0].run();
    assert_eq!((run.clients, run.measured_s, run.driver.as_str()), (8, 10.0069, "sysbench 1.0.20"));
    assert_eq!((run.count(figures::OK), run.count(figures::FAILED)), (10_000, 3));
    assert_eq!(run.figures[figures::LATENCY_MEAN_US], 8000.0);
    assert_eq!(run.figures.named("latency_p95_us"), Some(11_650.0));
    let old = SYSBENCH.replace(
        "1.0.20 (using system LuaJIT 2.1.0-beta3)",
        "0.4.12:  multi-threaded system evaluation benchmark",
    );
    let old = old
        .replace("SQL statistics:", "OLTP test statistics:")
        .replace("Latency (ms):", "per-request statistics:");
    let old = old.replace("2.50", "2.50ms").replace("8.00", "8.00ms");
    assert_eq!(all(Tool::Sysbench, &old)[0].run().figures[figures::LATENCY_MIN_US], 2500.0);
}

#[test]
fn benchbase_gives_its_last_line_or_its_summary() {
    let line = "[INFO ] 2026-01-02 10:00:00,1 [main]  com.oltpbenchmark.DBWorkload runWorkload - Rate limited reqs/s: \
                Results(state=EXIT, nanoSeconds=60000101414, measuredRequests=45678) = 761.2987 requests/sec (throughput), \
                758.1 requests/sec (goodput)\n";
    let found = all(
        Tool::BenchBase,
        &format!(
            "[INFO ] x c.o.DBWorkload Benchmark:         TPCC {{com.oltpbenchmark.benchmarks.tpcc.TPCCBenchmark}}\n{line}"
        ),
    );
    let run = found[0].run();
    assert_eq!((run.tps(), run.count(figures::OK), run.workload.as_str()), (Some(761.2987), 45_678, "tpcc"));
    assert_eq!(run.figures.named("goodput_per_s"), Some(758.1));
    let older = line.replace(" (throughput), 758.1 requests/sec (goodput)", "");
    assert_eq!(all(Tool::BenchBase, &older)[0].run().tps(), Some(761.2987));
    let summary = r#"{
    "Benchmark Type": "TPCC", "DBMS Version": "16.1", "terminals": "10", "scalefactor": "2", "Measured Requests": 600,
    "Elapsed Time (nanoseconds)": 60000000000, "Throughput (requests/second)": 10.5,
    "Latency Distribution": {"Median Latency (microseconds)": 900, "Average Latency (microseconds)": 1000}
}
"#;
    let found = all(Tool::BenchBase, &format!("{summary}{}", summary.replace("10.5", "11.5")));
    let rates: Vec<_> = found.iter().map(|found| found.run().tps().unwrap()).collect();
    assert_eq!(rates, [10.5, 11.5]);
    let run = found[0].run();
    assert_eq!((run.clients, run.factors["scale"].as_str()), (10, "2"));
    assert_eq!(
        (run.figures[figures::LATENCY_MEAN_US], run.figures.named("latency_p50_us")),
        (1000.0, Some(900.0))
    );
}

#[test]
fn output_without_a_result_says_what_to_give() {
    let input = Cursor::new(b"HammerDB CLI v4.9\nVuser 1:RUNNING\n".to_vec());
    let error =
        read(Tool::HammerDb, Path::new("h"), input, 0, &mut ImportProgress::new(&mut |_, _| {})).unwrap_err();
    assert!(error.to_string().contains("HammerDB wrote it, and it has no result"), "{error}");
    assert!(error.hint().unwrap().contains("TEST RESULT"));
}

proptest::proptest! {
    #[test]
    fn any_lines_are_survived(lines in proptest::collection::vec(
        "(sysbench 1.0|SQL statistics:|    transactions:|System achieved |\\{|\\}|x requests/sec \\(throughput\\))?\\PC{0,40}", 0..12,
    )) {
        for tool in [Tool::HammerDb, Tool::Sysbench, Tool::BenchBase] {
            let input = Cursor::new(lines.join("\n").into_bytes());
            let _ = read(tool, Path::new("x"), input, 0, &mut ImportProgress::new(&mut |_, _| {}));
        }
    }
}
