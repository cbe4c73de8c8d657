//! Runs PostgreSQL's tests of pgbench with pgdyno under that name.
//!
//! The machine's real pgbench runs them too: an assertion counts if it passes there. `docs/reference/pgbench.md`
//! must list exactly the assertions that only pgdyno fails, with reasons: both a new failure and an outdated
//! line fail this test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::dropin::{link, major, reals};
use crate::support::{Place, not_available};

const WHAT: &str = "PostgreSQL's own tests of pgbench";

/// Files of the suite; each prints a line at its end.
const FILES: usize = 2;

/// Oldest major version whose tests need nothing that PostgreSQL 18 changed.
const CLEAN_SINCE: u32 = 17;

/// Exit status of `setup/pgbench-tests` if the tests are not available.
const NOT_AVAILABLE: i32 = 69;

#[test]
fn only_the_documented_assertions_of_pgbench_s_own_tests_are_missed() {
    let place = Place::new();
    let ours = link(&place);
    for real in reals() {
        judge(&ours, &real);
    }
}

/// Runs the tests of one version of pgbench with the real program and with pgdyno.
#[track_caller]
fn judge(ours: &Path, real: &Path) {
    let bin = real.parent().expect("a program in a folder");
    let baseline = match run_suite(real, bin) {
        Ok(outcome) => outcome,
        Err(reason) => return not_available(WHAT, &reason),
    };
    if baseline.ended < FILES {
        return not_available(
            WHAT,
            &format!("the real pgbench does not get through them here\n{}", baseline.talk),
        );
    }
    let ours = run_suite(ours, bin).expect("they ran a moment ago");
    let missed = ours.missed_of(&baseline);
    let suite = major(real);
    let Some(listed) = documented(suite) else {
        let reason =
            format!("docs/reference/pgbench.md has no list for the tests of {suite}; missed: {missed:#?}");
        return not_available(WHAT, &reason);
    };
    let new: Vec<_> = missed.difference(&listed).collect();
    // Assertions that the real pgbench of this minor version fails are not evaluated.
    let stale: Vec<_> = listed.difference(&missed).filter(|name| baseline.ok.contains_key(*name)).collect();
    assert!(
        new.is_empty() && stale.is_empty(),
        "tests of {suite}: {} of {} assertions passed\nmissed, but not in docs/reference/pgbench.md: {new:#?}\n\
         listed there, but passed: {stale:#?}\n{}",
        baseline.passed() - missed.len(),
        baseline.passed(),
        ours.talk,
    );
}

#[test]
fn names_are_compared_without_what_varies() {
    let varying = [
        ("bad status (got 1 vs expected 0)", "bad status (expected 0)"),
        (
            "random seeded with 1234 stderr /(?^:setting random seed to 1234\\b)/",
            "random seeded with * stderr /(?^:setting random seed to *\\b)/",
        ),
        ("transaction count for /tmp/x.1/log_2.77 (25)", "transaction count for *"),
        ("psql seeded_random count ok", "psql seeded_random count ok"),
    ];
    for (name, expected) in varying {
        assert_eq!(steady(name), expected);
    }
}

#[test]
fn every_line_of_the_documented_list_has_a_reason() {
    let rows = rows();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row.len(), 3, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}

/// Results of one pass over the suite: how often each assertion (by its stable name) passed.
struct Outcome {
    ok: BTreeMap<String, usize>,
    ended: usize,
    /// Output other than verdicts.
    talk: String,
}

impl Outcome {
    fn passed(&self) -> usize {
        self.ok.values().sum()
    }

    /// Assertions that passed more often in the baseline than here. A name that occurs several times and
    /// fails twice gets a second entry, "NAME (2)".
    fn missed_of(&self, baseline: &Self) -> BTreeSet<String> {
        let mut missed = BTreeSet::new();
        for (name, &wanted) in &baseline.ok {
            let got = self.ok.get(name).copied().unwrap_or_default();
            for which in 1..=wanted.saturating_sub(got) {
                missed.insert(if which == 1 { name.clone() } else { format!("{name} ({which})") });
            }
        }
        missed
    }
}

/// Runs the suite with the server programs in `bin`; the error is why it is not available.
fn run_suite(exe: &Path, bin: &Path) -> Result<Outcome, String> {
    let done = Command::new(root().join("setup/pgbench-tests"))
        .arg("-b")
        .arg(bin)
        .arg(exe)
        .output()
        .expect("a shell script of this repository");
    let talk = String::from_utf8_lossy(&done.stderr).into_owned();
    match done.status.code() {
        Some(0) => {}
        Some(NOT_AVAILABLE) => {
            let last = talk.lines().last().unwrap_or_default();
            return Err(last.trim_start_matches("not available: ").to_owned());
        }
        code => panic!("setup/pgbench-tests ended with {code:?}:\n{talk}"),
    }
    let mut outcome = Outcome { ok: BTreeMap::new(), ended: 0, talk };
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let mut fields = line.splitn(3, '\t');
        match (fields.next(), fields.next(), fields.next()) {
            (Some("ok"), Some(_), Some(name)) => *outcome.ok.entry(steady(name)).or_default() += 1,
            (Some("end"), ..) => outcome.ended += 1,
            _ => {}
        }
    }
    Ok(outcome)
}

/// Name of an assertion without parts that vary: the actual status, seeds from the clock, paths and lengths
/// of log files.
fn steady(name: &str) -> String {
    let mut name = name.to_owned();
    if let (Some(from), Some(to)) = (name.find("(got "), name.find(" vs expected")) {
        name.replace_range(from + 1..to + " vs ".len(), "");
    }
    if let Some(path) = name.find(" for /") {
        name.replace_range(path + " for ".len().., "*");
    }
    for before in ["seeded with ", "setting random seed to "] {
        let Some(number) = name.find(before).map(|at| at + before.len()) else { continue };
        let digits = name[number..].bytes().take_while(u8::is_ascii_digit).count();
        name.replace_range(number..number + digits, "*");
    }
    name
}

/// Assertions that the page lists for a major version; from [`CLEAN_SINCE`] on the list may be missing.
fn documented(suite: u32) -> Option<BTreeSet<String>> {
    let suite_cell = suite.to_string();
    let listed: BTreeSet<_> =
        rows().into_iter().filter(|row| row[0] == suite_cell).map(|row| row[1].clone()).collect();
    (suite >= CLEAN_SINCE || !listed.is_empty()).then_some(listed)
}

/// Rows of the page's table: suite, assertion, reason. A bar inside an assertion is written `\|`.
fn rows() -> Vec<Vec<String>> {
    let page =
        std::fs::read_to_string(root().join("docs/reference/pgbench.md")).expect("a page of this repository");
    page.lines()
        .filter(|line| line.starts_with("| ") && line[2..].starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| {
            let line = line.trim_matches(['|', ' ']).replace("\\|", "\0");
            line.split(" | ").map(|cell| cell.trim().trim_matches('`').replace('\0', "|")).collect()
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}
