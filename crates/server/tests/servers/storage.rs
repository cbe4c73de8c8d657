//! Filesystems made for servers: there, used, and gone without a trace, however their maker ends.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use server::Stop;
use server::child::Account;
use server::home::{Home, HomeFolder};
use server::storage::{Mounted, available_below, remove_dead};
use spec::plan::storage::{Filesystem, FilesystemKind, StorageLocation};
use spec::{Class, Error};

use crate::support::{Place, eventually, is_alive, kill, not_run, watchdog};

fn filesystem(kind: FilesystemKind) -> Filesystem {
    // mkfs.xfs makes nothing below 300 MB.
    Filesystem { kind, size_bytes: 400 << 20, mount_options: String::new() }
}

const EXT4: FilesystemKind = FilesystemKind::Ext4 { block_size_bytes: None, journal: None };
const XFS: FilesystemKind = FilesystemKind::Xfs { reflink: None };

fn btrfs() -> FilesystemKind {
    FilesystemKind::Btrfs { compression: Some("zstd:3".to_owned()), nodatacow: None }
}

fn zfs() -> FilesystemKind {
    FilesystemKind::Zfs { recordsize_bytes: Some(8192), compression: Some("lzjb".to_owned()) }
}

/// Tests only what this machine has; prints what it lacks.
fn can(home: &Home, kind: &FilesystemKind) -> bool {
    let available = available_below(home, &StorageLocation::Filesystem(filesystem(kind.clone())));
    available.map_err(|reason| not_run(&reason.to_string())).is_ok()
}

fn make(home: &Home, filesystem: &Filesystem) -> Result<Mounted, Error> {
    let account = Account::unprivileged().unwrap();
    Mounted::make(home, filesystem, account.as_ref(), &watchdog(), &Stop::new())
}

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Whatever of a home's filesystems is there: folders, mounts, loop devices, a daemon.
pub fn traces(home: &Home) -> Vec<String> {
    let storage = home.path(HomeFolder::Storage).display().to_string();
    let mut found = Vec::new();
    for (what, all) in
        [("mount", std::fs::read_to_string("/proc/mounts").unwrap()), ("loop", said("losetup", &["-a"]))]
    {
        found
            .extend(all.lines().filter(|line| line.contains(&storage)).map(|line| format!("{what}: {line}")));
    }
    for entry in std::fs::read_dir(home.path(HomeFolder::Storage)).into_iter().flatten().flatten() {
        if entry.file_name() != "zfs-fuse" {
            found.push(format!("folder: {}", entry.path().display()));
        }
    }
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(&format!("PGDYNO_ZFS={storage}")) {
            found.push(format!("daemon: {}", entry.path().display()));
        }
    }
    found
}

fn is_mounted(folder: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == folder.to_str())
}

/// Made, written to, mounted again, looked at, removed.
fn life_of(kind: FilesystemKind) {
    let place = Place::new();
    if !can(&place.home, &kind) {
        return;
    }
    let made = make(&place.home, &filesystem(kind.clone())).unwrap();
    let folder = made.folder();
    assert!(is_mounted(&folder), "{kind:?}");
    let metadata = folder.metadata().unwrap();
    assert_eq!((metadata.mode() & 0o777, metadata.uid()), (0o711, 0), "the account passes through");
    let written = b"the same bytes again and again, which is easily said shorter. ".repeat(200_000);
    std::fs::write(folder.join("file"), &written).unwrap();
    made.again().unwrap();
    assert!(is_mounted(&folder) && std::fs::read(folder.join("file")).unwrap() == written, "{kind:?}");
    let used = made.used().unwrap();
    let compressed = matches!(&kind, FilesystemKind::Btrfs { .. } | FilesystemKind::Zfs { .. });
    let all = written.len() as u64;
    if compressed {
        assert!(used.disk_bytes < all * 2 / 3 && used.ratio().unwrap() > 1.5, "{kind:?} {used:?}");
    } else {
        assert!(used.disk_bytes >= all && used.disk_bytes < 2 * all, "{kind:?} {used:?}");
        assert_eq!(used.uncompressed_bytes, None);
    }
    made.remove().unwrap();
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
}

#[test]
fn ext4_is_made_and_gone() {
    life_of(EXT4);
    life_of(FilesystemKind::Ext4 { block_size_bytes: Some(1024), journal: Some(false) });
}

#[test]
fn xfs_is_made_and_gone() {
    life_of(FilesystemKind::Xfs { reflink: Some(false) });
}

#[test]
fn btrfs_is_made_and_gone() {
    life_of(btrfs());
}

#[test]
fn zfs_is_made_and_gone() {
    let _one = one_zfs();
    life_of(zfs());
}

