//! Real logs, and two that were put together from the format strings of versions we do not have.

use super::*;

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/osm2pgsql/", $name, ".log"))
    };
}

/// Parses a log whose lines arrive 10 ms apart.
fn parse(log: &str) -> LoadLog {
    let mut parser = LogParser::new();
    let mut at_us = 0;
    for line in log.split(['\n', '\r']).filter(|line| !line.trim().is_empty()) {
        at_us += 10_000;
        parser.line(at_us, line);
    }
    parser.finish(Some(0..at_us + 5_000))
}

/// Parses a log whose lines say when they arrived, in ms.
fn parse_with_stamps(log: &str) -> LoadLog {
    let mut parser = LogParser::new();
    let mut end_us = 0;
    for line in log.lines() {
        let (stamp, text) = line.split_once(' ').unwrap_or((line, ""));
        end_us = stamp.parse::<u64>().unwrap() * 1000;
        parser.line(end_us, text);
    }
    parser.finish(Some(0..end_us))
}

fn table(log: &LoadLog) -> String {
    let mut lines = vec![format!(
        "version {:?}, peak {:?}, overall {:?} s, error {:?}",
        log.version, log.peak_memory_bytes, log.overall_s, log.error
    )];
    for phase in &log.phases {
        let count = phase.count.map(|count| count.to_string()).unwrap_or_default();
        let (start, length) = (phase.start_us / 1000, phase.duration_us / 1000);
        lines.push(format!(
            "{:10} {:32} {start:>9} ms + {length:>9} ms  {:8}  {count}",
            phase.name,
            phase.item,
            phase.source.name()
        ));
    }
    lines.join("\n")
}

macro_rules! snapshot {
    ($test:ident, $name:literal) => {
        #[test]
        fn $test() {
            insta::assert_snapshot!(stringify!($test), table(&parse(log!($name))));
        }
    };
}

snapshot!(before_1_4, "1.2-reconstructed");
snapshot!(slim, "1.8-slim-delaware");
snapshot!(slim_debug, "1.8-slim-debug-delaware");
snapshot!(not_slim, "1.8-nonslim-delaware");
snapshot!(slim_then_dropped, "1.8-slim-drop-flatnodes-delaware");
snapshot!(malta, "1.8-slim-malta");
snapshot!(flex, "1.8-flex-structured-delaware");
snapshot!(flex_two_stages, "1.8-flex-two-stages-delaware");

#[test]
fn from_2_1() {
    insta::assert_snapshot!("from_2_1", table(&parse_by_stamps(log!("2.x-reconstructed"))));
}

/// An append has pending objects, and parents of marked ones.
#[test]
fn flex_append() {
    let log = parse_by_stamps(log!("1.8-flex-append-delaware"));
    insta::assert_snapshot!("flex_append", table(&log));
    assert!(log.appends);
}

#[test]
fn statements_give_milliseconds() {
    let log = parse_with_stamps(log!("1.8-slim-debug-sql-malta.stamped"));
    insta::assert_snapshot!("slim_debug_sql", table(&log));
}

#[test]
fn the_kept_text_has_no_statements_and_no_progress() {
    let log = parse_with_stamps(log!("1.8-slim-debug-sql-malta.stamped"));
    assert!(!log.text.contains("SQL: "));
    let log = parse(log!("1.8-slim-delaware"));
    assert!(!log.text.contains("Processing: Node("));
    assert!(log.text.contains("Processed 723870 nodes"));
}

#[test]
fn errors_are_found() {
    let log = parse("2026-11-21 02:44:37  [0] ERROR: Connecting to database failed: no route.\n");
    assert_eq!(log.error.as_deref(), Some("ERROR: Connecting to database failed: no route."));
    let log = parse("Osm2pgsql failed due to ERROR: Connection to database failed\n");
    assert_eq!(log.error.as_deref(), Some("Osm2pgsql failed due to ERROR: Connection to database failed"));
    let log = parse(
        "Processing: Node(10k 5.0k/s) Way(0k 0.00k/s) Relation(0 0.0/s)Osm2pgsql failed due to ERROR: full\n",
    );
    assert_eq!(log.error.as_deref(), Some("Osm2pgsql failed due to ERROR: full"));
    assert!(log.text.contains("full"));
    // What is loaded may say anything.
    let log = parse("2026-11-21 05:41:09  [0] SQL: (C1) COPY 'Terror: the ERROR café'\n");
    assert_eq!(log.error, None);
}

