//! `pgdyno osm fetch` with a local mirror.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::mirror::{Fault, File, MALTA, Mirror, extract, md5_of};
use crate::support::{Finished, Place, SmallDisk, Watched, finish, not_available, signal};

/// `pgdyno osm fetch …` without the caller's proxies.
fn command(place: &Place, mirror: &Mirror, args: &[&str]) -> Command {
    let mut command = place.command(["osm", "fetch"].iter().chain(args));
    for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(proxy).env_remove(proxy.to_uppercase());
    }
    command.env("PGDYNO_OSM_MIRROR", mirror.url());
    command
}

fn fetch(place: &Place, mirror: &Mirror, args: &[&str]) -> Finished {
    finish(command(place, mirror, args))
}

#[track_caller]
fn wait_until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_extract_is_got_by_its_name_once() {
    let (place, mirror) = (Place::new(), Mirror::start());
    let done = fetch(&place, &mirror, &["Malta"]).expect(0);
    let file = place.home().join("extracts/malta-2026-11-20.osm.pbf");
    assert_eq!(done.stdout, format!("{}\n", file.display()), "the path is all that is data");
    assert_eq!(std::fs::read(&file).unwrap(), extract(200_000));
    let done = done.says(&[
        "fetching malta: 200",
        "whole by its MD5 sum",
        "© OpenStreetMap contributors, ODbL 1.0; extract by Geofabrik",
    ]);
    mirror.asked();
    let again = fetch(&place, &mirror, &["europe/malta", "--format", "json"]).expect(0);
    for words in [
        "\"id\": \"malta\"".to_owned(),
        format!("\"url\": \"{}{MALTA}\"", mirror.url()),
        format!("\"md5\": \"{}\"", md5_of(&extract(200_000))),
        "\"last_modified\": \"2026-11-20T21:21:18Z\"".to_owned(),
        "\"fetched\": \"before\"".to_owned(),
    ] {
        assert!(again.stdout.contains(&words), "no {words} in {}", again.stdout);
    }
    again.says(&["there already"]);
    assert!(!mirror.asked().contains(&format!("{MALTA} 200")));
    // No request is made, and no server is needed.
    let offline = fetch(&place, &mirror, &["--offline", "malta"]).expect(0).says(&["fetched before"]);
    assert_eq!((offline.stdout, mirror.asked()), (done.stdout, Vec::new()));
    fetch(&place, &mirror, &["--offline", "delaware"]).expect(65).says(&["what is kept: malta"]);
    let kept = fetch(&place, &mirror, &["--list", "--offline", "--format", "csv"]).expect(0).stdout;
    assert_eq!(kept, "id,name,parent\r\nmalta,Malta,europe\r\n");
}

#[test]
fn names_are_listed_and_slips_are_told() {
    let (place, mirror) = (Place::new(), Mirror::start());
    let listed = fetch(&place, &mirror, &["--list", "dela", "--format", "csv"]).expect(0).stdout;
    assert_eq!(listed, "id,name,parent\r\nus/delaware,us/delaware,us\r\n");
    fetch(&place, &mirror, &["malat"]).expect(64).says(&["no extract is called malat; did you mean malta?"]);
    fetch(&place, &mirror, &["punjab"]).expect(64).says(&["any of india/punjab, pakistan/punjab"]);
    fetch(&place, &mirror, &["delaware"])
        .expect(65)
        .says(&["delaware-latest.osm.pbf.md5: the server has no such file"]);
    fetch(&place, &mirror, &[]).expect(64);
    fetch(&place, &mirror, &["malta", "--mirror", "nowhere"])
        .expect(64)
        .says(&["not an address of a web server"]);
    let told =
        fetch(&place, &mirror, &["malta", "--mirror", "http://me:geheim@127.0.0.1:9"]).expect(66).stderr;
    assert!(!told.contains("geheim") && told.contains("http://127.0.0.1:9/index"), "{told}");
    fetch(&place, &mirror, &["malta", "-o", "nodir/x"]).expect(74).says(&["nodir/x.part", "make the folder"]);
    let sum = File::of(format!("{}  malta\n", "0".repeat(32)));
    mirror.put(&format!("{MALTA}.md5"), sum);
    fetch(&place, &mirror, &["malta", "-o", "m.pbf"])
        .expect(65)
        .says(&["what came is damaged", "fetches it again"]);
    assert!(!place.path().join("m.pbf").exists() && !place.path().join("m.pbf.part").exists());
}

#[test]
fn whatever_ends_a_download_the_same_command_goes_on() {
    let (place, mirror) = (Place::new(), Mirror::start());
    let part = place.path().join("m.pbf.part");
    let bytes = |path: &Path| std::fs::metadata(path).map(|data| data.len()).unwrap_or(0);
    let go_on = || {
        let mut running = Watched::start(command(&place, &mirror, &["malta", "-o", "m.pbf"]));
        assert!(running.until("fetching malta"), "{}", running.seen);
        running
    };
    for (name, kept, code) in [("INT", 40_000, Some(75)), ("KILL", 90_000, None)] {
        mirror.spoil(MALTA, &[Fault::Silent(kept - usize::try_from(bytes(&part)).unwrap())]);
        let running = go_on();
        wait_until(|| bytes(&part) == kept as u64);
        signal(running.child.id(), name);
        let (status, seen) = running.end();
        assert_eq!(status.code(), code, "{seen}");
        assert_eq!(seen.contains("the same command goes on"), code.is_some(), "{seen}");
    }
    // A silent server is tried again after a moment.
    mirror.spoil(MALTA, &[Fault::Silent(10_000)]);
    let done = fetch(&place, &mirror, &["malta", "-o", "m.pbf", "--timeout", "2"]).expect(0);
    let done =
        done.says(&["going on at 90.00 kB of 200", "the server was silent for 2 s; trying again in 1 s"]);
    assert_eq!(done.stdout, "m.pbf\n");
    assert_eq!(std::fs::read(place.path().join("m.pbf")).unwrap(), extract(200_000));
    assert!(!part.exists());
}

#[test]
fn a_full_disk_loses_nothing() {
    let (place, mirror) = (Place::new(), Mirror::start());
    let folder = place.path().join("small");
    let Some(disk) = SmallDisk::mount(&folder, "size=100k") else {
        return not_available("a full disk", "no file system can be mounted here");
    };
    let args = ["malta", "-o", "small/m.pbf"];
    fetch(&place, &mirror, &args).expect(74).says(&[
        "m.pbf.part",
        "No space left",
        "make room; the same command goes on",
    ]);
    assert!(disk.change("remount,size=1m"));
    fetch(&place, &mirror, &args).expect(0).says(&["going on at "]);
    assert_eq!(std::fs::read(folder.join("m.pbf")).unwrap(), extract(200_000));
}

/// The download filled all free space first.
#[test]
fn a_disk_that_is_too_small_is_known_before_the_download() {
    let (place, mirror) = (Place::new(), Mirror::start());
    mirror.publish(MALTA, File::of(extract(5_000_000)));
    let folder = place.path().join("small");
    let Some(_disk) = SmallDisk::mount(&folder, "size=2m") else {
        return not_available("a full disk", "no file system can be mounted here");
    };
    fetch(&place, &mirror, &["malta", "-o", "small/m.pbf"]).expect(74).says(&[
        "are still to come",
        "free",
        "make room, or name a file on another disk",
    ]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let size = ["malta", "-o", "m.pbf", "--max-size", "4MB"];
    fetch(&place, &mirror, &size)
        .expect(65)
        .says(&["announced size is more than the limit of 4.00 MB", "--max-size"]);
}
