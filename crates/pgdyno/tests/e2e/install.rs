//! `make install`: files, shell completion, manual pages, and complete removal.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn place(how: &[&str], to: &Path) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(root.join("setup/place"))
        .args(how)
        .env("DESTDIR", to)
        .env("PREFIX", "/usr")
        .output()
        .expect("setup/place can be started")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

/// bash's completions of the last word.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let ask = r#"source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
        _pgdyno pgdyno "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Command::new("bash")
        .args(["--norc", "-c", ask, "bash"])
        .arg(script)
        .args(words)
        .output()
        .expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn what_is_installed_works_and_goes_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = place(&["install", env!("CARGO_BIN_EXE_pgdyno")], folder.path());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).expect("UTF-8");
    let root = folder.path().join("usr");
    for file in [
        "bin/pgdyno",
        "share/bash-completion/completions/pgdyno",
        "share/zsh/site-functions/_pgdyno",
        "share/fish/vendor_completions.d/pgdyno.fish",
        "share/man/man1/pgdyno.1",
    ] {
        let file = root.join(file);
        assert!(file.is_file(), "{} is not there", file.display());
        assert!(said.contains(&file.display().to_string()), "{} is not told:\n{said}", file.display());
    }
    for command in ["run", "bench", "pgbench", "target-start", "osm-load", "man"] {
        let page = root.join(format!("share/man/man1/pgdyno-{command}.1"));
        assert!(page.is_file(), "no page of {command}");
    }

    let script = root.join("share/bash-completion/completions/pgdyno");
    assert_eq!(offered(&script, &["pgdyno", "target", "st"]), ["start", "stop", "status"]);
    assert_eq!(offered(&script, &["pgdyno", "compare", "--metric", "p9"]), ["p95", "p99"]);
    assert_eq!(offered(&script, &["pgdyno", "pgbench", "--agg"]), ["--aggregate-interval"]);
    assert_eq!(offered(&script, &["pgdyno", "pgbench", "-M", "p"]), ["prepared"]);
    // bash completed options that bench refuses, and files for other values.
    assert_eq!(offered(&script, &["pgdyno", "bench", "--agg"]), [""]);
    for command in ["run", "bench"] {
        assert_eq!(offered(&script, &["pgdyno", command, "--slices", ""]), ["auto", "true", "false"]);
    }
    assert_eq!(offered(&script, &["pgdyno", "bench", "-b", "s"]), ["simple-update", "select-only"]);
    for option in ["--against", "--rounds", "--undo", "-c", "-h"] {
        assert_eq!(offered(&script, &["pgdyno", "bench", option, ""]), [""], "{option}");
    }

    let gone = place(&["uninstall"], folder.path());
    assert!(gone.status.success(), "{}", String::from_utf8_lossy(&gone.stderr));
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn nothing_is_installed_where_there_is_no_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = place(&["install", "/no/such/pgdyno"], folder.path());
    assert!(!done.status.success());
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    assert!(said.contains("/no/such/pgdyno") && said.contains("make build"), "{said}");
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
}