/// Arms side by side may have one each: the daemon goes with the last.
#[test]
fn two_of_zfs_share_a_daemon() {
    let _one = one_zfs();
    let place = Place::new();
    if !can(&place.home, &zfs()) {
        return;
    }
    let one = make(&place.home, &filesystem(zfs())).unwrap();
    let other = FilesystemKind::Zfs { recordsize_bytes: None, compression: None };
    let two = make(&place.home, &filesystem(other)).unwrap();
    one.remove().unwrap();
    std::fs::write(two.folder().join("file"), "there").unwrap();
    two.again().unwrap();
    assert_eq!(std::fs::read_to_string(two.folder().join("file")).unwrap(), "there");
    drop(two);
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
}

#[test]
fn zfs_that_is_somebody_elses_or_does_not_know_an_option_is_not_to_be_had() {
    let _one = one_zfs();
    let place = Place::new();
    let why = |kind| {
        available_below(&place.home, &StorageLocation::Filesystem(filesystem(kind))).unwrap_err().to_string()
    };
    if !can(&place.home, &zfs()) || Path::new("/dev/zfs").exists() {
        return;
    }
    let lz4 = FilesystemKind::Zfs { recordsize_bytes: None, compression: Some("lz4".to_owned()) };
    assert!(why(lz4).contains("zfs-fuse does not know compression lz4 (it knows on | off | lzjb"));
    let large = FilesystemKind::Zfs { recordsize_bytes: Some(1 << 20), compression: None };
    assert!(why(large).contains("no recordsize above 128k"));
    let mut theirs = Command::new("zfs-fuse").args(["--no-daemon", "--no-kstat-mount"]).spawn().unwrap();
    eventually(Duration::from_secs(5), "it listens", || {
        std::os::unix::net::UnixStream::connect("/var/run/zfs/zfs_socket").is_ok()
    });
    let said = why(zfs());
    let refused = make(&place.home, &filesystem(zfs()));
    theirs.kill().unwrap();
    theirs.wait().unwrap();
    assert!(said.contains(&format!("pgdyno did not start here (pid {})", theirs.id())), "{said}");
    assert_eq!(refused.unwrap_err().class(), Class::Missing);
}

/// Only one daemon can be on a machine, and each test has its own home.
pub fn one_zfs() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// An owner in its own process; what it says once the filesystem is there.
fn owner(
    home: &Home,
    filesystem: &Filesystem,
) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let text = serde_json::to_string(filesystem).unwrap();
    let mut child = Command::new(watchdog().exe)
        .arg("storage-owner")
        .arg(home.folder())
        .arg(text)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    (child, said)
}

fn keeper_and_folder(said: &mut BufReader<std::process::ChildStdout>) -> (u32, PathBuf) {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let (pid, folder) = line.trim().split_once(' ').unwrap();
    (pid.parse().unwrap(), folder.into())
}

/// Killed at every moment of making: between the folder and the mount, and when it is all there.
fn killed_at_any_step(kind: &FilesystemKind, steps_ms: &[u64]) {
    let place = Place::new();
    if !can(&place.home, kind) {
        return;
    }
    for after in steps_ms {
        let (mut child, _said) = owner(&place.home, &filesystem(kind.clone()));
        std::thread::sleep(Duration::from_millis(*after));
        kill(child.id());
        child.wait().unwrap();
        let what = format!("{kind:?} killed after {after} ms: {:?}", traces(&place.home));
        eventually(Duration::from_secs(10), &what, || traces(&place.home).is_empty());
    }
}

#[test]
fn a_killed_maker_leaves_nothing() {
    killed_at_any_step(&EXT4, &[5, 15, 25, 35, 45, 60, 80, 120, 300]);
    killed_at_any_step(&XFS, &[20, 40, 60, 90]);
    killed_at_any_step(&btrfs(), &[20, 40, 60, 90]);
}

#[test]
fn a_killed_maker_of_zfs_leaves_nothing() {
    let _one = one_zfs();
    killed_at_any_step(&zfs(), &[20, 60, 100, 200, 600]);
}

/// The next pgdyno of the home does what a killed keeper cannot.
#[test]
fn what_killed_keepers_left_is_removed_at_the_next_start() {
    let _one = one_zfs();
    for kind in [EXT4, zfs()] {
        let place = Place::new();
        if !can(&place.home, &kind) {
            continue;
        }
        let (mut child, mut said) = owner(&place.home, &filesystem(kind.clone()));
        let (keeper, folder) = keeper_and_folder(&mut said);
        kill(keeper);
        eventually(Duration::from_secs(2), "the keeper is gone", || !is_alive(keeper));
        assert!(remove_dead(&place.home).is_empty(), "its owner lives and uses it");
        kill(child.id());
        child.wait().unwrap();
        assert!(is_mounted(&folder));
        let told = remove_dead(&place.home);
        assert!(
            told.len() == 1 && told[0].starts_with("removed ") && told[0].contains(kind.name()),
            "{told:?}"
        );
        assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
    }
}

