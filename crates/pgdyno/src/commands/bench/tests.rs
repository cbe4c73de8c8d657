//! Options that pgbench's users type after `pgdyno bench`.

use std::collections::BTreeSet;

use super::{Args, ScriptChoice};
use crate::commands::pgbench::names;
use crate::commands::{Command, parse_from};
use crate::exit::CommandFailure;

fn bench(words: &str) -> Result<Box<Args>, clap::Error> {
    let words = ["pgdyno", "bench"].into_iter().chain(words.split_whitespace());
    match parse_from(words.map(Into::into))?.command {
        Command::Bench(args) => Ok(args),
        other => panic!("{other:?}"),
    }
}

/// The message, and the command to type instead; `None` if the line is valid.
fn refused(words: &str) -> Option<(String, String)> {
    let args = bench(words).unwrap_or_else(|error| panic!("{words}: {error}"));
    let refused = args.given.check(args.tables.initialize, "r.sqlite").err()?;
    let failure = refused.downcast::<CommandFailure>().expect("a failure with its code");
    Some((failure.what, failure.hint.unwrap_or_default()))
}

#[test]
fn scripts_keep_the_order_they_were_given_in() {
    let args = bench("-f a.sql@2 -S -b tpcb -f b.sql -N -S db").expect("valid");
    let names: Vec<String> = args
        .scripts
        .in_order
        .iter()
        .map(|script| match script {
            ScriptChoice::File(name) | ScriptChoice::Builtin(name) => name.clone(),
        })
        .collect();
    assert_eq!(names, ["a.sql@2", "select-only", "tpcb", "b.sql", "simple-update", "select-only"]);
}

struct Case {
    typed: &'static str,
    instead: Option<&'static str>,
}

const fn works(typed: &'static str) -> Case {
    Case { typed, instead: None }
}

const fn names_command(typed: &'static str, instead: &'static str) -> Case {
    Case { typed, instead: Some(instead) }
}

const CASES: [Case; 52] = [
    works("--builtin=select-only test"),
    works("-b tpcb@3 -b simple test"),
    names_command("-c 2 --builtin list", "pgdyno pgbench -b list"),
    works("--client=4 test"),
    works("-c4 -j2 -T10 -S -M prepared -n -r test"),
    works("--connect test"),
    works("--dbname=test"),
    works("-d test -c 2"),
    works("--define=x=1 -Dy=2 test"),
    works("--file=a.sql@2 -f - test"),
    works("-i --fillfactor=90 test"),
    works("--host=h --port=5433 --username=u test"),
    works("-h h -p 5433 -U u -d test"),
    works("--initialize -s 10 test"),
    works("-i --init-steps=dtg test"),
    works("--jobs=2 -c 2 test"),
    names_command("-l -c 4 test", "pgdyno pgbench --results r.sqlite -l -c 4 test"),
    names_command(
        "--log --log-prefix=x --may-be-empty --format md test",
        "pgdyno pgbench --results r.sqlite -l --log-prefix=x test",
    ),
    works("--latency-limit=10 --rate=100 test"),
    works("-L 10 -R 100 -P 1 test"),
    works("--no-vacuum test"),
    works("-i -n test"),
    works("--progress=5 test"),
    works("-P 5 --progress-timestamp test"),
    works("--protocol=prepared test"),
    works("-i -q --quiet test"),
    works("--report-per-command test"),
    works("-i --scale=10 test"),
    works("--select-only --skip-some-updates test"),
    works("--time=10 test"),
    works("--transactions=10 test"),
    names_command("--vacuum-all test", "pgdyno pgbench --results r.sqlite --vacuum-all test"),
    works("-i --unlogged-tables --foreign-keys test"),
    works("-i --tablespace=a --index-tablespace=b test"),
    works("-i --partitions=4 --partition-method=HASH test"),
    names_command("-l --sampling-rate 0.1", "pgdyno pgbench --results r.sqlite -l --sampling-rate=0.1"),
    names_command(
        "-T 60 --aggregate-interval=10 -l test",
        "pgdyno pgbench --results r.sqlite -T 60 --aggregate-interval=10 -l test",
    ),
    works("--random-seed=7 test"),
    works("--random-seed=time test"),
    names_command("--show-script=tpcb-like", "pgdyno pgbench --show-script=tpcb-like"),
    names_command("--failures-detailed test", "pgdyno pgbench --results r.sqlite --failures-detailed test"),
    works("--max-tries=3 test"),
    names_command("--verbose-errors test", "pgdyno pgbench --results r.sqlite --verbose-errors test"),
    names_command("--exit-on-abort test", "pgdyno pgbench --results r.sqlite --exit-on-abort test"),
    names_command("--debug -S test", "pgdyno pgbench --results r.sqlite --debug -S test"),
    works("--continue-on-error test"),
    // Abbreviations; the last value counts.
    works("--cli 2 --cli 4 --sel test"),
    // Options that are only valid with, or only without, -i.
    names_command("-i -s 5 -c 4 -T 10 test", "pgdyno bench -i -s 5 test && pgdyno bench -c 4 -T 10 test"),
    names_command("--partitions 4 -s 5 test", "pgdyno bench -i --partitions=4 -s 5 test"),
    names_command("-i -l test", "pgdyno bench -i test && pgdyno bench -l test"),
    names_command("-h h -l shop;x", "pgdyno pgbench --results r.sqlite -h h -l 'shop;x'"),
    names_command("-l postgres://u:secret@h/shop", "pgdyno pgbench --results r.sqlite -l CONNECTION"),
];

