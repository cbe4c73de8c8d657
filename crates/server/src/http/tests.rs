//! The control connection against servers of a few lines.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use protocol::http::{Encoding, Get, HttpConnector, Url, tls};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::Web;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// A server that answers the requests of each connection with these texts, in their order, and then closes it.
fn serve(connections: Vec<Vec<Vec<u8>>>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/tile", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answers in connections {
            let (mut stream, _) = listener.accept().unwrap();
            if answers.is_empty() {
                // Unread data would make the system reset the connection.
                request(&mut stream);
            }
            for answer in answers {
                if !request(&mut stream) {
                    break;
                }
                for piece in answer.chunks(7) {
                    let _ = stream.write_all(piece);
                }
            }
        }
    });
    Url::parse(&url).unwrap()
}

/// Reads a request; false when the peer is gone.
fn request(stream: &mut impl Read) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn with_length(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[test]
fn responses_come_whole_and_unpacked_over_connections_that_are_made_again() {
    let chunked = b"HTTP/1.1 500 no\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let url = serve(vec![
        vec![with_length("Content-Encoding: gzip\r\n", &packed(b"a tile")), chunked.to_vec()],
        // It closes without saying so: asked again on another one.
        vec![b"HTTP/1.1 200 OK\r\n\r\nup to the end".to_vec()],
        vec![b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n".to_vec()],
    ]);
    let web = Web { given_up: NEVER };
    let mut control = web.control(&url, None).unwrap();
    let get = Get::new(&url, &[], true, true);
    let mut next = || control.get(&get, "/tile").unwrap();
    let first = next();
    assert_eq!((first.status, first.encoding, first.body.as_slice()), (200, Encoding::Gzip, &b"a tile"[..]));
    assert_eq!(first.bytes, packed(b"a tile").len() as u64);
    let second = next();
    assert_eq!(
        (second.status, second.content_type.as_str(), second.body.as_slice()),
        (500, "text/html", &b"ab"[..])
    );
    assert_eq!(next().body, b"up to the end");
    assert_eq!(next().location, "/x");
}

#[test]
fn what_goes_wrong_is_told_with_its_place() {
    let bomb = packed(&vec![0; (64 << 20) + 1]);
    let cases = [
        (vec![], "asking 127.0.0.1", ": the server closed the connection"),
        (vec![b"SSH-2.0-OpenSSH\r\n".to_vec()], "/tile: no HTTP response", "is it a web server"),
        (
            vec![b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec()],
            "/tile: ",
            "in the middle of a response",
        ),
        (vec![with_length("Content-Encoding: gzip\r\n", b"plain")], "is gzip, and it is not", ""),
        (
            vec![with_length("Content-Encoding: gzip\r\n", &bomb)],
            "longer than the limit of 64 MB",
            "PGDYNO_MAX_ANSWER",
        ),
    ];
    for (answers, one, other) in cases {
        let url = serve(vec![answers]);
        let web = Web { given_up: NEVER };
        let get = Get::new(&url, &[], true, true);
        let message = web.control(&url, None).unwrap().get(&get, "/tile").unwrap_err().to_string();
        assert!(message.contains(one) && message.contains(other), "{message} for {one}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = Url::parse(&format!("http://me:geheim@{gone}/")).unwrap();
    let message = Web { given_up: NEVER }.control(&url, None).err().unwrap().to_string();
    let wanted = format!("while connecting to {gone}: Connection refused; is a web server running there?");
    assert_eq!(message, wanted);
    let url = Url::parse("http://no-such-host.invalid/").unwrap();
    let message = Web { given_up: NEVER }.control(&url, None).err().unwrap().to_string();
    assert!(message.starts_with("while looking up the host of http://no-such-host.invalid/: "), "{message}");
}

#[test]
fn a_silent_server_does_not_hold_whoever_gives_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let start = Instant::now();
    let given_up = || start.elapsed() > Duration::from_millis(200);
    let web = Web { given_up: &given_up };
    let mut control = web.control(&url, None).unwrap();
    let message = control.get(&Get::new(&url, &[], true, true), "/").unwrap_err().to_string();
    assert!(message.ends_with("for /: stopped"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A server with a certificate that nobody vouches for.
fn serve_secure() -> Url {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream: rustls::StreamOwned<_, TcpStream> = rustls::StreamOwned::new(connection, stream);
            std::thread::spawn(move || {
                while request(&mut stream) {
                    stream.write_all(&with_length("", b"secret")).unwrap();
                }
            });
        }
    });
    Url::parse(&format!("https://localhost:{port}/")).unwrap()
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_taken_only_if_asked_to() {
    let url = serve_secure();
    let web = Web { given_up: NEVER };
    let careless = tls(&url, true).unwrap();
    let mut control = web.control(&url, careless.as_ref()).unwrap();
    let get = Get::new(&url, &[], true, true);
    for _ in 0..2 {
        assert_eq!(control.get(&get, "/").unwrap().body, b"secret");
    }
    // It answers without TLS, as an http server does.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let wrong = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        // It stays open until the client has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let message = web.control(&wrong, tls(&wrong, true).unwrap().as_ref()).err().unwrap().to_string();
    assert!(message.contains("does it speak TLS there?"), "{message}");
    // A machine without certificates of authorities has nothing to check by.
    let Ok(careful) = tls(&url, false) else { return };
    let message = web.control(&url, careful.as_ref()).err().unwrap().to_string();
    assert!(
        message.contains("starting TLS with localhost") && message.contains("insecure = true"),
        "{message}"
    );
}
