//! `pgdyno import` with logs and reports of the real pgbench.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{self, Place, Server, programs};

/// Runs the real pgbench in the place's folder; returns both output streams together.
fn pgbench(place: &Place, server: &Server, args: &[&str]) -> String {
    let output = Command::new(programs().join("pgbench"))
        .args(args)
        .args(["-U", "postgres", "-h"])
        .arg(&server.socket)
        .args(["-p", &server.port.to_string(), "postgres"])
        .current_dir(place.path())
        .output()
        .expect("pgbench");
    let (report, talk) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}{talk}");
    format!("{talk}{report}")
}

fn files(place: &Place, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path()).expect("own folder").flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    found.sort();
    found
}

fn sorted(files: &[PathBuf]) -> Vec<f64> {
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).expect("a log")).collect();
    let mut times: Vec<f64> =
        text.lines().filter_map(|line| line.split(' ').nth(2).and_then(|time| time.parse().ok())).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

/// The signal ended the program silently.
#[test]
fn a_limit_of_the_size_of_files_is_told() {
    let place = Place::new();
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/data/pgbench/15-agg.txt");
    // 64 and 300 kB: too small for a file, or for the schema.
    for blocks in [128, 600] {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -f {blocks}; exec \"$0\" \"$@\""));
        shell.arg(env!("CARGO_BIN_EXE_pgdyno")).args(["import", "--results", "r.sqlite", report]);
        shell.current_dir(place.path()).env("PGDYNO_HOME", place.home());
        support::finish(shell).expect(74).says(&["r.sqlite: cannot be opened or written"]);
    }
    place.run(["import", report]).expect(0);
}

