//! Rules of the workspace: dependencies between crates, and documentation of everything that users can type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use spec::figures::{self, FigureRow, Source};

/// Allowed dependencies, as in ARCHITECTURE.md.
const MAY_KNOW: &[(&str, &[&str])] = &[
    (
        "pgdyno",
        &[
            "engine",
            "lab",
            "osm",
            "protocol",
            "spec",
            "report",
            "results",
            "script",
            "stats",
            "server",
            "tile",
            "workloads",
        ],
    ),
    ("lab", &["engine", "osm", "protocol", "spec", "results", "stats", "server", "tile", "workloads"]),
    ("server", &["protocol", "spec", "stats"]),
    ("workloads", &["engine", "osm", "protocol", "spec", "script", "stats", "tile"]),
    ("engine", &["spec", "stats"]),
    ("osm", &["spec"]),
    ("results", &["osm", "spec", "stats", "tile"]),
    ("report", &["spec", "results", "stats", "tile"]),
    ("spec", &["stats"]),
    ("protocol", &[]),
    ("script", &[]),
    ("stats", &[]),
    ("tile", &[]),
    // Not part of the product: it measures the product.
    ("benches", &["engine", "lab", "protocol", "results", "spec", "stats", "server", "tile", "workloads"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn short(name: &str) -> &str {
    name.strip_prefix("pgdyno-").unwrap_or(name)
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(vec!["--offline".into(), "--locked".into()])
        .no_deps()
        .exec()
        .expect("cargo metadata")
}

/// Requirements of crates.io, and metadata for searches.
#[test]
fn published_crates_describe_themselves() {
    let metadata = metadata();
    let is_published = |package: &&Package| package.publish.is_none();
    assert_eq!(
        metadata.packages.iter().filter(is_published).count(),
        metadata.packages.len() - 1,
        "all but benches"
    );
    for package in metadata.packages.iter().filter(is_published) {
        let name = &package.name;
        let folder = package.manifest_path.parent().expect("a folder");
        assert!(package.description.as_ref().is_some_and(|text| !text.is_empty()), "{name}: no description");
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}: license");
        assert!((1..=5).contains(&package.keywords.len()), "{name}: 1 to 5 keywords");
        assert!((1..=5).contains(&package.categories.len()), "{name}: 1 to 5 categories");
        assert_eq!(
            package.readme.as_ref().map(|readme| readme.as_str()),
            Some("README.md"),
            "{name}: readme"
        );
        assert!(folder.join("README.md").is_file(), "{name}: README.md is not there");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = std::fs::read_to_string(folder.join(licence)).unwrap_or_default();
            assert_eq!(text, read(licence), "{name}: {licence}");
        }
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let version = format!("^{}", package.version);
            assert_eq!(dependency.req.to_string(), version, "{name}: the version of {}", dependency.name);
        }
    }
}

#[test]
fn crates_know_only_whom_they_may() {
    let metadata = metadata();
    let allowed: BTreeMap<_, _> = MAY_KNOW.iter().copied().collect();
    let ours: BTreeSet<_> = metadata.packages.iter().map(|package| short(&package.name)).collect();
    assert_eq!(
        ours,
        allowed.keys().copied().collect(),
        "a crate without a line in this table, or the reverse"
    );
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            let (from, to) = (short(&package.name), short(&dependency.name));
            if ours.contains(to) && dependency.kind != DependencyKind::Development {
                assert!(allowed[from].contains(&to), "{from} may not know {to}");
            }
        }
    }
}

/// Rust files of a folder and its subfolders, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// Whether a line declares a public item that needs documentation: not a field, a variant or a re-export.
fn declares(line: &str) -> bool {
    const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "const", "static", "type"];
    let Some(rest) = line.trim_start().strip_prefix("pub ") else { return false };
    let mut words = rest.split_whitespace().skip_while(|word| ["async", "unsafe", "extern"].contains(word));
    words.next().is_some_and(|word| ITEMS.contains(&word))
}

fn undocumented(text: &str) -> Vec<&str> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let (mut documented, mut in_attribute, mut found) = (false, false, Vec::new());
    for line in text.lines() {
        let code = line.trim();
        if code.starts_with("///") {
            documented = true;
        } else if in_attribute || code.starts_with("#[") {
            in_attribute = !code.ends_with(']');
        } else if !code.starts_with("//") {
            if declares(line) && !documented {
                found.push(code);
            }
            documented = false;
        }
    }
    found
}

/// rustc's `missing_docs` also requires comments on every field and variant, which led to "How many." and
/// "The file.". Here items and modules need them; fields and variants only if they say more than the name.
#[test]
fn public_items_have_docs() {
    let sample = "/// Said.\n#[derive(\n    Debug,\n)]\npub struct A {\n    pub field: u8,\n}\npub const fn b() {}\npub(crate) fn c() {}";
    assert_eq!(undocumented(sample), ["pub const fn b() {}"]);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates").flatten() {
        sources(&entry.path().join("src"), &mut files);
    }
    let mut lacking = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("UTF-8");
        lacking.extend(undocumented(&text).into_iter().map(|item| format!("{}: {item}", file.display())));
        if !text.starts_with("//!") {
            lacking.push(format!("{}: what the module is for", file.display()));
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    assert!(lacking.is_empty(), "no words before:\n{}", lacking.join("\n"));
}

