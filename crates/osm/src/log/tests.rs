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
    parser.finish(at_us + 5_000)
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
    parser.finish(end_us)
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
snapshot!(from_2_1, "2.x-reconstructed");
snapshot!(slim, "1.8-slim-delaware");
snapshot!(slim_debug, "1.8-slim-debug-delaware");
snapshot!(not_slim, "1.8-nonslim-delaware");
snapshot!(slim_then_dropped, "1.8-slim-drop-flatnodes-delaware");
snapshot!(malta, "1.8-slim-malta");
snapshot!(flex, "1.8-flex-structured-delaware");

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

proptest::proptest! {
    #[test]
    fn any_lines_are_survived(lines in proptest::collection::vec("(2026-11-21 02:44:40  \\[1\\] )?\\PC{0,60}", 0..20)) {
        let mut parser = LogParser::new();
        for (at, line) in lines.iter().enumerate() {
            parser.line(at as u64, line);
        }
        let _ = parser.finish(1);
    }
}