#[test]
fn percentiles_of_a_log_are_those_of_sorting_it() {
    let (place, server) = (Place::new(), Server::start());
    place.write("work.sql", "select pg_sleep(random() * 0.002);\n");
    let run = [
        "-n",
        "-f",
        "work.sql",
        "-c",
        "4",
        "-j",
        "2",
        "-t",
        "100",
        "-P",
        "1",
        "-r",
        "-l",
        "--log-prefix=first",
    ];
    let report = place.write("first.txt", pgbench(&place, &server, &run));
    let logs = files(&place, "first.");
    let logs: Vec<PathBuf> = logs.into_iter().filter(|path| *path != report).collect();
    assert_eq!(logs.len(), 2);

    // The other thread's log is found next to the first.
    let done = place.run([report.as_os_str(), logs[0].as_os_str()].iter().fold(
        vec!["import".into(), "--name".into(), "first run".into()],
        |mut args: Vec<std::ffi::OsString>, file| {
            args.push(file.into());
            args
        },
    ));
    done.expect(0).says(&["400 log lines", "results: "]);
    let times = sorted(&logs);
    assert_eq!(times.len(), 400);
    for (column, quantile) in [("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99)] {
        let exact = times[(times.len() as f64 * quantile).ceil() as usize - 1];
        let got = number(&place.sql(&format!("select {column} from v_run")));
        assert!((got / exact - 1.0).abs() < 0.001, "{column}: {got}, by sorting {exact}");
    }
    let text = std::fs::read_to_string(&report).expect("the report");
    let tps = text.split("tps = ").last().and_then(|rest| rest.split(' ').next()).expect("a rate");
    assert!((number(&place.sql("select tps from v_run")) - number(tps)).abs() < 0.001);
    assert_eq!(
        place.sql("select workload || ' ' || clients || ' ' || threads || ' ' || ok from v_run"),
        "work.sql 4 2 400"
    );
    let statement = "select json_extract(value, '$.text') from artifact, json_each(cast(bytes as text)) \
                     where artifact.name = 'statements.json'";
    assert_eq!(place.sql(statement), "select pg_sleep(random() * 0.002);");

    // Importing any part again is refused.
    place.run(["import".as_ref(), report.as_os_str()]).expect(64).says(&["imported before", "--again"]);
    place.run(["import".as_ref(), logs[1].as_os_str()]).expect(64).says(&["imported before"]);
    assert_eq!(place.sql("select count(*) from run"), "1");
    place.run(["import".as_ref(), "--again".as_ref(), report.as_os_str()]).expect(0);
    assert_eq!(place.sql("select count(*) from run"), "2");
}

#[test]
fn old_results_are_compared_tabled_and_reported() {
    let (place, server) = (Place::new(), Server::start());
    for (arm, sleep) in [("slow", "0.040"), ("fast", "0.001")] {
        place.write("work.sql", format!("select pg_sleep({sleep});\n"));
        // A loop in a shell script, with output to one file.
        let text: String = ["1", "2", "1", "2", "1", "2", "1", "2", "1", "2"]
            .map(|clients| pgbench(&place, &server, &["-n", "-f", "work.sql", "-t", "20", "-c", clients]))
            .concat();
        let file = place.write(arm, format!("notes of that day\n{text}"));
        let level = format!("disk={arm}");
        let args = ["import", "--name", "disks", "--compare", "disk", "--level", &level];
        let args: Vec<_> = args.iter().map(AsRef::as_ref).chain([file.as_os_str()]).collect();
        place.run(args).expect(0).says(&["percentiles not available: a report has only averages"]);
    }
    let compared = place.run(["compare", "--format", "csv"]).expect(0).says(&["not interleaved"]);
    assert_eq!(compared.stdout.matches(",faster").count(), 4, "{}", compared.stdout);
    assert!(compared.stdout.contains("fast,whole grid"), "{}", compared.stdout);
    let crosstab = place.run(["table", "crosstab", "--format", "csv"]).expect(0).stdout;
    assert!(
        crosstab.starts_with("workload,figure,level,slow_tps,fast_tps,fast_change_pct,over"),
        "{crosstab}"
    );
    assert!(crosstab.contains("work.sql,mean,clients 2,"), "{crosstab}");
    let runs = place.run(["table", "runs", "--format", "csv"]).expect(0).stdout;
    assert_eq!(runs.matches("imported: measured by pgbench").count(), 20, "{runs}");
    place.run(["compare", "--metric", "p99"]).expect(3);
    place.run(["report", "-o", "page.html"]).expect(0);
    let page = std::fs::read_to_string(place.path().join("page.html")).expect("a page");
    assert!(page.contains("Not interleaved") && page.contains("Which disk is faster"));
    assert_eq!(place.sql("select count(distinct value) from cell_factor where name = 'clients'"), "2");
}

#[test]
fn logs_of_osm2pgsql_come_in_as_loads() {
    let place = Place::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../osm/tests/data/osm2pgsql");
    let [slim, old] = ["1.8-slim-drop-flatnodes-delaware.log", "1.2-reconstructed.log"]
        .map(|name| std::fs::read_to_string(format!("{folder}/{name}")).expect("a log"));
    place.write(
        "night.log",
        format!("$ osm2pgsql -s --drop -d postgres://me:geheim@h/d de.osm.pbf\n{slim}{old}"),
    );
    let done = place.run(["import", "night.log", "--format", "csv"]).expect(0).says(&[
        "whole seconds",
        "the log has no time stamps",
        "results: ",
    ]);
    assert!(done.stdout.contains("night.log from line 2,osm,"), "{}", done.stdout);
    assert_eq!(
        place.sql("select group_concat(measured_s || ' ' || kind || ' ' || validity, ', ') from run"),
        "\"95.0 job suspect, 125.0 job suspect\""
    );
    let drop = "select count(*) from cell_factor where (name, value) in (('drop', 'yes'), ('extract', 'de.osm.pbf'))";
    assert_eq!(place.sql(drop), "2");
    let phases = place.run(["table", "phases", "--format", "csv"]).expect(0).stdout;
    assert!(phases.contains("node") && phases.contains("al_polygon"), "{phases}");
    place.run(["import", "night.log"]).expect(64).says(&["imported before"]);
    assert!(!std::fs::read(place.results()).unwrap().windows(6).any(|bytes| bytes == b"geheim"));
    // An incomplete log is stored as incomplete.
    place.write("cut.log", &slim[..slim.len() / 2]);
    place.run(["import", "cut.log"]).expect(0);
    let doubts = place.sql("select doubts from v_run where validity = 'invalid'");
    assert!(doubts.contains("the log ends early"), "{doubts}");
    place.write("other.log", "2026-01-01 00:00:00 LOG:  checkpoint starting: time\n");
    place.run(["import", "other.log"]).expect(65).says(&["no log of osm2pgsql"]);
}

#[test]
fn what_cannot_be_imported_leaves_nothing_behind() {
    let place = Place::new();
    let good = "transaction type: x\nnumber of clients: 1\nnumber of transactions actually processed: 50\n\
                tps = 5.0 (excluding connections establishing)\n";
    place.write("good.txt", good);
    place.write("pgbench_log.7", "0 1 100 0 1700000000 5\n0 2 oops 0 1700000000 6\n");
    place
        .run(["import", "good.txt", "pgbench_log.7"])
        .expect(65)
        .says(&["pgbench_log.7:2: invalid time \"oops\""]);
    assert!(!place.results().exists());
    place.run(["import", "absent.txt"]).expect(65).says(&["absent.txt: No such file"]);
    place
        .run(["import", "good.txt", "--compare", "disk"])
        .expect(64)
        .says(&["factor disk is not known", "--level"]);
    assert_eq!(place.sql("select count(*) from experiment"), "0");
    place.run(["import", "good.txt", "--level", "disk"]).expect(64).says(&["write FACTOR=LEVEL"]);
    place
        .run(["import", "good.txt", "--sampling-rate", "2"])
        .expect(64)
        .says(&["--sampling-rate must be above 0, up to 1"]);
    place.run(["import"]).expect(64);
    // Also from standard input.
    let mut piped = place.command(["import", "-"]);
    piped.stdin(std::fs::File::open(place.path().join("good.txt")).expect("a report"));
    support::finish(piped).expect(0);
    assert_eq!(place.sql("select tps from v_run"), "5");
}

/// Numbers that nobody has more of are compared as runs are.
#[test]
fn numbers_of_a_table_and_of_other_load_testers_are_compared() {
    let place = Place::new();
    let row = |(disk, round, nopm): (&str, u32, u32)| format!("{disk},{round},{nopm},{}.5\n", 10 + round);
    let rows = [
        ("hdd", 1, 30_000),
        ("hdd", 2, 30_600),
        ("hdd", 3, 29_700),
        ("hdd", 4, 30_300),
        ("ssd", 1, 60_000),
        ("ssd", 2, 61_200),
        ("ssd", 3, 59_400),
        ("ssd", 4, 60_600),
    ];
    let rows: String = rows.map(row).concat();
    place.write("numbers.csv", format!("Disk,run,NOPM,p95 (ms)\n{rows}"));
    let import =
        ["import", "--name", "disks", "--table", "numbers.csv", "--compare", "disk", "--base", "hdd"];
    place.run(import).expect(0).says(&["NOPM is compared, as tps"]);
    assert_eq!(place.sql("select count(*) || ' ' || max(round) || ' ' || max(tps) from run"), "8 4 1020.0");
    let compared = place.run(["compare", "-e", "disks", "--format", "csv"]).expect(0).stdout;
    assert!(
        compared.contains("ssd") && compared.contains("100") && compared.contains("faster"),
        "{compared}"
    );
    place.run(import).expect(64).says(&["numbers.csv was imported before"]);
    // Without arms: mean, interval and outliers.
    let repeats: String = [5.0, 5.1, 4.9, 5.0, 5.05, 4.95, 9.0].map(|s| format!("a,{s}\n")).concat();
    place.write("times.csv", format!("host,load_min\n{repeats}"));
    place.run(["import", "--name", "times", "--table", "times.csv"]).expect(0);
    let repeats = place.run(["compare", "-e", "times"]).expect(0).stdout;
    assert!(repeats.contains("round 7 (9 min"), "{repeats}");
    place.write("result.txt", "Vuser 1:TEST RESULT : System achieved 6600 NOPM from 15000 PostgreSQL TPM\n");
    place.run(["import", "--name", "h", "result.txt"]).expect(0).says(&["new orders per minute"]);
    assert_eq!(place.sql("select tps from v_run where workload = 'hammerdb tprocc'"), "110");
    place.write("bad.csv", "disk,tps\nhdd,5\nssd,many\n");
    place
        .run(["import", "--table", "bad.csv"])
        .expect(65)
        .says(&["bad.csv:3: invalid number in column tps: \"many\""]);
    place.run(["import", "--figure", "tps"]).expect(64);
}

/// Sets an earlier schema version in the file header; the file must be closed.
fn make_earlier(results: &std::path::Path, version: u32) {
    let mut bytes = std::fs::read(results).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    bytes[68..72].fill(0);
    std::fs::write(results, bytes).unwrap();
}

#[test]
fn a_results_file_of_an_earlier_build_is_imported_once_more() {
    let place = Place::new();
    let report = "transaction type: x\nnumber of clients: 1\nnumber of transactions actually processed: 50\n\
                  tps = 5.0 (excluding connections establishing)\n";
    place.write("report.txt", report);
    place.run(["import", "report.txt", "--name", "nights", "--results", "old.sqlite"]).expect(0);
    let old = place.path().join("old.sqlite");
    make_earlier(&old, 8);
    let before = std::fs::read(&old).unwrap();
    let command = "earlier build of pgdyno; copy its experiments into a new results file: pgdyno import old.sqlite --results new.sqlite";
    for args in [&["table", "runs"][..], &["import", "report.txt"], &["import", "old.sqlite"]] {
        place
            .run(args.iter().chain(&["--results", "old.sqlite"]))
            .expect(65)
            .says(&["old.sqlite: ", command]);
    }
    for more in [&["report.txt"][..], &["--name", "x"], &["--again"], &["--rate", "5"]] {
        place
            .run(["import", "old.sqlite"].iter().chain(more))
            .expect(64)
            .says(&["import a results file alone"]);
    }
    let done = place.run(["import", "old.sqlite", "--results", "new.sqlite", "--format", "csv"]).expect(0);
    assert_eq!(done.stdout, "experiment,name,runs\r\n1,nights,1\r\n");
    let runs = ["table", "runs", "--results", "new.sqlite", "--format", "csv"];
    assert!(place.run(runs).expect(0).stdout.contains(",5"), "its figures are there");
    place.run(["import", "old.sqlite", "--results", "new.sqlite"]).expect(64).says(&["no experiments that"]);
    place.run(["import", "report.txt", "--results", "new.sqlite"]).expect(64).says(&["imported before"]);
    assert_eq!(std::fs::read(&old).unwrap(), before);
    make_earlier(&old, 7);
    place.run(["import", "old.sqlite"]).expect(65).says(&["too old (schema 7)"]);
    place.run(["import", "new.sqlite"]).expect(65).says(&["a results file of this version"]);
    assert!(!place.results().exists(), "nothing is left behind");
}

#[test]
fn what_bench_printed_elsewhere_is_kept_with_its_distribution_and_compared() {
    let (place, server) = (Place::new(), Server::start());
    let (elsewhere, url) = (Place::new(), server.url());
    for (host, sleep) in [("old", "0.040"), ("new", "0.001")] {
        elsewhere.write("work.sql", format!("select pg_sleep({sleep});\n"));
        let printed: String = (0..3)
            .map(|_| {
                let args = ["bench", "-f", "work.sql", "-c", "2", "-t", "50", "-n", "--format", "json", &url];
                elsewhere.run(args).expect(0).stdout
            })
            .collect();
        let file = place.write(&format!("{host}.json"), printed);
        let level = format!("host={host}");
        let args = ["import", "--name", "mail", "--compare", "host", "--level", &level];
        let args: Vec<&std::ffi::OsStr> = args.iter().map(AsRef::as_ref).chain([file.as_os_str()]).collect();
        let done = place.run(&args).expect(0);
        assert!(done.stdout.contains("work.sql") && !done.stderr.contains("not available"), "{done:?}");
        place.run(&args).expect(64).says(&["imported before"]);
    }
    // All figures equal the original ones.
    let figures = "select group_concat(f, ' ') from (select printf('%.6f %d %d %d %d', tps, p50_us, p99_us, max_us, ok) \
                   as f from v_run order by p99_us, tps)";
    assert_eq!(place.sql(figures), elsewhere.sql(figures));
    assert_eq!(place.sql("select group_concat(distinct validity) from v_run"), "suspect");
    assert!(place.sql("select doubts from v_run").contains("elsewhere; "));
    for metric in ["tps", "p50"] {
        let done =
            place.run(["compare", "-e", "mail", "--metric", metric]).expect(0).says(&["not interleaved"]);
        assert!(done.stdout.contains("faster"), "{metric}: {}", done.stdout);
    }

    // A run measured into this file is not imported again; an aggregate over several runs is not a run.
    let own = place.run(["bench", "-f", "-", "-t", "50", "-n", "--format", "json", "-S", &url]);
    assert_eq!(own.status.code(), Some(65), "nothing on standard input: {}", own.stderr);
    let script = place.write("one.sql", "select 1;\n");
    let own = place.run([
        "bench",
        "-f",
        script.to_str().expect("UTF-8"),
        "-t",
        "50",
        "-n",
        "--format",
        "json",
        &url,
    ]);
    let own = place.write("own.json", own.expect(0).stdout);
    place.run(["import".as_ref(), own.as_os_str()]).expect(64).says(&["imported before"]);
    for command in ["compare", "table"] {
        let printed = place.run([command, "-e", "mail", "--format", "json"]).expect(0).stdout;
        let file = place.write("summary.json", printed);
        let refused = place.run(["import".as_ref(), file.as_os_str()]).expect(65);
        refused.says(&[
            "summary.json:1: ",
            "without the runs that they are taken from",
            "send the results file itself",
        ]);
    }

    // The drop-in's report has averages.
    let printed =
        elsewhere.run(["pgbench", "-n", "-f", "work.sql", "-t", "30", "--format", "json", &url]).expect(0);
    let file = place.write("dropin.json", printed.stdout);
    place.run(["import".as_ref(), file.as_os_str()]).expect(0).says(&["percentiles not available"]);
}