/// All command paths (`target start`, ...) with their help, from the program itself.
fn commands(path: &[&str], found: &mut BTreeMap<String, String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_pgdyno")).args(path).arg("--help").output().expect("runs");
    assert!(output.status.success(), "{path:?} --help fails");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        let Some(name) = line.strip_prefix("  ").and_then(|rest| rest.split_whitespace().next()) else {
            continue;
        };
        if line.starts_with("   ") || name == "help" {
            continue;
        }
        let deeper = [path, &[name]].concat();
        commands(&deeper, found);
    }
    found.insert(path.join(" "), help);
}

/// The reference page is the program's help; `UPDATE=1 cargo test` writes it.
#[test]
fn reference_page_is_the_help_of_every_command() {
    let mut found = BTreeMap::new();
    commands(&[], &mut found);
    assert!(found.len() > 12, "{:?}", found.keys());
    let mut page = String::from(
        "# Commands\n\nThe help of every command, as the program prints it (`UPDATE=1 cargo test -p pgdyno --test house`\n\
         writes this page). Exit codes: [exit-codes.md](exit-codes.md). Experiment files: [experiment.md](experiment.md).\n",
    );
    for (path, help) in &found {
        let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
        page +=
            &format!("\n## {}\n\n```text\n{}\n```\n", format!("pgdyno {path}").trim_end(), lines.join("\n"));
    }
    let file = root().join("docs/commands.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page).expect("docs/commands.md can be written");
    }
    assert!(
        read("docs/commands.md") == page,
        "docs/commands.md is old: UPDATE=1 cargo test -p pgdyno --test house"
    );
}

/// The list of all figures in docs/figures.md, by source.
fn list_of_figures() -> String {
    let mut list = String::new();
    let mut sources: Vec<Source> = Vec::new();
    for row in figures::table() {
        if !sources.contains(&row.source) {
            sources.push(row.source);
        }
    }
    for source in sources {
        list += &format!(
            "\n### Source: {}\n\n| name | figure | unit | per | better | shown from | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n",
            source.name()
        );
        for row in figures::table().filter(|row| row.source == source) {
            let FigureRow { name, label, unit, per, better, notable, meaning, .. } = row;
            let shown = notable.as_ref().map(|of| format!("{}, {}", of.matters, of.family));
            list += &format!(
                "| `{name}` | {label} | {} | {} | {} | {} | {meaning} |\n",
                unit.name(),
                per.name(),
                better.name(),
                shown.unwrap_or_default()
            );
        }
    }
    list + "\n"
}

/// `UPDATE=1 cargo test` writes the list.
#[test]
fn every_figure_is_in_the_list_of_the_page() {
    let page = read("docs/figures.md");
    let [begin, end] = ["<!-- list of figures -->\n", "<!-- end of the list -->"];
    let (before, rest) = page.split_once(begin).expect("where the list begins");
    let (_, after) = rest.split_once(end).expect("where it ends");
    let wanted = [before, begin, &list_of_figures(), end, after].concat();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join("docs/figures.md"), &wanted).expect("docs/figures.md can be written");
    }
    assert!(
        read("docs/figures.md") == wanted,
        "docs/figures.md is old: UPDATE=1 cargo test -p pgdyno --test house"
    );
}

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

#[test]
fn every_exit_code_is_documented() {
    let page = read("docs/exit-codes.md");
    let source = read("crates/pgdyno/src/exit.rs");
    let mut seen = 0;
    for line in source.lines() {
        let Some((_, value)) = line.split_once(": u8 = ") else { continue };
        let code = value.trim_end_matches(';');
        assert!(page.contains(&format!("| {code} |")), "docs/exit-codes.md lacks {code}");
        seen += 1;
    }
    let listed =
        page.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()).count();
    assert_eq!(seen, listed, "docs/exit-codes.md lists codes that the program does not have");
}

/// Markdown files of a folder and its subfolders.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// Lines of a page outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// GitHub's anchors of a page: headings in lower case with hyphens for spaces and without punctuation; the
/// second of a name ends with `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(text) {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        else {
            continue;
        };
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let times = seen.entry(slug.clone()).or_insert(0);
        found.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
        *times += 1;
    }
    found
}

/// Targets of a page's links, without external ones.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let starts = prose(text).flat_map(|line| line.split("](").skip(1));
    let links = starts.map(|rest| rest.split([')', ' ']).next().unwrap_or_default());
    links.filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
}

/// Pages had links to renamed headings.
#[test]
fn documents_link_to_what_is_there() {
    let sample = "# One `x_y`, two!\n[a](b.md#c)\n```\n# no\n```\n## Same\n## Same";
    assert_eq!(anchors(sample), ["one-x_y-two", "same", "same-1"].map(str::to_owned).into());
    assert_eq!(links(sample).collect::<Vec<_>>(), ["b.md#c"]);
    let mut all = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root().join(page)).to_vec();
    pages(&root().join("docs"), &mut all);
    assert!(all.len() > 40, "{} pages", all.len());
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut dangling = Vec::new();
    for page in &all {
        for link in links(&text(page)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().expect("a folder");
            let target = if file.is_empty() { page.clone() } else { folder.join(file) };
            let is_there = target.exists() && (anchor.is_empty() || anchors(&text(&target)).contains(anchor));
            if !is_there {
                dangling.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dangling.is_empty(), "links to nothing:\n{}", dangling.join("\n"));
}
