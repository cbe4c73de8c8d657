//! Commands in a folder that another user owns or can write to: that user's links are not followed, files not
//! trusted, and no files get our permissions.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::{Finished, Place, Server, account, finish, is_root, not_available};

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/data/pgbench/15-agg.txt");

/// The account's folder with an imported report; the results file is ours. `None` unless we are root.
fn folder(place: &Place) -> Option<PathBuf> {
    let (Some((user, group)), true) = (account("postgres"), is_root()) else {
        not_available("a folder of another user", "only root can make one");
        return None;
    };
    let folder = place.path().join("theirs");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(user), Some(group)).unwrap();
    run(place, &folder, &["import", REPORT], 0);
    Some(folder)
}

/// Runs in that folder, where the default results file is.
#[track_caller]
fn run(place: &Place, folder: &Path, args: &[&str], code: i32) -> String {
    let done = finished(place, folder, args).expect(code);
    done.stdout + &done.stderr
}

fn finished(place: &Place, folder: &Path, args: &[&str]) -> Finished {
    let mut command = place.command(args);
    command.current_dir(folder).env_remove("PGDYNO_RESULTS");
    finish(command)
}

fn give(path: &Path) {
    let (user, group) = account("postgres").unwrap();
    std::os::unix::fs::lchown(path, Some(user), Some(group)).unwrap();
}

/// A planted setuid file made root's report setuid, and its owner could write a program into it.
#[test]
fn a_report_takes_over_no_rights_of_a_file_of_others() {
    let place = Place::new();
    let Some(folder) = folder(&place) else { return };
    for (args, name) in [(&["report"][..], "pgdyno-report.html"), (&["report", "-o", "own.html"], "own.html")]
    {
        let path = folder.join(name);
        std::fs::write(&path, "x").unwrap();
        give(&path);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o6777)).unwrap();
        run(&place, &folder, args, 0);
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o7777), (0, 0o600), "{name}");
    }
}

#[test]
fn what_is_written_there_goes_through_no_link_of_others() {
    let place = Place::new();
    let Some(folder) = folder(&place) else { return };
    let victim = place.write("victim", "kept");
    let plant = |name: &str, to: &Path| {
        let _ = std::fs::remove_file(folder.join(name));
        symlink(to, folder.join(name)).unwrap();
        give(&folder.join(name));
    };
    for to in [victim.clone(), place.path().join("new"), "/dev/zero".into()] {
        for name in ["pgdyno-report.html", "chart.svg", "saved.toml"] {
            plant(name, &to);
        }
        let said = run(&place, &folder, &["report"], 74);
        assert!(
            said.contains("pgdyno-report.html cannot be written: ") && said.contains("is a link that"),
            "{said}"
        );
        let against = ["bench", "-S", "--managed", "--against", "settings: jit=off", "--dry-run", "--save"];
        run(&place, &folder, &[&against[..], &["other.toml"]].concat(), 0);
        let saved = [&against[..5], &["--save", "saved.toml"]].concat();
        let said = run(&place, &folder, &saved, if to == victim { 64 } else { 74 });
        assert!(said.contains("saved.toml"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    assert!(!place.path().join("new").exists());
    // A folder on the path.
    let elsewhere = place.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    plant("out", &elsewhere);
    for args in [&["report", "-o", "out/r.html"][..], &["man", "--to", "out"]] {
        let said = run(&place, &folder, args, 74);
        assert!(said.contains("out is a link that another user could have made"), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// The process id was written to the target of a link with the lock's name.
#[test]
fn a_lock_is_no_link_of_others() {
    let place = Place::new();
    let Some(folder) = folder(&place) else { return };
    let server = Server::start();
    std::fs::write(folder.join("b.sql"), "select 1;\n").unwrap();
    let text = format!(
        "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.b]\npgbench = {{ files = [\"b.sql\"] }}\n[measure]\nrounds = 1\n\
         duration = \"200ms\"\nwarmup = \"0s\"\n",
        server.url()
    );
    std::fs::write(folder.join("e.toml"), text).unwrap();
    run(&place, &folder, &["run", "e.toml"], 0);
    let hash = "select substr(hash, 1, 8) from experiment where name = 'e'";
    let hash = finished(&place, &folder, &["sql", hash, "--format", "csv"]).expect(0).stdout;
    let lock = format!("pgdyno.sqlite-lock-{}", hash.lines().nth(1).unwrap());
    let victim = place.write("victim", "kept");
    symlink(&victim, folder.join(&lock)).unwrap();
    give(&folder.join(&lock));
    let said = run(&place, &folder, &["run", "e.toml", "--again"], 74);
    assert!(said.contains("pgdyno.sqlite"), "{said}");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
}

/// In a folder writable by all, another user's journal replaced the content of the results file.
#[test]
fn a_journal_or_log_of_others_is_not_applied_to_the_results() {
    let place = Place::new();
    let Some(folder) = folder(&place) else { return };
    for suffix in ["-journal", "-wal"] {
        let planted = folder.join(format!("pgdyno.sqlite{suffix}"));
        std::fs::write(&planted, "anything").unwrap();
        give(&planted);
        for args in [&["table"][..], &["import", REPORT, "--name", "mine"]] {
            let said = run(&place, &folder, args, 74);
            assert!(said.contains(suffix) && said.contains("remove it"), "{args:?}: {said}");
        }
        assert_eq!(std::fs::read_to_string(&planted).unwrap(), "anything");
        std::fs::remove_file(&planted).unwrap();
        // Opening a pipe would block.
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, &planted, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        run(&place, &folder, &["import", REPORT, "--name", "mine"], 74);
        std::fs::remove_file(&planted).unwrap();
    }
    run(&place, &folder, &["import", REPORT, "--name", "mine", "--again"], 0);
}
