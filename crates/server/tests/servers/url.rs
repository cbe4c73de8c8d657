//! Servers given by connection string: a managed server plays a foreign one.

use protocol::postgres::sql::{Sql, Supply};
use server::Target;
use server::control::ConnectFailure;
use server::home::HomeFolder;
use server::managed::Cluster;
use server::settings::journal::{LeftBy, Recovered, left};
use server::settings::{Effort, SettingValues, catalog, without_right};
use server::url::Rights;
use spec::{Class, Error};

use crate::support::{Place, cluster, watchdog};

fn open(dsn: &str, rights: Rights, place: &Place) -> Result<Target, Error> {
    Target::url(dsn, rights, &[], &place.home, &watchdog())
}

fn dsn(server: &Cluster, rest: &str) -> String {
    format!(
        "host={} port={} user=postgres dbname=postgres {rest}",
        server.socket_folder().display(),
        server.port()
    )
}

fn wanted(pairs: &[(&str, &str)]) -> SettingValues {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn show(target: &Target, name: &str) -> String {
    target.control().unwrap().scalar(&format!("SHOW {name}")).unwrap().unwrap()
}

#[test]
fn nothing_of_a_foreign_server_changes_unasked() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = open(&dsn(&server, ""), Rights::Restore, &place).unwrap();
    let applied = target.apply(&wanted(&[("work_mem", "64MB"), ("fsync", "on")])).unwrap();
    assert_eq!((applied.effort, applied.server.len()), (Effort::None, 0));
    assert_eq!(show(&target, "work_mem"), "64MB");
    let error = target.apply(&wanted(&[("fsync", "off")])).unwrap_err();
    assert!(error.to_string().contains("can only be set for the whole server"), "{error}");
    assert!(target.cluster().is_err() && target.machine().is_err());
    let error = target.ensure_extension("hstore").unwrap_err();
    assert!(error.to_string().contains("has no extension hstore"), "{error}");
}

/// That a role may not read the former values was found after the first runs.
#[test]
fn rights_to_change_a_server_are_asked_before_it_is_tried() {
    let place = Place::new();
    let server = cluster(&place);
    let mut owner = server.connect("postgres").unwrap();
    owner.execute("CREATE ROLE app LOGIN").unwrap();
    let told = || {
        let dsn = dsn(&server, "").replace("user=postgres", "user=app");
        let target = open(&dsn, Rights::Change, &place).unwrap();
        let mut control = target.control().unwrap();
        let (known, means) = (catalog(&mut control).unwrap(), target.means(&control));
        let arm = wanted(&[("autovacuum_naptime", "9min"), ("work_mem", "64MB"), ("fsync", "on")]);
        let found = without_right(&mut control, &known, &arm, means).unwrap();
        found.iter().map(|refusal| refusal.error.to_string()).collect::<Vec<_>>()
    };
    let found = told();
    assert_eq!(found.len(), 1, "{found:?}");
    for right in ["autovacuum_naptime", "pg_file_settings", "pg_reload_conf()", "ALTER SYSTEM ON PARAMETER"] {
        assert!(found[0].contains(right), "no {right}: {found:?}");
    }
    owner
        .execute(
            "GRANT SELECT ON pg_file_settings TO app; \
             GRANT EXECUTE ON FUNCTION pg_show_all_file_settings(), pg_reload_conf() TO app",
        )
        .unwrap();
    if owner.scalar("SELECT current_setting('server_version_num')::int >= 150000").unwrap().as_deref()
        == Some("t")
    {
        owner.execute("GRANT ALTER SYSTEM ON PARAMETER autovacuum_naptime TO app").unwrap();
        assert_eq!(told(), [] as [&str; 0]);
    }
}

