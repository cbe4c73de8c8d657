//! What the bare loop says to a server: as little as gets it a transaction.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, bail};
use target::managed::SUPERUSER;

use crate::server::DATABASE;

/// The statement of pgbench's select-only script, but for its key.
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = ";
/// Its name.
const NAME: &str = "P_0";

/// A connection that is logged in and has the statement prepared.
///
/// # Errors
/// When the server refuses, or asks for a password.
pub(crate) fn connect(socket: &Path) -> anyhow::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket).context("no connection")?;
    let mut out = Vec::new();
    let parameters = format!("user\0{SUPERUSER}\0database\0{DATABASE}\0\0");
    out.extend((parameters.len() as u32 + 8).to_be_bytes());
    out.extend(196_608_u32.to_be_bytes());
    out.extend(parameters.bytes());
    stream.write_all(&out)?;
    await_ready(&mut stream)?;
    out.clear();
    message(b'P', format!("{NAME}\0{STATEMENT}$1;\0\0\0").as_bytes(), &mut out);
    message(b'S', &[], &mut out);
    stream.write_all(&out)?;
    await_ready(&mut stream)?;
    Ok(stream)
}

/// Appends one Query for this key.
pub(crate) fn query(key: u64, out: &mut Vec<u8>) {
    let start = out.len();
    let _ = write!(out, "Q\0\0\0\0{STATEMENT}{key};\0");
    set_length(start, out);
}

/// Appends one execution for this key: Bind, Describe, Execute and Sync, as libpq sends them.
pub(crate) fn execution(key: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([b'B', 0, 0, 0, 0]);
    // No portal name; the statement; no formats; one value.
    out.extend(b"\0");
    out.extend(NAME.as_bytes());
    out.extend([0, 0, 0, 0, 1]);
    let value = out.len();
    out.extend([0; 4]);
    let _ = write!(out, "{key}");
    let length = (out.len() - value - 4) as u32;
    out[value..value + 4].copy_from_slice(&length.to_be_bytes());
    // Results as text.
    out.extend([0, 1, 0, 0]);
    set_length(start, out);
    message(b'D', b"P\0", out);
    message(b'E', &[0; 5], out);
    message(b'S', &[], out);
}

/// Whether bytes are the whole answer: to an execution from BindComplete, to a query from RowDescription, to
/// ReadyForQuery.
pub(crate) fn is_answer(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'2' | b'T')) && is_ready(bytes)
}

fn is_ready(bytes: &[u8]) -> bool {
    matches!(bytes, [.., b'Z', 0, 0, 0, 5, _])
}

fn await_ready(stream: &mut UnixStream) -> anyhow::Result<()> {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !is_ready(&seen) {
        let count = stream.read(&mut buffer)?;
        seen.extend(&buffer[..count]);
        if count == 0 || seen.first() == Some(&b'E') {
            bail!("the server refused: {}", String::from_utf8_lossy(&seen));
        }
    }
    Ok(())
}

/// Completes the message that begins at `start` and ends with `out`.
fn set_length(start: usize, out: &mut [u8]) {
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

fn message(kind: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_is_four_whole_messages() {
        let mut out = b"before".to_vec();
        execution(123_456, &mut out);
        let mut rest = &out[6..];
        let mut kinds = Vec::new();
        while let [kind, a, b, c, d, ..] = *rest {
            kinds.push(kind);
            rest = &rest[1 + u32::from_be_bytes([a, b, c, d]) as usize..];
        }
        assert_eq!(kinds, b"BDES");
        let bind = b"B\0\0\0\x1b\0P_0\0\0\0\0\x01\0\0\0\x06123456\0\x01\0\0";
        assert!(out[6..].starts_with(bind), "{:?}", &out[6..]);
    }

    #[test]
    fn a_query_ends_where_it_says() {
        let mut out = b"before".to_vec();
        query(7, &mut out);
        let expected = format!("Q\0\0\0\x39{STATEMENT}7;\0");
        assert_eq!(String::from_utf8_lossy(&out[6..]), expected);
        assert_eq!(out.len() - 7, 0x39);
    }

    #[test]
    fn answers_are_told_from_errors_and_pieces() {
        let cases: [(&[u8], bool); 5] = [
            (b"T\0\0\0\x06\0\0D\0\0\0\x04C\0\0\0\x04Z\0\0\0\x05I", true),
            (b"2\0\0\0\x04D\0\0\0\x04C\0\0\0\x04Z\0\0\0\x05I", true),
            (b"2\0\0\0\x04D\0\0\0\x04", false),
            (b"E\0\0\0\x04Z\0\0\0\x05I", false),
            (b"", false),
        ];
        for (bytes, whole) in cases {
            assert_eq!(is_answer(bytes), whole, "{bytes:?}");
        }
    }
}