#[test]
fn tables_are_told_before_they_are_made() {
    let cases = [
        ("2026-11-21 02:44:37  [0] Setting up table 'planet_osm_nodes'", Some("\"planet_osm_nodes\"")),
        ("2026-11-23 09:13:43  [0] - TABLE \"osm\".\"natural_point\"", Some("\"osm\".\"natural_point\"")),
        (
            "2026-11-23 09:13:43  [0] Storing properties to table '\"public\".\"osm2pgsql_properties\"'.",
            Some("\"public\".\"osm2pgsql_properties\""),
        ),
        ("2026-11-21 02:44:40  [1] Analyzing table 'planet_osm_point'...", None),
        ("2026-11-23 09:13:43  [0] - TABLE ", None),
    ];
    for (line, wanted) in cases {
        assert_eq!(table_made(line).as_deref(), wanted, "{line}");
    }
}

/// Parses a log with its own time stamps of one day.
fn parse_by_stamps(log: &str) -> LoadLog {
    let mut parser = LogParser::new();
    let (mut first, mut at_us) = (None, 0);
    for line in log.lines() {
        let clock: Vec<u64> =
            line.get(11..19).unwrap_or("").split(':').filter_map(|part| part.parse().ok()).collect();
        if let [hour, minute, second] = clock[..] {
            let us = ((hour * 60 + minute) * 60 + second) * SECOND;
            at_us = us - *first.get_or_insert(us);
        }
        parser.line(at_us, line);
    }
    parser.finish(Some(0..at_us))
}

/// Seconds of a phase.
fn took(log: &LoadLog, name: &str, item: &str) -> Vec<u64> {
    let is_it = |phase: &&Phase| phase.name == name && phase.item == item;
    log.phases.iter().filter(is_it).map(|phase| phase.duration_us / SECOND).collect()
}

/// Time in no phase, and time after the log's end.
fn uncovered(log: &LoadLog, length_us: u64) -> u64 {
    let (mut until_us, mut gaps_us) = (0, 0);
    let mut phases: Vec<&Phase> = log.phases.iter().collect();
    phases.sort_by_key(|phase| phase.start_us);
    for phase in phases {
        gaps_us += phase.start_us.saturating_sub(until_us);
        until_us = until_us.max(phase.start_us + phase.duration_us);
    }
    gaps_us + length_us.abs_diff(until_us)
}

