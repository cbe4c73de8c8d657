//! The same statements with the same values as the real pgbench where that is deterministic: same seed,
//! scripts, clients and threads, compared through the server's log.
//!
//! `PGDYNO_REAL_PGBENCH=PATH[:PATH...]` compares with other versions than the machine's newest.

use std::path::{Path, PathBuf};

use crate::support::dropin::{Bench, Stream, major, reals};

/// A run of both programs.
struct Case<'a> {
    name: &'a str,
    /// Oldest real pgbench that supports it.
    since: u32,
    args: &'a str,
    /// SQL on the server before each of the two.
    reset: &'a str,
}

const fn case<'a>(name: &'a str, args: &'a str) -> Case<'a> {
    Case { name, since: 15, args, reset: "" }
}

/// Every random function, hash and permutation, with usual and extreme arguments.
const RANDOM: &str = r"
\set uniform random(1, 100000 * :scale)
\set wide random(-4611686018427387904, 4611686018427387902)
\set one random(5, 5)
\set gauss random_gaussian(-50, 1000, 2.5)
\set tight random_gaussian(1, 3, 2)
\set expo random_exponential(1, 1000000, 0.01)
\set steep random_exponential(-7, 7, 20)
\set zipf random_zipfian(1, 1000000, 1.5)
\set flat random_zipfian(1, 10, 1.001)
\set sheer random_zipfian(0, 2, 1000)
\set hashed hash(:uniform)
\set fnv hash_fnv1a(:wide, :client_id)
\set murmur hash_murmur2(:wide)
\set mixed permute(:uniform, 1000000)
\set moved permute(:wide, 9223372036854775807, 42)
SELECT :client_id, :uniform, :wide, :one, :gauss, :tight, :expo, :steep;
SELECT :zipf, :flat, :sheer, :hashed, :fnv, :murmur, :mixed, :moved, :default_seed, :random_seed;
";

/// Values of every type, as text and as parameters.
const VALUES: &str = r"
\set r random(1, 1000)
\set third 1.0 / 3
\set large 1e300 * 1e300
\set small 1 / 3e200
\set none null
\set yes :r > 0
\set no not :yes
\set pick case when :r % 3 = 0 then null when :r % 3 = 1 then 2.5 end
SELECT :r, :third, :large::text, :small, :yes, :no;
SELECT :r + :r, :r::text, :yes is not null, coalesce(:pick, 1.5), :none is null;
";

/// Names inside quotes and comments, a special case of protocols with parameters.
const QUOTED: &str = r#"
-- before :r
\set r random(1, 1000)
/* :r */ SELECT :r AS ":r", ':r', $$:r$$ /* :r */, 'a'::text, E'\':r', :absent
; -- :r
  select ':unknown' , ':1', a[:r] from (values (array[1])) as t(a)
"#;

/// Rows stored in variables, branches that depend on them, several statements per message.
const BRANCHES: &str = r"
\set r random(1, 1000)
SELECT :r AS r, 'it''s' AS word, NULL AS nothing \gset got_
\if :got_r % 2 = 0
SELECT 'even', :got_r, ':got_word';
\elif :got_r % 3 = 0
\set again random(1, 9)
SELECT 'three', :again;
\else
\sleep 100 us
SELECT 'other';
\endif
\setshell five echo 5
\shell true
SELECT :five + 1 AS six \aset
SELECT :six;
";

const COMBINED: &str = "\\set a random(1, 9)\nSELECT :a \\; SELECT :a + 1 AS b, 'x;y' AS c \\gset\nSELECT :b;\n\
    BEGIN \\;\nSELECT $$a;b$$ \\; /* c;d */ COMMIT;\nSELECT 2 AS e \\; SELECT 3 AS e \\aset\nSELECT :e\n";

const PIPELINE: &str = "\\set a random(1, 1000000)\n\\startpipeline\nBEGIN;\nSELECT :a;\n\\set b random(1, :a)\nSELECT :b, 'x';\n\
    END;\n\\endpipeline\nSELECT 'after';\n\\startpipeline\n\\endpipeline\n";

