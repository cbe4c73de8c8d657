//! Clients against a simulated web server and a small real one, and guards against errors about them.

use spec::figures;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

use engine::sim::{Greeting, Replies, SimServer, simulate};
use engine::{Address, EngineResult, StopFlag, Time, Until};
use protocol::http::{Encoding, Got};

use super::{Http, HttpOptions, Request, Requests, Web};
use crate::answers::Sampled;
use crate::place::{Places, Site};
use crate::testing::web::{FakeServer, got};
use crate::testing::{plan, png};
use crate::workload::{ClientWorkload, Clients, Workload};

const TILE: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 5\r\n\r\nabcde";

/// Gives the same reply to every request but one, then closes the connection if asked to.
struct Same {
    reply: String,
    piece: usize,
    closes: bool,
    refuses: usize,
    attempts: Vec<Address>,
    received: String,
    /// When requests came.
    times: Vec<Time>,
    fails: &'static str,
}

impl Same {
    fn new(reply: &str) -> Self {
        let (reply, attempts, received, times) = (reply.to_owned(), Vec::new(), String::new(), Vec::new());
        Self { reply, piece: 4096, closes: false, refuses: 0, attempts, received, times, fails: "" }
    }
}

impl SimServer for Same {
    fn connect(&mut self, _connection: usize, address: &Address, _now: Time) -> Greeting {
        self.attempts.push(address.clone());
        match self.attempts.len() > self.refuses {
            true => Greeting::Accept(1000),
            false => Greeting::Refuse(std::io::ErrorKind::ConnectionRefused, 1000),
        }
    }

    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        let text = std::str::from_utf8(bytes).unwrap();
        self.received.push_str(text);
        self.times.push(replies.now());
        replies.chunk(self.piece);
        let fails = !self.fails.is_empty() && text.starts_with(&format!("GET {} ", self.fails));
        let reply: &str =
            if fails { "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno" } else { &self.reply };
        replies.send(1000, reply.as_bytes());
        if self.closes {
            replies.close(1000);
        }
    }
}

const WANTED: Clients = Clients { count: 1, threads: 1, seed: 1, statements: false };

fn options(url: &str) -> HttpOptions {
    HttpOptions::new(url)
}

/// Four requests of one client.
fn run(options: &HttpOptions, server: &mut Same) -> EngineResult {
    let workload = Http::open(options, "".as_ref()).unwrap();
    let clients = workload.clients(&Places::default(), WANTED).unwrap();
    simulate(&plan(4, 1), clients, server, &mut (), &StopFlag::new()).unwrap()
}

#[test]
fn responses_are_told_apart_whatever_their_pieces() {
    let head = |status: &str, lines: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let html = "Content-Type: text/html\r\n";
    // What of four requests succeeded and failed, their rows and bytes; error pages have none, so that bytes per success stay true.
    let cases = [
        (TILE.to_owned(), (4, 0, 4, 20)),
        (chunked.to_owned(), (4, 0, 4, 20)),
        (head("200 OK", "Content-Encoding: gzip\r\n", "\x1f\x0b"), (4, 0, 4, 8)),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), (4, 0, 0, 0)),
        (head("200 OK", "", ""), (4, 0, 0, 0)),
        (head("200 OK", html, "<html>"), (0, 4, 0, 0)),
        (head("200 OK", "Content-Type: application/x-protobuf\r\n", "\r\n<!doctype HTML>"), (0, 4, 0, 0)),
        (head("404 Not Found", html, "<html>"), (0, 4, 0, 0)),
        (head("500 Oops", "", "no"), (0, 4, 0, 0)),
        (head("301 Moved", "Location: /x\r\n", ""), (0, 4, 0, 0)),
        ("SSH-2.0-OpenSSH_9\r\n".to_owned(), (0, 4, 0, 0)),
    ];
    for (reply, wanted) in cases {
        for piece in [1, 3, 4096] {
            let mut server = Same { piece, ..Same::new(&reply) };
            let measured = run(&options("http://127.0.0.1:3000/"), &mut server);
            let totals = measured.totals();
            let found = (totals.ok, totals.failed, totals.rows, totals.bytes);
            assert_eq!(found, wanted, "{reply} in {piece}: {:?} {:?}", measured.messages, measured.aborts);
            let connections = if reply.starts_with("HTTP") { 1 } else { 4 };
            assert_eq!(server.attempts.len(), connections, "{reply}");
        }
    }
}

