//! The same text on both streams and the same exit status as the real pgbench 18, except for numbers with a
//! decimal point.
//!
//! Older versions print other reports: `PGDYNO_REAL_PGBENCH=PATH[:PATH...]` must name version 18 or newer if
//! the machine's is older.

use std::path::Path;

use crate::support::dropin::{Bench, major, reals};
use crate::support::{finish, not_available};

/// Oldest version with the same report.
const SAME_SINCE: u32 = 18;

const SCRIPTS: [(&str, &str); 8] = [
    ("one.sql", "SELECT 1;\n"),
    ("two.sql", "\\set x random(1, 10)\nSELECT :x;\n\n-- comment\nSELECT 2 \\; SELECT 3;\n\\sleep 1 ms\n"),
    ("flaky.sql", "\\set r random(1, 9)\nBEGIN;\nSELECT flaky(3);\nEND;\n"),
    ("never.sql", "SELECT flaky(1000000);\n"),
    ("zero.sql", "SELECT 1;\nSELECT 1 / 0;\n"),
    ("open.sql", "BEGIN;\nSELECT 1;\n"),
    ("debug.sql", "\\set x debug(random(1, 100)) + debug(1.5 * :client_id)\nSELECT :x;\n"),
    (
        "notice.sql",
        "DO $$ BEGIN RAISE NOTICE 'hear, hear'; RAISE WARNING 'second' USING hint = 'none'; END $$;\n",
    ),
];

const FLAKY: &str = "CREATE SEQUENCE tries;
    CREATE FUNCTION flaky(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') % n <> 0 THEN RAISE 'again' USING errcode = 'serialization_failure'; END IF; RETURN n;
    END $$";

/// Command lines for both; each ends, and is deterministic.
const CALLS: [&str; 47] = [
    "-n -S -t 5",
    "-S -t 5",
    "-v -t 5",
    "-N -n -t 5 -c 3 -j 2",
    "-n -t 5 -r",
    "-n -t 5 -r -M prepared -c 2",
    "-n -S -t 5 -s 9",
    "-n -f one.sql -t 5 -s 9",
    "-n -f one.sql -t 5 -C",
    "-n -f one.sql -t 5 -C -r -c 2",
    "-n -f one.sql -t 5 -P 5",
    "-n -f one.sql -t 5 -R 1000",
    "-n -f one.sql -t 5 -R 1000 -L 1000 -r",
    "-n -f one.sql -t 5 -L 1000",
    "-n -f one.sql -f two.sql@0 -t 5",
    "-n -f one.sql -f two.sql@0 -t 5 -r",
    "-n -S -f two.sql@3 -t 20 -r",
    "-n -b tpcb@2 -b se@3 -b si -t 20 -r --failures-detailed --max-tries=2",
    "-n -f two.sql -t 3 -r",
    "-n -f flaky.sql -t 4 --max-tries=3",
    "-n -f flaky.sql -t 4 --max-tries=3 -r --failures-detailed",
    "-n -f flaky.sql -t 4 --max-tries=2 -r --failures-detailed --verbose-errors",
    "-n -f flaky.sql -t 4 --max-tries=2 -f one.sql --failures-detailed -M extended",
    "-n -f flaky.sql -t 3 --max-tries=0 -L 60000 --verbose-errors -M prepared",
    "-n -f never.sql -t 3",
    "-n -f never.sql -t 3 -L 100 -r",
    "-n -f zero.sql -t 3",
    "-n -f zero.sql -t 3 -c 3 -r",
    "-n -f zero.sql -f one.sql -t 3 -M prepared",
    "-n -f zero.sql -t 3 --exit-on-abort",
    "-n -f open.sql -t 3",
    "-n -f debug.sql -t 2 -c 2",
    "-n -f notice.sql -t 2",
    "-n -f one.sql -t 2 --debug",
    "-n -f two.sql -t 1 --debug -M prepared",
    "-n -f flaky.sql -t 1 --debug --max-tries=4",
    "-i -s 2",
    "-i -q -s 1 -n",
    "-i -I dtGvpf --fillfactor=80",
    "-i --partitions=3 --partition-method=hash --foreign-keys",
    "-n -S -t 2",
    "-i -I d",
    "-S -t 1",
    "-t 1",
    "-n -t 1 nowhere",
    "-n -f one.sql -t 2 -U nobody",
    "--show-script=tpcb-like",
];

#[test]
fn reports_and_messages_are_those_of_pgbench() {
    let reals: Vec<_> = reals().into_iter().filter(|real| major(real) >= SAME_SINCE).collect();
    if reals.is_empty() {
        return not_available("reports of the real pgbench", "it is older than 18");
    }
    let bench = Bench::start_with(&[]);
    bench.init();
    bench.server.psql(FLAKY);
    for (name, text) in SCRIPTS {
        bench.place.write(name, text);
    }
    let mut wrong = String::new();
    for call in CALLS {
        let ours = said(&bench, &bench.ours, call);
        for real in &reals {
            let expected = said(&bench, real, call);
            if ours != expected {
                wrong += &format!("=== pgbench {call}\n--- expected\n{expected}--- got\n{ours}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Exit status and both streams of a call, without parts that vary.
fn said(bench: &Bench, exe: &Path, call: &str) -> String {
    bench.server.psql("ALTER SEQUENCE tries RESTART");
    let done = finish(bench.command(exe, call.split(' ').chain(["--random-seed=5"])));
    let banner = |line: &&str| !line.starts_with("pgbench (");
    let stdout: String = done.stdout.lines().filter(banner).map(|line| steady(line) + "\n").collect();
    let mut stderr: Vec<_> = done.stderr.split_inclusive(['\n', '\r']).map(steady).collect();
    // One answer may arrive in several pieces.
    stderr.dedup_by(|line, before| line == before && line.ends_with("receiving\n"));
    if call.contains(" -c ") {
        // Several clients print in any order.
        stderr.sort();
    }
    let stderr = stderr.concat();
    format!("exit {:?}\nstdout: {stdout}stderr: {stderr}", done.status.code())
}

/// A line without numbers that have a decimal point.
fn steady(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(from) = rest.find(|c: char| c.is_ascii_digit()) {
        shown += &rest[..from];
        let after =
            rest[from..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |to| from + to);
        let number = &rest[from..after];
        // Columns are aligned: the number of blanks before a number varies.
        if number.contains('.') {
            shown.truncate(shown.trim_end().len());
            shown.push('#');
        } else {
            shown += number;
        }
        rest = &rest[after..];
    }
    shown + rest
}
