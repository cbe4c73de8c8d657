//! HTTP/1.1 in every split, read and skipped.

use proptest::prelude::*;
use protocol::http::{BadResponse, Encoding, Response, Responses, Want};

/// Plain, chunked with a trailer, without body, announced, empty, compressed, not to stay.
const CONVERSATION: &str = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\ncontent-length: 5\r\n\r\nab\r\nc\
    HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
    3\r\nabc\r\n0a;x=y\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n\
    HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n\
    HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200\r\nContent-Length: 0\r\n\r\n\
    HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x0b\
    HTTP/1.0 301 Moved\r\nLocation: /there\r\nContent-Length: 1\r\n\r\nx\
    HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx\
    HTTP/1.1 304 Not Modified\r\nConnection: foo, close\r\n\r\n";

fn describe(response: &Response<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Response { status, content_type, location, encoding, stays, bytes, first, body } = response;
    let packed = if *encoding == Encoding::Identity { String::new() } else { format!(" {encoding:?}") };
    let stays = if *stays { "stays" } else { "goes" };
    let whole = if body.is_empty() { String::new() } else { format!(" {:?}", text(body)) };
    let about = format!("{} {}", text(content_type), text(location));
    format!("{status} {stays} {bytes}{packed} [{}] {:?}{whole}", about.trim(), text(first))
}

/// What was seen and how it ended, and the most bytes that had to be kept.
fn feed(bytes: &[u8], want: Want, size: usize) -> (Vec<String>, Result<usize, BadResponse>, usize) {
    let mut responses = Responses::new(want);
    let (mut buffer, mut seen, mut kept) = (Vec::new(), Vec::new(), 0);
    for piece in bytes.chunks(size) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            match responses.next(&buffer, &mut at) {
                Ok(Some(response)) => seen.push(describe(&response)),
                Ok(None) => break,
                Err(broken) => return (seen, Err(broken), kept),
            }
        }
        buffer.drain(..at);
        kept = kept.max(buffer.len());
    }
    match responses.closed() {
        Ok(last) => seen.extend(last.map(|response| describe(&response))),
        Err(broken) => return (seen, Err(broken), kept),
    }
    (seen, Ok(buffer.len()), kept)
}

#[test]
fn responses_are_taken_in_every_split() {
    let expected = [
        "200 stays 5 [image/png] \"ab\\r\\nc\"",
        "200 stays 13 [text/html; charset=utf-8] \"abc0123456789\"",
        "204 stays 0 [] \"\"",
        "200 stays 0 [] \"\"",
        "200 stays 2 Gzip [] \"\\u{1f}\\u{b}\"",
        "301 goes 1 [/there] \"x\"",
        "200 stays 1 [] \"x\"",
        "304 goes 0 [] \"\"",
    ];
    for size in 1..=CONVERSATION.len() {
        let (seen, end, _) = feed(CONVERSATION.as_bytes(), Want::Skip, size);
        assert_eq!((seen.as_slice(), end), (&expected.map(String::from)[..], Ok(0)), "pieces of {size}");
        let (read, end, _) = feed(CONVERSATION.as_bytes(), Want::Read, size);
        assert_eq!((read.len(), end), (seen.len(), Ok(0)));
        for (read, skipped) in read.iter().zip(&seen) {
            // The whole body is its first bytes here.
            let first = skipped.find('"').map_or("", |at| &skipped[at..]);
            let whole = if first == "\"\"" { String::new() } else { format!(" {first}") };
            assert_eq!(*read, format!("{skipped}{whole}"));
        }
    }
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\nsome bytes";
    for size in [1, 7, 100] {
        let (seen, end, _) = feed(bytes, Want::Skip, size);
        assert_eq!(
            (seen, end),
            (vec!["200 goes 10 [x] \"some bytes\"".to_owned()], Ok(0)),
            "pieces of {size}"
        );
    }
}