/// Keepers may be killed too, at any step; nothing but the journal tells the next one.
#[test]
fn what_is_half_made_is_removed_at_the_next_start() {
    let place = Place::new();
    if !can(&place.home, &EXT4) {
        return;
    }
    for after in [3, 10, 20, 30, 40, 60, 90] {
        let (mut child, _said) = owner(&place.home, &filesystem(EXT4));
        std::thread::sleep(Duration::from_millis(after));
        // The owner first would have its keeper clean up.
        let keepers = said_children(child.id());
        keepers.iter().for_each(|keeper| kill(*keeper));
        kill(child.id());
        child.wait().unwrap();
        eventually(Duration::from_secs(5), "all dead", || !keepers.iter().any(|keeper| is_alive(*keeper)));
        // A keeper that was started between both kills removes all by itself, a moment later.
        let what = format!("nothing is left of what was killed after {after} ms");
        eventually(Duration::from_secs(10), &what, || {
            remove_dead(&place.home);
            traces(&place.home).is_empty()
        });
    }
}

fn said_children(pid: u32) -> Vec<u32> {
    let all = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// A keeper that is killed leaves the filesystem to us.
#[test]
fn a_filesystem_without_its_keeper_is_removed_all_the_same() {
    let place = Place::new();
    if !can(&place.home, &EXT4) {
        return;
    }
    let made = make(&place.home, &filesystem(EXT4)).unwrap();
    let keeper = made.keeper().unwrap();
    kill(keeper);
    eventually(Duration::from_secs(2), "the keeper is gone", || !is_alive(keeper));
    assert!(made.again().is_err());
    made.remove().unwrap();
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
}

/// A shell uses it: after a wait it is unmounted lazily.
#[test]
fn who_stands_in_a_filesystem_does_not_keep_it() {
    let place = Place::new();
    if !can(&place.home, &EXT4) {
        return;
    }
    let (mut child, mut said) = owner(&place.home, &filesystem(EXT4));
    let (_, folder) = keeper_and_folder(&mut said);
    let mut shell = Command::new("sleep").arg("60").current_dir(&folder).spawn().unwrap();
    kill(child.id());
    child.wait().unwrap();
    eventually(Duration::from_secs(12), "no mount and no folder", || {
        traces(&place.home).iter().all(|trace| trace.starts_with("loop: "))
    });
    shell.kill().unwrap();
    shell.wait().unwrap();
    eventually(Duration::from_secs(2), "the kernel lets go of the device", || traces(&place.home).is_empty());
}

#[test]
fn a_mistake_in_options_is_told_and_leaves_nothing() {
    let place = Place::new();
    if !can(&place.home, &EXT4) {
        return;
    }
    let wrong = Filesystem { mount_options: "no_such_option".to_owned(), ..filesystem(EXT4) };
    let said = make(&place.home, &wrong).unwrap_err().to_string();
    assert!(said.starts_with("mount failed: ") && said.contains("mount"), "{said}");
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
}

/// The folder for images is on a disk that is too small, or that others fill.
#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let place = Place::new();
    if !can(&place.home, &EXT4) {
        return;
    }
    let of = |megabytes: u64| Filesystem { size_bytes: megabytes << 20, ..filesystem(EXT4) };
    let disk = make(&place.home, &of(300)).unwrap();
    let home = Home::at(&disk.folder().join("home"));
    let refused = make(&home, &filesystem(EXT4)).unwrap_err();
    assert_eq!(refused.class(), Class::Missing);
    assert!(refused.to_string().contains("do not fit"), "{refused}");
    let inner = make(&home, &of(150)).unwrap();
    let full = std::fs::write(disk.folder().join("others"), vec![7; 400 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let file = std::fs::File::create(inner.folder().join("file")).unwrap();
    let written = std::io::Write::write_all(&mut &file, &vec![7; 100 << 20]).and_then(|()| file.sync_all());
    assert!(written.is_err(), "it does not fit");
    drop(file);
    inner.remove().unwrap();
    assert!(traces(&home).is_empty(), "{:?}", traces(&home));
    disk.remove().unwrap();
    assert!(traces(&place.home).is_empty(), "{:?}", traces(&place.home));
}

#[test]
fn who_is_not_root_is_told() {
    let place = Place::new();
    let mut owner = Command::new(watchdog().exe);
    owner
        .arg("storage-owner")
        .arg(place.folder().join("home"))
        .arg(serde_json::to_string(&filesystem(EXT4)).unwrap());
    if let Some(account) = Account::unprivileged().unwrap() {
        std::os::unix::process::CommandExt::uid(&mut owner, account.uid);
    }
    match owner.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("ext4 is not available: loop devices and mounting need root"), "{said}");
        }
        Err(error) => not_run(&format!("others cannot start {}: {error}", watchdog().exe.display())),
    }
}