#[test]
fn every_option_of_pgbench_works_or_names_the_command_that_has_it() {
    for case in &CASES {
        match (refused(case.typed), case.instead) {
            (None, None) => {}
            (Some((what, hint)), Some(instead)) => assert_eq!(hint, instead, "{}: {what}", case.typed),
            (other, instead) => panic!("{}: {other:?} instead of {instead:?}", case.typed),
        }
    }
    let typed: String = CASES.iter().map(|case| format!("{} ", case.typed)).collect();
    let typed: BTreeSet<&str> =
        typed.split_whitespace().map(|word| word.split('=').next().unwrap_or(word)).collect();
    let missing: Vec<_> = names().filter(|name| !typed.contains(format!("--{name}").as_str())).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn what_is_refused_is_named_with_its_reason() {
    for (typed, wanted) in [
        ("-l test", "-l: pgdyno bench writes no log of transactions; the drop-in does"),
        ("-i -c 4 test", "--client means nothing when tables are made (-i)"),
        ("-q test", "--quiet means nothing without -i"),
        ("-b list", "-b list: pgdyno bench lists no scripts; the drop-in does"),
    ] {
        assert_eq!(refused(typed).map(|(what, _)| what).as_deref(), Some(wanted), "{typed}");
    }
}

#[test]
fn a_rate_that_changes_needs_its_time() {
    let told = |rate: &str, rest: &str| {
        let words = ["pgdyno", "bench", "-R", rate].into_iter().chain(rest.split_whitespace());
        let parsed = parse_from(words.map(Into::into)).expect("any text is an argument").command;
        let Command::Bench(args) = parsed else { panic!("{parsed:?}") };
        match super::once::rate(&args) {
            Ok(profile) => profile.map(|profile| profile.to_string()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    };
    for (rate, rest, wanted) in [
        ("100.5", "-t 10", "100.5"),
        ("ramp 100..400 over 30s", "-T 30", "ramp 100..400 over 30s"),
        (
            "ramp 100..400 over 30s",
            "-T 20",
            "--rate \"ramp 100..400 over 30s\" takes 30 s, and the run lasts 20 s (-T)",
        ),
        ("ramp 100..400 over 30s", "-t 10", "--rate: a rate that changes needs a duration (-T)"),
        (
            "ramp 100..400",
            "-T 30",
            "--rate cannot be \"ramp 100..400\": it does not say how long it takes (\"over …\")",
        ),
        ("0", "-T 30", "--rate must be from 0.001 to 10000000"),
    ] {
        assert_eq!(told(rate, rest), wanted, "-R '{rate}' {rest}");
    }
}
