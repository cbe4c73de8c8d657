//! Servers with files on a filesystem made for them, or in a named folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::postgres::sql::Sql;
use server::home::HomeFolder;
use server::managed::{Cluster, ServerOptions, list, stop_orphans};
use server::storage::{available_below, remove_dead};
use server::{Stop, Target};
use spec::plan::storage::{Filesystem, FilesystemKind, Holds, Storage, StorageLocation};
use spec::{Class, Error};

use crate::storage::traces;
use crate::support::{Place, eventually, is_alive, kill, not_run, watchdog};

fn made(holds: Holds, kind: FilesystemKind) -> Storage {
    let filesystem = Filesystem { kind, size_bytes: 500 << 20, mount_options: String::new() };
    Storage { holds, on: StorageLocation::Filesystem(filesystem) }
}

fn ext4(holds: Holds) -> Storage {
    made(holds, FilesystemKind::Ext4 { block_size_bytes: None, journal: None })
}

/// In a folder next to the home that the server's account can reach.
fn folder(place: &Place, holds: Holds) -> Storage {
    use std::os::unix::fs::PermissionsExt;
    let folder = place.folder().join("disk");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    Storage { holds, on: StorageLocation::Folder(folder) }
}

fn can(place: &Place, storage: &Storage) -> bool {
    available_below(&place.home, &storage.on).map_err(|reason| not_run(&reason.to_string())).is_ok()
}

fn options(storage: &Storage) -> ServerOptions {
    ServerOptions { storage: Some(storage.clone()), ..ServerOptions::default() }
}

fn open(place: &Place, storage: &Storage) -> Result<Target, Error> {
    Target::managed(&place.home, "main", &options(storage), &[], &watchdog(), &Stop::new())
}

fn ask(target: &Target, query: &str) -> String {
    target.control().unwrap().scalar(query).unwrap().unwrap_or_default()
}

/// Where the database's table stands, on what `/proc` says is mounted there.
fn real(path: impl AsRef<Path>) -> std::path::PathBuf {
    path.as_ref().canonicalize().unwrap()
}

const TABLE: &str =
    "CREATE TABLE t AS SELECT x, repeat('again and again ', 20) AS y FROM generate_series(1, 20000) AS x";

fn life_of(storage: &Storage) {
    let place = Place::new();
    if !can(&place, storage) {
        return;
    }
    let mut target = open(&place, storage).unwrap();
    let data = target.data_folder().unwrap();
    let ground = real(place.home.path(HomeFolder::Storage));
    target.use_database("pgdyno").unwrap();
    target.control().unwrap().execute(TABLE).unwrap();
    let file = data.join(ask(&target, "SELECT pg_relation_filepath('t')"));
    let (on_data, on_wal) =
        (real(&file).starts_with(&ground), real(data.join("pg_wal")).starts_with(&ground));
    assert_eq!(
        (on_data, on_wal),
        match storage.holds {
            Holds::Data => (true, true),
            Holds::Tablespace => (true, false),
            Holds::Wal => (false, true),
        }
    );
    target.control().unwrap().execute("CHECKPOINT").unwrap();
    let used = target.storage_used().unwrap().unwrap();
    assert!(
        used.uncompressed_bytes.unwrap_or(used.disk_bytes) > 4 << 20 && used.disk_bytes > 1 << 20,
        "{used:?}"
    );
    assert!(target.storage_label().unwrap().starts_with(match &storage.on {
        StorageLocation::Filesystem(filesystem) => filesystem.kind.name(),
        StorageLocation::Folder(_) => "folder",
    }));
    let pid = target.postmaster();
    assert!(target.drop_storage_caches().unwrap(), "{storage:?}");
    assert!(target.postmaster() != pid && ask(&target, "SELECT count(*) FROM t") == "20000");
    copy_of(&mut target);
    drop(target);
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
    assert!(list(&place.home).unwrap().0.is_empty(), "{:?}", list(&place.home));
}

