//! `pgdyno merge`, without a server.

use std::path::{Path, PathBuf};

use spec::{ExperimentPart, Run, RunPart};

use crate::geopackage::{runs, stored_part};
use crate::support::{Place, in_one_line};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A share of each run of an experiment, in a file of its own.
fn share(place: &Place, number: u32) -> PathBuf {
    let path = place.path().join(format!("part{number}.sqlite"));
    let part = |run: &Run| RunPart {
        load: run
            .uuid
            .replace('-', "")
            .chars()
            .map(|c| if c.is_ascii_hexdigit() { c } else { 'a' })
            .collect(),
        number,
        of: 2,
        clock_offset_us: 0.0,
        clock_error_us: 10.0,
        late_us: 0.0,
    };
    let runs = runs().into_iter().map(|run| Run {
        parts: vec![part(&run)],
        uuid: format!("{number}{}", &run.uuid[1..]),
        counts: [(spec::figures::DUE, 10), (spec::figures::OK, u64::from(10 * number))].into(),
        ..run
    });
    stored_part(&path, "map", runs.collect(), vec![ExperimentPart { number, of: 2, shared: true }]);
    path
}

#[test]
fn parts_of_a_load_are_merged_and_a_missing_one_is_named() {
    let place = Place::new();
    let (one, two) = (share(&place, 1), share(&place, 2));
    let merge = |arguments: &[&str]| place.run([&["merge"], arguments].concat());
    merge(&[text(&one), "-o", "some.sqlite"])
        .expect(68)
        .says(&["part 2 of 2 is missing", "pgdyno merge some.sqlite PART.sqlite -o some.sqlite --replace"]);
    let whole = merge(&["some.sqlite", text(&two), "-o", "all.sqlite"]).expect(0);
    assert!(in_one_line(&whole.stdout).contains("2 of 2"), "{}", whole.stdout);
    let table = place.run(["table", "runs", "--format", "csv", "--results", "all.sqlite"]).expect(0).stdout;
    assert!(table.contains(",30,"), "10 + 20 transactions: {table}");
    merge(&["all.sqlite", text(&one), "-o", "all.sqlite"]).expect(74).says(&["it exists already"]);
    merge(&["all.sqlite", text(&one), "-o", "all.sqlite", "--replace"]).expect(0);
    let again = place.run(["table", "runs", "--format", "csv", "--results", "all.sqlite"]).expect(0).stdout;
    assert_eq!(again, table, "nothing counts twice");
    let names =
        std::fs::read_dir(place.path()).expect("own folder").map(|entry| entry.expect("one").file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains("merge")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn files_that_contradict_each_other_are_named() {
    let place = Place::new();
    // Two experiments have runs of the same identity.
    for name in ["january", "february"] {
        stored_part(&place.path().join(format!("{name}.sqlite")), name, runs(), Vec::new());
    }
    let merge = |file: &str| place.run(["merge", "january.sqlite", file, "-o", "all.sqlite"]);
    merge("february.sqlite").expect(65).says(&["is not the same in ", "january.sqlite", "february.sqlite"]);
    let alone = merge("january.sqlite").expect(0).says(&["results: all.sqlite"]);
    assert!(alone.stdout.contains("january"), "{}", alone.stdout);
}
