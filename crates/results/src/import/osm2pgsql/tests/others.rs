//! Lines of other programs, and of other loads, among those of a load.

use super::*;

/// A load of so many seconds that reads all the time, with this before each line.
fn load(prefix: &str, table: &str, minutes: u32) -> Vec<String> {
    let lines = [
        "2025-06-07 08:00:00  osm2pgsql version 1.9.2".to_owned(),
        "2025-06-07 08:00:00  Database version: 13.1".to_owned(),
        format!("2025-06-07 08:00:01  Setting up table '{table}'"),
        "Processing: Node(7k 7.0k/s) Way(0k 0.00k/s) Relation(0 0.0/s)".to_owned(),
        format!("2025-06-07 08:{minutes:02}:01  Reading input files done in {}s.", minutes * 60),
        format!("2025-06-07 08:{minutes:02}:01  Clustering table '{table}' by geometry..."),
        format!("2025-06-07 08:{minutes:02}:21  All postprocessing on table '{table}' done in 20s."),
        format!("2025-06-07 08:{minutes:02}:21  osm2pgsql took {}s overall.", minutes * 60 + 21),
    ];
    lines.into_iter().map(|line| format!("{prefix}{line}")).collect()
}

/// Lines of both in turn; of the second there are more at the beginning or the end.
fn mixed(one: &[String], other: &[String], late: usize) -> String {
    let mut lines = Vec::new();
    for at in 0..one.len() + late {
        lines.extend(one.get(at).cloned());
        lines.extend(at.checked_sub(late).and_then(|at| other.get(at)).cloned());
    }
    lines.join("\n") + "\n"
}

/// Regression: two loads in one log of containers were one run with the phases of both.
#[test]
fn loads_at_the_same_time_are_told_apart_by_what_names_their_program() {
    for (one, other) in [
        ("gis-1  | ", "gis-2  | "),
        ("\x1b[33mnorth |\x1b[0m ", "\x1b[32msouth |\x1b[0m "),
        ("[pod/import-abc/osm] ", "[pod/import-def/osm] "),
        ("Jun  7 08:00:00 db7 north[88]: ", "Jun  7 08:00:00 db7 south[91]: "),
    ] {
        for late in [0, 1, 3, 6] {
            let text = mixed(&load(one, "n_line", 30), &load(other, "s_line", 45), late);
            let found = all(&text);
            let [north, south] = &found[..] else { panic!("{} runs of\n{text}", found.len()) };
            assert_eq!((north.run().measured_s, south.run().measured_s), (1821.0, 2721.0), "{text}");
            assert_eq!(seconds_of(north.run(), "table", "n_line"), Some((1801, 20)), "{text}");
            assert_eq!(seconds_of(north.run(), "table", "s_line"), None, "{text}");
            assert_eq!(seconds_of(south.run(), "table", "s_line"), Some((2701, 20)), "{text}");
            assert!(found.iter().all(|found| found.run().validity == Validity::Suspect), "{found:?}");
        }
    }
    let found = all(&mixed(&load("gis-1  | ", "a", 3), &load("gis-2  | ", "b", 4), 2));
    let level = |found: &FoundRun| found.run().factors.get("container").cloned();
    assert_eq!([&found[0], &found[1]].map(level), ["gis-1", "gis-2"].map(|name| Some(name.to_owned())));
    assert_eq!(found[1].source, "load.log from line 4 (gis-2)");
    // One whose beginning is not in the log is another load, too.
    let tail = load("gis-2  | ", "b", 4).split_off(4);
    assert_eq!(all(&mixed(&load("gis-1  | ", "a", 3), &tail, 2)).len(), 2);
}

#[test]
fn loads_of_versions_without_times_are_told_apart_too() {
    let of =
        |name: &str| -> Vec<String> { with(|_| format!("{name}  | ")).lines().map(str::to_owned).collect() };
    for late in [0, 2, 9] {
        let other: Vec<String> = of("gis-12").iter().map(|line| line.replace("75s", "85s")).collect();
        let found = all(&mixed(&of("gis-1"), &other, late));
        let took: Vec<f64> = found.iter().map(|found| found.run().measured_s).collect();
        assert_eq!(took, [75.0, 85.0]);
        for found in &found {
            let nodes = found.run().phases.iter().filter(|phase| phase.name == "node").count();
            assert_eq!((nodes, found.run().validity), (1, Validity::Suspect), "{found:?}");
        }
    }
}

#[test]
fn loads_at_the_same_time_that_nothing_tells_apart_are_refused() {
    let text = mixed(&load("", "a", 30), &load("", "b", 45), 2);
    let error = read_input(Cursor::new(text.into_bytes())).unwrap_err().to_string();
    assert!(error.contains("begin in lines 1 and 4 ran at the same time"), "{error}");
    // One after the other they are two.
    let text = [load("", "a", 30), load("> ", "b", 45), load("gis-1 | ", "c", 5)].concat().join("\n");
    assert_eq!(all(&text).len(), 3);
}