/// A tile server that answers 404 where it has nothing could not be measured.
#[test]
fn statuses_of_empty_tiles_are_no_failures_where_that_is_asked_for() {
    let page = "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>";
    let asked = HttpOptions { empty_status: vec![410], ..options("http://127.0.0.1:3000/") };
    for (options, wanted) in
        [(asked.clone(), (4, 0, 0, 0)), (options("http://127.0.0.1:3000/"), (0, 4, 0, 0))]
    {
        let totals = run(&options, &mut Same::new(page)).totals();
        assert_eq!((totals.ok, totals.failed, totals.rows, totals.bytes), wanted);
    }
    let guard = |answers: Vec<Got>| {
        let mut workload = Http::open(&asked, "".as_ref()).unwrap();
        let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(answers) };
        workload.guard(&mut Site { http: Some(&web), ..Site::default() }, 1)
    };
    let guarded = guard(vec![got(410, "text/html", "<html>"), got(200, "", "x")]).unwrap();
    assert_eq!((guarded.empty, guarded.notes), (None, vec!["1 of 2 probed bodies are empty".to_owned()]));
    // A wrong path answers so everywhere.
    assert!(guard(vec![got(410, "text/html", "<html>")]).unwrap().empty.is_some());
    for wrong in [200, 302, 500] {
        let options = HttpOptions { empty_status: vec![404, wrong], ..options("http://127.0.0.1:3000/") };
        let message = options.validate().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("http.empty_status: {wrong} is not a status of a missing tile")),
            "{message}"
        );
    }
}

#[test]
fn pictures_are_named_by_format_and_size() {
    let mut workload = Http::open(&options("http://h/"), "".as_ref()).unwrap();
    let picture = Got { body: png([[170, 211, 223]; 6]), bytes: 99, ..got(200, "image/png", "") };
    let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(vec![picture]) };
    let guarded = workload.guard(&mut Site { http: Some(&web), ..Site::default() }, 1).unwrap();
    assert_eq!(guarded.notes, ["pictures: PNG, 3 x 2 pixels; 1 of 1 have one colour"]);
}

