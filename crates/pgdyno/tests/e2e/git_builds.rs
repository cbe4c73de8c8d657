//! Builds from git as arms: a small extension by PGXS, and a source tree whose make install copies the installed
//! PostgreSQL.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Watched, in_one_line, programs, signal};

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").current_dir(folder).args(who).args(arguments).output().expect("git");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with these files on `master`.
fn repository(place: &Place, name: &str, files: &[(&str, String)]) -> PathBuf {
    let top = place.path().join(name);
    std::fs::create_dir_all(&top).unwrap();
    git(&top, &["init", "--quiet", "--initial-branch=master"]);
    for (path, text) in files {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    commit(&top);
    top
}

fn commit(top: &Path) {
    git(top, &["add", "--all"]);
    git(top, &["commit", "--quiet", "-m", "x"]);
}

/// A branch on which a file has another text.
fn branch(top: &Path, name: &str, file: &str, text: &str) {
    git(top, &["checkout", "--quiet", "-b", name]);
    std::fs::write(top.join(file), text).unwrap();
    commit(top);
    git(top, &["checkout", "--quiet", "master"]);
}

/// A source tree of "PostgreSQL": refuses root, and its content decides what the build is.
fn postgres(place: &Place) -> PathBuf {
    let configure = "#!/bin/sh\n[ \"$(id -u)\" != 0 ] || { echo 'configured as root'; exit 9; }\n\
        for option; do case $option in\n\
        --prefix=*) prefix=${option#--prefix=};;\n\
        --with-missing) echo 'configure: error: readline library not found'; exit 1;;\n\
        --with-sleep) sleep 1000 & setsid sh -c 'echo $$ > @stray@; exec sleep 1000' & sleep 1000;;\n\
        --with-stray) setsid sleep 1000 & nohup tail -f /dev/null & sleep 0.3;;\n\
        esac; done\n\
        sed \"s|@prefix@|$prefix|g\" Makefile.in > Makefile\n";
    let makefile = format!(
        "all:\n\techo made > built\ninstall:\n\tmkdir -p $(DESTDIR)@prefix@/bin $(DESTDIR)@prefix@/lib\n\
         \tfor name in postgres initdb pg_ctl pg_config; do cp {}/$$name $(DESTDIR)@prefix@/bin/ || exit 1; done\n\
         \tcp {}/*.so own.so built $(DESTDIR)@prefix@/lib/\n",
        programs().display(),
        programs().parent().unwrap().join("lib").display()
    );
    let files = [
        ("configure", configure.replace("@stray@", &place.open_folder().join("stray").display().to_string())),
        ("Makefile.in", makefile),
        ("own.so", "one".to_owned()),
        ("src/backend/x.c", String::new()),
    ];
    let top = repository(place, "postgres", &files);
    branch(&top, "feature/v2-0001", "own.so", "two");
    top
}

const BENCH: [&str; 9] = ["bench", "--managed", "-S", "-s", "1", "-T", "1", "--rounds", "2"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    BENCH.iter().chain(more).copied().collect()
}

#[test]
fn refs_of_postgres_are_built_once_and_compared_under_their_names() {
    let place = Place::new();
    let top = postgres(&place);
    let source = top.to_str().unwrap();
    // Programs that the repository names do not run, and its attributes change nothing.
    let seen = place.open_folder().join("seen");
    std::fs::write(top.join(".gitattributes"), "own.so filter=told export-ignore\n").unwrap();
    commit(&top);
    let told = format!("sh -c 'id -u >> {}; exit 1'", seen.display());
    git(&top, &["config", "filter.told.required", "true"]);
    git(&top, &["config", "filter.told.smudge", &told]);
    git(&top, &["config", "core.fsmonitor", &format!("sh -c 'echo monitor >> {}'", seen.display())]);
    let against = ["--source", source, "--against", "build: git master, git feature/v2-0001 --with-two"];
    let plan = place.run(with(&[&against[..], &["--dry-run"]].concat())).expect(0);
    plan.says(&[
        "master: commit ",
        "will be built first: configure and make",
        "--with-two",
        "feature-v2-0001",
        "master and feature-v2-0001 are not built alike: only feature-v2-0001 has --with-two",
    ]);
    assert!(!place.home().join("builds").exists() && !seen.exists(), "a dry run builds nothing");

    let done = place.run(with(&[&against[..], &["--save", "e.toml"]].concat()));
    assert!(in_one_line(&done.stdout).contains("on PostgreSQL feature-v2-0001"), "{done:?}");
    assert!(
        done.stderr.contains("building master (") && matches!(done.status.code(), Some(0..=2)),
        "{done:?}"
    );
    assert!(!seen.exists());
    assert_eq!(
        place.sql("select count(*) from target_build where length(commit_id) = 40"),
        "1",
        "of the base"
    );
    let mail = place.run(["report", "--format", "mail"]).expect(0).stdout;
    for name in ["master", "feature/v2-0001"] {
        let hash = Command::new("git").current_dir(&top).args(["rev-parse", name]).output().unwrap().stdout;
        assert!(mail.contains(&String::from_utf8_lossy(&hash)[..10]), "{name}: {mail}");
    }

    // The saved file is the same experiment, and nothing is built again.
    let again = place.run(["run", "e.toml", "--allow-commands", "--dry-run"]);
    let again = again.says(&["is built: configure and make", "is finished"]);
    assert!(!again.stderr.contains("building "), "{}", again.stderr);
    place.run(["run", "e.toml"]).expect(64).says(&["git, configure, make and all that they run"]);
    let without = place.run(["run", "e.toml", "--dry-run"]);
    without.says(&["not looked at without consent"]);

    let listed = place.run(["target", "builds", "--format", "csv"]).expect(0);
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stdout);
    place.run(["target", "builds", "--remove", "master"]).expect(0).says(&["removed master"]);
    place.run(["target", "builds", "--remove"]).expect(0).says(&["removed feature/v2-0001"]);
    assert!(place.run(["target", "builds", "--format", "csv"]).expect(0).stdout.lines().count() <= 1);
}

