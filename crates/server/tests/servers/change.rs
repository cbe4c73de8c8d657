//! The user's changes: made, checked, undone, even if their pgdyno is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError};
use server::change::{ChangeFailure, ChangeFailureKind, ChangeOptions};
use server::home::HomeFolder;
use server::managed::{self, Cluster};
use server::settings::journal::{LeftBy, Recovered, left, left_in, restore_changes};
use server::url::{Rights, restore_left};
use server::{Stop, Target};
use spec::Error;
use spec::plan::change::{Change, ChangeStep};

use crate::support::{Place, cluster, eventually, is_alive, kill, watchdog};

fn kind(error: &Error) -> Option<ChangeFailureKind> {
    error.attached().map(|failure: &ChangeFailure| failure.kind)
}

/// All time that a watchdog has.
const BOUND: Duration = Duration::from_secs(10);

fn dsn(server: &Cluster) -> String {
    dsn_of("postgres", server)
}

fn dsn_of(role: &str, server: &Cluster) -> String {
    format!("host={} port={} user={role} dbname=postgres", server.socket_folder().display(), server.port())
}

fn by_url(server: &Cluster, place: &Place, rights: Rights) -> Target {
    Target::url(&dsn(server), rights, &[], &place.home, &watchdog()).unwrap()
}

fn by_name(place: &Place) -> Target {
    Target::managed(&place.home, "main", &managed::ServerOptions::default(), &[], &watchdog(), &Stop::new())
        .unwrap()
}

fn sql(do_: &str, undo: &str) -> Change {
    Change { do_: Some(ChangeStep::Sql(do_.into())), undo: Some(ChangeStep::Sql(undo.into())), check: None }
}

fn command(do_: &str, undo: &str) -> Change {
    Change {
        do_: Some(ChangeStep::Command(do_.into())),
        undo: Some(ChangeStep::Command(undo.into())),
        check: None,
    }
}

/// Commands start where every account may be, not where the tests do.
fn anywhere() -> ChangeOptions {
    ChangeOptions { folder: Some("/".into()), ..ChangeOptions::default() }
}

fn make(target: &mut Target, change: &Change) -> Result<String, Error> {
    target.make(change, &anywhere()).map(|made| made.output)
}

/// Whether there is a table or an index of this name.
fn is_there(server: &Cluster, name: &str) -> bool {
    let query = format!("SELECT to_regclass('{name}') IS NOT NULL");
    server.connect("postgres").unwrap().scalar(&query).unwrap().as_deref() == Some("t")
}

/// Connections that work on a change.
fn at_work(server: &Cluster) -> u32 {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pgdyno change %'";
    server.connect("postgres").unwrap().scalar(query).unwrap().unwrap().parse().unwrap()
}