const TWO_STAGES: &str = "\
2026-03-05 01:00:00  osm2pgsql version 1.4.1
2026-03-05 01:00:02  Database version: 11.10
2026-03-05 01:20:05  Reading input files done in 1200s (20m 0s).
2026-03-05 01:20:05    Processed 700 nodes in 700s (11m 40s) - 1/s
2026-03-05 01:20:05    Processed 70 ways in 400s (6m 40s) - 0/s
2026-03-05 01:20:05    Processed 7 relations in 100s (1m 40s) - 0/s
2026-03-05 01:20:06  Reprocess marked ways (stage 2)...
2026-03-05 01:20:06  Creating id index on table 'roads'...
2026-03-05 01:20:26  Creating id index on table 'rivers'...
2026-03-05 01:20:56  Creating id indexes took 50s
2026-03-05 01:20:56  There are 320 ways to reprocess...
2026-03-05 02:10:56  Clustering table 'rivers' by geometry...
2026-03-05 02:11:00  Creating index on table 'rivers' (\"geom\")...
2026-03-05 02:11:04  Creating id index on table 'rivers'...
2026-03-05 02:11:07  Analyzing table 'rivers'...
2026-03-05 02:11:30  All postprocessing on table 'rivers' done in 15s.
2026-03-05 02:11:40  osm2pgsql took 4300s (1h 11m 40s) overall.
";

/// Regression: the second stage was a part of its last index.
#[test]
fn both_stages_of_output_flex_have_their_phases() {
    let log = parse_by_stamps(TWO_STAGES);
    assert_eq!(took(&log, "set up", ""), [2]);
    assert_eq!(took(&log, "read", ""), [1200]);
    assert_eq!(took(&log, "index", "roads id"), [20]);
    assert_eq!(took(&log, "index", "rivers id"), [30], "of the second stage");
    assert_eq!(took(&log, "index", "rivers id (2nd time)"), [3], "of the end");
    let again = log.phases.iter().find(|phase| phase.name == "reprocess ways (stage 2)").unwrap();
    assert_eq!((again.duration_us / SECOND, again.count), (3000, Some(320)));
    assert_eq!(took(&log, "analyze", "rivers"), [4], "to the end of the table, not of the log");
    assert_eq!(took(&log, "table", "rivers"), [15]);
    assert_eq!(took(&log, "unexplained", "after set up"), [3]);
    assert_eq!(uncovered(&log, 4300 * SECOND), 0);
    assert!(!log.appends);
}

#[test]
fn the_second_stage_of_nodes_and_an_unfinished_one_are_read() {
    let until = TWO_STAGES.find("2026-03-05 02:10:56").unwrap();
    let log = TWO_STAGES[..until].replace("There are 320 ways", "There are 5 nodes");
    let log =
        log + "2026-03-05 01:30:00  There are 6 ways to reprocess...\n2026-03-05 01:40:00  ERROR: no space\n";
    let log = parse_by_stamps(&log);
    assert_eq!(took(&log, "reprocess nodes (stage 2)", ""), [544]);
    assert_eq!(took(&log, "reprocess ways (stage 2)", ""), [600]);
    let none = TWO_STAGES.lines().take(6).collect::<Vec<_>>().join("\n");
    let log = parse_by_stamps(
        &(none + "\n2026-03-05 01:20:09  No marked ways (Skipping stage 2).\n2026-03-05 01:20:20  x"),
    );
    assert_eq!((took(&log, "flush", ""), took(&log, "unexplained", "after flush")), (vec![4], vec![11]));
}

/// Regression: pending relations were a part of the flush.
#[test]
fn pending_objects_are_phases_and_time_without_a_line_is_one() {
    let log = parse_by_stamps(
        "2026-03-05 05:00:00  osm2pgsql version 1.10.0\n\
         2026-03-05 05:00:00  Loading properties from table '\"public\".\"osm2pgsql_properties\"'.\n\
         2026-03-05 05:07:07  Reading input files done in 427s (7m 7s).\n\
         2026-03-05 05:07:07    Processed 376 nodes in 188s (3m 8s) - 2/s\n\
         2026-03-05 05:07:07    Processed 58 ways in 184s (3m 4s) - 3/s\n\
         2026-03-05 05:07:07    Processed 15 relations in 55s - 273/s\n\
         2026-03-05 05:07:09  Going over 94 pending ways\n\
         2026-03-05 05:08:12  Processing 94 pending ways took 63s (1m 3s) at a rate of 1.5/s\n\
         2026-03-05 05:08:12  Going over 7000 pending relations (using 4 threads)\n\
         2026-03-05 05:38:12  Processing 7000 pending relations took 1800s (30m 0s) at a rate of 3.9/s\n\
         2026-03-05 05:38:12  Entering stage 1c processing of 3 ways...\n\
         2026-03-05 05:38:12  Going over 30 pending relations\n\
         2026-03-05 05:38:15  Processing 30 pending relations took 3s at a rate of 10/s\n\
         2026-03-05 06:38:15  Done postprocessing on table 'planet_osm_ways' in 0s\n\
         2026-03-05 06:38:15  osm2pgsql took 5895s (1h 38m 15s) overall.\n",
    );
    assert_eq!(took(&log, "flush", ""), [2]);
    assert_eq!(took(&log, "pending ways", ""), [63]);
    assert_eq!(took(&log, "pending relations", ""), [1800]);
    assert_eq!(took(&log, "pending relations", "parents of marked objects (stage 1c)"), [3]);
    let unexplained: Vec<u64> = log
        .phases
        .iter()
        .filter(|phase| phase.name == "unexplained")
        .map(|phase| phase.duration_us / SECOND)
        .collect();
    assert_eq!(unexplained, [3600]);
    assert!(log.appends && uncovered(&log, 5895 * SECOND) == 0, "{}", table(&log));
}

#[test]
fn a_long_wait_is_no_flush() {
    let log = ["01:20:06", "01:20:26", "01:20:56"]
        .iter()
        .fold(TWO_STAGES.replace("took 50s", "took 0s"), |log, time| log.replace(time, "01:50:06"));
    let log = parse_by_stamps(&log);
    assert_eq!(took(&log, "flush", ""), [0_u64; 0]);
    assert_eq!(took(&log, "unexplained", "after relation"), [1801]);
}

/// From 0.80 to 1.3 there are no times: what they tell adds up, too.
#[test]
fn lengths_without_times_are_placed_one_after_the_other() {
    let mut parser = LogParser::new();
    let log = "osm2pgsql SVN version 0.87.2-dev (64bit id space)\n\
               Setting up table: planet_osm_point\nReading in file: japan.osm.pbf\n\
               Processing: Node(103k 1.7k/s) Way(99k 1.07k/s) Relation(23 2.64/s)  parse time: 609s\n\
               Node stats: total(103668), max(32) in 594s\nWay stats: total(9965), max(3) in 9s\n\
               Relation stats: total(239), max(4) in 5s\nGoing over pending ways...\n\t28565 ways are pending\n\
               Finished processing 28565 ways in 105 sec\nGoing over pending relations...\n\t0 relations are pending\n\
               Finished processing 0 relations in 0 sec\n\
               Analyzing planet_osm_point finished\nAll indexes on  planet_osm_point created  in 18s\n\
               Completed planet_osm_point\nStopped table: planet_osm_ways in 187s\nOsm2pgsql took 910s overall\n";
    log.lines().for_each(|line| parser.line(0, line));
    let log = parser.finish(None);
    assert_eq!((log.version.as_deref(), log.overall_s), (Some("0.87.2-dev"), Some(910)));
    assert_eq!((took(&log, "read", ""), took(&log, "node", "")), (vec![609], vec![594]));
    let pending = log.phases.iter().find(|phase| phase.name == "pending ways").unwrap();
    assert_eq!(
        (pending.start_us / SECOND, pending.duration_us / SECOND, pending.count),
        (609, 105, Some(28565))
    );
    assert_eq!(took(&log, "table", "planet_osm_ways"), [187]);
    assert_eq!(took(&log, "unexplained", ""), [0_u64; 0]);
    assert_eq!(uncovered(&log, 910 * SECOND), 0, "{}", table(&log));
    assert_eq!(took(&log, "pending relations", ""), [0_u64; 0], "there were none");
    assert!(!log.appends, "ways are pending in each load of this version");
}

/// 1.3 has the words of later versions, and no times.
#[test]
fn a_second_stage_without_times_has_what_is_told_of_it() {
    let log = "Reading input files done in 101s (1m 41s).\n  Processed 22 nodes in 58s - 380k/s\n\
               Reprocess marked ways (stage 2)...\nCreating id indexes...\nCreating id index on table 'l'...\n\
               Creating id indexes took 20s\nThere are 7 ways to reprocess...\nClustering table 'l' by geometry...\n\
               All postprocessing on table 'l' done in 9s.\nOsm2pgsql took 200s overall\n";
    let (mut early, mut late) = (LogParser::new(), LogParser::new());
    for line in log.lines() {
        early.line(0, line);
        late.line(1 << 50, line);
    }
    let log = early.finish(None);
    assert_eq!(log, late.finish(None), "wherever its clock begins");
    assert_eq!((took(&log, "read", ""), took(&log, "node", "")), (vec![101], vec![58]));
    assert_eq!((took(&log, "index", "ids (stage 2)"), took(&log, "table", "l")), (vec![20], vec![9]));
    assert_eq!(took(&log, "unexplained", "after table l"), [70]);
    assert_eq!(uncovered(&log, 200 * SECOND), 0, "{}", table(&log));
}

#[test]
fn a_log_that_ends_while_it_reads_keeps_rates_and_the_reason() {
    let mut parser = LogParser::new();
    for line in [
        "osm2pgsql SVN version 0.88.1 (64bit id space)",
        "Processing: Node(52420k 859.3k/s) Way(0k 0.00k/s) Relation(0 0.00/s)",
        "Processing: Node(99000k 900.0k/s) Way(2000k 20.00k/s) Relation(0 0.00/s)",
        "Node cache size is too small to fit all nodes. Please increase cache size",
        "Error occurred, cleaning up",
    ] {
        parser.line(0, line);
    }
    let log = parser.finish(None);
    assert_eq!(
        log.error.as_deref(),
        Some("Node cache size is too small to fit all nodes. Please increase cache size")
    );
    let rates: Vec<(&str, Option<u64>, u64)> = log
        .phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.count, phase.duration_us / SECOND))
        .collect();
    assert_eq!(rates, [("node", Some(99_000_000), 110), ("way", Some(2_000_000), 100)]);
    assert_eq!(log.progress.unwrap().in_words().as_deref(), Some("2,000k ways"));
}