#[test]
fn an_extension_is_compared_on_copies_of_one_postgres() {
    let place = Place::new();
    let makefile = "MODULES = told\nEXTENSION = told\nDATA = told--1.sql\nPG_CONFIG ?= pg_config\n\
                    PGXS := $(shell $(PG_CONFIG) --pgxs)\ninclude $(PGXS)\n";
    let code = |answer: u32| {
        format!(
            "#include \"postgres.h\"\n#include \"fmgr.h\"\nPG_MODULE_MAGIC;\nPG_FUNCTION_INFO_V1(told);\n\
             Datum told(PG_FUNCTION_ARGS) {{ PG_RETURN_INT32({answer}); }}\n"
        )
    };
    let files = [
        ("Makefile", makefile.to_owned()),
        ("told.control", "default_version = '1'\nmodule_pathname = '$libdir/told'\n".to_owned()),
        ("told--1.sql", "CREATE FUNCTION told() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;\n".to_owned()),
        ("told.c", code(1)),
    ];
    let top = repository(&place, "told", &files);
    branch(&top, "v2", "told.c", &code(2));
    place.write("prepare.sql", "CREATE EXTENSION IF NOT EXISTS told;\n");
    place.write("q.sql", "SELECT told();\n");
    let source = top.to_str().unwrap();
    let bench = ["bench", "--managed", "--prepare", "prepare.sql", "-f", "q.sql", "-T", "1", "--rounds", "2"];
    let against = ["--source", source, "--against", "build: git master", "--against", "build: git v2"];
    // Changes that are not committed.
    std::fs::write(top.join("told.c"), code(3)).unwrap();
    let done = place.run(bench.iter().chain(&against));
    // The library is not installed in the system: both copies run their own build.
    assert!(matches!(done.status.code(), Some(0..=2)), "{done:?}");
    assert!(in_one_line(&done.stdout).contains("q on PostgreSQL v2"), "{done:?}");
    let done = done.says(&["returns other values than master in 16 of 16"]);
    assert!(!programs().parent().unwrap().join("lib/told.so").exists(), "{done:?}");

    let answer = place.run(["compare", "-v"]);
    let words: Vec<&str> = answer.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("master was built as committed: "), "{answer:?}");
    let plan = |against: &str| {
        place.run(bench.iter().chain(&["--source", source, "--against", against, "--dry-run"])).expect(0)
    };
    plan("build: git master").says(&["master is the commit", "has changes that are not in it", "is built"]);
    let dirty = plan("build: git master, git .").says(&["master-dirty: commit", "-dirty of"]);
    assert!(dirty.stderr.contains("will be built first"), "{}", dirty.stderr);
    let options = ["--configure", "--with-icu", "--dry-run"];
    let wrong =
        place.run(bench.iter().chain(&["--source", source, "--against", "build: git v2"]).chain(&options));
    wrong.expect(65).says(&["invalid variable of make", "COPT=-O3"]);
}

