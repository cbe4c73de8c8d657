//! Copies of managed servers.

use protocol::postgres::sql::Sql;
use server::managed::{Cluster, ServerOptions, list, status, stop_orphans};
use server::{Stop, Target};

use crate::support::{Place, cluster, is_alive, kill, watchdog};

fn copy(template: &Cluster, number: u32) -> Cluster {
    template.copy(number, "this test", &ServerOptions::default(), &mut |_| {}).expect("a copy")
}

#[test]
fn copies_hold_the_same_and_live_by_themselves() {
    let place = Place::new();
    let mut template = cluster(&place);
    let mut control = template.connect("postgres").unwrap();
    control.execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS x").unwrap();
    drop(control);
    assert_eq!(template.not_to_be_copied().unwrap(), None);
    let error = template.copy(1, "x", &ServerOptions::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("was not stopped cleanly"), "{error}");
    template.stop_cleanly().unwrap();
    let sizes = template.sizes().unwrap();
    assert!(sizes.data > 1 << 20 && sizes.wal >= 16 << 20, "{sizes:?}");

    let mut told = 0;
    let one = template.copy(1, "this test", &ServerOptions::default(), &mut |bytes| told = bytes).unwrap();
    assert_eq!(told, sizes.data + sizes.wal - left_out(&template), "every byte is written");
    let mut one = Target::copied(one, &ServerOptions::default(), &watchdog()).unwrap();
    let mut two = Target::copied(copy(&template, 2), &ServerOptions::default(), &watchdog()).unwrap();
    for target in [&mut one, &mut two] {
        target.use_database("postgres").unwrap();
        let rows = target.control().unwrap().scalar("SELECT count(*) FROM t").unwrap();
        assert_eq!(rows.as_deref(), Some("1000"));
    }
    one.control().unwrap().execute("DROP TABLE t").unwrap();
    let there = "SELECT to_regclass('t') IS NOT NULL";
    assert_eq!(two.control().unwrap().scalar(there).unwrap().as_deref(), Some("t"));
    let names: Vec<String> = list(&place.home).unwrap().0.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["main", "main.1", "main.2"]);

    // A new start with settings that would take none: another process.
    let (before, settings) = (one.postmaster().unwrap(), [("work_mem".to_owned(), "7MB".to_owned())].into());
    one.reapply(&settings).unwrap();
    assert!(one.postmaster() != Some(before) && !is_alive(before));
    let (pid, folder) = (one.postmaster().unwrap(), one.data_folder().unwrap());
    one.throw_away().unwrap();
    assert!(!is_alive(pid) && !folder.exists());
    drop(two);
    template.destroy().unwrap();
    assert!(list(&place.home).unwrap().0.is_empty(), "copies go with their server");
}

/// What of a stopped server is none of its data.
fn left_out(server: &Cluster) -> u64 {
    ["postmaster.pid", "postmaster.opts"]
        .iter()
        .filter_map(|name| std::fs::metadata(server.data().join(name)).ok())
        .map(|file| file.len())
        .sum()
}

#[test]
fn a_copy_is_used_again_only_whole_clean_and_for_the_same() {
    let place = Place::new();
    let mut template = cluster(&place);
    template.stop_cleanly().unwrap();
    // Something that only this copy has.
    let mark = |copy: Cluster| {
        let mut target = Target::copied(copy, &ServerOptions::default(), &watchdog()).unwrap();
        target.use_database("postgres").unwrap();
        target.control().unwrap().execute("CREATE TABLE marked ()").unwrap();
        target
    };
    let is_marked = |copy: Cluster| {
        let mut target = Target::copied(copy, &ServerOptions::default(), &watchdog()).unwrap();
        target.use_database("postgres").unwrap();
        target.control().unwrap().scalar("SELECT to_regclass('marked') IS NOT NULL").unwrap().as_deref()
            == Some("t")
    };
    drop(mark(copy(&template, 1)));
    assert!(is_marked(copy(&template, 1)), "used again");
    let other = template.copy(1, "something else", &ServerOptions::default(), &mut |_| {}).unwrap();
    assert!(!is_marked(other), "made for something else");

    let mut target = mark(copy(&template, 1));
    let pid = target.postmaster().unwrap();
    kill(pid);
    while is_alive(pid) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let _ = target.check();
    drop(target);
    assert!(!is_marked(copy(&template, 1)), "not stopped cleanly");

    let mut target = mark(copy(&template, 1));
    target.cluster().unwrap().set_done_for_good(None).unwrap();
    drop(target);
    assert!(!is_marked(copy(&template, 1)), "something was begun and not done");
    let mut done = copy(&template, 1);
    done.set_done_for_good(Some("an index")).unwrap();
    drop(done);
    assert_eq!(copy(&template, 1).done(), Some("an index"), "it is remembered what was done");
}

