//! Fetching from a mirror that fails in every way we could think of.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;

#[path = "../../tests/support/mirror.rs"]
mod mirror;

use mirror::{Fault, File, MALTA, Mirror, extract, md5_of};
use spec::Error;

#[derive(Default)]
struct Notes {
    events: Vec<String>,
    received: u64,
    stop_after: Option<u64>,
}

impl FetchObserver for Notes {
    fn event(&mut self, event: FetchEvent<'_>) {
        self.events.push(match event {
            FetchEvent::Redirected { from, to } => format!("{from} redirects to {to}"),
            FetchEvent::Begins { from, total } => format!("begins at {from} of {}", total.unwrap_or(0)),
            FetchEvent::Received(bytes) => {
                self.received = bytes;
                return;
            }
            FetchEvent::Restart(why) => format!("restart: {why:?}"),
            FetchEvent::Again { .. } => "again".to_owned(),
            FetchEvent::Verifying => "verifying".to_owned(),
        });
    }

    fn stops(&self) -> bool {
        self.stop_after.is_some_and(|bytes| self.received >= bytes)
    }
}

struct Place {
    mirror: Mirror,
    folder: tempfile::TempDir,
    timeouts: FetchTimeouts,
}

impl Place {
    fn new() -> Self {
        let milliseconds = Duration::from_millis;
        let timeouts = FetchTimeouts {
            connect: milliseconds(10_000),
            silence: milliseconds(10_000),
            tries: 3,
            pause: milliseconds(10),
        };
        Self { mirror: Mirror::start(), folder: tempfile::tempdir().expect("a folder"), timeouts }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("malta.osm.pbf")
    }

    fn part(&self) -> PathBuf {
        self.folder.path().join("malta.osm.pbf.part")
    }

    fn cache(&self) -> Cache {
        Cache::at(&self.folder.path().join("kept"))
    }

    fn to(&self, to: Destination<'_>, notes: &mut Notes) -> Result<Fetched, Error> {
        let source = ExtractSource::new(Some(&self.mirror.url()), self.timeouts)?;
        let index = source.index(notes)?;
        self.mirror.asked();
        source.fetch(index.find("malta")?, to, notes)
    }

    /// Fetches into a file; returns the reported events, too.
    fn fetch(&self) -> (Result<Fetched, Error>, Vec<String>) {
        let mut notes = Notes::default();
        let got = self.to(Destination::File(&self.file()), &mut notes);
        (got, notes.events)
    }