#[test]
fn the_first_failures_are_reported_in_words() {
    let page = "<html>\n<title>404 Not\tFound</title>";
    let reply = format!("HTTP/1.1 404 Not Found\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    let measured = run(&options("http://me:geheim@127.0.0.1:3000/x"), &mut Same::new(&reply));
    assert_eq!(measured.messages.len(), 3);
    let wanted = "client 0: GET /x gave 404: 404 Not Found";
    assert_eq!(measured.messages[0], wanted);
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let mut server = Same { closes: true, ..Same::new(half) };
    let measured = run(&options("http://127.0.0.1:3000/x"), &mut server);
    assert_eq!(measured.totals().failed, 4);
    let wanted = "client 0: GET /x: the server closed the connection in the middle of a response";
    assert_eq!(measured.messages[0], wanted);
}

#[test]
fn connections_are_made_as_they_are_wanted() {
    let url = "http://127.0.0.1:3000/";
    let reconnect = HttpOptions { keepalive: false, gzip: false, ..options(url) };
    let closing = TILE.replace("Content-Length", "Connection: close\r\nContent-Length");
    let endless = "HTTP/1.1 200 OK\r\n\r\nabcde";
    for (options, reply, closes, connections) in [
        (options(url), TILE, false, 1),
        (reconnect.clone(), TILE, false, 4),
        (reconnect, &closing, true, 4),
        (options(url), &closing, true, 4),
        (options(url), endless, true, 4),
        // It does not announce it: what was sent meanwhile is sent again.
        (options(url), TILE, true, 4),
    ] {
        let mut server = Same { closes, ..Same::new(reply) };
        let measured = run(&options, &mut server);
        let totals = measured.totals();
        let what = format!("{reply} {:?}", measured.aborts);
        assert_eq!((totals.ok, totals.failed, totals.rows, totals.bytes), (4, 0, 4, 20), "{what}");
        assert_eq!(server.attempts.len(), connections, "{what}");
        let header = if options.keepalive { "Connection: keep-alive" } else { "Connection: close" };
        assert!(
            server.received.contains(header)
                && server.received.contains("GET / HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n")
        );
    }
}

#[test]
fn every_address_is_tried_before_a_client_gives_up() {
    let addresses: [SocketAddr; 2] = ["127.0.0.1:1", "127.0.0.2:1"].map(|text| text.parse().unwrap());
    let run = |refuses: usize| {
        let mut workload = Http::open(&options("http://two.example:1/"), "".as_ref()).unwrap();
        let web = FakeServer { addresses: addresses.to_vec(), ..FakeServer::default() };
        workload.check(&mut Site { http: Some(&web), ..Site::default() }).unwrap();
        let clients = workload.clients(&Places::default(), WANTED).unwrap();
        let mut server = Same { refuses, ..Same::new(TILE) };
        let measured = simulate(&plan(4, 1), clients, &mut server, &mut (), &StopFlag::new());
        (measured.map(|measured| measured.totals().ok).map_err(|error| error.to_string()), server.attempts)
    };
    let (ok, attempts) = run(1);
    assert_eq!((ok, attempts), (Ok(4), addresses.map(Address::Tcp).to_vec()));
    let message = run(2).0.unwrap_err();
    assert!(
        message.contains("of two.example:1 aborted: ") && message.contains("is a web server running there?"),
        "{message}"
    );
}

/// Four views of one client with three connections: of seven tiles, then of two, and the same again.
fn run_views(server: &mut Same) -> EngineResult {
    let web = Web::new(&options("http://127.0.0.1:3000/")).unwrap();
    let mut requests = Requests::new();
    let mut view = |tiles: Range<u32>| -> Vec<Request> {
        tiles.map(|n| requests.written(0, Some(n), |out| web.write(&format!("/{n}"), out))).collect()
    };
    let session = vec![view(0..7), Vec::new(), view(7..9)];
    requests.session(session);
    assert_eq!((requests.len(), requests.is_empty()), (9, false));
    let clients = web.clients(&Arc::new(requests), 3, WANTED).unwrap();
    let plan = engine::RunPlan { items: 9, ..plan(4, 1) };
    simulate(&plan, clients, server, &mut (), &StopFlag::new()).unwrap()
}

#[test]
fn all_tiles_of_a_view_are_asked_for_at_once() {
    let mut server = Same::new(TILE);
    let measured = run_views(&mut server);
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.failed, totals.queries, totals.rows, totals.bytes), (4, 0, 18, 18, 90));
    assert_eq!(server.attempts.len(), 3);
    // Three at a time, and one more; then two.
    let mut rounds: Vec<usize> = Vec::new();
    rounds.extend(server.times.chunk_by(|one, other| one == other).map(<[Time]>::len));
    assert_eq!(rounds, [3, 3, 1, 2, 3, 3, 1, 2]);
    assert!(measured.items.iter().all(|item| (item.requests, item.bytes) == (2, 10)));
    // A view takes as long as its rounds, a tile as its own.
    let longest = measured.items.iter().map(|item| item.max_ns).max().unwrap() as f64;
    let of_views = measured.scripts[0].service().mean_ns().unwrap();
    assert!((longest..3.0 * longest).contains(&of_views), "{longest} {of_views}");

    // One tile fails: so does its view, and the others come nevertheless.
    let mut server = Same { fails: "/3", ..Same::new(TILE) };
    let measured = run_views(&mut server);
    let totals = measured.totals();
    assert_eq!(
        (totals.ok, totals.failed, totals.rows),
        (2, 2, 4),
        "what a view that failed brought counts for nothing"
    );
    assert_eq!(measured.messages, ["client 0: GET /3 gave 500: no"; 2]);
    let came: Vec<u64> = measured.items.iter().map(|item| item.requests).collect();
    assert_eq!(came, [2, 2, 2, 0, 2, 2, 2, 2, 2]);
}

#[test]
fn connections_that_are_closed_within_a_view_are_made_again() {
    let closing = TILE.replace("Content-Length", "Connection: close\r\nContent-Length");
    let endless = "HTTP/1.1 200 OK\r\n\r\nabcde";
    for (reply, closes) in [(&*closing, false), (&*closing, true), (endless, true), (TILE, true)] {
        for piece in [3, 4096] {
            let mut server = Same { closes, piece, ..Same::new(reply) };
            let measured = run_views(&mut server);
            let totals = measured.totals();
            let what = format!("{reply} {closes} {:?} {:?}", measured.aborts, measured.messages);
            assert_eq!((totals.ok, totals.failed, totals.rows, totals.bytes), (4, 0, 18, 90), "{what}");
            assert!(measured.items.iter().all(|item| item.requests == 2), "{what}");
            // Each has one answer; some are asked for twice, where nobody says that the connection will be closed.
            assert!((18..=40).contains(&server.attempts.len()), "{}: {what}", server.attempts.len());
        }
    }
    // Nobody is there: said once, and the run ends.
    let mut server = Same { refuses: usize::MAX, ..Same::new(TILE) };
    let web = Web::new(&options("http://127.0.0.1:3000/")).unwrap();
    let mut requests = Requests::new();
    requests.add(0, None, |out| web.write("/", out));
    let clients = web.clients(&Arc::new(requests), 3, WANTED).unwrap();
    let message =
        simulate(&plan(4, 1), clients, &mut server, &mut (), &StopFlag::new()).unwrap_err().to_string();
    assert!(message.contains("is a web server running there?"), "{message}");
}