/// A copy shares its server's storage, and continues when the server is gone.
fn copy_of(target: &mut Target) {
    let cluster = target.cluster().unwrap();
    assert_eq!(cluster.not_to_be_copied().unwrap(), None);
    let plain = ServerOptions::default();
    cluster.stop_cleanly().unwrap();
    let sizes = cluster.sizes().unwrap();
    assert!(sizes.wal >= 16 << 20 && sizes.data > 10 << 20, "{sizes:?}");
    let mut told = 0;
    let copy = cluster.copy(1, "this test", &plain, &mut |bytes| told = bytes).unwrap();
    assert!(told > 30 << 20, "{told}");
    let (own, its) = (cluster.data(), copy.data());
    let mut copy = Target::copied(copy, &plain, &watchdog()).unwrap();
    copy.use_database("pgdyno").unwrap();
    assert_eq!(ask(&copy, "SELECT count(*) FROM t"), "20000");
    for part in ["pg_wal", &ask(&copy, "SELECT pg_relation_filepath('t')")] {
        let (own, its) = (real(own.join(part)), real(its.join(part)));
        assert!(own != its, "{} is shared", own.display());
        // The number of a copy stands behind the name of its server.
        let of_server = its.display().to_string().replace("main.1", "main");
        assert_eq!(of_server, own.display().to_string(), "in its own folder");
    }
    copy.control().unwrap().execute("DROP TABLE t").unwrap();
    drop(copy);
    // It is used again.
    let again = cluster.copy(1, "this test", &plain, &mut |_| {}).unwrap();
    let mut again = Target::copied(again, &plain, &watchdog()).unwrap();
    again.use_database("pgdyno").unwrap();
    assert_eq!(ask(&again, "SELECT to_regclass('t') IS NULL"), "t");
    again.throw_away().unwrap();
    cluster.start().unwrap();
}

#[test]
fn all_files_stand_on_ext4() {
    life_of(&ext4(Holds::Data));
}

#[test]
fn databases_stand_on_btrfs() {
    life_of(&made(
        Holds::Tablespace,
        FilesystemKind::Btrfs { compression: Some("zstd".to_owned()), nodatacow: None },
    ));
}

#[test]
fn the_log_stands_on_xfs() {
    life_of(&made(Holds::Wal, FilesystemKind::Xfs { reflink: None }));
}

#[test]
fn all_files_stand_on_zfs() {
    let _one = crate::storage::one_zfs();
    life_of(&made(
        Holds::Data,
        FilesystemKind::Zfs { recordsize_bytes: Some(8192), compression: Some("lzjb".to_owned()) },
    ));
}

#[test]
fn what_stands_in_a_folder_stays_there_until_it_is_destroyed() {
    for holds in [Holds::Data, Holds::Tablespace] {
        let place = Place::new();
        let storage = folder(&place, holds);
        let mut target = open(&place, &storage).unwrap();
        target.use_database("pgdyno").unwrap();
        target.control().unwrap().execute(TABLE).unwrap();
        assert!(!target.drop_storage_caches().unwrap(), "a folder is not unmounted");
        assert!(target.storage_used().unwrap().unwrap().disk_bytes > 4 << 20);
        if holds == Holds::Data {
            copy_of(&mut target);
        }
        // Lost while the server runs: that is reported, whatever the server reports.
        let (ours, away) = (place.folder().join("disk/pgdyno-main"), place.folder().join("away"));
        std::fs::rename(&ours, &away).unwrap();
        let lost = target.cluster().unwrap().disk_error().unwrap();
        assert!(lost.to_string().contains(", was lost: "), "{lost}");
        std::fs::rename(&away, &ours).unwrap();
        assert!(target.cluster().unwrap().disk_error().is_none());
        drop(target);
        assert!(ours.is_dir() && stop_orphans(&place.home).is_empty());
        let mut target = open(&place, &storage).unwrap();
        target.use_database("pgdyno").unwrap();
        assert_eq!(ask(&target, "SELECT count(*) FROM t"), "20000");
        drop(target);

        // Elsewhere than it is asked for.
        let plain =
            Target::managed(&place.home, "main", &ServerOptions::default(), &[], &watchdog(), &Stop::new());
        let said = plain.unwrap_err().to_string();
        assert!(said.contains("/disk") && said.contains("in pgdyno's own folder"), "{said}");
        let elsewhere = open(&place, &ext4(holds)).unwrap_err().to_string();
        assert!(elsewhere.contains("ext4, made for it"), "{elsewhere}");
        // Its disk is not mounted: it is not made again there.
        std::fs::rename(&ours, &away).unwrap();
        let gone = open(&place, &storage).unwrap_err();
        assert_eq!(gone.class(), Class::Missing);
        assert!(gone.to_string().ends_with("which does not exist"), "{gone}");
        assert!(gone.hint().is_some_and(|hint| hint.contains("mount its disk")), "{gone}");
        std::fs::rename(&away, &ours).unwrap();

        Cluster::open(&place.home, "main", &watchdog(), &Stop::new()).unwrap().destroy().unwrap();
        assert!(std::fs::read_dir(place.folder().join("disk")).unwrap().next().is_none());
        assert!(list(&place.home).unwrap().0.is_empty());
    }
}