#[test]
fn allowed_changes_are_put_back_also_after_a_crash() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = server.connect("postgres").unwrap();
    control.execute("ALTER SYSTEM SET checkpoint_timeout = '7min'").unwrap();
    control.execute("SELECT pg_reload_conf()").unwrap();

    let mut target = open(&dsn(&server, ""), Rights::Change, &place).unwrap();
    let error = target.apply(&wanted(&[("shared_buffers", "1GB")])).unwrap_err();
    assert!(error.to_string().contains("a change takes a restart"), "{error}");
    let arm = wanted(&[("checkpoint_timeout", "9min"), ("fsync", "off")]);
    assert_eq!(target.apply(&arm).unwrap().effort, Effort::Reload);
    assert_eq!((show(&target, "checkpoint_timeout"), show(&target, "fsync")), ("9min".into(), "off".into()));
    // The other arm has none of it; the server stays this pgdyno's, and nobody else changes it meanwhile.
    target.apply(&SettingValues::new()).unwrap();
    match open(&dsn(&server, ""), Rights::Restore, &place).unwrap().recovered() {
        [Recovered::InUse(left)] => assert!(left.settings.is_empty(), "{left:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!((show(&target, "checkpoint_timeout"), show(&target, "fsync")), ("7min".into(), "on".into()));

    target.apply(&arm).unwrap();
    // A living pgdyno's journal is not touched, but told; and it changes the server alone.
    let mut other = open(&dsn(&server, ""), Rights::Change, &place).unwrap();
    match other.recovered() {
        [Recovered::InUse(left)] => assert_eq!(left.by, LeftBy::Living(std::process::id())),
        other => panic!("{other:?}"),
    }
    let error = other.apply(&wanted(&[("bgwriter_delay", "50ms")])).unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    assert!(error.to_string().starts_with("another pgdyno (pid "), "{error}");
    assert_eq!(
        (show(&other, "checkpoint_timeout"), show(&other, "bgwriter_delay")),
        ("9min".into(), "200ms".into())
    );
    drop(other);

    // A dead one's is undone.
    std::mem::forget(target);
    release_locks(&place);
    let onlooker = open(&dsn(&server, ""), Rights::ReadOnly, &place).unwrap();
    assert!(onlooker.recovered().is_empty());
    assert_eq!(show(&onlooker, "checkpoint_timeout"), "9min");
    let next = open(&dsn(&server, ""), Rights::Restore, &place).unwrap();
    match next.recovered() {
        [Recovered::Undone { undone, .. }] => assert_eq!(undone.restored, &["checkpoint_timeout", "fsync"]),
        other => panic!("{other:?}"),
    }
    assert_eq!((show(&next, "checkpoint_timeout"), show(&next, "fsync")), ("7min".into(), "on".into()));
    assert!(left(&place.home).unwrap().is_empty());
}

#[test]
fn what_somebody_changed_since_is_left_alone() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = server.connect("postgres").unwrap();
    let mut target = open(&dsn(&server, ""), Rights::Change, &place).unwrap();
    target
        .apply(&wanted(&[("checkpoint_timeout", "9min"), ("bgwriter_delay", "50ms"), ("fsync", "off")]))
        .unwrap();
    std::mem::forget(target);
    release_locks(&place);
    // One was changed again, one was put back already, but the server was not told.
    control.execute("ALTER SYSTEM SET checkpoint_timeout = '11min'").unwrap();
    control.execute("ALTER SYSTEM RESET bgwriter_delay").unwrap();
    let next = open(&dsn(&server, ""), Rights::Restore, &place).unwrap();
    match next.recovered() {
        [Recovered::Undone { undone, .. }] => {
            assert_eq!(undone.restored, ["fsync"]);
            assert_eq!(undone.as_before, ["bgwriter_delay"]);
            assert_eq!(undone.left_alone, ["checkpoint_timeout"]);
        }
        other => panic!("{other:?}"),
    }
    let now = ["checkpoint_timeout", "bgwriter_delay", "fsync"].map(|name| show(&next, name));
    assert_eq!(now, ["11min", "200ms", "on"]);
}