#[test]
fn a_server_that_reaches_beyond_its_folder_is_not_copied() {
    let place = Place::new();
    let mut server = cluster(&place);
    let why = |server: &Cluster| server.not_to_be_copied().unwrap().unwrap_or_default();
    let set = |server: &mut Cluster, sql: &[&str]| {
        let mut control = server.connect("postgres").unwrap();
        sql.iter().for_each(|sql| control.execute(sql).unwrap());
        drop(control);
        server.restart().unwrap();
    };
    set(&mut server, &["ALTER SYSTEM SET log_directory = '/tmp'"]);
    assert!(why(&server).contains("absolute paths") && why(&server).contains("log_directory = /tmp"));
    set(&mut server, &["ALTER SYSTEM RESET ALL", "ALTER SYSTEM SET archive_mode = on"]);
    assert!(why(&server).contains("archives its log"), "{}", why(&server));
    set(&mut server, &["ALTER SYSTEM RESET ALL", "SELECT pg_create_physical_replication_slot('held')"]);
    assert!(why(&server).contains("replication slots") && why(&server).contains("held"));
    set(&mut server, &["SELECT pg_drop_replication_slot('held')"]);
    assert_eq!(server.not_to_be_copied().unwrap(), None);
    set(&mut server, &["SET allow_in_place_tablespaces = on", "CREATE TABLESPACE inside LOCATION ''"]);
    assert!(why(&server).contains("tablespaces") && why(&server).contains("inside"), "{}", why(&server));
    set(&mut server, &["DROP TABLESPACE inside"]);
    server.stop().unwrap();
    let (wal, elsewhere) = (server.data().join("pg_wal"), server.folder().join("elsewhere"));
    std::fs::rename(&wal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &wal).unwrap();
    server.start().unwrap();
    assert!(why(&server).contains("pg_wal is a link"), "{}", why(&server));
}

#[test]
fn the_name_of_a_copy_is_no_name_for_a_server() {
    let place = Place::new();
    let made = Cluster::ensure(&place.home, "main.1", &ServerOptions::default(), &watchdog(), &Stop::new());
    let error = made.unwrap_err().to_string();
    assert!(error.contains("invalid server name"), "{error}");
    let error = status(&place.home, "main.1").unwrap_err().to_string();
    assert!(error.contains("does not exist"), "{error}");
    let opened = Cluster::open(&place.home, "main.1", &watchdog(), &Stop::new());
    assert_eq!(opened.unwrap_err().to_string(), error);
}

/// As a killed pgdyno and its killed watchdogs leave a server where the kernel does not end it.
#[test]
fn a_server_that_nobody_watches_is_stopped_and_one_that_shall_stay_is_not() {
    let place = Place::new();
    let detached = ServerOptions { detached: true, ..ServerOptions::default() };
    let ensure = || Cluster::ensure(&place.home, "main", &detached, &watchdog(), &Stop::new()).unwrap();
    let server = ensure();
    let pid = server.pid().unwrap();
    assert!(stop_orphans(&place.home).is_empty(), "somebody uses it");
    let marker = server.folder().join("pgdyno-cluster.json");
    drop(server);
    assert!(stop_orphans(&place.home).is_empty() && is_alive(pid), "it was asked to stay");
    let text = std::fs::read_to_string(&marker).unwrap();
    std::fs::write(&marker, text.replace("\"detached\": true", "\"detached\": false")).unwrap();
    assert_eq!(stop_orphans(&place.home), ["main"]);
    assert!(!is_alive(pid));
}
