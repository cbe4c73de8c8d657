//! RESP2 in every split, read and skipped.

use proptest::prelude::*;
use protocol::redis::{BadReply, Replies, Reply, Skipped, Want, command};

const CONVERSATION: &str = "+OK\r\n:-42\r\n$5\r\nva\r\nl\r\n$-1\r\n$0\r\n\r\n-ERR no\r\n*3\r\n$1\r\na\r\n*2\r\n:1\r\n*-1\r\n\
                            -WRONGTYPE x\r\n*0\r\n*-1\r\n*1\r\n$-1\r\n+PONG\r\n";

fn describe(reply: &Reply<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reply {
        Reply::Status(status) => format!("+{}", text(status)),
        Reply::Error(error) => format!("-{}", text(error)),
        Reply::Integer(number) => format!(":{number}"),
        Reply::Bulk(value) => format!("{:?}", text(value)),
        Reply::Nil => "nil".to_owned(),
        Reply::Array(array) => {
            assert_eq!(array.iter().count(), array.len());
            format!("[{}]", array.iter().map(|reply| describe(&reply)).collect::<Vec<_>>().join(" "))
        }
        Reply::Skipped(Skipped { values, nils, errors, bytes }) => {
            format!("skipped {values} values {nils} nils {errors} errors {bytes} bytes")
        }
    }
}

/// What was seen and counted, and the most bytes that had to be kept.
type Seen = (Vec<String>, (u64, u64), usize);

/// Feeds `bytes` in pieces of `size`.
fn feed(bytes: &[u8], want: Want, size: usize) -> Result<Seen, BadReply> {
    let mut replies = Replies::new();
    replies.want(want);
    let (mut buffer, mut seen, mut kept) = (Vec::new(), Vec::new(), 0);
    for piece in bytes.chunks(size) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        while let Some(reply) = replies.next(&buffer, &mut at)? {
            seen.push(describe(&reply));
        }
        buffer.drain(..at);
        kept = kept.max(buffer.len());
    }
    assert!(buffer.is_empty());
    Ok((seen, replies.take_counts(), kept))
}

#[test]
fn replies_are_read_in_every_split() {
    let expected = [
        "+OK",
        ":-42",
        "\"va\\r\\nl\"",
        "nil",
        "\"\"",
        "-ERR no",
        "[\"a\" [:1 nil] -WRONGTYPE x]",
        "[]",
        "nil",
        "[nil]",
        "+PONG",
    ];
    for size in 1..=CONVERSATION.len() {
        let (seen, counts, _) = feed(CONVERSATION.as_bytes(), Want::Read, size).expect("good bytes");
        assert_eq!(seen, expected, "pieces of {size}");
        assert_eq!(counts, (11, 6), "pieces of {size}");
    }
}

#[test]
fn replies_are_skipped_in_every_split() {
    let expected = [
        "+OK",
        ":-42",
        "skipped 1 values 0 nils 0 errors 5 bytes",
        "nil",
        "skipped 1 values 0 nils 0 errors 0 bytes",
        "-ERR no",
        "skipped 2 values 1 nils 1 errors 1 bytes",
        "skipped 0 values 0 nils 0 errors 0 bytes",
        "nil",
        "skipped 0 values 1 nils 0 errors 0 bytes",
        "+PONG",
    ];
    for size in 1..=CONVERSATION.len() {
        let (seen, counts, _) = feed(CONVERSATION.as_bytes(), Want::Skip, size).expect("good bytes");
        assert_eq!(seen, expected, "pieces of {size}");
        assert_eq!(counts, (11, 6), "pieces of {size}");
    }
}

#[test]
fn a_large_value_passes_a_small_buffer() {
    let mut bytes = b"*1\r\n$3000000\r\n".to_vec();
    bytes.resize(bytes.len() + 3_000_000, b'x');
    bytes.extend_from_slice(b"\r\n+OK\r\n");
    let (seen, counts, kept) = feed(&bytes, Want::Skip, 4096).expect("good bytes");
    assert_eq!(seen, ["skipped 1 values 0 nils 0 errors 3000000 bytes", "+OK"]);
    assert_eq!(counts, (2, 3_000_000));
    assert!(kept < 16, "{kept} bytes kept");
}

#[test]
fn strangers_are_recognised() {
    for (bytes, expected) in [
        (&b"HTTP/1.1 400"[..], BadReply::Kind(b'H')),
        (b"%1\r\n", BadReply::Kind(b'%')),
        (b"$-2\r\n", BadReply::Malformed("string length out of bounds")),
        (b"$99999999999\r\n", BadReply::Malformed("string length out of bounds")),
        (b"*9999999999\r\n", BadReply::Malformed("array length out of bounds")),
        (b"$x\r\n", BadReply::Malformed("not an integer")),
        (b":\r\n", BadReply::Malformed("not an integer")),
        (b"+a\rb", BadReply::Malformed("carriage return without line feed")),
        (b"$1\r\nabc", BadReply::Malformed("string longer than its length")),
    ] {
        assert_eq!(Replies::new().next(bytes, &mut 0), Err(expected), "{}", String::from_utf8_lossy(bytes));
    }
    let endless = vec![b'+'; 70_000];
    assert_eq!(Replies::new().next(&endless, &mut 0), Err(BadReply::Malformed("line too long")));
}

#[test]
fn info_is_text() {
    let info = "# Server\r\nredis_version:7.0.15\r\n";
    let bytes = format!("${}\r\n{info}\r\n", info.len());
    assert_eq!(Replies::new().next(bytes.as_bytes(), &mut 0), Ok(Some(Reply::Bulk(info.as_bytes()))));
}

proptest! {
    #[test]
    fn no_bytes_panic(pieces in prop::collection::vec("[-+:$*][0-9a-z-]{0,3}(\r\n)?[a-z]{0,4}(\r\n)?|\\PC{0,5}", 0..9), skip in any::<bool>()) {
        let bytes = pieces.concat();
        let mut replies = Replies::new();
        replies.want(if skip { Want::Skip } else { Want::Read });
        let mut at = 0;
        while let Ok(Some(reply)) = replies.next(bytes.as_bytes(), &mut at) {
            describe(&reply);
        }
        prop_assert!(at <= bytes.len());
    }

    #[test]
    fn commands_read_back_as_arrays(arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6)) {
        let mut bytes = Vec::new();
        command(&mut bytes, &arguments);
        let mut at = 0;
        let Ok(Some(Reply::Array(array))) = Replies::new().next(&bytes, &mut at) else {
            panic!("an array");
        };
        prop_assert_eq!(at, bytes.len());
        let expected: Vec<_> = arguments.iter().map(|argument| Reply::Bulk(argument)).collect();
        prop_assert_eq!(array.iter().collect::<Vec<_>>(), expected);
    }
}
