//! Logs of all versions, with surrounding text.

use std::fmt::Write;
use std::io::Cursor;

use spec::{Error, Reason, Run, RunKind, Validity, figures};

use super::*;

mod others;

/// A log that osm2pgsql wrote, or that was assembled from its format strings.
fn log(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../osm/tests/data/osm2pgsql");
    String::from_utf8(std::fs::read(folder.join(format!("{name}.log"))).unwrap()).unwrap()
}

fn read_input(input: impl Read) -> Result<Vec<FoundRun>, Error> {
    // 2026-01-02 03:04:05 UTC.
    let changed_us = 1_767_323_045_000_000;
    read(Path::new("load.log"), input, changed_us, &mut ImportProgress::new(&mut |_, _| {}))
}

fn all(text: &str) -> Vec<FoundRun> {
    assert!(is_log(&text.as_bytes()[..text.len().min(64 * 1024)]), "it is known by its beginning");
    read_input(Cursor::new(text.to_owned().into_bytes())).unwrap()
}

fn one(text: &str) -> FoundRun {
    let [found] = all(text).try_into().unwrap();
    found
}

fn words(found: &FoundRun) -> String {
    let Run { driver, started_at, measured_s, validity, factors, figures, phases, .. } = found.run();
    let mut words =
        format!("{driver}, {started_at}, {measured_s} s, {validity:?}\n{factors:?}\n{figures:?}\n");
    for phase in phases {
        let (start_s, length_s) = (phase.start_us as f64 / 1e6, phase.duration_us as f64 / 1e6);
        let count = phase.count.map(|count| count.to_string()).unwrap_or_default();
        let source = phase.source.name();
        writeln!(words, "{:10} {:32} {start_s:>9} + {length_s:>9} {source} {count}", phase.name, phase.item)
            .unwrap();
    }
    for doubt in &found.run().doubts {
        writeln!(words, "doubt: {:?}: {}", doubt.reason, doubt.detail).unwrap();
    }
    for event in &found.run().events {
        let detail = event.detail.split("sha256 ").next().unwrap_or_default();
        writeln!(words, "{}: {detail}", event.kind).unwrap();
    }
    words
}

#[test]
fn logs_of_all_versions_are_read() {
    for name in [
        "1.2-reconstructed",
        "1.8-flex-structured-delaware",
        "1.8-flex-two-stages-delaware",
        "1.8-nonslim-delaware",
        "1.8-slim-debug-delaware",
        "1.8-slim-debug-sql-malta.stamped",
        "1.8-slim-delaware",
        "1.8-slim-drop-flatnodes-delaware",
        "1.8-slim-malta",
        "2.x-reconstructed",
    ] {
        let found = one(&log(name));
        let run = found.run();
        assert_eq!((run.kind, run.load), (RunKind::Job, spec::OfferedLoad::Job));
        assert_eq!((run.workload.as_str(), run.clients, run.round), ("osm", 0, 1), "{name}");
        assert!(run.phases.iter().all(|phase| phase.source == spec::PhaseSource::Reported), "{name}");
        insta::assert_snapshot!(name.replace('.', "_"), words(&found));
    }
}

/// A night's loop: commands, loads, and the output of `time`.
fn night() -> String {
    let command = "$ /usr/bin/time -v osm2pgsql --slim -C 500 --flat-nodes=/nvme/nodes \\\n    -d postgres://me:geheim@db/gis \\\n    \
                   delaware.osm.pbf";
    let timed = "\tCommand being timed: \"osm2pgsql --slim -C 500 -d postgres://me:geheim@db/gis delaware.osm.pbf\"\n\
                 \tUser time (seconds): 0.93\n\tSystem time (seconds): 0.20\n\
                 \tElapsed (wall clock) time (h:mm:ss or m:ss): 0:03.95\n\tMaximum resident set size (kbytes): 137000\n\tExit status: 0\n";
    let first = log("1.8-slim-delaware");
    let second = log("1.8-slim-drop-flatnodes-delaware");
    format!(
        "some words\n{command}\n{first}{timed}$ export PGPASSWORD=geheim\n$ osm2pgsql --version\nosm2pgsql version 1.8.0\nBuild: None\n\
         $ osm2pgsql -s --drop delaware.osm.pbf\n{second}real\t1m35.8s\n"
    )
}