#[test]
fn a_server_that_says_nothing_leaves_its_request_open() {
    let workload = Http::open(&options("http://127.0.0.1:3000/"), "".as_ref()).unwrap();
    let clients = workload.clients(&Places::default(), WANTED).unwrap();
    let plan = engine::RunPlan { until: Until::Elapsed(1_000_000_000), ..plan(4, 1) };
    let measured = simulate(&plan, clients, &mut Same::new(""), &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().late, measured.left_open), (0, 1, 1));
}

/// Over sockets: tiles of a list, each as often as another.
#[test]
fn tiles_of_a_list_are_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut text, mut piece) = (String::new(), [0; 1024]);
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            if text.ends_with("\r\n\r\n") {
                let (first, second) = TILE.split_at(30);
                stream.write_all(first.as_bytes()).unwrap();
                stream.write_all(second.as_bytes()).unwrap();
            }
        }
        text
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("list.txt"), "1/0/1\n2/3/0\n2/3/0\n1/0/1\n").unwrap();
    let url = format!("http://{address}/{{z}}/{{x}}/{{-y}}.pbf");
    let options = HttpOptions { tiles: Some("list.txt".into()), ..options(&url) };
    let mut workload = Http::open(&options, folder.path()).unwrap();
    let prepared = workload.prepare(&mut Site::default(), 1).unwrap();
    assert_eq!(prepared.summary, format!("4 requests for 2 tiles of {url}"));
    let clients = workload.clients(&Places::default(), WANTED).unwrap();
    // Each zoom is counted apart, and each tile has its own figures.
    let scripts = workload.scripts().into_iter().map(|script| (script.name, script.part.unwrap().zoom));
    let wanted = [1, 2].map(|z| (format!("{url}, z{z}"), Some(z)));
    assert_eq!(scripts.collect::<Vec<_>>(), wanted);
    let items: Vec<_> = workload.items().iter().map(|item| (item.script, item.tile)).collect();
    assert_eq!(items, [(0, (1, 0, 1).into()), (1, (2, 3, 0).into())]);
    let plan = engine::RunPlan { items: 2, ..plan(20, 2) };
    let measured = engine::run(&plan, clients, &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().bytes), (20, 100));
    let of_scripts: Vec<u64> = measured.scripts.iter().map(|script| script.counts.ok).collect();
    let of_items: Vec<u64> = measured.items.iter().map(|item| item.requests).collect();
    assert_eq!(of_scripts, of_items);
    let asked = asked.join().unwrap();
    let times = |path: &str| asked.matches(&format!("GET {path} HTTP/1.1\r\n")).count();
    let (one, other) = (times("/1/0/0.pbf"), times("/2/3/3.pbf"));
    assert!(one + other == 20 && one > 4 && other > 4, "{one} {other}");
}

#[test]
fn lists_and_logs_are_read_as_those_of_tiles_are() {
    let folder = tempfile::tempdir().unwrap();
    let open = |text: &str| {
        std::fs::write(folder.path().join("list.txt"), text).unwrap();
        let options = HttpOptions { tiles: Some("list.txt".into()), ..options("http://h/{z}/{x}/{y}") };
        Http::open(&options, folder.path()).map_err(|error| error.to_string())
    };
    let log = "::1 - - [23/Nov/2026:10:00:00 +0000] \"GET /t/14/8851/6439.pbf HTTP/1.1\" 200 512 \"-\" \"x\"\n\
               ::1 - - [23/Nov/2026:10:00:01 +0000] \"GET /style.json HTTP/1.1\" 200 99 \"-\" \"x\"\n";
    let mut workload = open(log).unwrap();
    assert_eq!(workload.texts()[0].text, b"14/8851/6439\n");
    let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(vec![got(200, "", "x")]) };
    let guarded = workload.guard(&mut Site { http: Some(&web), ..Site::default() }, 1).unwrap();
    let remark = &guarded.notes[0];
    assert!(remark.contains("list.txt is read as an access log: 1 tile; 1 line name no tile"), "{remark}");
    let message = open("# mine\n14/8851/6439\n14/99999/1\n").unwrap_err();
    assert!(
        message.contains("list.txt") && message.contains("line 3: tile 14/99999/1 is outside the world"),
        "{message}"
    );
    assert!(open("31/0/0\n").unwrap_err().contains("line 1: \"31/0/0\" is not a tile z/x/y (zoom 0 to 22)"));
}

