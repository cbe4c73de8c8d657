//! Dependencies between crates, and what crates.io asks of each.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::{read, root};

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
