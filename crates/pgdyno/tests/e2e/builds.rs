//! Which PostgreSQL is measured: a build is known by the content of all its files.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, programs};

/// A copy of the installed PostgreSQL, whose libraries can be changed: the folder of its programs.
fn copied(place: &Place, name: &str) -> PathBuf {
    let ask = |option: &str| {
        let told = Command::new(programs().join("pg_config")).arg(option).output().expect("pg_config").stdout;
        PathBuf::from(String::from_utf8(told).unwrap().trim())
    };
    let (bin, share) = (ask("--bindir"), ask("--sharedir"));
    let top = place.path().join(name);
    let inside = |path: &Path| top.join(path.strip_prefix("/").unwrap());
    let prefix = bin.parent().unwrap();
    std::fs::create_dir_all(inside(prefix).parent().unwrap()).unwrap();
    let copy = Command::new("cp").arg("-rL").arg(prefix).arg(inside(prefix)).status().unwrap();
    assert!(copy.success());
    std::fs::create_dir_all(inside(&share).parent().unwrap()).unwrap();
    symlink(&share, inside(&share)).unwrap();
    inside(&bin)
}

fn change_library(bin: &Path) {
    let library = bin.parent().unwrap().join("lib/auth_delay.so");
    OpenOptions::new().append(true).open(library).unwrap().write_all(b"rebuilt").unwrap();
}

const EXPERIMENT: &str = "question = \"?\"\n[target]\nmanaged = { name = \"built\" }\n[prepare]\npgbench = { scale = 1 }\n\
    [workload.w]\npgbench = { builtin = \"select-only\" }\n[measure]\nwarmup = \"0.1s\"\nduration = \"0.3s\"\nrounds = 2\n";

/// "is finished" was the answer for another library of an extension, and its tables were those of the former build.
#[test]
fn another_library_is_another_set_on_data_prepared_again() {
    let place = Place::new();
    let bin = copied(&place, "own");
    place.write("e.toml", EXPERIMENT);
    let run = || place.run(["run", "e.toml", "--pg-bin", bin.to_str().unwrap()]);
    run().expect(0);
    run().says(&["is finished"]);
    change_library(&bin);
    let done = run().expect(0).says(&["it begins again: lib/auth_delay.so"]);
    done.says(&["scale 1: another build of PostgreSQL made the data"]);
    run().says(&["is finished"]);
    assert_eq!(place.sql("select count(*) from experiment"), "2");
    let builds = "select count(distinct tree) || ' ' || min(version like 'PostgreSQL %') || ' ' || count(configure) from target_build";
    assert_eq!(place.sql(builds), "2 1 2");
}

#[test]
fn equal_builds_are_no_comparison_unless_asked_for() {
    let place = Place::new();
    let bin = copied(&place, "one");
    symlink(place.path().join("one"), place.path().join("other")).unwrap();
    let other = PathBuf::from(bin.to_str().unwrap().replacen("/one/", "/other/", 1));
    let [one, other] = [&bin, &other].map(|bin| bin.display().to_string());
    let versions = format!(
        "{EXPERIMENT}[version.one]\nbin = \"{one}\"\n[version.other]\nbin = \"{other}\"\n[compare]\nfactor = \"version\"\nbase = \"one\"\n\
         [factors]\nversion = [\"one\", \"other\"]\n"
    );
    place.write("e.toml", versions);
    let done = place.run(["run", "e.toml", "--allow-commands", "--dry-run"]);
    let all = done.words();
    assert!(all.contains("--same"), "{all}");
    place.run(["run", "e.toml", "--allow-commands", "--dry-run", "--same"]).expect(0);
}