/// Regression: in logs of 0.80 to 0.86 pending ways took no time, and tables began too early.
#[test]
fn pending_ways_of_any_early_version_are_a_phase_once() {
    let lines = |done: &str| {
        format!(
            "osm2pgsql SVN version 0.84.0 (64bit id space)\nSetting up table: p_line\n\
             Processing: Node(90k 9.0k/s) Way(80k 4.00k/s) Relation(7 7.00/s)  parse time: 31s\n\
             Node stats: total(90123), max(9) in 10s\nWay stats: total(80456), max(9) in 20s\n\
             Relation stats: total(7), max(9) in 1s\nGoing over pending ways\n\t4711 ways are pending\n\
             Helper process 0 out of 2 initialised\n{done}All child processes exited\n\
             4711 Pending ways took 70s at a rate of 67.30/s\nGoing over pending relations\n\
             \t3 relations are pending\n3 Pending relations took 5s at a rate of 0.60/s\n\
             All indexes on p_line created  in 40s\nOsm2pgsql took 150s overall\n"
        )
    };
    for done in [
        "",
        "Process 0 finished processing 2355 ways in 70 sec\nProcess 1 finished processing 2356 ways in 69 sec\n",
        "Finished processing 4711 ways in 70 sec\n\n",
    ] {
        let mut parser = LogParser::new();
        lines(done).lines().for_each(|line| parser.line(0, line));
        let log = parser.finish(None);
        assert_eq!(took(&log, "pending ways", ""), [70], "{}", table(&log));
        assert_eq!(took(&log, "pending relations", ""), [5], "{}", table(&log));
        let line = log.phases.iter().find(|phase| phase.item == "p_line").unwrap();
        assert_eq!(line.start_us, 106 * SECOND, "{}", table(&log));
    }
}