#[test]
fn a_build_that_fails_or_is_interrupted_leaves_its_log_alone() {
    let place = Place::new();
    let top = postgres(&place);
    let source = top.to_str().unwrap();
    let run = |options: &'static str| {
        with(&["--source", source, "--configure", options, "--against", "build: git master"])
    };
    let left = || {
        let entries = std::fs::read_dir(place.home().join("builds")).unwrap().flatten();
        let names = entries.flat_map(|entry| std::fs::read_dir(entry.path()).unwrap().flatten());
        let mut names: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.dedup();
        names
    };
    let failed = place.run(run("--with-missing")).expect(71);
    let failed = failed.says(&[
        "failed while configuring",
        "readline library not found",
        "apt install libreadline-dev",
    ]);
    let log = failed.stderr.split("the whole log is ").nth(1).expect("names its log").trim();
    assert!(std::fs::read_to_string(log).unwrap().contains("readline library not found"));
    assert_eq!(left(), ["lock"]);

    let mut child = Watched::start(place.command(run("--with-sleep")));
    assert!(child.until("configuring"), "{}", child.seen);
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(child.child.id(), "INT");
    let (status, said) = child.end();
    assert_eq!(status.code(), Some(75), "{said}");
    assert_eq!(left(), ["lock"]);
    assert!(place.processes().is_empty(), "{:?}", place.processes());
    let stray = std::fs::read_to_string(place.open_folder().join("stray")).unwrap();
    assert!(!Path::new("/proc").join(stray.trim()).exists(), "what was detached ends, too");
}

#[test]
fn what_a_build_detaches_ends_with_it_and_is_told() {
    let place = Place::new();
    let top = postgres(&place);
    // The experiment fails at once after its build.
    place.write("fails.sql", "SELECT 1/0;\n");
    let source = top.to_str().unwrap();
    let options = ["--source", source, "--configure", "--with-stray", "--prepare", "fails.sql"];
    let done = place.run(with(&[&options[..], &["--against", "build: git master"]].concat()));
    let told = done.stderr.split("the build of master left processes running, which were ended: ").nth(1);
    let told = told.and_then(|rest| rest.lines().next()).expect(&done.stderr);
    for name in ["sleep", "tail"] {
        let pid = told.split(&format!("{name} (pid ")).nth(1).and_then(|rest| rest.split(')').next());
        assert!(!Path::new("/proc").join(pid.expect(told)).exists(), "{told}");
    }
}

/// A file that lies with the sources works in every clone, and one elsewhere with --source.
#[test]
fn a_saved_file_finds_the_sources_of_its_clone() {
    let place = Place::new();
    let top = postgres(&place);
    let source = top.to_str().unwrap();
    let inside = top.join("ci.toml");
    let against = ["--source", source, "--against", "build: git master, git feature/v2-0001", "--save"];
    let save = |file: &str| place.run(with(&[&against[..], &[file, "--dry-run"]].concat())).expect(0);
    save(inside.to_str().unwrap()).says(&["it works in every clone"]);
    save("out.toml").says(&["in another clone give run or gate --source FOLDER"]);
    // A dry run writes nothing.
    let text = |source: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n[prepare]\npgbench = {{ \
             scale = 1 }}\n[version.a]\ngit = \"master\"\n{source}[version.b]\ngit = \"origin/feature/v2-0001\"\n{source}[factors]\nversion = \
             [\"a\", \"b\"]\n[compare]\nfactor = \"version\"\nbase = \"a\"\n"
        )
    };
    git(place.path(), &["clone", "--quiet", source, "clone"]);
    let clone = place.path().join("clone");
    std::fs::write(clone.join("gate.toml"), text("")).unwrap();
    place.write("gate.toml", text("source = \"/nowhere\"\n"));
    let asked = ["--allow-commands", "--dry-run"];
    let of_clone = format!(" of {} will be built", clone.canonicalize().unwrap().display());
    for command in ["run", "gate"] {
        place.run([&[command, "clone/gate.toml"], &asked[..]].concat()).expect(0).says(&[&of_clone]);
        place.run([&[command, "gate.toml"], &asked[..]].concat()).expect(65).says(&["/nowhere"]);
        let by_option = [&[command, "gate.toml", "--source", "clone"], &asked[..]].concat();
        place.run(by_option).expect(0).says(&[&of_clone]);
    }
    let without = text("")
        .replace("[version.a]\ngit = \"master\"\n[version.b]\ngit = \"origin/feature/v2-0001\"\n", "");
    place.write(
        "none.toml",
        without.replace("[\"a\", \"b\"]", "[15, 17]").replace("base = \"a\"", "base = 15"),
    );
    place
        .run(["run", "none.toml", "--source", "clone", "--dry-run"])
        .expect(64)
        .says(&["names no build from git"]);
}