#[test]
fn builds_are_arms_under_the_names_of_their_folders() {
    let place = Place::new();
    let bin = copied(&place, "patched");
    change_library(&bin);
    let prefix = bin.parent().unwrap();
    // As `make install` fills a folder.
    let named = place.path().join("v2-0001");
    std::fs::rename(prefix, &named).unwrap();
    let share = named.join("share");
    let told = Command::new(programs().join("pg_config")).arg("--sharedir").output().unwrap().stdout;
    symlink(String::from_utf8(told).unwrap().trim(), &share).unwrap();
    let against = format!("build: {}", named.display());
    let bench = ["bench", "--managed", "-S", "-T", "1", "--rounds", "2", "--against", &against];
    let done = place.run(bench.iter().chain(&["--dry-run"])).expect(0);
    let all = done.words();
    assert!(all.contains("v2-0001"), "{all}");
    place
        .run(bench.iter().chain(&["--against", "build: /nowhere"]))
        .expect(64)
        .says(&["/nowhere holds no build"]);
    place
        .run(bench.iter().chain(&["--against", "settings: jit=off"]))
        .expect(64)
        .says(&["a comparison has two sides"]);
}

/// Regression: as root, copies of builds elsewhere were run by the installed PostgreSQL of the same major version, so
/// all builds were alike.
#[test]
fn copies_of_builds_are_run_by_their_own_programs() {
    let place = Place::new();
    let bins = ["one", "other"].map(|name| copied(&place, name));
    change_library(&bins[1]);
    let own = format!("setting LIKE '{}/%'", place.path().canonicalize().unwrap().display());
    // Divides by 0 elsewhere.
    place.write("own.sql", format!("SELECT 1 / count(*) FROM pg_config WHERE name = 'BINDIR' AND {own};\n"));
    let [one, other] = bins.map(|bin| bin.display().to_string());
    let versions = format!(
        "question = \"?\"\n[target]\nmanaged = {{ name = \"built\" }}\n[workload.w]\npgbench = {{ files = [\"own.sql\"] }}\n\
         [version.one]\nbin = \"{one}\"\n[version.other]\nbin = \"{other}\"\n[compare]\nfactor = \"version\"\nbase = \"one\"\n\
         [factors]\nversion = [\"one\", \"other\"]\n[measure]\nwarmup = \"0.1s\"\nduration = \"0.3s\"\nrounds = 2\n"
    );
    place.write("e.toml", versions);
    let done = place.run(["run", "e.toml", "--allow-commands"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}{}", done.stdout, done.stderr);
    assert_eq!(place.sql("select sum(value) from run_count where name = 'failed'"), "0");
    // The default where builds are compared.
    let ages = "select group_concat(value > 0, ' ') from (select value from run_figure join run using (run_id) \
                where name = 'session_age_s' and arm = 'other' order by round)";
    assert_eq!(place.sql(ages).trim_matches('"'), "0 1");
}

/// Regression: a plain CREATE in the preparation failed on what the build before had made, and the new build was blamed.
/// With IF NOT EXISTS, functions and extensions of the old build were measured.
#[test]
fn the_server_of_another_build_begins_empty() {
    let place = Place::new();
    let bins = ["one", "other"].map(|name| copied(&place, name));
    change_library(&bins[1]);
    place.write("prep.sql", "CREATE TABLE made AS SELECT 1 AS x;\n");
    place.write("ask.sql", "SELECT x FROM made;\n");
    let [one, other] = bins.clone().map(|bin| bin.display().to_string());
    let text = format!(
        "question = \"?\"\n[target]\nmanaged = {{ name = \"built\" }}\n[prepare]\nsql = [\"prep.sql\"]\n\
         [workload.w]\npgbench = {{ files = [\"ask.sql\"] }}\n\
         [version.one]\nbin = \"{one}\"\n[version.other]\nbin = \"{other}\"\n[compare]\nfactor = \"version\"\nbase = \"one\"\n\
         [factors]\nversion = [\"one\", \"other\"]\n[measure]\nwarmup = \"0.1s\"\nduration = \"0.3s\"\nrounds = 2\n"
    );
    place.write("e.toml", text);
    let run = || place.run(["run", "e.toml", "--allow-commands"]);
    let first = run();
    assert!(matches!(first.status.code(), Some(0..=2)), "{}{}", first.stdout, first.stderr);
    change_library(&bins[1]);
    let done = run();
    assert!(matches!(done.status.code(), Some(0..=2)), "{}{}", done.stdout, done.stderr);
    let made_again = "its data folder was made by another build of PostgreSQL, and is made again";
    assert_eq!(done.stderr.matches(made_again).count(), 1, "{}", done.stderr);
}
