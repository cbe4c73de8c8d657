//! Names of figures.

use spec::figures;

use crate::{root, sources};

/// Sources in which a figure's name means something else: a column of PostgreSQL, an option, a field of
/// pgbench's formats.
const OTHER_NAMES: [&str; 7] = [
    "spec/src/figures/",
    "lab/src/collectors/postgres.rs",
    "pgdyno/src/commands/bench/against/",
    "report/src/pgbench/",
    "report/src/repeat/",
    "results/src/import/",
    "workloads/src/tiles/cache/options.rs",
];

/// Typed ids already ensure that figures are set and read through the table; this test checks headings and
/// keys. One-word names (`rows`, `late`) have other meanings, too.
#[test]
fn names_of_figures_are_in_the_table_alone() {
    let names: Vec<String> = figures::table()
        .filter(|row| row.name.contains('_'))
        .map(|row| format!("\"{}\"", row.name))
        .collect();
    let crates = root().join("crates");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&crates).expect("crates").flatten() {
        sources(&entry.path().join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&crates).expect("below crates").to_string_lossy();
        let is_other = OTHER_NAMES.iter().any(|other| path.starts_with(other));
        let is_test = path.ends_with("_tests.rs") || path.ends_with("fixture.rs");
        let text = std::fs::read_to_string(file).expect("UTF-8");
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let written = names.iter().filter(|name| !is_other && !is_test && text.contains(name.as_str()));
        found.extend(written.map(|name| format!("{path}: {name}")));
    }
    assert!(found.is_empty(), "take them from spec::figures:\n{}", found.join("\n"));
}