/// Regression: the time of steps that the log lacks was ANALYZE's.
#[test]
fn a_table_whose_first_steps_are_missing_is_known_as_a_whole_only() {
    let late = LATE;
    let mut parser = LogParser::new();
    for (at, line) in [
        (0, "Creating geometry index on table 'b_area'..."),
        (5, "Clustering table 'b_way' by geometry..."),
        (30, "Creating osm_id index on table 'b_area'..."),
        (42, "Analyzing table 'b_area'..."),
        (50, "Building index on table 'b_rels'"),
        (61, "Analyzing table 'b_way'..."),
        (90, "Done postprocessing on table 'b_rels' in 33s"),
        (90, "All postprocessing on table 'b_area' done in 103s (1m 43s)."),
        (90, "All postprocessing on table 'b_way' done in 60s (1m 0s)."),
        (90, "osm2pgsql took 200s (3m 20s) overall."),
    ] {
        parser.line(late + at * SECOND, line);
    }
    let log = parser.finish(Some(late - 110 * SECOND..late + 90 * SECOND));
    assert_eq!(took(&log, "analyze", "b_area"), [0; 0], "{}", table(&log));
    assert_eq!(
        (took(&log, "table", "b_area"), took(&log, "index", "b_area geometry")),
        (vec![103], vec![30])
    );
    assert_eq!((took(&log, "cluster", "b_way"), took(&log, "analyze", "b_way")), (vec![56], vec![4]));
    assert_eq!(took(&log, "index", "b_rels"), [33], "{}", table(&log));
    assert_eq!(took(&log, "unexplained", "after the start"), [49], "{}", table(&log));
    assert_eq!(uncovered(&log, 200 * SECOND), 0);
}