const SYNCED: &str = "\\set a random(1, 1000000)\n\\startpipeline\nSELECT :a;\n\\syncpipeline\nSELECT :a + 1;\n\\endpipeline\n";

/// Fails two of three tries: inside a block, alone, and in a pipeline.
const FLAKY: [(&str, &str); 3] = [
    (
        "block.sql",
        "\\set r random(1, 1000000)\nBEGIN;\nSELECT :r, flaky(3);\nEND;\n\\set s random(1, 1000000)\nSELECT :s;\n",
    ),
    ("alone.sql", "\\set r random(1, 1000000)\nSELECT :r, flaky(3);\n"),
    (
        "pipe.sql",
        "\\set r random(1, 1000000)\n\\startpipeline\nBEGIN;\nSELECT :r, flaky(3);\nEND;\n\\endpipeline\nSELECT :r;\n",
    ),
];

const FLAKY_FUNCTION: &str = "CREATE SEQUENCE tries;
    CREATE FUNCTION flaky(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') % n <> 0 THEN RAISE 'again' USING errcode = 'serialization_failure'; END IF; RETURN n;
    END $$";

/// Runs every real pgbench and pgdyno, and compares status and streams.
fn compare(bench: &Bench, cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for real in reals() {
        let version = major(&real);
        for case in cases.iter().filter(|case| case.since <= version) {
            let (expected, streams) = make(bench, &real, case);
            let (got, ours) = make(bench, &bench.ours, case);
            assert!(!streams.is_empty(), "{}: the real pgbench sent nothing: {expected:?}", case.name);
            let difference = difference(&streams, &ours);
            if got.status.code() != expected.status.code() || difference.is_some() {
                let what = difference.unwrap_or_default();
                wrong.push(format!(
                    "{} (pgbench {version}): {}\nexit {:?}, expected {:?}\n{what}\nours said: {}",
                    case.name,
                    case.args,
                    got.status.code(),
                    expected.status.code(),
                    got.stderr
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} runs differ\n\n{}", wrong.len(), wrong.join("\n\n"));
}

fn make(bench: &Bench, exe: &Path, case: &Case<'_>) -> (crate::support::Finished, Vec<Stream>) {
    if !case.reset.is_empty() {
        bench.server.psql(case.reset);
    }
    let command = bench.command(exe, case.args.split_whitespace().chain(["-n", "--random-seed=20240229"]));
    bench.record(command)
}

/// First difference of two recordings, as text.
fn difference(expected: &[Stream], got: &[Stream]) -> Option<String> {
    let (expected, got): (Vec<_>, Vec<_>) = (expected.iter().collect(), got.iter().collect());
    for (number, (wanted, sent)) in expected.iter().zip(&got).enumerate() {
        let same = wanted.iter().zip(sent.iter()).take_while(|(a, b)| a == b).count();
        if same < wanted.len().max(sent.len()) {
            let from = same.saturating_sub(2);
            let show = |stream: &Stream| {
                stream.iter().skip(from).take(5).map(|entry| format!("    {entry}\n")).collect::<String>()
            };
            return Some(format!(
                "stream {number} differs at entry {same}\n  expected ({}):\n{}  sent ({}):\n{}",
                wanted.len(),
                show(wanted),
                sent.len(),
                show(sent)
            ));
        }
    }
    (expected.len() != got.len()).then(|| format!("{} streams, expected {}", got.len(), expected.len()))
}

#[test]
fn builtin_scripts_send_what_pgbench_sends() {
    let bench = Bench::start();
    bench.init();
    compare(
        &bench,
        &[
            case("default", "-c 3 -t 5"),
            case("tpcb-like, threads", "-b tpcb-like -c 4 -j 2 -t 5 -M extended"),
            case("simple-update", "-N -c 3 -j 3 -t 5 -M prepared"),
            case("select-only", "-S -c 5 -j 2 -t 20 -M prepared"),
            case("select-only, reconnecting", "-S -C -c 2 -t 5"),
            case("select-only, reconnecting, prepared", "-S -C -c 2 -j 2 -t 5 -M prepared"),
            case("mixed, a client per thread", "-b tpcb@2 -b simple@3 -b select@5 -c 4 -j 4 -t 10"),
            case("throttled", "-S -c 2 -j 2 -t 20 -R 1000"),
        ],
    );
}

#[test]
fn scripts_send_what_pgbench_sends_in_every_mode() {
    let bench = Bench::start();
    for (name, text) in [
        ("random.sql", RANDOM),
        ("values.sql", VALUES),
        ("quoted.sql", QUOTED),
        ("branches.sql", BRANCHES),
        ("combined.sql", COMBINED),
        ("pipeline.sql", PIPELINE),
        ("synced.sql", SYNCED),
        ("unset.sql", "\\set r random(1, 9)\nSELECT :absent, :r;\n"),
        ("null.sql", "\\set none null\n\\set r random(1, 9)\nSELECT :r, ':none' || :none::text;\n"),
    ] {
        bench.place.write(name, text);
    }
    let mut cases = vec![
        case("statements in one message", "-f combined.sql -c 2 -t 3"),
        case("names inside quotes", "-f quoted.sql -t 3 -D absent='it'"),
        case("names inside quotes as parameters", "-f quoted.sql -t 3 -M extended"),
        case("own seeds", "-f random.sql -t 5 -D default_seed=7 -D random_seed=1"),
        case("own scale", "-f random.sql -t 5 -s 30"),
        case("variables", "-f unset.sql -t 2 -D absent=text -M extended"),
        case("reconnecting", "-f branches.sql -t 4 -c 2 -C -M prepared"),
        case("unset, simple", "-f unset.sql -t 2 -c 2"),
        case("two scripts, reconnecting", "-f random.sql -f values.sql@2 -c 2 -j 2 -t 6 -C"),
        case(
            "three scripts",
            "-f random.sql@3 -f values.sql@2 -f branches.sql@1 -c 3 -j 3 -t 10 -M prepared",
        ),
    ];
    for args in [
        "-f random.sql -c 4 -j 2 -t 10",
        "-f values.sql -c 4 -j 2 -t 10",
        "-f branches.sql -c 4 -j 2 -t 10",
        "-f null.sql -t 3",
    ] {
        cases.push(case("simple", args));
    }
    let more: Vec<_> = ["extended", "prepared"]
        .iter()
        .flat_map(|mode| {
            [
                "random.sql -c 4 -j 2",
                "values.sql -c 2",
                "branches.sql -c 4 -j 4",
                "pipeline.sql -c 3",
                "unset.sql",
                "null.sql",
            ]
            .map(|what| format!("-M {mode} -t 5 -f {what}"))
        })
        .collect();
    cases.extend(more.iter().map(|args| case("protocol", args)));
    for args in ["-f synced.sql -t 3 -M extended", "-f synced.sql -t 3 -c 2 -M prepared"] {
        cases.push(Case { since: 17, ..case("syncpipeline", args) });
    }
    compare(&bench, &cases);
}

#[test]
fn retries_and_errors_send_what_pgbench_sends() {
    let bench = Bench::start();
    bench.server.psql(FLAKY_FUNCTION);
    for (name, text) in FLAKY {
        bench.place.write(name, text);
    }
    bench.place.write("broken.sql", "\\set r random(1, 9)\nSELECT :r;\nSELEC :r;\n");
    bench.place.write("zero.sql", "\\set r random(1, 9)\nSELECT :r / 0;\nSELECT 2;\n");
    bench.place.write("open.sql", "BEGIN;\nSELECT 1;\n");
    let calls: Vec<_> = ["simple", "extended", "prepared"]
        .iter()
        .flat_map(|mode| {
            [
                "-f block.sql --max-tries 3",
                "-f block.sql --max-tries 2",
                "-f alone.sql --max-tries 9",
                "-f block.sql",
            ]
            .into_iter()
            .chain(["-f pipe.sql --max-tries 4"].into_iter().filter(|_| *mode != "simple"))
            .chain(["-f broken.sql", "-f zero.sql -c 2", "-f open.sql"])
            .map(move |what| format!("-t 4 -M {mode} {what}"))
        })
        .collect();
    let cases: Vec<_> = calls
        .iter()
        .map(|args| Case { reset: "ALTER SEQUENCE tries RESTART", ..case("errors", args) })
        .collect();
    compare(&bench, &cases);
}

/// With several scripts and several clients per thread, timing determines which client runs which script, but
/// not how often a thread chooses each script.
#[test]
fn threads_choose_scripts_as_pgbench_does() {
    let bench = Bench::start();
    for name in ["a", "b", "c"] {
        bench.place.write(&format!("{name}.sql"), format!("SELECT '{name}', :client_id\n"));
    }
    let args = "-f a.sql@5 -f b.sql@3 -f c.sql -c 6 -j 2 -t 20";
    for real in reals() {
        let choices = |exe: &Path| {
            let (finished, streams) = make(&bench, exe, &case("choices", args));
            finished.expect(0);
            // Clients 0 to 2 belong to the first thread.
            let mut chosen: Vec<_> = streams
                .iter()
                .flatten()
                .map(|entry| {
                    let second = entry.ends_with(['3', '4', '5']);
                    (second, entry.contains("'a'"), entry.contains("'b'"))
                })
                .collect();
            chosen.sort_unstable();
            chosen
        };
        let expected = choices(&real);
        assert_eq!(expected.len(), 120);
        assert_eq!(choices(&bench.ours), expected, "{}", real.display());
    }
}

/// Lines of the log files of a run, a list per thread.
fn logged(bench: &Bench, exe: &Path, args: &str) -> Vec<Vec<Vec<i64>>> {
    let folder = bench.place.path().join("log");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("own folder");
    let prefix = format!("--log-prefix={}", folder.join("log").display());
    let args = args.split_whitespace().chain(["-l", "-n", "--random-seed=7", "-f", "one.sql", &prefix]);
    crate::support::finish(bench.command(exe, args)).expect(0);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("own folder").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).expect("a log");
            text.lines()
                .map(|line| line.split(' ').map(|field| field.parse().expect("a number")).collect())
                .collect()
        })
        .collect()
}

#[test]
fn throttled_slots_fall_when_pgbench_s_do() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let slots = |exe: &Path| -> Vec<Vec<i64>> {
        let threads = logged(&bench, exe, "-c 2 -j 2 -t 150 -R 200");
        let slot = |line: &Vec<i64>| line[4] * 1_000_000 + line[5] - line[2];
        threads.iter().map(|lines| lines.iter().map(slot).collect()).collect()
    };
    for real in reals() {
        let (expected, got) = (slots(&real), slots(&bench.ours));
        assert_eq!(expected.len(), got.len(), "threads");
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(expected.len(), got.len());
            // The slot is the time of writing minus the latency, and so a little late if the thread was not
            // running in between. Wrong gaps of 10 ms would add up to far more.
            let mut apart: Vec<_> = expected.iter().zip(got).map(|(a, b)| b - a).collect();
            apart.sort_unstable();
            let middle = apart[apart.len() / 2];
            let near = apart.iter().filter(|&&by| (by - middle).abs() < 500).count();
            assert!(near * 10 >= apart.len() * 9, "{near} of {} slots agree: {apart:?}", apart.len());
        }
    }
}

#[test]
fn logs_are_sampled_as_pgbench_samples_them() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let numbers = |exe: &Path| -> Vec<Vec<i64>> {
        let threads = logged(&bench, exe, "-c 2 -j 2 -t 200 --sampling-rate=0.1");
        threads.iter().map(|lines| lines.iter().map(|line| line[1]).collect()).collect()
    };
    for real in reals() {
        let expected = numbers(&real);
        assert!(expected.iter().all(|thread| (5..60).contains(&thread.len())), "{expected:?}");
        assert_eq!(numbers(&bench.ours), expected);
    }
}