#[test]
fn folders_of_others_are_left_alone() {
    let place = Place::new();
    let storage = folder(&place, Holds::Data);
    let theirs = place.folder().join("disk/pgdyno-main");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("precious"), "").unwrap();
    let error = open(&place, &storage).unwrap_err();
    assert!(error.to_string().contains("is not pgdyno's"), "{error}");
    assert!(theirs.join("precious").exists());
}

#[test]
fn a_server_that_stays_has_no_filesystem_made_for_it() {
    let place = Place::new();
    let detached = ServerOptions { detached: true, ..options(&ext4(Holds::Data)) };
    let error = Cluster::ensure(&place.home, "main", &detached, &watchdog(), &Stop::new()).unwrap_err();
    assert!(error.to_string().contains("can have no filesystem made for it"), "{error}");
}

fn owner(place: &Place, storage: &Storage) -> std::process::Child {
    Command::new(watchdog().exe)
        .arg("standing-owner")
        .arg(place.home.folder())
        .arg(serde_json::to_string(storage).unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Killed while it is made, while initdb runs, and while the server runs.
fn killed(storage: &Storage, after_ms: &[u64]) {
    let place = Place::new();
    if !can(&place, storage) {
        return;
    }
    for after in after_ms {
        let mut owner = owner(&place, storage);
        std::thread::sleep(Duration::from_millis(*after));
        kill(owner.id());
        owner.wait().unwrap();
        let what = format!("{storage:?} killed after {after} ms: {:?}", traces(&place.home));
        eventually(Duration::from_secs(11), &what, || traces(&place.home).is_empty());
        stop_orphans(&place.home);
        assert!(remove_dead(&place.home).is_empty() && list(&place.home).unwrap().0.is_empty(), "{what}");
    }
    let mut owner = owner(&place, storage);
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server: u32 = line.trim().parse().unwrap();
    kill(owner.id());
    owner.wait().unwrap();
    if storage.holds == Holds::Data
        && !matches!(&storage.on, StorageLocation::Filesystem(on) if on.kind.name() == "zfs")
    {
        // Who comes at once has a server of his own.
        let next = open(&place, storage).unwrap();
        assert!(next.control().is_ok() && !is_alive(server));
    }
    eventually(Duration::from_secs(11), "all gone", || traces(&place.home).is_empty() && !is_alive(server));
    stop_orphans(&place.home);
    assert!(list(&place.home).unwrap().0.is_empty(), "{:?}", list(&place.home));
}

#[test]
fn a_killed_owner_leaves_neither_server_nor_filesystem() {
    killed(&ext4(Holds::Data), &[150, 900]);
    killed(&ext4(Holds::Wal), &[]);
}

#[test]
fn who_is_stopped_takes_server_and_filesystem_along() {
    let place = Place::new();
    let storage = ext4(Holds::Data);
    if !can(&place, &storage) {
        return;
    }
    let mut owner = owner(&place, &storage);
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!traces(&place.home).is_empty());
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
    // What it did not wait for, its watchdogs do.
    eventually(Duration::from_secs(10), "all gone", || traces(&place.home).is_empty());
    assert!(!is_alive(line.trim().parse().unwrap()) && list(&place.home).unwrap().0.is_empty());
}

#[test]
fn a_killed_owner_leaves_nothing_of_zfs() {
    let _one = crate::storage::one_zfs();
    let zfs = FilesystemKind::Zfs { recordsize_bytes: None, compression: Some("gzip-1".to_owned()) };
    killed(&made(Holds::Data, zfs), &[1200]);
}
