//! Cases in which pgbench crashes, hangs, or loses measurements, and unexpected input.
//!
//! `conformance.rs` and `streams.rs` check behaviour that must equal pgbench's.

mod clients;
mod ends;
mod faults;
mod files;
mod scripts;

use crate::support::dropin::Bench;
use crate::support::{self, Finished};

#[test]
fn both_names_are_the_same_program() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let args = ["-n", "-t", "3", "-f", "one.sql"];
    let linked = bench.run(args).expect(0);
    let named = env!("CARGO_BIN_EXE_pgdyno").as_ref();
    let command = support::finish(bench.command(named, ["pgbench"].into_iter().chain(args))).expect(0);
    for done in [&linked, &command] {
        assert!(done.stdout.contains("actually processed: 3/3\n"), "{}", done.stdout);
        assert_eq!(done.stderr, "");
    }
    let refused = support::finish(bench.command(named, ["pgbench", "-c", "x"])).expect(1);
    let first = |said: &str| said.lines().next().map(str::to_owned);
    assert_eq!(first(&refused.stderr), first(&bench.run(["-c", "x"]).expect(1).stderr));
}

/// Asserts that a program ended by itself, with a message and without a panic.
#[track_caller]
fn assert_composed(done: &Finished, what: &str) {
    assert!(done.status.code().is_some(), "{what}: killed: {done:?}");
    for trace in ["panicked", "RUST_BACKTRACE", "overflowed its stack"] {
        assert!(!done.stderr.contains(trace), "{what}: {}", done.stderr);
    }
}

/// The number in the first line of a report that begins with `label`.
#[track_caller]
fn figure(report: &str, label: &str) -> f64 {
    let line = report
        .lines()
        .find_map(|line| line.strip_prefix(label))
        .unwrap_or_else(|| panic!("no {label:?} in:\n{report}"));
    let digits = line.trim_start_matches([':', '=', ' ']);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    digits[..end].parse().unwrap_or_else(|_| panic!("no figure in {line:?}"))
}
