//! What a web server sends.
//!
//! Whatever the bytes: the same responses, bytes and error come out however they are cut, no byte is used that is not there,
//! no more than a head is kept, and what is skipped counts like what is read.

use protocol::http::{BadResponse, FIRST_BYTES, Responses, Url, Want};

/// Sizes of the pieces the bytes arrive in.
const CUTS: [usize; 3] = [1, 2, 7];
/// Longest head that may have to be kept.
const HEAD: usize = 64 * 1024;

#[derive(Debug, PartialEq)]
struct Seen {
    responses: Vec<String>,
    end: Result<(), BadResponse>,
}

pub fn run(data: &[u8]) {
    let [read, skipped] = [Want::Read, Want::Skip].map(|want| {
        let whole = feed(data, want, data.len());
        for size in CUTS {
            assert_eq!(feed(data, want, size), whole, "{want:?} in pieces of {size}");
        }
        whole
    });
    assert_eq!(read, skipped);
    // A URL is written by a user; a password in it is shown by nothing.
    let text = String::from_utf8_lossy(data);
    if let Ok(url) = Url::parse(&text) {
        let again = Url::parse(&url.to_string()).expect("what is shown is a URL");
        assert_eq!((again.to_string(), again.authorization()), (url.to_string(), None));
        assert!(url.path(3, 1, 2).starts_with('/'), "{text}");
    }
}

/// Feeds `data` in pieces of `size`, keeping unused bytes.
fn feed(data: &[u8], want: Want, size: usize) -> Seen {
    let mut decoder = Responses::new(want);
    let (mut buffer, mut responses) = (Vec::new(), Vec::new());
    let mut describe = |response: protocol::http::Response<'_>| {
        assert!(response.first.len() as u64 == response.bytes.min(FIRST_BYTES as u64));
        match want {
            Want::Read => assert_eq!(response.body.len() as u64, response.bytes),
            Want::Skip => assert!(response.body.is_empty()),
        }
        responses.push(format!("{:?}", protocol::http::Response { body: &[], ..response }));
    };
    for piece in data.chunks(size.max(1)) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let before = at;
            let next = decoder.next(&buffer, &mut at);
            assert!(before <= at && at <= buffer.len(), "from {before} to {at} of {}", buffer.len());
            match next {
                Ok(Some(response)) => {
                    assert!(at > before, "a response out of nothing");
                    describe(response);
                }
                Ok(None) => break,
                Err(error) => return Seen { responses, end: Err(error) },
            }
        }
        buffer.drain(..at);
        assert!(buffer.len() < HEAD, "{} bytes kept", buffer.len());
    }
    let end = decoder.closed().map(|last| last.into_iter().for_each(describe));
    Seen { responses, end }
}