#[test]
fn two_at_once_build_one_after_the_other() {
    let place = Place::new();
    let top = postgres(&place);
    // The first waits in configure until the second has come.
    let gate = place.open_folder().join("gate");
    let text = std::fs::read_to_string(top.join("configure")).unwrap();
    let waits = format!("{text}until [ -e {} ]; do sleep 0.1; done\n", gate.display());
    std::fs::write(top.join("configure"), waits).unwrap();
    commit(&top);
    let source = top.to_str().unwrap();
    // The experiment fails at once after its build.
    let run = || {
        let against = ["--source", source, "--prepare", "fails.sql", "--against", "build: git master"];
        place.command(with(&against))
    };
    place.write("fails.sql", "SELECT 1/0;\n");
    let mut first = Watched::start(run());
    assert!(first.until("configuring"), "{}", first.seen);
    let mut second = Watched::start(run());
    assert!(second.until("waiting for another pgdyno"), "{}", second.seen);
    std::fs::write(&gate, "").unwrap();
    let ends = [first, second].map(Watched::end);
    assert!(!ends[1].1.contains("compiling"), "{ends:?}");
    assert!(place.run(["target", "builds"]).expect(0).stdout.contains("master"));
}

#[test]
fn initdb_and_settings_are_of_a_build() {
    let place = Place::new();
    let top = postgres(&place);
    let source = top.to_str().unwrap();
    place.write("q.sql", "SELECT current_setting('wal_segment_size'), current_setting('work_mem');\n");
    let bench = ["bench", "--managed", "-f", "q.sql", "-T", "1", "--rounds", "2", "--source", source];
    let run = |of_second: &str| {
        let second = format!("build: git feature/v2-0001; {of_second}");
        place.run(bench.iter().copied().chain(["--against", "build: git master", "--against", &second]))
    };
    let done = run("initdb: --wal-segsize=4; settings: work_mem=8MB");
    assert!(matches!(done.status.code(), Some(0..=2)), "{done:?}");
    done.says(&["returns other values than master in 16 of 16"]);
    run("settings: no_such_setting=1")
        .expect(65)
        .says(&["the settings of build feature-v2-0001: the server knows no setting no_such_setting"]);
    run("initdb: --no-such-option").expect(71).says(&["initdb failed", "no-such-option"]);
    run("initdb: -D/x").expect(64).says(&["pgdyno decides that"]);
}

#[test]
fn what_cannot_be_built_is_one_clear_message() {
    let place = Place::new();
    let top = postgres(&place);
    let source = top.to_str().unwrap();
    let nothing = repository(&place, "nothing", &[("README", String::new())]);
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for (source, against, code, wanted) in [
        (source, "build: git mastr", 65, "did you mean master?"),
        (source, "build: git --upload-pack=x", 65, "does not begin with a dash"),
        (source, "build: git -x", 65, "does not begin with a dash"),
        (source, "build: git 'it\"s'", 65, "no branch, tag or commit"),
        (source, "build: git 'a\nb'", 65, "control characters"),
        (source, "build: git", 64, "needs a branch"),
        (source, "build: git master -Dx=y", 65, "no meson.build"),
        (source, "build: git master --prefix=/x", 65, "chooses the folders"),
        (source, "build: git master prefix=/x", 65, "chooses the folders"),
        (source, "build: git it's", 64, "put a backslash before each quote"),
        (source, "build: git master CC=no-such-compiler", 68, "no-such-compiler is not installed"),
        (source, "settings: jit=off", 64, "--source and --configure are for builds from git"),
        (
            nothing.to_str().unwrap(),
            "build: git master",
            65,
            "neither PostgreSQL's source tree nor an extension",
        ),
        ("empty", "build: git master", 65, "is not in a git repository"),
        ("/nowhere", "build: git master", 65, "cannot use the source folder /nowhere"),
    ] {
        let done = place.run(with(&["--source", source, "--against", against, "--dry-run"])).expect(code);
        assert!(done.stderr.contains(wanted), "{against}: {}", done.stderr);
    }
    let mut command =
        place.command(with(&["--source", source, "--against", "build: git master", "--dry-run"]));
    command.env("PATH", place.path());
    let done = crate::support::finish(command).expect(68);
    assert!(
        done.stderr.contains("git is not installed") && done.stderr.contains("apt install git"),
        "{done:?}"
    );
}