/// Its own pgdyno that makes changes.
struct Changer {
    process: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Changer {
    fn start(place: &Place, server: &str, changes: &[Change]) -> Self {
        let changes = changes.iter().map(|change| serde_json::to_string(change).unwrap());
        let mut process = Command::new(watchdog().exe)
            .arg("changer")
            .arg(place.home.folder())
            .arg(server)
            .args(changes)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn says(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Pids of its journal's watchdogs.
    fn guards(&self) -> Vec<u32> {
        children(self.process.id())
            .into_iter()
            .filter(|pid| line(*pid).contains("settings-watchdog"))
            .collect()
    }

    fn kill(&mut self) -> Instant {
        kill(self.process.id());
        self.process.wait().unwrap();
        Instant::now()
    }
}

fn line(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
        .replace('\0', " ")
}

fn pids() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn children(of: u32) -> Vec<u32> {
    pids().filter(|pid| is_alive(*pid) && crate::support::parent_of(*pid) == Some(of)).collect()
}

/// Living processes with these words in their command line.
fn with_words(words: &str) -> Vec<u32> {
    pids().filter(|pid| is_alive(*pid) && line(*pid).contains(words)).collect()
}

fn no_journal(place: &Place) -> bool {
    left(&place.home).unwrap().is_empty()
        && !place.home.path(HomeFolder::Clusters).join("main/journal.json").exists()
}

fn within(start: Instant) -> Duration {
    BOUND.saturating_sub(start.elapsed())
}

#[test]
fn an_index_is_made_checked_and_undone() {
    let place = Place::new();
    let server = cluster(&place);
    server.connect("postgres").unwrap().execute("CREATE TABLE t AS SELECT 1 AS x").unwrap();
    let index = Change {
        check: Some("SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass;".into()),
        ..sql("CREATE INDEX CONCURRENTLY i ON t (x)", "DROP INDEX IF EXISTS i")
    };
    let mut target = by_url(&server, &place, Rights::Change);
    make(&mut target, &index).unwrap();
    make(&mut target, &sql("CREATE TABLE u (); CREATE TABLE v ()", "DROP TABLE IF EXISTS u, v")).unwrap();
    assert!(is_there(&server, "i") && is_there(&server, "v"));
    // Another pgdyno lets it be.
    match by_url(&server, &place, Rights::Restore).recovered() {
        [Recovered::InUse(left)] => {
            assert_eq!((left.by.clone(), left.kind()), (LeftBy::Living(std::process::id()), "changes"));
            assert!(left.list().starts_with("\"CREATE INDEX CONCURRENTLY i ON t (x)\" (undo: "), "{left:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(target.changes().len(), 2);
    let undone = target.undo().unwrap();
    assert_eq!(
        undone,
        ["\"CREATE TABLE u (); CREATE TABLE v ()\"", "\"CREATE INDEX CONCURRENTLY i ON t (x)\""]
    );
    assert!(!is_there(&server, "i") && !is_there(&server, "u"));
    // What is still made goes with its owner.
    make(&mut target, &index).unwrap();
    drop(target);
    assert!(!is_there(&server, "i") && no_journal(&place));
}

#[test]
fn settings_and_changes_stand_in_one_journal() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let wanted = |value: &str| [("checkpoint_timeout".to_owned(), value.to_owned())].into();
    target.apply(&wanted("9min")).unwrap();
    make(&mut target, &sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u")).unwrap();
    // Another arm's settings leave the change alone.
    target.apply(&wanted("8min")).unwrap();
    assert!(is_there(&server, "u"));
    match left(&place.home).unwrap().as_slice() {
        [left] => {
            assert_eq!((left.settings.len(), left.changes.len(), left.kind()), (1, 1, "settings and changes"))
        }
        other => panic!("{other:?}"),
    }
    target.undo().unwrap();
    assert!(!is_there(&server, "u"));
    assert_eq!(target.control().unwrap().scalar("SHOW checkpoint_timeout").unwrap().as_deref(), Some("8min"));
    make(&mut target, &sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u")).unwrap();
    target.restore().unwrap();
    assert!(!is_there(&server, "u") && target.changes().is_empty());
    assert_eq!(target.control().unwrap().scalar("SHOW checkpoint_timeout").unwrap().as_deref(), Some("5min"));
}

#[test]
fn what_fails_is_told_and_undone() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let table = sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u");
    for (check, got) in
        [("SELECT false", "f"), ("SELECT true WHERE false", "no row"), ("SELECT 'yes', 1", "yes, 1")]
    {
        let change = Change { check: Some(check.into()), ..table.clone() };
        let error = make(&mut target, &change).unwrap_err();
        assert_eq!(kind(&error), Some(ChangeFailureKind::NotTrue));
        assert!(error.to_string().ends_with(&format!("; it returned {got}")), "{check}: {error}");
        assert!(!is_there(&server, "u") && target.changes().is_empty());
    }
    let half = sql("CREATE TABLE u (); COMMIT; SELECT 1/0", "DROP TABLE IF EXISTS u");
    let error = make(&mut target, &half).unwrap_err();
    assert!(error.cause().is_some_and(|error: &SqlError| error.is("22012")), "{error}");
    assert!(!is_there(&server, "u"));
    let error = make(&mut target, &sql("BEGIN; CREATE TABLE u ()", "SELECT 1")).unwrap_err();
    assert!(error.to_string().contains("leaves a transaction open"), "{error}");

    // Of a do that failed there is nothing to drop.
    let error = make(&mut target, &sql("SELECT 1/0", "DROP TABLE u")).unwrap_err();
    assert_eq!(kind(&error), Some(ChangeFailureKind::Sql), "{error}");
    assert!(target.changes().is_empty());
    // An undo that fails is reported too, and must still be done.
    let undo = "SELECT 1 / count(*) FROM pg_class WHERE relname = 'u'";
    let one = make(&mut target, &sql("SELECT 1/0", undo)).unwrap_err();
    assert_eq!(kind(&one), Some(ChangeFailureKind::Sql), "a refused statement changed nothing: {one}");
    assert!(target.changes().is_empty());
    let several = "SELECT 1; COMMIT; SELECT 1/0";
    let error = make(&mut target, &sql(several, undo)).unwrap_err();
    assert_eq!(kind(&error), Some(ChangeFailureKind::NotUndone), "{error}");
    assert!(error.to_string().contains("pgdyno target restore"), "{error}");
    assert_eq!(target.changes(), [format!("\"{several}\"")]);
    server.connect("postgres").unwrap().execute("CREATE TABLE u ()").unwrap();
    assert_eq!(target.undo().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_undone_is_refused_before_anything_is_done() {
    let place = Place::new();
    let server = cluster(&place);
    let for_good = Change { undo: None, ..sql("CREATE TABLE u ()", "") };
    let mut onlooker = by_url(&server, &place, Rights::Restore);
    let without = |check: &str| Change { check: Some(check.to_owned()), ..Change::default() };
    make(&mut onlooker, &without("SELECT to_regclass('u') IS NULL")).unwrap();
    let error = make(&mut onlooker, &without("SELECT to_regclass('u') IS NOT NULL")).unwrap_err();
    assert_eq!(kind(&error), Some(ChangeFailureKind::NotTrue), "{error}");
    let error = make(&mut onlooker, &sql("CREATE TABLE u ()", "DROP TABLE u")).unwrap_err();
    assert!(error.to_string().contains("change_server = true"), "{error}");
    drop(onlooker);
    let mut target = by_url(&server, &place, Rights::Change);
    let error = make(&mut target, &for_good).unwrap_err();
    assert!(error.to_string().contains("has no undo"), "{error}");
    assert!(!is_there(&server, "u") && left(&place.home).unwrap().is_empty());
    target.make(&for_good, &ChangeOptions { thrown_away: true, ..ChangeOptions::default() }).unwrap();
    assert!(is_there(&server, "u") && left(&place.home).unwrap().is_empty());
}

/// Going to another level of one factor undid and redid the others.
#[test]
fn one_change_is_undone_and_the_others_stay() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let [one, two] = ["u", "v"].map(|name| {
        let change = sql(&format!("CREATE TABLE {name} ()"), &format!("DROP TABLE IF EXISTS {name}"));
        make(&mut target, &change).unwrap();
        change
    });
    target.undo_one(&one).unwrap();
    assert!(!is_there(&server, "u") && is_there(&server, "v"));
    assert_eq!(target.changes(), ["\"CREATE TABLE v ()\""], "an existing change is recorded");
    target.undo_one(&one).unwrap();
    target.undo_one(&two).unwrap();
    assert!(!is_there(&server, "v") && target.changes().is_empty());
}

#[test]
fn commands_start_in_the_folder_that_is_asked_for_also_when_they_are_undone() {
    let place = Place::new();
    let server = cluster(&place);
    let folder = place.open_folder();
    let options = ChangeOptions { folder: Some(folder.clone()), ..ChangeOptions::default() };
    let mut target = by_url(&server, &place, Rights::Change);
    target.make(&command("echo made > here", "rm here"), &options).unwrap();
    assert!(folder.join("here").exists());
    target.undo().unwrap();
    assert!(!folder.join("here").exists());
}

#[test]
fn a_command_reaches_the_server_and_its_last_words_are_kept() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let psql = command(
        "echo ${PGPASSWORD-none} $PGDATABASE; cat; psql -Xqc 'CREATE TABLE u ()' && echo made >&2",
        "psql -Xqc 'DROP TABLE IF EXISTS u'",
    );
    assert_eq!(make(&mut target, &psql).unwrap(), "none postgres\nmade\n");
    assert!(is_there(&server, "u"));
    target.undo().unwrap();
    assert!(!is_there(&server, "u"));
    let error = make(&mut target, &command("echo why; exit 3", "true")).unwrap_err();
    assert_eq!(kind(&error), Some(ChangeFailureKind::CommandFailed));
    assert!(error.to_string().ends_with(" ended with exit code 3:\nwhy"), "{error}");
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let file = place.open_folder().join("file");
    let deaf = deaf_command(&file, "7001");
    let start = Instant::now();
    let options = ChangeOptions { bound: Duration::from_secs(1), ..anywhere() };
    let error = target.make(&deaf, &options).unwrap_err();
    assert_eq!(kind(&error), Some(ChangeFailureKind::CutShort), "{error}");
    assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
    assert_eq!((with_words("sleep 7001").len(), file.exists()), (0, false));
    assert!(target.changes().is_empty());
}

/// A command that does not mind SIGTERM, nor do its children, of which one has its own session.
fn deaf_command(file: &Path, seconds: &str) -> Change {
    let file = file.display();
    let deaf = format!(
        "trap '' TERM; touch {file}; setsid sleep {seconds} & sleep {seconds} & wait; sleep {seconds}"
    );
    command(&deaf, &format!("rm -f {file}"))
}

#[test]
fn what_a_finished_command_left_running_stays_until_its_undo() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = by_url(&server, &place, Rights::Change);
    let file = place.open_folder().join("pid");
    let file = file.display();
    let daemon = command(&format!("sleep 7002 & echo $! > {file}"), &format!("kill $(cat {file})"));
    let start = Instant::now();
    make(&mut target, &daemon).unwrap();
    assert!(start.elapsed() < BOUND);
    assert_eq!(with_words("sleep 7002").len(), 1);
    target.undo().unwrap();
    eventually(BOUND, "the daemon ends", || with_words("sleep 7002").is_empty());
}

#[test]
fn a_slow_do_of_a_killed_pgdyno_is_ended_and_undone_by_the_watchdog() {
    let place = Place::new();
    let server = cluster(&place);
    let slow = sql("CREATE TABLE u (); COMMIT; SELECT pg_sleep(600)", "DROP TABLE IF EXISTS u");
    let fast = sql("CREATE TABLE v ()", "DROP TABLE IF EXISTS v");
    // No more rights than its changes take.
    server
        .connect("postgres")
        .unwrap()
        .execute("CREATE ROLE owner LOGIN; GRANT ALL ON SCHEMA public TO owner")
        .unwrap();
    let mut changer = Changer::start(&place, &dsn_of("owner", &server), &[fast, slow]);
    eventually(BOUND, "the do is begun", || is_there(&server, "u"));
    let guards = changer.guards();
    assert_eq!(guards.len(), 1);
    let start = changer.kill();
    eventually(within(start), "undone", || no_journal(&place));
    assert!(!is_there(&server, "u") && !is_there(&server, "v"));
    assert_eq!(at_work(&server), 0);
    eventually(within(start), "the watchdog ends", || !is_alive(guards[0]));
}

#[test]
fn a_slow_do_is_undone_by_the_next_one_when_its_watchdog_is_killed_too() {
    let place = Place::new();
    let server = cluster(&place);
    let slow = sql("CREATE TABLE u (); COMMIT; SELECT pg_sleep(600)", "DROP TABLE IF EXISTS u");
    let leave = || {
        let mut changer = Changer::start(&place, &dsn(&server), std::slice::from_ref(&slow));
        eventually(BOUND, "the do is begun", || is_there(&server, "u"));
        changer.guards().into_iter().for_each(kill);
        changer.kill();
        assert!(is_there(&server, "u") && at_work(&server) == 1);
    };
    leave();
    match left(&place.home).unwrap().as_slice() {
        [left] => assert_eq!((&left.by, left.changes.len()), (&LeftBy::Killed, 1)),
        other => panic!("{other:?}"),
    }
    match by_url(&server, &place, Rights::Restore).recovered() {
        [Recovered::Undone { undone, .. }] => assert_eq!(undone.changes.len(), 1),
        other => panic!("{other:?}"),
    }
    assert!(!is_there(&server, "u") && at_work(&server) == 0 && no_journal(&place));
    leave();
    match restore_left(&place.home, None, &watchdog()).unwrap().as_slice() {
        [recovered @ Recovered::Undone { .. }] => {
            assert!(
                recovered.words().contains("; undone: \"CREATE TABLE u (); COMMIT;"),
                "{}",
                recovered.words()
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(!is_there(&server, "u") && at_work(&server) == 0 && no_journal(&place));
}

#[test]
fn ctrl_c_ends_a_slow_do_and_undoes_it() {
    let place = Place::new();
    let server = cluster(&place);
    let file = place.open_folder().join("file");
    let slow = sql("CREATE TABLE u (); COMMIT; SELECT pg_sleep(600)", "DROP TABLE IF EXISTS u");
    for change in [slow, deaf_command(&file, "7005")] {
        let mut changer = Changer::start(&place, &dsn(&server), &[change]);
        eventually(BOUND, "the do is begun", || is_there(&server, "u") || file.exists());
        let start = Instant::now();
        std::io::Write::write_all(changer.process.stdin.as_mut().unwrap(), b"\n").unwrap();
        let said = changer.says();
        assert!(said.ends_with("was stopped"), "{said}");
        changer.process.wait().unwrap();
        assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
        assert!(!is_there(&server, "u") && !file.exists() && no_journal(&place));
        assert_eq!((at_work(&server), with_words("sleep 7005").len()), (0, 0));
    }
}

#[test]
fn an_undo_that_waits_for_somebody_else_is_done_later() {
    let place = Place::new();
    let server = cluster(&place);
    let mut changer =
        Changer::start(&place, &dsn(&server), &[sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u")]);
    assert_eq!(changer.says(), "made");
    let guard = changer.guards()[0];
    let mut reader = server.connect("postgres").unwrap();
    reader.execute("BEGIN; SELECT FROM u").unwrap();
    let start = changer.kill();
    eventually(within(start), "the watchdog ends", || !is_alive(guard));
    assert_eq!((left(&place.home).unwrap().len(), at_work(&server)), (1, 1), "its undo still waits");
    reader.execute("ROLLBACK").unwrap();
    assert_eq!(restore_left(&place.home, None, &watchdog()).unwrap().len(), 1);
    assert!(!is_there(&server, "u") && at_work(&server) == 0 && no_journal(&place));
}

#[test]
fn a_private_server_that_stays_has_its_changes_undone_while_it_runs() {
    let place = Place::new();
    drop(cluster(&place));
    let options = managed::ServerOptions { detached: true, ..managed::ServerOptions::default() };
    drop(Cluster::ensure(&place.home, "main", &options, &watchdog(), &Stop::new()).unwrap());
    let change = [sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u")];
    let mut changer = Changer::start(&place, "main", &change);
    assert_eq!(changer.says(), "made");
    let start = changer.kill();
    eventually(within(start), "undone", || no_journal(&place));

    let mut changer = Changer::start(&place, "main", &change);
    assert_eq!(changer.says(), "made");
    changer.guards().into_iter().for_each(kill);
    changer.kill();
    let mut server = Cluster::open(&place.home, "main", &watchdog(), &Stop::new()).unwrap();
    // A connection by another way undoes it, too.
    match by_url(&server, &place, Rights::Restore).recovered() {
        [Recovered::Undone { undone, .. }] => assert_eq!(undone.changes.len(), 1),
        other => panic!("{other:?}"),
    }
    assert!(no_journal(&place));
    server.stop().unwrap();
}

#[test]
fn a_deaf_command_of_a_killed_pgdyno_is_ended_and_undone() {
    let place = Place::new();
    let server = cluster(&place);
    let file = place.open_folder().join("file");
    for (seconds, with_watchdogs) in [("7003", false), ("7004", true)] {
        let words = format!("sleep {seconds}");
        let mut changer = Changer::start(&place, &dsn(&server), &[deaf_command(&file, seconds)]);
        eventually(BOUND, "the do is begun", || file.exists() && with_words(&words).len() >= 3);
        if with_watchdogs {
            children(changer.process.id()).into_iter().for_each(kill);
        }
        let start = changer.kill();
        if with_watchdogs {
            assert_eq!(restore_left(&place.home, Some(&dsn(&server)), &watchdog()).unwrap().len(), 1);
        }
        eventually(within(start), "undone", || no_journal(&place));
        assert!(!file.exists());
        eventually(within(start), "all processes end", || with_words(&words).is_empty());
    }
}

#[test]
fn a_private_server_has_its_changes_undone_when_it_runs_again() {
    let place = Place::new();
    drop(cluster(&place));
    let file = place.open_folder().join("file");
    let changes = [
        command(&format!("touch {}", file.display()), &format!("rm -f {}", file.display())),
        sql("CREATE TABLE u ()", "DROP TABLE IF EXISTS u"),
    ];
    let open = || Cluster::open(&place.home, "main", &watchdog(), &Stop::new()).unwrap();
    let journal = managed::status(&place.home, "main").unwrap().journal;
    let mut changer = Changer::start(&place, "main", &changes);
    assert_eq!(changer.says(), "made");
    assert!(file.exists() && left_in(&journal).is_some() && left(&place.home).unwrap().is_empty());
    let start = changer.kill();
    // The server ends with its pgdyno; what was done to the machine is still undone.
    eventually(within(start), "the file is gone", || !file.exists());
    eventually(within(start), "the server ends", || {
        managed::status(&place.home, "main").unwrap().pid.is_none()
    });
    drop(by_name(&place));
    assert!(no_journal(&place));
    let mut target = by_name(&place);
    let gone = |target: &Target| {
        let there = target.control().unwrap().scalar("SELECT to_regclass('u')").unwrap();
        there.is_none()
    };
    assert!(gone(&target) && target.recovered().is_empty());

    // A living pgdyno undoes it before it stops; if it is killed with its watchdogs, the repair does.
    make(&mut target, &changes[1]).unwrap();
    assert!(!gone(&target));
    drop(target);
    assert!(!journal.exists());
    let mut changer = Changer::start(&place, "main", &changes);
    assert_eq!(changer.says(), "made");
    children(changer.process.id()).into_iter().for_each(kill);
    changer.kill();
    eventually(BOUND, "the server ends", || managed::status(&place.home, "main").unwrap().pid.is_none());
    let left = left_in(&journal).unwrap();
    assert_eq!((left.changes.len(), left.by), (2, LeftBy::Killed));
    let mut server = open();
    match restore_changes(&mut server, &watchdog()).unwrap() {
        Some(Recovered::Undone { undone, .. }) => assert_eq!(undone.changes.len(), 2),
        other => panic!("{other:?}"),
    }
    assert!(server.pid().is_none() && no_journal(&place) && !file.exists());
    assert!(restore_changes(&mut server, &watchdog()).unwrap().is_none());
    drop(server);
    assert!(gone(&by_name(&place)));
}
