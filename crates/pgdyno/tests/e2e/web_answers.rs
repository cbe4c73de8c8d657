//! What web servers answer in place of a vector tile: pictures, nothing, pages, and answers in parts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::support::{Finished, Place, Server};

/// A PNG of 16 x 16 pixels, half white and half black, and one that is all white.
const PICTURES: [&[u8]; 2] = [include_bytes!("data/half.png"), include_bytes!("data/white.png")];

/// A vector tile with one layer "a" of one point.
const TILE: &[u8] = b"\x1a\x11\x0a\x01a\x12\x07\x18\x01\x22\x03\x09\x00\x00\x28\x80\x20\x78\x02";

/// Answers by the first part of the path, in a thread for each connection; returns its port.
fn web_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

fn serve(mut stream: TcpStream) {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
        while let Some((request, rest)) = text.split_once("\r\n\r\n") {
            let path: Vec<String> =
                request.split(' ').nth(1).unwrap_or_default().split('/').map(str::to_owned).collect();
            text = rest.to_owned();
            let column: u32 = path.get(3).and_then(|part| part.parse().ok()).unwrap_or(0);
            let (status, kind, body): (&str, &str, &[u8]) = match path[1].as_str() {
                "png" => ("200 OK", "image/png", PICTURES[(column % 2) as usize]),
                "gone" if column.is_multiple_of(2) => {
                    ("404 Not Found", "text/html", b"<html>none here</html>")
                }
                "page" => ("200 OK", "application/x-protobuf", b"<!doctype html><title>Start page</title>"),
                _ => ("200 OK", "application/x-protobuf", TILE),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let sent = match path[1].as_str() {
                // Two packets: the second waits until the first is acknowledged.
                "parts" => stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)),
                _ => stream.write_all(&[head.as_bytes(), body].concat()),
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

const SPOTS: &str = "CREATE TABLE spots AS SELECT n AS id, ST_Transform(ST_SetSRID(ST_MakePoint(14 + (n % 30) / 30.0, \
    35.5 + n / 30 / 60.0), 4326), 3857)::geometry(Point, 3857) AS way FROM generate_series(0, 899) AS n";

struct Web {
    place: Place,
    server: Server,
    port: u16,
}

impl Web {
    fn start() -> Self {
        let server = Server::start_with_postgis();
        server.psql(SPOTS);
        server.psql("CREATE INDEX ON spots USING gist (way)");
        server.psql("VACUUM ANALYZE spots");
        Self { place: Place::new(), server, port: web_server() }
    }

    fn tiles(&self, path: &str, more: &[&str]) -> Finished {
        let (url, via) =
            (self.server.url(), format!("http://127.0.0.1:{}/{path}/{{z}}/{{x}}/{{y}}", self.port));
        let short =
            ["tiles", "-d", &url, "spots", "-z", "12", "-T", "1", "--warmup", "0.1", "--rounds", "2", "-v"];
        self.place.run(short.iter().chain(&["--again", "--via", &via]).chain(more))
    }
}

#[test]
fn pictures_are_measured_and_shown() {
    let web = Web::start();
    let page = web.place.path().join("page.html");
    let done = web.tiles("png", &["--report", page.to_str().expect("UTF-8")]).expect(0);
    done.says(&["spots has pictures: PNG, 16 x 16 pixels", "have one colour", "probed tiles are empty"]);
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("<img src=\"data:image/png;base64,") && page.contains("16 x 16 pixels, PNG"));
    assert!(!page.contains("not available: invalid"));
    assert_eq!(web.place.sql("select count(*) > 0 and max(failed) = 0 from v_run where clients > 0"), "1");
}

#[test]
fn a_missing_tile_is_a_failure_unless_it_is_asked_to_be_empty() {
    let web = Web::start();
    let done = web.tiles("gone", &[]);
    assert!(!matches!(done.status.code(), Some(0..=2)), "{}", done.stdout);
    done.says(&["gave 404: <html>none here</html>", "--empty-status"]);
    let done = web.tiles("gone", &["--empty-status", "404"]).expect(0);
    done.says(&["probed tiles are empty"]);
    let counted = "select min(failed) = 0 and min(\"rows\") > 0 and min(\"rows\") < min(ok) from v_run where clients > 0";
    let known = web.place.sql("select group_concat(name) from pragma_table_info('v_run')");
    assert!(known.contains("rows"), "{known}");
    assert_eq!(web.place.sql(counted), "1");
    web.tiles("gone", &["--empty-status", "500"])
        .expect(64)
        .says(&["--empty-status: 500 is not a status of a missing tile"]);
}

#[test]
fn pages_and_answers_in_parts_get_their_own_words() {
    let web = Web::start();
    let done = web.tiles("page", &[]);
    assert!(!matches!(done.status.code(), Some(0..=2)), "{}", done.stdout);
    done.says(&[
        "gave an HTML page (Content-Type \"application/x-protobuf\"): Start page",
        "open this URL in a browser",
    ]);
    let done = web.tiles("parts", &[]).expect(0);
    done.says(&["if each packet is acknowledged at once", "TCP_NODELAY"]);
    let remarks = web.place.sql("select count(*) > 0 from event where detail like '%TCP_NODELAY%'");
    assert_eq!(remarks, "1");
    assert!(!web.tiles("whole", &[]).expect(0).stderr.contains("TCP_NODELAY"));
}