#[test]
fn a_night_of_loads_in_one_file_is_as_many_runs() {
    let text = night();
    let found = all(&text);
    let [one, other] = &found[..] else { panic!("{found:?}") };
    assert_eq!(one.source, "load.log from line 5");
    let levels = |found: &FoundRun| {
        let factors = found.run().factors.iter().map(|(name, level)| format!("{name}={level}"));
        factors.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(levels(one), "cache=500 extract=delaware.osm.pbf flat-nodes=yes slim=yes workload=osm");
    assert_eq!(levels(other), "drop=yes extract=delaware.osm.pbf slim=yes workload=osm");
    let figures = &one.run().figures;
    assert_eq!(
        (figures[figures::CHILD_WALL_S], figures[figures::CHILD_MAX_RSS_BYTES]),
        (3.95, 137_000.0 * 1024.0)
    );
    assert_eq!(other.run().figures[figures::CHILD_WALL_S], 95.8);
    assert_eq!((one.run().measured_s, other.run().measured_s), (3.0, 95.0));
    assert_eq!(one.run().started_at, "2026-11-21T02:42:26Z");
    let doubts: Vec<_> = one.run().doubts.iter().map(|doubt| doubt.reason).collect();
    assert_eq!((one.run().validity, doubts), (Validity::Suspect, vec![Reason::Imported, Reason::TooShort]));
    assert_eq!(one.run().settings[0].value, "15.20 (Debian 15.20-0+deb12u1)");
    assert!(!format!("{found:?}").contains("geheim"));
    // Appending to the file does not change the identity of earlier runs.
    let before = &text[..text.find("$ export").unwrap()];
    assert_eq!(all(before)[0].hashes, one.hashes);
    assert_ne!(one.hashes, other.hashes);
}

#[test]
fn a_load_that_failed_is_invalid_and_says_why() {
    let whole = log("1.8-slim-delaware");
    let cut = whole.find("2026-11-21 02:42:30  Done post").unwrap();
    let part = &whole[..cut];
    for (behind, wanted) in [
        ("", "the log ends early: it does not say how long osm2pgsql took"),
        (
            "2026-11-21 02:42:31  ERROR: DB copy thread failed: disk full\n",
            "ERROR: DB copy thread failed: disk full",
        ),
        ("Command terminated by signal 9\n", "osm2pgsql terminated by signal 9"),
    ] {
        let found = one(&format!("{part}{behind}"));
        let run = found.run();
        assert_eq!((run.validity, run.doubts[1].reason), (Validity::Invalid, Reason::Errors));
        assert_eq!(run.doubts[1].detail, wanted);
        assert!(run.measured_s >= 4.0 && !run.phases.is_empty());
        assert!(!format!("{run:?}").contains("geheim"), "{run:?}");
        let text = String::from_utf8(run.artifacts[0].bytes.clone()).unwrap();
        assert!(text.contains("Processed 723870 nodes") && !text.contains("geheim"), "{text}");
    }
    let old = "osm2pgsql version 1.2.1 (64 bit id space)\n\nAllocating memory for dense node cache\n\
               Osm2pgsql failed due to ERROR: Connection to database failed\n$ psql password=geheim\n";
    let run = one(old);
    assert_eq!(run.run().doubts[1].detail, "Osm2pgsql failed due to ERROR: Connection to database failed");
    assert!(!format!("{run:?}").contains("geheim"));
    assert_eq!(run.run().started_at, "2026-01-02T03:04:05Z");
}

#[test]
fn a_log_without_its_beginning_is_read_as_far_as_it_goes() {
    let whole = log("1.8-slim-delaware");
    let found = one(&whole[whole.find("2026-11-21 02:42:29  Clustering table 'dela_line'").unwrap()..]);
    assert!(found.notes.contains(&"its beginning is missing".to_owned()));
    assert_eq!((found.run().driver.as_str(), found.run().measured_s), ("osm2pgsql", 3.0));
}

/// A log of 1.2 without times; its lines get prefixes of other programs.
const OLD: &str = "osm2pgsql version 1.2.1 (64 bit id space)\n\nUsing projection SRS 3857 (Spherical Mercator)\n\
    Setting up table: al_point\n\nReading in file: al.osm.pbf\nUsing PBF parser.\n\
    Processing: Node(12k 1.2k/s) Way(5k 0.25k/s) Relation(9 0.9/s)  parse time: 40s\n\
    Node stats: total(12345), max(99) in 10s\nWay stats: total(5000), max(98) in 20s\n\
    Relation stats: total(9), max(97) in 10s\nStopping table: al_ways\nBuilding index on table: al_ways\n\
    Sorting data and creating indexes for al_point\nCopying al_point to cluster by geometry finished\n\
    Creating geometry index on al_point\nCreating indexes on al_point finished\n\
    All indexes on al_point created in 6s\nCompleted al_point\nStopped table: al_ways in 30s\n\n\
    Osm2pgsql took 75s overall\n";

/// Seconds at which its lines came: reading ends at 42, the load at 75.
const CAME: [u64; 20] = [0, 0, 1, 2, 2, 42, 42, 42, 42, 43, 43, 44, 46, 46, 49, 49, 49, 73, 75, 75];

fn with(prefix: impl Fn(u64) -> String) -> String {
    let lines = OLD.lines().filter(|line| !line.is_empty()).chain(std::iter::once(""));
    lines.zip(CAME).map(|(line, s)| format!("{}{line}\n", prefix(s))).collect()
}

fn seconds_of(run: &Run, name: &str, item: &str) -> Option<(u64, u64)> {
    let found = run.phases.iter().find(|phase| phase.name == name && phase.item == item)?;
    Some((found.start_us / 1_000_000, found.duration_us / 1_000_000))
}

/// Regression: "neither a report nor a log" for logs as they are posted and kept.
#[test]
fn what_other_programs_put_before_lines_is_removed_and_is_the_clock() {
    let clock = |s: u64| {
        format!("{:02}:{:02}:{:02}", (86_390 + s) / 3600 % 24, (86_390 + s) / 60 % 60, (86_390 + s) % 60)
    };
    let day = |s: u64| if s < 10 { "2026-05-06" } else { "2026-05-07" };
    let docker = |text: String| {
        let line = |(line, s): (&str, u64)| {
            let time = format!("{}T{}.25Z", day(s), clock(s));
            serde_json::json!({"log": format!("{line}\n"), "stream": "stderr", "time": time}).to_string()
        };
        text.lines().zip(CAME).map(line).collect::<Vec<_>>().join("\n")
    };
    let timed = [
        with(|s| format!("[{}] ", clock(s))),
        with(|s| format!("{}T{}Z ", day(s), clock(s))),
        with(|s| format!("load-1 | {}T{}.123456789Z ", day(s), clock(s))),
        with(|s| format!("1778{s:06}\t{}\t{}\t", day(s), clock(s))),
        with(|s| format!("#7 {s}.25 ")),
        with(|s| format!("May  {} {} host osm[77]: ", if s < 10 { 6 } else { 7 }, clock(s))),
        docker(with(|_| String::new())),
    ];
    for text in timed {
        let found = one(&text);
        let run = found.run();
        assert_eq!((run.driver.as_str(), run.measured_s), ("osm2pgsql 1.2.1", 75.0), "{text}");
        assert_eq!(seconds_of(run, "read", ""), Some((2, 40)), "{text}");
        assert_eq!(seconds_of(run, "cluster", "al_point"), Some((44, 2)), "{text}");
        assert_eq!(seconds_of(run, "index", "al_point geometry"), Some((46, 3)), "{text}");
        assert_eq!(seconds_of(run, "table", "al_ways"), Some((43, 30)), "{text}");
        assert_eq!(run.validity, Validity::Suspect);
        let kept = String::from_utf8(run.artifacts[0].bytes.clone()).unwrap();
        assert!(kept.starts_with("osm2pgsql version 1.2.1 (64") && !kept.contains("| "), "{kept}");
    }
    assert_eq!(one(&with(|s| format!("{}T{}Z ", day(s), clock(s)))).run().started_at, "2026-05-06T23:59:50Z");
    for prefix in ["> ", ">> ", "import_1  | ", "\u{1b}[36mimport_1  |\u{1b}[0m ", "[worker] ", "  > "] {
        let run = one(&with(|_| prefix.to_owned()));
        let phases = &run.run().phases;
        assert!(
            phases.iter().any(|phase| phase.name == "node" && phase.duration_us == 10_000_000),
            "{prefix}"
        );
        assert_eq!(seconds_of(run.run(), "unexplained", "after table al_ways"), None, "{prefix}: {phases:?}");
    }
}

#[test]
fn lines_of_other_containers_are_not_of_the_load() {
    let text = with(|_| "import_1  | ".to_owned());
    let text = text
        .replace("import_1  | Stopping", "db_1      | LOG:  Stopped table: x in 99s\nimport_1  | Stopping");
    let found = one(&text);
    assert_eq!(seconds_of(found.run(), "table", "x"), None);
    assert!(!String::from_utf8_lossy(&found.run().artifacts[0].bytes).contains("LOG"));
}

/// Regression: told as neither a report nor a log.
#[test]
fn a_load_that_was_killed_says_how_far_it_came() {
    let progress = "Processing: Node(5036470k 812.5k/s) Way(0k 0.00k/s) Relation(0 0.00/s)";
    let nodes = "killed, most likely out of memory, after 5,036,470k nodes";
    for (text, wanted) in [
        (format!("osm2pgsql SVN version 0.88.1 (64bit id space)\n\n{progress}Killed\n"), nodes),
        (
            format!(
                "{progress}\rProcessing: Node(1k 1.0k/s) Way(0k 0.00k/s) Relation(0 0.00/s)\r{progress}\nKilled\n"
            ),
            nodes,
        ),
        (
            format!(
                "import_1  | osm2pgsql version 0.96.0 (64 bit id space)\nimport_1  | \nimport_1  | {progress}\nosm_import_1 exited with code 137\n"
            ),
            nodes,
        ),
        (
            format!(
                "osm2pgsql version 1.2.0 (64 bit id space)\n{progress}/run.sh: line 44:   101 Killed                  sudo -u renderer osm2pgsql -d gis --slim eu.osm.pbf\n+ exit 0\n"
            ),
            nodes,
        ),
        (
            format!(
                "2026-01-01 10:00:00  osm2pgsql version 1.8.0\n2026-01-01 10:00:00  Database version: 15.2\n{progress}\nKilled\n"
            ),
            nodes,
        ),
        (
            format!(
                "2026-01-01 10:00:00  osm2pgsql version 1.8.0\n2026-01-01 10:00:00  Database version: 15.2\n{progress}\n"
            ),
            "the log ends early, after 5,036,470k nodes: it does not say how long osm2pgsql took",
        ),
    ] {
        let found = one(&text);
        let run = found.run();
        assert_eq!((run.validity, run.doubts[1].detail.as_str()), (Validity::Invalid, wanted), "{text}");
        let node = run.phases.iter().find(|phase| phase.name == "node").unwrap();
        let rate = node.count.unwrap() as f64 / (node.duration_us as f64 / 1e6);
        assert!((rate / 812_500.0 - 1.0).abs() < 1e-6, "{rate}: its rate is kept");
        assert!(run.measured_s > 6000.0);
    }
}

#[test]
fn creating_and_appending_are_two_kinds_of_jobs() {
    let create = "2026-01-01 10:00:00  osm2pgsql version 1.10.0\n2026-01-01 10:01:00  Reading input files done in 60s (1m 0s).\n\
                  2026-01-01 10:01:00    Processed 5 nodes in 60s (1m 0s) - 0/s\n2026-01-01 10:01:05  osm2pgsql took 65s (1m 5s) overall.\n";
    let append = "2026-01-01 11:00:00  osm2pgsql version 1.10.0\n2026-01-01 11:01:00  Reading input files done in 60s (1m 0s).\n\
                  2026-01-01 11:01:00    Processed 5 nodes in 60s (1m 0s) - 0/s\n\
                  2026-01-01 11:01:00  Going over 300 pending relations (using 2 threads)\n\
                  2026-01-01 11:11:00  Processing 300 pending relations took 600s (10m 0s) at a rate of 0.50/s\n\
                  2026-01-01 11:11:00  osm2pgsql took 660s (11m 0s) overall.\n";
    let found = all(&format!("{create}{append}"));
    let workloads: Vec<&str> = found.iter().map(|found| found.run().workload.as_str()).collect();
    assert_eq!(workloads, ["osm", "osm append"]);
    assert_eq!(found[1].run().factors.get("append").map(String::as_str), Some("yes"));
    assert_eq!(seconds_of(found[1].run(), "pending relations", ""), Some((60, 600)));
    let asked = one(&format!("$ osm2pgsql --append -d gis x.osc.gz\n{create}"));
    assert_eq!(asked.run().workload, "osm append");
}

/// Before 0.81 a load says neither its version nor its length.
#[test]
fn the_oldest_logs_are_read_as_far_as_they_go() {
    let text = "Using projection SRS 900913 (Spherical Mercator)\nSetting up table: planet_osm_point\n\
                NOTICE:  table \"planet_osm_point\" does not exist, skipping\n\nReading in file: map.osm\n\
                Processing: Node(40k 2.0k/s) Way(8k 1.00k/s) Relation(90 30.0/s)  parse time: 31s\n\
                Node stats: total(40681), max(1295161822)\nWay stats: total(8214), max(107822689)\n\
                Relation stats: total(91), max(1566054)\n\nGoing over pending ways\nprocessing way (0k)\n\
                Committing transaction for planet_osm_point\nStopped table: planet_osm_ways\nCompleted planet_osm_point\n";
    let found = one(text);
    let run = found.run();
    assert_eq!((run.validity, run.measured_s), (Validity::Suspect, 31.0));
    assert!(run.doubts[1].detail.starts_with("how long it took is not in the log"), "{:?}", run.doubts);
    assert!(!found.notes.contains(&"its beginning is missing".to_owned()));
    let node = run.phases.iter().find(|phase| phase.name == "node").unwrap();
    assert_eq!((node.count, node.duration_us / 1_000_000), (Some(40_681), 20));
}

/// Regression: told as neither a report nor a log.
#[test]
fn a_log_is_known_wherever_it_was_cut() {
    for log in
        [log("1.8-flex-two-stages-delaware"), log("2.x-reconstructed"), log("1.8-flex-append-delaware")]
    {
        let ends = log.match_indices("\n2026-").map(|(at, _)| at + 1);
        for start in ends.filter(|at| log.len() - at > 200) {
            let found = one(&log[start..]);
            let run = found.run();
            assert!(found.notes.iter().any(|note| note == "its beginning is missing"), "{}", &log[start..]);
            if log[start..].contains("There are ") {
                let again = run.phases.iter().find(|phase| phase.name.starts_with("reprocess "));
                assert!(again.is_some_and(|phase| phase.duration_us >= 6_000_000), "{:?}", run.phases);
            }
            let length_us = (run.measured_s * 1e6) as u64;
            let covered = run.phases.iter().map(|phase| phase.start_us + phase.duration_us).max();
            assert!(covered >= Some(length_us) && run.phases[0].start_us == 0, "{:?}", run.phases);
        }
    }
}

#[test]
fn a_clock_that_was_set_is_told() {
    let text = log("2.x-reconstructed");
    let told =
        |text: &str| one(text).notes.iter().any(|note| note.contains("which count: the clock was set"));
    assert!(told(&text), "its stamps span 111 s, and it says 3661 s");
    assert!(!told(&log("1.8-slim-malta")));
}

/// Lines that are generated as they are read, to bound the memory.
struct Planet {
    hour: u64,
    waiting: Cursor<Vec<u8>>,
}

const HOURS: u64 = 34;
const SECONDS: u64 = HOURS * 3600 + 17 * 60;

impl Planet {
    fn hour(&self) -> String {
        let (day, hour) = (1 + self.hour / 24, self.hour % 24);
        let stamp = format!("2026-03-{day:02} {hour:02}:00:00  ");
        match self.hour {
            0 => format!("{stamp}osm2pgsql version 1.11.0\n{stamp}Setting up table 'planet_osm_point'\n"),
            1..20 => (0..8000)
                .map(|k| {
                    format!(
                        "\rProcessing: Node({}k 1234.5k/s) Way({k}k 9.00k/s) Relation(0 0.0/s)",
                        self.hour * k
                    )
                })
                .collect(),
            20 => format!(
                "\r{}\r{stamp}Reading input files done in 72000s (20h 0m 0s).\n\
                 {stamp}  Processed 8912345678 nodes in 21600s (6h 0m 0s) - 413k/s\n\
                 {stamp}  Processed 987654321 ways in 28800s (8h 0m 0s) - 34k/s\n\
                 {stamp}  Processed 12345678 relations in 21600s (6h 0m 0s) - 572/s\n\
                 {stamp}Clustering table 'planet_osm_point' by geometry...\n",
                " ".repeat(90)
            ),
            HOURS => format!(
                "{stamp}All postprocessing on table 'planet_osm_point' done in 50400s (14h 0m 0s).\n\
                 2026-03-02 10:17:00  Overall memory usage: peak=98304MByte current=1000MByte\n\
                 2026-03-02 10:17:00  osm2pgsql took {SECONDS}s (34h 17m 0s) overall.\n"
            ),
            _ => (0..800).map(|k| format!("{stamp}[01] SQL: (C{k}) COPY {}\n", "x".repeat(900))).collect(),
        }
    }
}

impl Read for Planet {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let got = self.waiting.read(into)?;
            if got > 0 || self.hour > HOURS {
                return Ok(got);
            }
            self.waiting = Cursor::new(self.hour().into_bytes());
            self.hour += 1;
        }
    }
}

