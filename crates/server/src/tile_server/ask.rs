//! One HTTP request, outside the timed part.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest answer, bytes.
const LONGEST: u64 = 1 << 20;
/// Characters of an answer in a message.
const QUOTED: usize = 200;

#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    body: Vec<u8>,
}

impl HttpAnswer {
    /// The beginning of the answer, for messages.
    pub(super) fn beginning(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        plain.take(QUOTED).collect::<String>().trim().to_owned()
    }
}

/// Requests a path by HTTP/1.0, so that the answer ends with the connection.
pub(super) fn get(address: SocketAddr, path: &str, bound: Duration) -> io::Result<HttpAnswer> {
    let mut stream = TcpStream::connect_timeout(&address, bound)?;
    stream.set_read_timeout(Some(bound))?;
    stream.set_write_timeout(Some(bound))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: */*\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.take(LONGEST).read_to_end(&mut bytes)?;
    answer(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}

fn answer(bytes: &[u8]) -> Option<HttpAnswer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some(HttpAnswer { status, body: bytes[end + 4..].to_vec() })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn answers_are_read_and_what_is_none_is_told() {
        for (text, wanted) in [
            ("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{}", Some((200, "{}"))),
            ("HTTP/1.0 404 Not Found\r\n\r\nno\nsuch\ttable ", Some((404, "no such table"))),
            ("HTTP/1.1 204 \r\n\r\n", Some((204, ""))),
            ("HTTP/1.1 200 OK\r\n", None),
            ("+PONG\r\n\r\n\r\n", None),
            ("", None),
        ] {
            let got = answer(text.as_bytes()).map(|answer| (answer.status, answer.beginning()));
            assert_eq!(got, wanted.map(|(status, words)| (status, words.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn nobody_waits_for_a_silent_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = get(listener.local_addr().unwrap(), "/", Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error:?}");
    }
}