#[test]
fn a_journal_that_cannot_be_kept_refuses_the_change() {
    let place = Place::new();
    let server = cluster(&place);
    let mut target = open(&dsn(&server, ""), Rights::Change, &place).unwrap();
    std::fs::remove_dir_all(place.home.path(HomeFolder::Journal)).unwrap();
    let error = target.apply(&wanted(&[("checkpoint_timeout", "9min")])).unwrap_err();
    assert!(error.to_string().starts_with("cannot keep the journal "), "{error}");
    assert_eq!(show(&target, "checkpoint_timeout"), "5min");
}

/// A process that dies gives up its locks; a copy of the file has none.
fn release_locks(place: &Place) {
    for entry in std::fs::read_dir(place.home.path(HomeFolder::Journal)).unwrap().flatten() {
        let text = std::fs::read(entry.path()).unwrap();
        std::fs::remove_file(entry.path()).unwrap();
        std::fs::write(entry.path(), text).unwrap();
    }
}

#[test]
fn refusals_are_told_apart() {
    let place = Place::new();
    let server = cluster(&place);
    let open = |rest: &str| match open(&dsn(&server, rest), Rights::Restore, &place) {
        Err(error) => error,
        other => panic!("{rest}: {other:?}"),
    };
    assert!(open("dbname=nowhere").attached() == Some(&ConnectFailure::NoDatabase));
    assert!(open("user=nobody_here").attached() == Some(&ConnectFailure::NotAllowed));
    assert!(open("port=1").attached() == Some(&ConnectFailure::NoServer));
    let mut control = server.connect("postgres").unwrap();
    control
        .execute("ALTER ROLE postgres CONNECTION LIMIT 1; CREATE ROLE guest LOGIN CONNECTION LIMIT 0")
        .unwrap();
    assert!(open("user=guest").attached() == Some(&ConnectFailure::TooManyConnections));
}

#[test]
fn statements_fail_without_losing_the_connection() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = server.connect("postgres").unwrap();
    let error = control.query("SELECT 1; SELECT 1/0; SELECT 2").unwrap_err();
    assert!(error.is("22012"), "{error}");
    let sets = control.query("SELECT 1 AS a, NULL; CREATE TEMP TABLE t (x int); SELECT").unwrap();
    assert_eq!(sets.len(), 3);
    assert_eq!(sets[0].columns[0], "a");
    assert_eq!(sets[0].rows, [[Some("1".to_owned()), None]]);
    let mut left = 3;
    let copied = control.copy_in("COPY t FROM STDIN", &mut |out| {
        out.extend_from_slice(b"7\n");
        left -= 1;
        if left > 0 { Supply::More } else { Supply::End }
    });
    assert_eq!(copied.unwrap(), 3);
    let error = control.copy_in("COPY t FROM STDIN", &mut |out| {
        out.extend_from_slice(b"x\n");
        Supply::End
    });
    assert!(error.unwrap_err().is("22P02"));
    // Who would send for ever is not listened to for ever.
    let error = control.copy_in("COPY t FROM STDIN", &mut |out| {
        out.extend_from_slice(b"x\n");
        Supply::More
    });
    assert!(error.unwrap_err().is("22P02"));
    let error = control.copy_in("COPY t FROM STDIN", &mut |out| {
        out.extend_from_slice(b"1000\n");
        Supply::GiveUp
    });
    assert!(error.unwrap_err().is("57014"));
    // It was reported as a statement that was cancelled.
    let error = control.query("COPY t FROM STDIN").unwrap_err();
    assert!(error.sqlstate.as_deref() == Some("0A000") && error.text.contains("nothing to read"), "{error}");
    assert_eq!(control.scalar("SELECT sum(x) FROM t").unwrap().as_deref(), Some("21"));

    let canceller = control.canceller().unwrap();
    let waiting = std::thread::spawn(move || control.query("SELECT pg_sleep(60)"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    canceller.cancel(&|| false).unwrap();
    assert!(waiting.join().unwrap().unwrap_err().is("57014"));
}