const LATE: u64 = 1 << 50;

/// Regression: tables took the time that a clock showed which was set back meanwhile.
#[test]
fn osm2pgsqls_own_seconds_win_over_a_clock_that_contradicts_them() {
    let mut parser = LogParser::new();
    for (at, line) in [
        (0, "osm2pgsql version 1.7.2"),
        (100, "Reading input files done in 100s (1m 40s)."),
        (100, "Clustering table 'c_way' by geometry..."),
        (110, "Building index on table 'c_nodes'"),
        (120, "Analyzing table 'c_way'..."),
        // Set back by half an hour, and set forward below.
        (120, "Done postprocessing on table 'c_nodes' in 1900s (31m 40s)"),
        (120, "All postprocessing on table 'c_way' done in 500s (8m 20s)."),
        (120, "osm2pgsql took 2010s (33m 30s) overall."),
    ] {
        parser.line(at * SECOND, line);
    }
    let log = parser.finish(Some(0..2010 * SECOND));
    assert_eq!(took(&log, "index", "c_nodes"), [1900], "{}", table(&log));
    assert_eq!(took(&log, "table", "c_way"), [500]);
    assert_eq!(log.phases.iter().filter(|phase| phase.item == "c_way").count(), 1, "{}", table(&log));
    assert_eq!(uncovered(&log, 2010 * SECOND), 0);
}

/// Regression: an index of the second stage went on until its table was clustered, over all that came between.
#[test]
fn indexes_of_a_second_stage_without_its_first_line_end_with_it() {
    for ends in ["Creating id indexes took 31s", "There are 12 nodes to reprocess..."] {
        let mut parser = LogParser::new();
        for (at, line) in [
            (0, "osm2pgsql version 1.11.0"),
            (50, "Reading input files done in 50s."),
            (51, "Creating id index on table 'paths'..."),
            (61, "Creating id index on table 'shops'..."),
            (82, ends),
            (82, "There are 900 ways to reprocess..."),
            (150, "Clustering table 'paths' by geometry..."),
            (160, "Analyzing table 'paths'..."),
            (170, "All postprocessing on table 'paths' done in 20s."),
        ] {
            parser.line(at * SECOND, line);
        }
        let log = parser.finish(Some(0..170 * SECOND));
        assert_eq!(took(&log, "index", "paths id"), [10], "{}", table(&log));
        assert_eq!(
            (took(&log, "index", "shops id"), took(&log, "index", "ids (stage 2)")),
            (vec![21], vec![])
        );
        assert_eq!(
            (took(&log, "reprocess ways (stage 2)", ""), took(&log, "table", "paths")),
            (vec![68], vec![20])
        );
    }
}

#[test]
fn an_error_of_a_library_is_none_of_the_load() {
    assert_eq!(parse("ERROR 4: GDAL: no such file\nWarning 1: x\n").error, None);
}

proptest::proptest! {
    /// Whatever the lines and times are, a load's phases leave no time out.
    #[test]
    fn phases_cover_a_load(gaps in proptest::collection::vec(0_u64..200, 17), leave_out in proptest::collection::vec(0_usize..17, 0..6)) {
        let mut parser = LogParser::new();
        let mut at_us = 0;
        for (number, (line, gap)) in TWO_STAGES.lines().zip(gaps).enumerate() {
            at_us += gap * SECOND;
            if !leave_out.contains(&number) {
                parser.line(at_us, line);
            }
        }
        let log = parser.finish(Some(0..at_us));
        let after_end: Vec<_> = log.phases.iter().filter(|phase| phase.start_us + phase.duration_us > at_us).collect();
        let beyond = after_end.iter().map(|phase| phase.start_us + phase.duration_us - at_us).max().unwrap_or(0);
        proptest::prop_assert!(uncovered(&log, at_us) <= beyond, "{}", table(&log));
    }

    #[test]
    fn any_lines_are_survived(lines in proptest::collection::vec("(2026-11-21 02:44:40  \\[1\\] )?\\PC{0,60}", 0..20)) {
        let mut parser = LogParser::new();
        for (at, line) in lines.iter().enumerate() {
            parser.line(at as u64, line);
        }
        let _ = parser.finish(Some(0..1));
    }
}