#[test]
fn a_large_body_passes_a_small_buffer() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2dc6c0\r\n".to_vec();
    bytes.resize(bytes.len() + 3_000_000, b'x');
    bytes.extend_from_slice(b"\r\n0\r\n\r\nHTTP/1.1 204 x\r\n\r\n");
    let (seen, end, kept) = feed(&bytes, Want::Skip, 4096);
    assert_eq!(seen.len(), 2);
    assert!(seen[0].starts_with("200 stays 3000000 [] \"xxx"), "{}", seen[0]);
    assert_eq!(end, Ok(0));
    assert!(kept < 64, "{kept} bytes kept");
}

#[test]
fn what_is_no_response_is_told() {
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
    let chunked = |body: &str| head("Transfer-Encoding: chunked\r\n") + body;
    let long = "x".repeat(70_000);
    for (text, wanted) in [
        ("+PONG\r\n".to_owned(), BadResponse::Head("it does not begin with HTTP/1.0 or HTTP/1.1")),
        ("HTTP/2 200\r\n\r\n".into(), BadResponse::Head("it does not begin with HTTP/1.0 or HTTP/1.1")),
        ("HTTP/1.1 abc\r\n\r\n".into(), BadResponse::Head("its status is none")),
        ("\x15\x03\x01".into(), BadResponse::Tls),
        (head("a b: c\r\n"), BadResponse::Head("invalid header line")),
        (head("Content-Length: 1x\r\n"), BadResponse::Malformed("invalid Content-Length")),
        (head("Content-Length: -1\r\n"), BadResponse::Malformed("invalid Content-Length")),
        (head("Content-Length: 9999999999999999999\r\n"), BadResponse::Malformed("invalid Content-Length")),
        (
            head("Content-Length: 1\r\nContent-Length: 2\r\n"),
            BadResponse::Malformed("two lengths that differ"),
        ),
        (head(&"a: b\r\n".repeat(129)), BadResponse::Long),
        (head(&format!("a: {long}\r\n")), BadResponse::Long),
        (chunked("x\r\n"), BadResponse::Malformed("the length of a chunk is none")),
        (chunked("\r\n"), BadResponse::Malformed("the length of a chunk is none")),
        (chunked("1\r\nab\r\n"), BadResponse::Malformed("a line of a chunk is too long")),
        (chunked(&long), BadResponse::Malformed("a line of a chunk is too long")),
        (chunked("0\r\n") + &"a: b\r\n".repeat(20_000), BadResponse::Long),
        ("HTTP/1.1 101 x\r\n\r\n".into(), BadResponse::Switched),
        (head("Content-Length: 5\r\n") + "abc", BadResponse::Cut),
        (chunked("5\r\nabc"), BadResponse::Cut),
        ("HTTP/1.1 2".into(), BadResponse::Cut),
    ] {
        for size in [1, 1000, 1 << 20] {
            // One byte at a time through a long head takes its time.
            if size > 1 || text.len() < 10_000 {
                let start: String = text.chars().take(60).collect();
                assert_eq!(feed(text.as_bytes(), Want::Skip, size).1, Err(wanted), "{start} in {size}");
            }
        }
    }
}

proptest! {
    #[test]
    fn bodies_come_out_as_they_went_in(
        bodies in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), 0..40_usize), 1..5),
        size in 1..200_usize,
    ) {
        let mut bytes = Vec::new();
        for (body, chunk) in &bodies {
            if *chunk == 0 {
                bytes.extend(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).bytes());
                bytes.extend(body);
            } else {
                bytes.extend(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                for piece in body.chunks(*chunk) {
                    bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
                    bytes.extend(piece);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            }
        }
        let mut responses = Responses::new(Want::Read);
        let (mut buffer, mut got) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(size) {
            buffer.extend_from_slice(piece);
            let mut at = 0;
            while let Some(response) = responses.next(&buffer, &mut at).unwrap() {
                prop_assert_eq!(response.bytes, response.body.len() as u64);
                prop_assert!(response.body.starts_with(response.first));
                got.push(response.body.to_vec());
            }
            buffer.drain(..at);
        }
        let sent: Vec<_> = bodies.into_iter().map(|(body, _)| body).collect();
        prop_assert_eq!(got, sent);
        prop_assert_eq!(responses.closed(), Ok(None));
    }
}