#[test]
fn the_log_of_a_planet_is_read_in_a_stream() {
    let mut bytes = 0;
    let input = Planet { hour: 0, waiting: Cursor::default() };
    let mut show = |_, now| bytes = now;
    let found = read(Path::new("planet.log"), input, 0, &mut ImportProgress::new(&mut show)).unwrap();
    assert!(bytes > 20_000_000, "{bytes}");
    let run = found[0].run();
    assert_eq!((run.measured_s, run.validity), (SECONDS as f64, Validity::Suspect));
    assert_eq!(run.figures[figures::CHILD_PEAK_MEMORY_BYTES], 98_304.0 * 1_048_576.0);
    let hours = |name: &str| {
        run.phases.iter().find(|phase| phase.name == name).map(|phase| phase.duration_us / 3_600_000_000)
    };
    assert_eq!(["node", "way", "relation", "table"].map(hours), [6, 8, 6, 14].map(Some));
    assert_eq!(run.phases.iter().find(|phase| phase.name == "node").unwrap().count, Some(8_912_345_678));
    // None of the repeated lines is kept.
    assert!(run.artifacts[0].bytes.len() < 2_000, "{}", run.artifacts[0].bytes.len());
}

#[test]
fn what_is_no_log_is_refused() {
    for (text, wanted) in [
        (
            "osm2pgsql version 1.2.1 (64 bit id space)\n",
            "it names a version of osm2pgsql, and no load follows",
        ),
        (
            "2026-03-01 00:00:00  osm2pgsql version 1.8.0\ntransaction type: x\n",
            "load.log:2: a report of pgbench among logs of osm2pgsql",
        ),
    ] {
        let error = read_input(Cursor::new(text.as_bytes().to_vec())).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    for other in [
        "2026-03-01 00:00:00 LOG:  checkpoint starting: time\n",
        "osm2pgsql is a program\n",
        "starting vacuum...end.\n",
    ] {
        assert!(!is_log(other.as_bytes()), "{other}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_survived(
        before in "(\\PC{0,20}[\\r\\n])?",
        lines in proptest::collection::vec("(2026-11-21 02:44:40  (\\[1\\] )?)?(Setting up table |osm2pgsql version 1|osm2pgsql took |Node stats: |ERROR: )?\\PC{0,30}[\\r\\n\\\\]{0,2}", 0..20),
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..50),
    ) {
        let text = [before.into_bytes(), lines.concat().into_bytes(), bytes].concat();
        let _ = is_log(&text);
        let _ = read_input(Cursor::new(text));
    }
}