    #[track_caller]
    fn refused(&self) -> String {
        self.fetch().0.expect_err("refused").to_string()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

#[test]
fn an_extract_is_fetched_checked_and_said_what_it_is() {
    let place = Place::new();
    let (fetched, events) = place.fetch();
    let fetched = fetched.expect("fetched");
    let bytes = extract(200_000);
    assert_eq!(std::fs::read(place.file()).unwrap(), bytes);
    assert_eq!(fetched.entry.id, "malta");
    assert_eq!(fetched.url, format!("{}{MALTA}", place.mirror.url()));
    assert_eq!((fetched.bytes, fetched.md5), (bytes.len() as u64, md5_of(&bytes)));
    assert_eq!(fetched.last_modified.as_deref(), Some("2026-11-20T21:21:18Z"));
    assert!(!fetched.there_already && fetched.doubt.is_none());
    assert_eq!(events, [format!("begins at 0 of {}", bytes.len()), "verifying".to_owned()]);
    assert_eq!(place.names(place.folder.path()), ["malta.osm.pbf"]);
    assert_eq!(place.mirror.asked(), [format!("{MALTA}.md5 200"), format!("{MALTA} 200")]);
    // Once more: the sum is all that is asked for.
    let (again, events) = place.fetch();
    assert!(again.expect("there").there_already && events.is_empty());
    assert_eq!(place.mirror.asked(), [format!("{MALTA}.md5 200")]);
}

#[test]
fn what_is_kept_is_not_fetched_again_until_the_server_has_another() {
    let place = Place::new();
    let cache = place.cache();
    let fetch = || place.to(Destination::Cache(&cache), &mut Notes::default()).expect("fetched");
    let first = fetch();
    let folder = first.path.parent().unwrap().to_owned();
    assert_eq!(place.names(&folder), ["malta-2026-11-20.osm.pbf", "malta-2026-11-20.osm.pbf.json"]);
    assert!(!place.mirror.asked().is_empty());
    let second = fetch();
    assert_eq!((second.there_already, &second.path), (true, &first.path));
    assert_eq!(second.last_modified, first.last_modified);
    assert_eq!(place.mirror.asked(), [format!("{MALTA}.md5 200")]);
    // Without asking anybody.
    assert_eq!(cache.newest("Malta").expect("kept"), second);
    let unknown = cache.newest("delaware").unwrap_err();
    assert!(unknown.attached::<UnknownExtract>().is_some(), "{unknown}");
    assert!(place.mirror.asked().is_empty());

    let mut newer = File::of(extract(230_000));
    newer.last_modified = Some("Sat, 21 Nov 2026 21:21:18 GMT".to_owned());
    place.mirror.publish(MALTA, newer);
    let third = fetch();
    assert!(!third.there_already && third.path.ends_with("malta-2026-11-21.osm.pbf"));
    assert_eq!(cache.newest("malta").expect("kept").path, third.path);
    // A damaged file is not used any more.
    std::fs::write(&third.path, "x").unwrap();
    assert!(!fetch().there_already);
}

#[test]
fn redirects_are_followed_and_ranges_with_them() {
    let place = Place::new();
    let dated = "/europe/malta-261120.osm.pbf";
    place.mirror.put(dated, File::of(extract(200_000)));
    place.mirror.redirect(MALTA, dated);
    place.mirror.spoil(dated, &[Fault::Cut(50_000)]);
    let (fetched, events) = place.fetch();
    assert_eq!(fetched.expect("fetched").url, format!("{}{dated}", place.mirror.url()));
    assert_eq!(events[1..3], ["again".to_owned(), format!("begins at 50000 of {}", extract(200_000).len())]);
    assert!(place.mirror.asked().contains(&format!("{dated} bytes=50000- 206")));
}

#[test]
fn a_download_goes_on_where_it_was_cut() {
    let place = Place::new();
    place.mirror.spoil(MALTA, &[Fault::Cut(70_000), Fault::Cut(0), Fault::Cut(30_000)]);
    let (failed, events) = place.fetch();
    let error = failed.expect_err("three tries");
    assert!(error.to_string().ends_with(&format!("kept in {}", place.part().display())), "{error}");
    assert_eq!(error.hint(), Some("the same command goes on from there"));
    assert!(
        error.to_string().contains("the connection broke off") && error.to_string().contains("100000 of ")
    );
    assert_eq!(events.iter().filter(|events| *events == "again").count(), 2);
    assert_eq!(
        place.names(place.folder.path()),
        ["malta.osm.pbf.part", "malta.osm.pbf.part.json"],
        "an incomplete file has the name of a complete one"
    );
    // The same command, later.
    place.mirror.asked();
    let (fetched, _) = place.fetch();
    assert_eq!(fetched.expect("fetched").md5, md5_of(&extract(200_000)));
    assert_eq!(place.mirror.asked()[1..], [format!("{MALTA} bytes=100000- 206")]);
    assert_eq!(std::fs::read(place.file()).unwrap(), extract(200_000));
}

#[test]
fn a_server_without_ranges_starts_again() {
    let place = Place::new();
    place.mirror.change(MALTA, |file| file.ranges = false);
    place.mirror.spoil(MALTA, &[Fault::Cut(70_000)]);
    let (fetched, events) = place.fetch();
    fetched.expect("fetched");
    assert!(events.contains(&"restart: NoRanges".to_owned()), "{events:?}");
    assert_eq!(std::fs::read(place.file()).unwrap(), extract(200_000));
}

#[test]
fn a_file_that_changes_between_two_tries_is_not_glued_together() {
    let place = Place::new();
    place.mirror.spoil(MALTA, &[Fault::Cut(70_000), Fault::Cut(0), Fault::Cut(0)]);
    place.fetch().0.expect_err("cut");
    // Its new sum is known before the file is asked for.
    place.mirror.publish(MALTA, File::of(extract(260_000)));
    let (fetched, events) = place.fetch();
    assert_eq!(fetched.expect("fetched").bytes, extract(260_000).len() as u64);
    assert_eq!(events[0], "restart: Changed");

    // The file changes, and only its tag shows it; the checksum fetched before belongs to the old one.
    let place = Place::new();
    place.mirror.spoil(MALTA, &[Fault::Cut(70_000), Fault::Cut(0), Fault::Cut(0)]);
    place.fetch().0.expect_err("cut");
    let old = format!("{}  x\n", md5_of(&extract(200_000)));
    place.mirror.put(MALTA, File::of(extract(260_000)));
    place.mirror.put(&format!("{MALTA}.md5"), File::of(old));
    let (refused, events) = place.fetch();
    assert!(events.contains(&"restart: Changed".to_owned()), "{events:?}");
    assert!(refused.unwrap_err().to_string().contains("damaged"));
}

#[test]
fn what_has_another_sum_is_removed() {
    let place = Place::new();
    place.mirror.put(&format!("{MALTA}.md5"), File::of(format!("{}  x\n", "0".repeat(32))));
    let message = place.refused();
    assert!(
        message.contains("what came is damaged (MD5 ") && message.contains("it was removed"),
        "{message}"
    );
    assert!(place.names(place.folder.path()).is_empty());
    place.mirror.put(&format!("{MALTA}.md5"), File::of("no sum"));
    assert!(place.refused().ends_with("/europe/malta-latest.osm.pbf.md5: it contains no MD5 sum"));
}

#[test]
fn answers_that_are_no_files_are_named_by_their_url() {
    let place = Place::new();
    place.mirror.spoil(MALTA, &[Fault::Status(404)]);
    let message = place.refused();
    assert_eq!(message, format!("{}{MALTA}: the server has no such file (404)", place.mirror.url()));
    assert!(place.names(place.folder.path()).is_empty());
    place.mirror.spoil(MALTA, &[Fault::Status(503), Fault::Status(503), Fault::Status(503)]);
    assert!(place.refused().ends_with("the server answered with status 503"));
    // A single failure is harmless.
    place.mirror.spoil(MALTA, &[Fault::Status(503)]);
    place.fetch().0.expect("fetched");
    let page = || File { content_type: "text/html; charset=utf-8", ..File::of("<html>Sign in</html>") };
    place.mirror.publish(MALTA, page());
    assert!(place.refused().contains("a web page in place of an extract"));
    place.mirror.publish(MALTA, File::of("PK no extract"));
    let message = place.refused();
    assert!(message.contains("what came is not an OSM extract in PBF"), "{message}");
    assert_eq!(place.names(place.folder.path()), ["malta.osm.pbf"], "the former one stays");
    place.mirror.put("/index-v1-nogeom.json", page());
    assert!(place.refused().ends_with(
        "/index-v1-nogeom.json: the server answered with a web page in place of Geofabrik's index"
    ));
    place.mirror.put("/index-v1-nogeom.json", File::of("<html>"));
    assert!(place.refused().contains("/index-v1-nogeom.json: not Geofabrik's index: "));
}

#[test]
fn no_wait_is_for_ever() {
    let mut place = Place::new();
    place.timeouts.silence = Duration::from_millis(800);
    place.timeouts.tries = 2;
    place.mirror.spoil(MALTA, &[Fault::Silent(70_000), Fault::Silent(0)]);
    let start = Instant::now();
    let message = place.refused();
    assert!(message.contains("the server was silent for 0.8 s; 70000 of "), "{message}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    place.fetch().0.expect("it goes on");

    // Nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let source = ExtractSource::new(Some(&format!("http://{free}")), place.timeouts).unwrap();
    let error = source.index(&mut Notes::default()).expect_err("refused");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[test]
fn who_stops_loses_nothing() {
    let place = Place::new();
    place.mirror.spoil(MALTA, &[Fault::Silent(80_000)]);
    let mut notes = Notes { stop_after: Some(80_000), ..Notes::default() };
    let start = Instant::now();
    let error = place.to(Destination::File(&place.file()), &mut notes).expect_err("stopped");
    assert!(error.is_stopped() && error.to_string().contains("; 80000 bytes are kept"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let (fetched, events) = place.fetch();
    fetched.expect("fetched");
    assert_eq!(events[0], format!("begins at 80000 of {}", extract(200_000).len()));
}

#[test]
fn a_full_disk_is_reported_and_the_part_stays() {
    let place = Place::new();
    let error = place.to(Destination::File(Path::new("/proc/malta.osm.pbf")), &mut Notes::default());
    assert_eq!(error.unwrap_err().class(), spec::Class::Io);
    let full = error::file_error(&place.part(), std::io::ErrorKind::StorageFull.into());
    assert_eq!(full.hint(), Some("make room; the same command goes on where it ended"));
}

/// A web server that answers each request with `answer` of its path; ends with the test's process.
fn server(answer: impl Fn(&str, &mut dyn std::io::Write) + Send + 'static) -> String {
    use std::io::{BufRead, BufReader};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines =
                BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let path =
                lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
            lines.for_each(drop);
            answer(&path, &mut &stream);
        }
    });
    url
}

/// Such a mirror filled the disk.
#[test]
fn an_endless_mirror_is_stopped_and_its_half_file_removed() {
    let place = Place::new();
    let endless = server(|path, to| {
        if path.ends_with(".md5") {
            let _ = write!(to, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}  x\n", "0".repeat(32));
            return;
        }
        let piece = vec![7; 1 << 16];
        let mut sent = to.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while sent.is_ok() {
            sent = to.write_all(&piece);
        }
    });
    let index = ExtractSource::new(Some(&place.mirror.url()), place.timeouts)
        .unwrap()
        .index(&mut Notes::default())
        .unwrap();
    let source = ExtractSource::new(Some(&endless), place.timeouts).unwrap().with_max_size(3 << 20);
    let to = Destination::File(&place.file());
    let error = source.fetch(index.find("malta").unwrap(), to, &mut Notes::default()).unwrap_err();
    assert_eq!(error.class(), spec::Class::BadInput);
    let text = error.to_string();
    assert!(
        text.contains("announces no size") && text.contains("3.00 MB") && text.contains("--max-size"),
        "{text}"
    );
    assert!(place.names(place.folder.path()).is_empty());
}

/// The size was only compared with what came.
#[test]
fn an_announced_size_is_refused_before_anything_is_written() {
    let place = Place::new();
    let huge = u64::MAX / 4;
    let source = |huge: u64| {
        server(move |path, to| {
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
            let _ = match path.ends_with(".md5") {
                true => write!(to, "{head}\r\n{}  x\n", "0".repeat(32)),
                false => write!(to, "{head}Content-Length: {huge}\r\n\r\nabc"),
            };
        })
    };
    let index = ExtractSource::new(Some(&place.mirror.url()), place.timeouts)
        .unwrap()
        .index(&mut Notes::default())
        .unwrap();
    let entry = index.find("malta").unwrap();
    let to = Destination::File(&place.file());
    let usual = ExtractSource::new(Some(&source(huge)), place.timeouts).unwrap();
    let error = usual.fetch(entry, to, &mut Notes::default()).unwrap_err().to_string();
    assert!(error.contains("announced size") && error.contains("256 GB"), "{error}");
    let patient = ExtractSource::new(Some(&source(huge)), place.timeouts).unwrap().with_max_size(u64::MAX);
    let error = patient.fetch(entry, to, &mut Notes::default()).unwrap_err();
    assert!(error.class() == spec::Class::Io && error.to_string().contains("still to come"), "{error}");
    assert!(place.names(place.folder.path()).is_empty());
}

/// It was followed without a report.
#[test]
fn a_redirect_to_another_server_is_named() {
    let (place, other) = (Place::new(), Mirror::start());
    place.mirror.redirect(MALTA, &format!("{}{MALTA}", other.url()));
    let (fetched, events) = place.fetch();
    assert!(fetched.is_ok(), "{fetched:?}");
    assert_eq!(events[0], format!("{} redirects to {}", place.mirror.url(), other.url()));
}