/// Regression: a whole load was invalid for an error of its server or of a library.
#[test]
fn errors_of_others_do_not_make_a_whole_load_invalid() {
    for (prefix, error) in [
        ("gis-1  | ", "postgres-1 | 2025-06-07 08:04:05.678 UTC [41] ERROR:  deadlock detected"),
        ("gis-1  | ", "postgres-1 | ERROR:  canceling statement due to user request"),
        ("", "2025-06-07 08:04:05.678 CEST [41] osm@gis ERROR:  canceling autovacuum task"),
        ("", "ERROR 6: GEOS: TopologyException"),
        ("", "ERROR:  relation \"x\" does not exist"),
        ("> ", "> cp: error: no such file"),
        ("", "Terminated"),
        ("gis-1  | ", "gis-postgres-1 exited with code 2"),
    ] {
        let mut lines = load(prefix, "z_line", 12);
        lines.insert(5, error.to_owned());
        let found = one(&(lines.join("\n") + "\n"));
        assert_eq!((found.run().validity, found.run().measured_s), (Validity::Suspect, 741.0), "{error}");
        assert_eq!(seconds_of(found.run(), "table", "z_line"), Some((721, 20)), "{error}");
    }
}

#[test]
fn the_reason_of_a_load_that_ended_early_is_its_own() {
    for (prefix, end, wanted) in [
        (
            "",
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted (core dumped)",
            "out of memory (std::bad_alloc), after 7k nodes",
        ),
        ("", "Segmentation fault", "it crashed: segmentation fault, after 7k nodes"),
        (
            "gis-1  | ",
            "gis-1 exited with code 139",
            "it crashed: segmentation fault (exit code 139), after 7k nodes",
        ),
        (
            "gis-1  | ",
            "postgres-1 | ERROR:  out of memory\npostgres-1 exited with code 1",
            "the log ends early, after 7k nodes: it does not say how long osm2pgsql took",
        ),
        (
            "",
            "packet_write_wait: Connection to 10.1.2.3 port 22: Broken pipe",
            "the connection to its terminal was lost (Broken pipe), after 7k nodes",
        ),
        (
            "",
            "2025-06-07 08:04:05.678 UTC [41] ERROR:  canceling autovacuum task",
            "the log ends early, after 7k nodes: it does not say how long osm2pgsql took",
        ),
    ] {
        let lines = load(prefix, "z_line", 12);
        let found = one(&format!("{}\n{end}\n", lines[..4].join("\n")));
        let reasons: Vec<&str> = found.run().doubts[1..].iter().map(|doubt| doubt.detail.as_str()).collect();
        assert_eq!((found.run().validity, reasons), (Validity::Invalid, vec![wanted]), "{end}");
    }
}

/// Regression: the load stood still until its clock came again to where it had been.
#[test]
fn a_clock_that_is_set_back_goes_on() {
    for (before, after, read_s, index_s) in [
        // The end of summer time, while the input is read.
        ("2021-10-31 02:40:00", ["2021-10-31 02:20:00", "2021-10-31 02:50:00"], 2400, 1800),
        ("2021-11-07 01:59:00", ["2021-11-07 01:01:00", "2021-11-07 01:02:40"], 120, 100),
    ] {
        let total = read_s + index_s;
        let text = format!(
            "{before}  osm2pgsql version 1.5.1\n{before}  Database version: 13.1\n\
             {0}  Reading input files done in {read_s}s.\n{0}    Processed 9 nodes in {read_s}s - 1/s\n\
             {0}  Building index on table 'x_ways'\n{1}  Done postprocessing on table 'x_ways' in {index_s}s\n\
             {1}  osm2pgsql took {total}s overall.\n",
            after[0], after[1]
        );
        let found = one(&text);
        assert_eq!(seconds_of(found.run(), "read", ""), Some((0, read_s)), "{text}");
        assert_eq!(seconds_of(found.run(), "index", "x_ways"), Some((read_s, index_s)), "{text}");
        assert!(
            found.notes.iter().any(|note| note.starts_with("its time stamps go back")),
            "{:?}",
            found.notes
        );
        assert!(!found.notes.iter().any(|note| note.contains("which count")), "{:?}", found.notes);
    }
    // Set right by some minutes on a weekday: osm2pgsql's own seconds count.
    let text = "2021-11-03 10:40:00  osm2pgsql version 1.5.1\n2021-11-03 10:40:00  Database version: 13.1\n\
                2021-11-03 10:30:00  Reading input files done in 300s.\n2021-11-03 10:30:00    Processed 9 nodes in 300s - 1/s\n\
                2021-11-03 10:30:00  Building index on table 'x_ways'\n\
                2021-11-03 10:31:00  Done postprocessing on table 'x_ways' in 60s\n2021-11-03 10:31:00  osm2pgsql took 360s overall.\n";
    let found = one(text);
    assert_eq!(seconds_of(found.run(), "index", "x_ways").map(|(_, took)| took), Some(60));
    assert_eq!(found.run().measured_s, 360.0);
}