#[test]
fn guards_tell_what_is_wrong_and_what_to_try() {
    let guard = |answers: Vec<Got>| {
        let mut workload = Http::open(&options("http://me:geheim@h:81/t"), "".as_ref()).unwrap();
        let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(answers) };
        let mut site = Site { http: Some(&web), ..Site::default() };
        workload.guard(&mut site, 1).map_err(|error| error.to_string())
    };
    let moved = Got { location: "/there".into(), ..got(302, "", "") };
    for (answer, wanted) in [
        (
            got(500, "", "out of memory"),
            "http://h:81/t: GET /t gave 500: out of memory; the server's own log says why",
        ),
        (got(404, "text/html", "<html>"), "gave 404: <html>; check the path of the URL"),
        (got(401, "", ""), "gave 401; put user and password in the URL"),
        (moved, "gave 302, which leads to /there; redirects are not followed"),
        (
            got(200, "text/html; charset=utf-8", "<html>"),
            "GET /t gave an HTML page (Content-Type \"text/html; charset=utf-8\"): <html>; open this URL in a browser",
        ),
        (
            got(200, "application/x-protobuf", "<!DOCTYPE html><head><title>Sign in</title></head>"),
            "gave an HTML page (Content-Type \"application/x-protobuf\"): Sign in; open this URL",
        ),
        (
            got(200, "image/png", "{\"error\": \"no such layer\"}"),
            "returned an invalid tile, although its content type is image/png: it is not a PNG",
        ),
    ] {
        let message = guard(vec![answer]).unwrap_err();
        assert!(message.contains(wanted) && !message.contains("geheim"), "{message}");
    }
    let packed = Got { encoding: Encoding::Gzip, bytes: 3, ..got(200, "x/y", "abcde") };
    let guarded = guard(vec![packed]).unwrap();
    assert_eq!((guarded.rows, guarded.bytes, guarded.empty), (1, 3, None));
    assert_eq!(guarded.figures[figures::COMPRESSED_TILES_PCT], 100.0);
    assert_eq!(guarded.figures[figures::TILE_BYTES_MEAN], 3.0);
    let empty = guard(vec![got(204, "", "")]).unwrap().empty.unwrap();
    assert_eq!(empty, "all bodies of 2 requests to http://h:81/t are empty");
    let guarded = guard(vec![got(204, "", ""), got(200, "", "x")]).unwrap();
    assert_eq!((guarded.empty, guarded.notes), (None, vec!["1 of 2 probed bodies are empty".to_owned()]));
}

#[test]
fn samples_are_compared_unpacked() {
    let packed = Got { encoding: Encoding::Gzip, bytes: 3, ..got(200, "x/y", "abcde") };
    let mut workload = Http::open(&options("http://h/"), "".as_ref()).unwrap();
    let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(vec![packed]) };
    let sampled = workload.sample(&mut Site { http: Some(&web), ..Site::default() }, 1).unwrap();
    let Sampled::Answers(scripts) = sampled else { panic!("{sampled:?}") };
    assert_eq!(scripts[0].script, "http://h/");
    assert_eq!((scripts[0].answers[0].rows, scripts[0].answers[0].bytes), (1, 5));
}

#[test]
fn passwords_stay_out_of_what_is_kept() {
    let secret = HttpOptions {
        tiles: Some("/some/where/list.txt".into()),
        ..options("http://me:geheim@h/{z}/{x}/{y}")
    };
    let kept = serde_json::to_string(&secret.portable()).unwrap();
    assert_eq!(kept, r#"{"url":"http://h/{z}/{x}/{y}","tiles":"list.txt","gzip":true,"keepalive":true}"#);
    assert!(!format!("{secret:?}").contains("geheim"));
    let workload = Http::open(&options("http://me:geheim@h/"), "".as_ref()).unwrap();
    assert!(!format!("{workload:?} {:?}", workload.scripts()).contains("geheim"));
    assert!(!format!("{workload:?}").contains("bWU6"), "{workload:?}");
}
